// The paper's Figure 9: how long a receiver that was detached waits, from its request to attach to the first event that was
// kept for it. One node and one sender; every receiver is a client of its own and comes back again and again.
import { writeFileSync } from 'node:fs'
import type { Calls } from './attach/child.ts'
import type { BenchOptions } from './main.ts'
import { type Panel, svgOf } from './plot.ts'
import { Process } from './process.ts'

type Connection = 'kept' | 'new'

interface Setting {
  readonly receivers: number
  readonly times: Readonly<Record<Connection, number>>
  readonly cycleMs: number
}

interface Row {
  readonly receivers: number
  readonly connection: Connection
  readonly attachments: number
  readonly perSecond: number
  readonly medianMs: number
  readonly meanMs: number
  readonly deviationMs: number
  readonly p99Ms: number
  /** Events that did not arrive as events. */
  readonly lost: number
}

const OFTEN = { kept: 20, new: 20 }
const FULL: readonly Setting[] = [
  { receivers: 1, times: OFTEN, cycleMs: 1_000 },
  { receivers: 4, times: OFTEN, cycleMs: 1_000 },
  { receivers: 16, times: OFTEN, cycleMs: 1_000 },
  { receivers: 64, times: OFTEN, cycleMs: 1_000 },
  { receivers: 256, times: OFTEN, cycleMs: 5_000 },
  // Dialling anew, they come back five times: twenty would take eight minutes of two cores.
  { receivers: 1_000, times: { kept: 20, new: 5 }, cycleMs: 5_000 },
]
/** `RECEIVERS=64,256 npm run bench -- attach` measures only with so many, and draws nothing. */
const ONLY = process.env.RECEIVERS?.split(',').map(Number)
const SMALL: readonly Setting[] = [{ receivers: 3, times: { kept: 2, new: 2 }, cycleMs: 500 }]

const PUBLISH_EVERY_MS = 200
const RECEIVER_PROCESSES = 2
const CHILD = new URL('attach/child.ts', import.meta.url)
const PLOT = new URL('../docs/attach.svg', import.meta.url)

/** Prints a line for each number of receivers and kind of connection, and draws them. Throws when events were lost over a connection that is kept. */
export async function run({ json, small }: BenchOptions): Promise<void> {
  const rows: Row[] = []
  for (const setting of settings(small)) {
    for await (const row of measure(setting)) {
      rows.push(row)
      if (json) console.log(JSON.stringify(row))
    }
  }
  if (!json) console.table(rows)
  if (!small && ONLY === undefined) writeFileSync(PLOT, plotOf(rows))
  // Too many that dial anew are away for longer than anybody keeps anything for them: their rows say so.
  const lost = rows.reduce((sum, row) => sum + (row.connection === 'kept' ? row.lost : 0), 0)
  if (lost > 0) throw new Error(`${lost} events were lost`)
}

function settings(isSmall: boolean): readonly Setting[] {
  if (isSmall) return SMALL
  return ONLY === undefined ? FULL : FULL.filter(({ receivers }) => ONLY.includes(receivers))
}

async function* measure({ receivers, times, cycleMs }: Setting): AsyncGenerator<Row> {
  const started: Process<Calls>[] = []
  const start = () => started[started.push(new Process<Calls>(CHILD)) - 1]!
  try {
    const address = await start().call('serve')
    const sender = await start().call('publish', address, PUBLISH_EVERY_MS)
    const of = Array.from({ length: Math.min(RECEIVER_PROCESSES, receivers) }, start)
    console.error(`${receivers} receivers subscribe`)
    await all(of, (one, i) => one.call('subscribe', address, sender, Math.floor((receivers + i) / of.length)))
    for (const connection of ['kept', 'new'] as const) {
      console.error(`${receivers} receivers come back ${times[connection]} times, connection ${connection}`)
      const moves = { address, times: times[connection], cycleMs, isAnew: connection === 'new' }
      const beganAt = performance.now()
      const took = (await all(of, (one) => one.call('move', moves))).flat()
      const seconds = (performance.now() - beganAt) / 1_000
      const lost = (await all(of, (one) => one.call('lost'))).reduce((sum, each) => sum + each, 0)
      const perSecond = rounded(took.length / seconds)
      yield { receivers, connection, attachments: took.length, perSecond, ...spreadOf(took), lost }
    }
  } finally {
    for (const one of started) one.stop()
  }
}

function all<T>(
  processes: readonly Process<Calls>[],
  call: (one: Process<Calls>, i: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(processes.map(call))
}

function spreadOf(took: readonly number[]): Pick<Row, 'medianMs' | 'meanMs' | 'deviationMs' | 'p99Ms'> {
  const sorted = took.toSorted((a, b) => a - b)
  const mean = took.reduce((sum, each) => sum + each, 0) / took.length
  const variance = took.reduce((sum, each) => sum + (each - mean) ** 2, 0) / took.length
  const quantile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!
  return {
    medianMs: rounded(quantile(0.5)),
    meanMs: rounded(mean),
    deviationMs: rounded(Math.sqrt(variance)),
    p99Ms: rounded(quantile(0.99)),
  }
}

/** A tick is four times the receivers: on a scale to 1,000 nearly all would be at its left end. */
export function plotOf(rows: readonly Row[]): string {
  const panel = (connection: Connection, title: string): Panel => {
    const ours = rows.filter((row) => row.connection === connection)
    const points = (key: 'medianMs' | 'p99Ms') =>
      ours.map((row): [number, number] => [Math.log2(row.receivers), row[key]])
    return {
      title,
      x: 'receivers, as a power of 2',
      y: 'ms',
      series: [
        { name: 'median', colour: '#1f6fb4', style: 'line', points: points('medianMs') },
        { name: '99 of 100', colour: '#c2452d', style: 'line', points: points('p99Ms') },
      ],
    }
  }
  return svgOf([
    panel('kept', 'From the request to attach to the first event, connection kept'),
    panel('new', 'The same, dialling anew'),
  ])
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
