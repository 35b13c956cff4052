// `spillway pull`: asks a sender's root for what is new when a schedule says so, and writes it, with a receipt at the end.
import type { PullTrouble } from '../endpoints/pull/pull.ts'
import { AT, attach, CLIENT_KEY, PSK } from './attachment.ts'
import { interruptible } from './interruption.ts'
import { command, type Io } from './options.ts'
import { NAMES, scheduleOf } from './pull-schedule.ts'
import { COUNT, checkSenderOperand, endingOf, LINES, receive, withId } from './receiving.ts'

const NAME = 'pull'
/** The guess before a period is known: a root keeps a fast sender's events for seconds, and back-off spares a slow one. */
const FIRST_PERIOD_MS = 1_000

export const pullCommand = command(
  {
    name: NAME,
    operand: 'SENDER',
    paragraph:
      "Asks a sender's root, by the sender's ID, for what is new when a schedule says so, and writes it, in order, as JSON " +
      'lines. A root keeps the last 1000 events of a sender, or 256 KiB. It runs until --count, --idle, SIGINT (Ctrl-C) or ' +
      'SIGTERM. Polls that fail, or that a busy root puts off, are named on stderr, and count as polls that found nothing.',
    output: [
      [
        '{"subscribed":{"epoch":…,"first":…}}',
        'First: the root has answered, and it begins with this number, the newest event there is. Epoch null and first 1 ' +
          'when there is no such sender yet.',
      ],
      ...LINES,
    ],
    options: {
      at: AT,
      schedule: {
        value: 'NAME',
        help: `When to ask: ${NAMES.join(', ')} or fixed:SECONDS. best if not given.`,
      },
      count: COUNT,
      idle: {
        value: 'MS',
        help: 'End when nothing was delivered for so long after the root has answered.',
      },
      key: CLIENT_KEY,
      psk: PSK,
    },
    example: [
      'npx spillway ls --at /ip4/127.0.0.1/tcp/4600',
      'npx spillway pull SENDER --at /ip4/127.0.0.1/tcp/4600 --schedule dpt-l --count 10',
    ],
    exits: {
      0: 'it ended as it was told to, with its receipts',
      1: 'no node answered, or the sender does not allow this client',
    },
  },
  async ({ operands: [sender], options }, io) => {
    checkSenderOperand(NAME, sender)
    const ending = endingOf(NAME, options.count, options.idle)
    const schedule = scheduleOf(NAME, options.schedule ?? 'best', Math.random, () => 0, FIRST_PERIOD_MS)
    return interruptible(async (signal) => {
      const { client, node } = await attach(NAME, options, io, signal)
      try {
        const pull = client.pull(sender, { schedule, missed: (trouble) => say(trouble, io) })
        await receive(pull, node, ending, 0, io, signal).catch((error) => {
          throw withId(error, client.id)
        })
        return 0
      } finally {
        await client.close()
      }
    })
  },
)

function say({ reason, error }: PullTrouble, { stderr }: Io): void {
  if (reason === 'overloaded') stderr.write("a poll was put off: the sender's root is busy\n")
  // A refusal ends the command, and is told then.
  else if ((error as { code?: string }).code !== 'REFUSED')
    stderr.write(`a poll failed: ${error instanceof Error ? error.message : error}\n`)
}
