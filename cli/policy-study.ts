// `spillway policy study`: which filters of a policy earn their place on recorded events (PACK Figure 11).
import { seeded } from '../policies/chance.ts'
import { pack } from '../policies/pack-events.ts'
import type { Policy } from '../policies/policy.ts'
import { type EventLines, readEvents, warnOfUnknown, warnWithoutTime } from './event-lines.ts'
import { command, write } from './options.ts'
import { FILE } from './policy.ts'
import { exitsOf, OPTIONS, policyBeside, RECORD, seedOf } from './policy-try.ts'

const NAME = 'policy study'

export const study = command(
  {
    name: NAME,
    operand: 'FILE',
    stdin: 'EVENTS',
    paragraph:
      'Reads events from stdin as "policy try" does, packs all of them at every level of the policy in turn, ' +
      'and shows what is left at each level and how much each of its filters saw, kept and dropped, so that ' +
      'you see which filters earn their place. A filter sees what the filters before it left. A bad line is ' +
      `named on stderr and does not stop the rest. ${FILE}`,
    options: {
      json: { help: 'Write one JSON object for scripts.' },
      ...OPTIONS,
    },
    example: [RECORD, 'npx spillway policy study telemetry:bpm < events.jsonl'],
    exits: exitsOf('studied'),
  },
  async ({ operands: [file], options }, io) => {
    const seed = seedOf(NAME, options.seed)
    const policy = await policyBeside(NAME, file, options.use, io)
    await warnWithoutTime(policy, policy.top, options.time, io)
    const lines = await readEvents(io, options.time)
    await warnOfUnknown(policy, policy.top, lines, io)
    const levels = studyLevels(policy, lines, seed)
    const events = lines.entries.length
    const text = options.json
      ? JSON.stringify({ events, levels })
      : drawn(events, levels, io.stdout.isTTY === true)
    await write(io.stdout, `${text}\n`)
    return lines.badLines > 0 ? 1 : 0
  },
)

interface StudiedFilter {
  readonly name: string
  readonly attribute: string | null
  readonly mode: string
  readonly seen: number
  readonly kept: number
  readonly dropped: number
}

interface StudiedLevel {
  readonly level: number
  readonly kept: number
  readonly dropped: number
  readonly digests: number
  readonly filters: readonly StudiedFilter[]
}

/** A pack at every level, each with the same chance, so that it drops what the level below drops too. */
function studyLevels(policy: Policy, { entries }: EventLines, seed: number): StudiedLevel[] {
  return policy.levels.map((_, i) => {
    const filters: StudiedFilter[] = []
    const observe = (level: number, filter: number, seen: number, kept: number) => {
      if (level <= i) return
      const { name, attribute = null, mode } = policy.levels[level - 1]![filter - 1]!
      filters.push({ name, attribute, mode, seen, kept, dropped: seen - kept })
    }
    const level = i + 1
    const items = pack(policy, entries, { level, random: seeded(seed), observe })
    const digests = items.filter((item) => 'kind' in item).length
    const kept = items.length - digests
    return { level, kept, dropped: entries.length - kept, digests, filters }
  })
}

function drawn(events: number, levels: readonly StudiedLevel[], terminal: boolean): string {
  const rows = levels.flatMap(({ level, kept, dropped, digests, filters }) => [
    [
      `level ${level}`,
      '',
      `${events}`,
      `${kept}`,
      `${dropped}`,
      share(dropped, events),
      bar(dropped, events, terminal),
      counted(digests, 'digest'),
    ],
    ...filters.map((filter) => filterRow(filter, terminal)),
  ])
  const head = ['', '', 'seen', 'kept', 'dropped', 'share', terminal ? ' '.repeat(BAR_WIDTH) : '', '']
  const hints = levels.flatMap(hintsOf)
  const table = columns([head, ...rows])
  return [
    counted(events, 'event'),
    '',
    ...table,
    ...(hints.length > 0 && events > 0 ? ['', ...hints] : []),
  ].join('\n')
}

function filterRow(
  { name, attribute, mode, seen, kept, dropped }: StudiedFilter,
  terminal: boolean,
): string[] {
  const subject = [attribute ?? '', mode === 'drop' ? 'mode=drop' : ''].filter(Boolean).join(' ')
  return [
    `  ${name}`,
    subject,
    `${seen}`,
    `${kept}`,
    `${dropped}`,
    share(dropped, seen),
    bar(dropped, seen, terminal),
    '',
  ]
}

function hintsOf({ level, filters }: StudiedLevel): string[] {
  return filters.flatMap(({ name, attribute, seen, dropped }, i) => {
    if (dropped > 0) return []
    const who = `level ${level}, filter ${i + 1}: ${name}${attribute === null ? '' : ` on ${attribute}`}`
    return [
      seen === 0
        ? `${who} saw nothing: those before it had dropped everything`
        : `${who} dropped nothing of what it saw`,
    ]
  })
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Only none is 0.0% and only all is 100.0%. */
function share(part: number, whole: number): string {
  if (whole === 0) return '-'
  const percent = (100 * part) / whole
  if (part > 0 && percent < 0.1) return '<0.1%'
  return part < whole && percent > 99.9 ? '>99.9%' : `${percent.toFixed(1)}%`
}

const BAR_WIDTH = 20
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** What was dropped, as a bar in eighths of a character; nothing when nobody looks. */
function bar(part: number, whole: number, terminal: boolean): string {
  if (!terminal) return ''
  const eighths = whole === 0 ? 0 : Math.round((8 * BAR_WIDTH * part) / whole)
  return `${'█'.repeat(eighths >> 3)}${EIGHTHS[eighths & 7]}`.padEnd(BAR_WIDTH, '·')
}

/** Aligned columns: the first two and the last two to the left, numbers to the right. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((row) => row[c]!.length)))
  return rows.map((row) => {
    const cells = row.map((cell, c) => (c > 1 && c < 6 ? cell.padStart(widths[c]!) : cell.padEnd(widths[c]!)))
    return cells
      .filter((_, c) => widths[c]! > 0)
      .join('  ')
      .trimEnd()
  })
}
