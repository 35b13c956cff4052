// Packing beside a hand-written, fused loop that does the same on the same decoded events, in the same run.
import { isDeepStrictEqual } from 'node:util'
import { RE2JS } from 're2js'
import { seeded } from '../policies/chance.ts'
import { compilePolicy } from '../policies/compile.ts'
import type { Value } from '../policies/event.ts'
import { Packing } from '../policies/pack.ts'
import type { Policy } from '../policies/policy.ts'
import { Columns, type Fused, fusedLocator, fusedWard } from './fused.ts'
import type { BenchOptions } from './main.ts'

/** Figure 2 of the paper, as its text means it. */
const ward = compilePolicy({
  attribute: 'PulseRate',
  summary: ['MEAN', 'COUNT'],
  levels: [
    [{ name: 'DELTA', change: 5 }],
    [{ name: 'WITHIN', mode: 'drop', low: 50, high: 100 }],
    [{ name: 'LATEST', window: 10 }],
  ],
})

/** The six levels of section 7. */
const locator = compilePolicy({
  summary: ['COUNT'],
  levels: [
    [{ name: 'EQ', attribute: 'type', value: 'Info' }],
    [{ name: 'INSET', attribute: 'action', mode: 'drop', value: ['Authenticated', 'roamed'] }],
    [{ name: 'MATCH', attribute: 'host', mode: 'drop', pattern: '^ap-[0-9]+' }],
    [{ name: 'FIRST', attribute: 'action', value: ['Deauthenticated', 'Disassociated', 'left', 'expired'] }],
    [{ name: 'GUNIQ', attribute: 'ap' }],
    [{ name: 'EVERY', mode: 'drop', n: 3 }],
  ],
})

interface Contest {
  readonly name: string
  readonly policy: Policy
  readonly generate: (length: number) => Columns
  readonly byHand: (events: Columns) => Fused
}

const accessPoint = RE2JS.compile('^ap-[0-9]+')
const contests: readonly Contest[] = [
  {
    name: 'ward',
    policy: ward,
    generate: pulses,
    byHand: (events) => fusedWard(events, ward.hash),
  },
  {
    name: 'locator',
    policy: locator,
    generate: syslog,
    byHand: (events) => fusedLocator(events, accessPoint, locator.hash),
  },
]

interface Row {
  readonly policy: string
  readonly events: number
  readonly packNs: number
  readonly byHandNs: number
  readonly ratio: number
}

/** Prints nanoseconds an event for both, and their ratio. Throws if their results differ. */
export function run({ json, small }: BenchOptions): void {
  const rows = contests.flatMap((contest) =>
    (small ? [1_000] : [1_000, 3_000, 10_000, 30_000, 100_000]).map((length) =>
      race(contest, length, small ? 20 : 3_000_000),
    ),
  )
  if (json) for (const row of rows) console.log(JSON.stringify(row))
  else console.table(rows)
}

/** Both take turns, so that whatever else the machine does hits both; the median of the turns counts. */
function race(contest: Contest, length: number, eventsEach: number): Row {
  const events = contest.generate(length)
  if (!isDeepStrictEqual(packed(contest, events), contest.byHand(events))) {
    throw new Error(`${contest.name}: packing and the loop by hand differ at ${length} events`)
  }
  const turns = Math.max(15, Math.ceil(eventsEach / length))
  const pack: number[] = []
  const byHand: number[] = []
  for (let turn = -turns / 2; turn < turns; turn++) {
    const a = timed(() => packed(contest, events))
    const b = timed(() => contest.byHand(events))
    if (turn < 0) continue
    pack.push(a)
    byHand.push(b)
  }
  const packNs = round((median(pack) * 1e6) / length)
  const byHandNs = round((median(byHand) * 1e6) / length)
  return { policy: contest.name, events: length, packNs, byHandNs, ratio: round(packNs / byHandNs) }
}

/** What a queue does: pack at the top level, and put the queue together again. */
function packed({ policy }: Contest, events: Columns): Fused {
  const surroundings = { now: 0, random: Math.random, buffer: 'bench' }
  const { kept, digests } = new Packing(policy, events, new Map(), surroundings).climb(policy.top).finish()
  const queue: Fused = []
  for (let i = 0; i <= kept.length; i++) {
    const riding = digests.get(i)
    if (riding !== undefined) for (const digest of riding) queue.push(digest)
    if (i < kept.length) queue.push(kept[i]!)
  }
  return queue
}

/** A pulse that wanders between 40 and 130. */
function pulses(length: number): Columns {
  const random = seeded(1)
  let pulse = 75
  const values = Array.from({ length }, () => {
    pulse = Math.max(40, Math.min(130, pulse + (random() - 0.5) * 12))
    return pulse
  })
  return new Columns({ PulseRate: values }, timesOf(length))
}

/** Lines of 550 access points, in about the mixture of a campus. */
function syslog(length: number): Columns {
  const random = seeded(2)
  const actions = [
    'Authenticated',
    'roamed',
    'Associated',
    'Reassociated',
    'Deauthenticated',
    'Disassociated',
    'left',
    'expired',
  ]
  const pick = (n: number) => Math.floor(random() * n)
  const columns: Record<string, Value[]> = { type: [], action: [], host: [], ap: [] }
  for (let i = 0; i < length; i++) {
    columns.type!.push(random() < 0.8 ? 'Info' : 'Warning')
    columns.action!.push(actions[pick(actions.length)]!)
    columns.host!.push(random() < 0.1 ? `ap-${pick(550)}` : `station-${pick(5000)}`)
    columns.ap!.push(`ap-${pick(550)}`)
  }
  return new Columns(columns, timesOf(length))
}

function timesOf(length: number): Float64Array {
  return Float64Array.from({ length }, (_, i) => i * 100)
}

function timed(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1]!
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
