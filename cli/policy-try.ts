// `spillway policy try`: packs recorded events at one level, and writes the packed queue.
import { seeded } from '../policies/chance.ts'
import type { Digest } from '../policies/digest.ts'
import { pack } from '../policies/pack-events.ts'
import type { Policy } from '../policies/policy.ts'
import { type EventLine, readEvents, TIME, warnOfUnknown, warnWithoutTime } from './event-lines.ts'
import { command, type Exits, type Io, UsageError, wholeNumber, write } from './options.ts'
import { FILE } from './policy.ts'
import { loadPolicy, repositoryWith, USE } from './policy-source.ts'

const NAME = 'policy try'

/** The options of every command that packs events from stdin. */
export const OPTIONS = {
  seed: {
    value: 'S',
    help: 'A whole number from 0 for the chance in RANDOM; the same seed gives the same result. 1 if not given.',
  },
  time: TIME,
  use: USE,
} as const

/** The line of an example that makes the events. */
export const RECORD = `printf '%s\\n' '{"bpm":70}' '{"bpm":70}' '{"bpm":90}' > events.jsonl`

export function exitsOf(done: string): Exits {
  return {
    0: done,
    1: `the policy is wrong, or there were bad lines (the others are ${done} all the same)`,
  }
}

export const attempt = command(
  {
    name: NAME,
    operand: 'FILE',
    stdin: 'EVENTS',
    paragraph:
      'Reads events from stdin, one JSON object of attributes per line (an array is a set, null a missing ' +
      'value), numbered from 1; runs the filters of level 1 to N over them; and writes what is left of the ' +
      'queue: {"seq":5,"event":{…}} for an event that survives, and where others stood their digest, ' +
      '{"digest":{"COUNT":2},"from":3,"to":4,"count":2,"causes":[…]}. A bad line is named on stderr, takes no ' +
      `number, and does not stop the rest. ${FILE}`,
    options: {
      level: { value: 'N', required: true, help: 'The level to pack at, from 1 to the top of the policy.' },
      ...OPTIONS,
    },
    example: [RECORD, 'npx spillway policy try telemetry:bpm --level 1 < events.jsonl'],
    exits: exitsOf('packed'),
  },
  async ({ operands: [file], options }, io) => {
    const seed = seedOf(NAME, options.seed)
    const policy = await policyBeside(NAME, file, options.use, io)
    const level = levelOf(policy, options.level)
    await warnWithoutTime(policy, level, options.time, io)
    const lines = await readEvents(io, options.time)
    await warnOfUnknown(policy, level, lines, io)
    const items = pack(policy, lines.entries, { level, random: seeded(seed), buffer: 'try' })
    await writePacked(policy, items, io)
    return lines.badLines > 0 ? 1 : 0
  },
)

/** The policy for a command whose events come from stdin, so that the policy cannot. */
export async function policyBeside(
  name: string,
  file: string,
  use: string | undefined,
  io: Io,
): Promise<Policy> {
  if (file === '-')
    throw new UsageError(name, 'the events come from stdin, so the policy cannot: name its FILE')
  return loadPolicy(file, await repositoryWith(use), io)
}

export function seedOf(name: string, text = '1'): number {
  return wholeNumber(name, 'seed', text, 0, 2 ** 32 - 1, 'a whole number from 0 to 4294967295')
}

function levelOf(policy: Policy, text: string): number {
  const { top } = policy
  const levels = top === 1 ? '1, the only level of this policy' : `a level of this policy, 1 to ${top}`
  return wholeNumber(NAME, 'level', text, 1, top, levels)
}

/** Enough for a few system calls per megabyte, little enough to wait for a slow reader. */
const CHUNK_CHARACTERS = 1 << 16

async function writePacked(policy: Policy, items: readonly (EventLine | Digest)[], io: Io): Promise<void> {
  let chunk = ''
  for (const item of items) {
    // A survivor is written as it was given.
    chunk += 'raw' in item ? `{"seq":${item.seq},"event":${item.raw}}` : JSON.stringify(policy.show(item))
    chunk += '\n'
    if (chunk.length < CHUNK_CHARACTERS) continue
    await write(io.stdout, chunk)
    chunk = ''
  }
  if (chunk !== '') await write(io.stdout, chunk)
}
