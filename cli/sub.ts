// `spillway sub`: subscribes to a sender and writes what arrives, with a receipt at the end.
import { BACKLOGS, type BacklogOrder } from '../endpoints/backlog.ts'
import type { Policy } from '../policies/policy.ts'
import { AT, attach, CLIENT_KEY, PSK } from './attachment.ts'
import { interruptible } from './interruption.ts'
import { command, type Io, UsageError } from './options.ts'
import { FILE } from './policy.ts'
import { loadPolicy, repositoryWith } from './policy-source.ts'
import { COUNT, checkSenderOperand, endingOf, LINES, numberOf, receive, withId } from './receiving.ts'
import { ROAMING, roam, roamingOf } from './roaming.ts'

const NAME = 'sub'

export const sub = command(
  {
    name: NAME,
    operand: 'SENDER',
    paragraph:
      'Subscribes to a sender, by its ID, and writes what arrives, in order, as JSON lines. It runs until --count, --idle, ' +
      'SIGINT (Ctrl-C) or SIGTERM, also when the sender ends, because it may come again.',
    output: [
      [
        '{"subscribed":{"epoch":…,"first":…}}',
        'First: the subscription stands, and begins with this number. Epoch null and first 1 when there is no such ' +
          'sender yet.',
      ],
      ...LINES,
    ],
    options: {
      at: AT,
      policy: {
        value: 'FILE',
        help: `What may be lost when a queue overflows, on every hop. ${FILE} Without it what overflows becomes a count.`,
      },
      backlog: {
        value: 'ORDER',
        help:
          'How what waited while this client was away comes back: in-order, unless told, or digest-first: a digest of it, with ' +
          '"preview":true, which the receipt does not count, then what is live, and what waited beside that, with "backlog":true.',
      },
      queue: { value: 'N', help: "How many events this receiver's own queue holds. 10000 if not given." },
      slow: { value: 'MS', help: 'Wait so long after each event, to see what the policy does.' },
      count: COUNT,
      idle: {
        value: 'MS',
        help:
          'End when nothing was delivered for so long after the subscription stands; heartbeats do not count, nor does the ' +
          'time without a node.',
      },
      ...ROAMING,
      key: CLIENT_KEY,
      psk: PSK,
    },
    example: [
      'npx spillway ls --at /ip4/127.0.0.1/tcp/4600',
      'npx spillway sub SENDER --at /ip4/127.0.0.1/tcp/4600 --policy telemetry:bpm --count 100',
    ],
    exits: {
      0: 'it ended as it was told to, with its receipts',
      1: 'no node answered, the policy is wrong, or the subscription was refused',
    },
    without: { json: 'sub always writes JSON' },
  },
  async ({ operands: [sender], options }, io) => {
    checkSenderOperand(NAME, sender)
    const ending = endingOf(NAME, options.count, options.idle)
    const slowMs = numberOf(NAME, 'slow', options.slow, 0) ?? 0
    const items = numberOf(NAME, 'queue', options.queue, 1)
    const backlog = backlogOf(options.backlog)
    const roaming = roamingOf(NAME, options)
    const policy = await policyOf(options.policy, io)
    return interruptible(async (signal) => {
      // One that is told where to go does not go elsewhere by itself.
      const roams = roaming === undefined
      const { client, node } = await attach(NAME, { ...options, roams }, io, signal)
      const over = new AbortController()
      try {
        const queue = items === undefined ? {} : { queue: { items } }
        const subscription = client.subscribe(sender, { ...queue, ...backlog, ...(policy ? { policy } : {}) })
        if (roaming !== undefined) void roam(client, roaming, io, AbortSignal.any([signal, over.signal]))
        await receive(subscription, node, ending, slowMs, io, signal).catch((error) => {
          throw withId(error, client.id)
        })
        return 0
      } finally {
        over.abort()
        await client.close()
      }
    })
  },
)

function backlogOf(order: string | undefined): { backlog?: BacklogOrder } {
  if (order === undefined) return {}
  const backlog = BACKLOGS.find((known) => known === order)
  if (backlog === undefined)
    throw new UsageError(NAME, `--backlog: expected ${BACKLOGS.join(' or ')}, got "${order}"`)
  return { backlog }
}

async function policyOf(file: string | undefined, io: Io): Promise<Policy | undefined> {
  return file === undefined ? undefined : loadPolicy(file, await repositoryWith(undefined), io)
}
