// Figure 11 of the PACK paper: what the locator's policy does in an hour of a campus. The campus is generated, time is
// virtual, the locator is the one that ships.
import { writeFileSync } from 'node:fs'
import { parsePolicy } from '../index.ts'
import { type Hour, type HourOptions, simulateHour } from './locator/hour.ts'
import type { BenchOptions } from './main.ts'
import { type Panel, svgOf } from './plot.ts'
import { cumulative, rounded } from './pull/figure.ts'

const PICTURE = 'docs/wifi-locator-figure-11.svg'
/** The first is drawn: with it the queue is packed about as often as the paper's. */
const QUEUES = [400, 100]
const HOUR: Omit<HourOptions, 'queue'> = { minutes: 60, stations: 4_000 }
const MOMENT: HourOptions = { minutes: 5, stations: 2_000, queue: 20 }
const BLUE = '#1f6fb4'

interface Level {
  readonly level: number
  readonly filter: string
  /** Packs up to this level. */
  readonly packs: number
  /** How often its filter ran, what it dropped in all, and what share of what it saw: the least, the median, the most. */
  readonly runs: number
  readonly dropped: number
  readonly reduction: readonly [least: number, median: number, most: number]
}

/** Prints the four plots of the figure as tables, for each queue; draws them. */
export async function run({ json, small }: BenchOptions): Promise<void> {
  const all = small ? [MOMENT] : QUEUES.map((queue) => ({ ...HOUR, queue }))
  for (const options of all) {
    const hour = await simulateHour(options)
    const levels = await levelsOf(hour)
    const totals = totalsOf(hour)
    if (json) console.log(JSON.stringify({ ...options, levels, ...totals }))
    else {
      console.log(
        `\na queue of ${options.queue}, ${options.stations} stations, ${options.minutes} minutes (generated)`,
      )
      console.table(levels.map(rowOf))
      console.table([totals])
    }
    if (!small && options.queue === QUEUES[0]) draw(hour, levels)
  }
  if (!small && !json) console.log(`plots of the queue of ${QUEUES[0]}: ${PICTURE}`)
}

async function levelsOf({ packs }: Hour): Promise<Level[]> {
  const { locatorPolicy } = await import('../examples/wifi-locator/locator.ts')
  return parsePolicy(locatorPolicy).levels.map((filters, i) => {
    const level = i + 1
    const passes = packs.flatMap((pack) => pack.passes.filter((pass) => pass.level === level))
    const shares = passes.map(({ seen, kept }) => 1 - kept / seen).sort((a, b) => a - b)
    const at = (share: number) => rounded(shares[Math.floor(share * (shares.length - 1))] ?? 0, 3)
    return {
      level,
      filter: filters.map(({ name }) => name).join(', '),
      packs: packs.filter((pack) => pack.level === level).length,
      runs: passes.length,
      dropped: passes.reduce((sum, { seen, kept }) => sum + seen - kept, 0),
      reduction: [at(0), at(0.5), at(1)],
    }
  })
}

function rowOf({ reduction: [least, median, most], ...level }: Level): object {
  return { ...level, 'dropped of seen: least': least, median, most }
}

function totalsOf(hour: Hour): Record<string, number | boolean> {
  const { receipt, packs, latenciesMs, prediction } = hour
  const { first, last, delivered, digested, gaps } = receipt
  const between = betweenS(hour)
  const latency = latenciesMs.toSorted((a, b) => a - b)
  const of = (sorted: readonly number[], share: number) =>
    sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return {
    lines: hour.lines,
    packs: packs.length,
    'worst case': packs.filter(({ level }) => level === 'worst-case').length,
    'between packs s': rounded(of(between, 0.5), 1),
    'latency s': rounded(of(latency, 0.5) / 1000, 1),
    'latency 90 % s': rounded(of(latency, 0.9) / 1000, 1),
    'longest s': rounded(of(latency, 1) / 1000, 1),
    locations: hour.locations,
    asked: hour.asked,
    delivered,
    digested,
    gaps,
    exact: delivered + digested + gaps === last - first + 1,
    'placed right': rounded(hour.accuracy, 2),
    'predicted right': rounded(prediction.top1 / Math.max(1, prediction.predicted), 2),
    'among three': rounded(prediction.top3 / Math.max(1, prediction.predicted), 2),
  }
}

/** Ascending. */
function betweenS({ packs }: Hour): number[] {
  return packs
    .slice(1)
    .map(({ time }, i) => (time - packs[i]!.time) / 1000)
    .sort((a, b) => a - b)
}

function draw(hour: Hour, levels: readonly Level[]): void {
  const panels: Panel[] = [
    {
      title: 'Figure 11, upper left: packs up to each level',
      x: 'level',
      y: 'packs',
      series: [{ name: 'packs', colour: BLUE, style: 'line', points: levels.flatMap(barOf) }],
    },
    {
      title: 'Upper right: what each filter dropped of what it saw, every pack a dot',
      x: 'filter',
      y: 'share dropped',
      series: [
        { name: 'one pack', colour: BLUE, style: 'dots', points: hour.packs.flatMap(dotsOf) },
        {
          name: 'median',
          colour: '#c2452d',
          style: 'dots',
          points: levels.flatMap(medianOf),
        },
      ],
    },
    {
      title: 'Lower left: time between packs',
      x: 's',
      y: 'share of packs',
      series: [{ name: 'cumulative', colour: BLUE, style: 'line', points: cumulative(betweenS(hour)) }],
    },
    {
      title: 'Lower right: from the line to the location, where an access point was asked',
      x: 's',
      y: 'share of locations',
      series: [
        {
          name: 'cumulative',
          colour: BLUE,
          style: 'line',
          points: cumulative(hour.latenciesMs.map((latency) => latency / 1000)),
        },
      ],
    },
  ]
  writeFileSync(new URL(`../${PICTURE}`, import.meta.url), svgOf(panels))
}

/** A bar around the level, as a line up and down. */
function barOf({ level, packs }: Level): [number, number][] {
  return [
    [level - 0.35, 0],
    [level - 0.35, packs],
    [level + 0.35, packs],
    [level + 0.35, 0],
  ]
}

/** A row of dots across those of the packs. */
function medianOf({ level, reduction }: Level): [number, number][] {
  return Array.from({ length: 25 }, (_, i) => [level - 0.36 + 0.03 * i, reduction[1]])
}

/** Beside one another, so that dots do not hide each other. */
function dotsOf({ passes }: Hour['packs'][number], i: number): [number, number][] {
  return passes.map(({ level, seen, kept }) => [level - 0.3 + 0.6 * ((i * 0.618) % 1), 1 - kept / seen])
}
