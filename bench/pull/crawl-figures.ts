// EasiCrawl's Figures 4 to 9, with sensors that sleep at random.
import {
  type CrawlMethod,
  type CrawlProblem,
  type Sensor,
  solveCrawl,
} from '../../endpoints/pull/crawl-budget.ts'
import { OptimalPlans } from '../../endpoints/pull/crawl-plan.ts'
import { Timeline, type Window } from '../../endpoints/pull/crawl-timeline.ts'
import { mean } from '../../endpoints/pull/publication-window.ts'
import { seeded } from '../../policies/chance.ts'
import { cumulative, type Figure, rounded, seriesOf } from './figure.ts'

/** Sensors with rates from 0 to 1 and random sleep plans, as in the paper's simulations. */
function sensorsOf(count: number, horizon: number, seed: number): Sensor[] {
  const random = seeded(seed)
  return Array.from({ length: count }, (_, i) => {
    const awake: Window[] = []
    for (let at = random() * 20; at < horizon; at += 5 + random() * 30) {
      const to = Math.min(horizon, at + 10 + random() * 30)
      awake.push([at, to])
      at = to
    }
    return { id: `${i}`, rate: random(), weight: 1, maxCrawls: horizon, awake }
  })
}

function problemOf(count: number, horizon: number, step: number, budget: number, seed: number): CrawlProblem {
  return { horizon, step, budget, sensors: sensorsOf(count, horizon, seed) }
}

/** How often a problem is solved for its time: the shortest counts, whatever else the machine does. */
const REPEATS = [1, 2, 3, 4, 5]

function timed(work: () => unknown): number {
  const began = performance.now()
  work()
  return performance.now() - began
}

/** The mean over problems, and how long one took in milliseconds. */
function solved(problems: readonly CrawlProblem[], method: CrawlMethod) {
  const solve = () => problems.map((problem, i) => solveCrawl(problem, method, seeded(i + 1)).expectedLatency)
  const latencies = solve()
  const ms = Math.min(...REPEATS.map(() => timed(solve))) / problems.length
  return { latency: mean(latencies), lowest: Math.min(...latencies), highest: Math.max(...latencies), ms }
}

const SEEDS = [1, 2, 3, 4, 5]

/** Figure 4: by the number of sensors, five crawls each. */
export function crawlFigure4(small: boolean): Figure {
  const counts = small ? [10] : [10, 20, 50, 100, 150, 200]
  const rows = counts.map((sensors) => {
    const problems = SEEDS.map((seed) => problemOf(sensors, 200, 2, 5 * sensors, seed))
    const [dp, random] = [solved(problems, 'dp'), solved(problems, 'random')]
    return {
      sensors,
      dp: rounded(dp.latency, 0),
      'dp lowest': rounded(dp.lowest, 0),
      'dp highest': rounded(dp.highest, 0),
      random: rounded(random.latency, 0),
      'random lowest': rounded(random.lowest, 0),
      'random highest': rounded(random.highest, 0),
      'random, of dp': rounded(random.latency / dp.latency),
    }
  })
  const line = (of: (row: (typeof rows)[number]) => number) =>
    rows.map((row) => [row.sensors, of(row)] as const)
  const lines = {
    EasiCrawl: line((row) => row.dp),
    'EasiCrawl, highest': line((row) => row['dp highest']),
    RandomCrawl: line((row) => row.random),
    'RandomCrawl, lowest': line((row) => row['random lowest']),
  }
  return figure(4, 'expected latency by sensors, five crawls each', 'sensors', rows, lines)
}

/** Figure 5: by the budget, ten sensors. */
export function crawlFigure5(small: boolean): Figure {
  const budgets = small
    ? [10, 50]
    : Array.from({ length: 21 }, (_, i) => 10 + 2 * i).concat([75, 100, 150, 200])
  const rows = budgets.map((budget) => {
    const problems = SEEDS.map((seed) => problemOf(10, 200, 2, budget, seed))
    const [dp, random] = [solved(problems, 'dp').latency, solved(problems, 'random').latency]
    return { budget, dp: rounded(dp, 0), random: rounded(random, 0), 'random, of dp': rounded(random / dp) }
  })
  const lines = {
    EasiCrawl: rows.map((row) => [row.budget, row.dp] as const),
    RandomCrawl: rows.map((row) => [row.budget, row.random] as const),
  }
  return figure(5, 'expected latency by budget, ten sensors', 'crawls in all', rows, lines)
}

/** Figures 6 and 7: latency and time by discretization step, and by time range. */
export function crawlFigure6(small: boolean): Figure {
  const steps = small ? [5, 20] : Array.from({ length: 20 }, (_, i) => i + 1)
  const rows = steps.map((step) => {
    const { latency, ms } = solved(
      SEEDS.map((seed) => problemOf(10, 500, step, 100, seed)),
      'dp',
    )
    return { step, latency: rounded(latency, 0), ms: rounded(ms) }
  })
  const points = rows.map(({ step, latency, ms }) => [step, latency, ms] as const)
  return latencyAndTime(6, 'expected latency and time by step, T = 500, 100 crawls', 'step', rows, points)
}

export function crawlFigure7(small: boolean): Figure {
  const ranges = small ? [50, 200] : [50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
  const rows = ranges.map((range) => {
    const { latency, ms } = solved(
      SEEDS.map((seed) => problemOf(10, range, 1, 30, seed)),
      'dp',
    )
    return { range, latency: rounded(latency, 0), ms: rounded(ms) }
  })
  const points = rows.map(({ range, latency, ms }) => [range, latency, ms] as const)
  return latencyAndTime(7, 'expected latency and time by range, 30 crawls', 'T', rows, points)
}

/** Figure 8: dp, half of the sensors greedy, greedy, random. */
export function crawlFigure8(small: boolean): Figure {
  const counts = small ? [10] : [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
  const rows = counts.map((sensors) => {
    const problems = SEEDS.map((seed) => problemOf(sensors, 200, 2, 5 * sensors, seed))
    const half = problems.map((problem) => halfGreedy(problem))
    return {
      sensors,
      dp: rounded(solved(problems, 'dp').latency, 0),
      'half greedy': rounded(mean(half), 0),
      greedy: rounded(solved(problems, 'greedy').latency, 0),
      random: rounded(solved(problems, 'random').latency, 0),
    }
  })
  const line = (name: 'dp' | 'half greedy' | 'greedy' | 'random') =>
    rows.map((row) => [row.sensors, row[name]] as const)
  return figure(8, 'expected latency by method, five crawls each', 'sensors', rows, {
    dp: line('dp'),
    'half greedy': line('half greedy'),
    greedy: line('greedy'),
    random: line('random'),
  })
}

function halfGreedy(problem: CrawlProblem): number {
  const of = (isFirst: boolean, method: CrawlMethod) => {
    const sensors = problem.sensors.filter((_, i) => i % 2 === (isFirst ? 0 : 1))
    return solveCrawl({ ...problem, sensors, budget: 5 * sensors.length }, method, seeded(1)).expectedLatency
  }
  return of(true, 'dp') + of(false, 'greedy')
}

/** Figure 9: how many exchanges the paper's method needs from an even division on; giving needs budget - sensors steps. */
export function crawlFigure9(small: boolean): Figure {
  const runs = small ? 5 : 200
  const results = [50, 100].map((budget) => {
    const exchanges = Array.from({ length: runs }, (_, i) =>
      exchangesOf(problemOf(10, 400, 4, budget, i + 1)),
    )
    return { budget, exchanges }
  })
  const rows = results.map(({ budget, exchanges }) => ({
    budget,
    'mean exchanges': rounded(mean(exchanges), 1),
    fewest: Math.min(...exchanges),
    most: Math.max(...exchanges),
    'steps of giving': budget - 10,
  }))
  const lines = Object.fromEntries(
    results.map(({ budget, exchanges }) => [`${budget} crawls`, cumulative(exchanges)]),
  )
  return {
    ...figure(9, 'exchanges until nothing improves, T = 400', 'exchanges', rows, lines, 'share of runs'),
  }
}

/** The paper's Algorithm 1: moves one crawl at a time between the pair of sensors that gains most. */
function exchangesOf({ sensors, step, horizon, budget }: CrawlProblem): number {
  const plans = sensors.map(({ awake }) => new OptimalPlans(new Timeline(awake, { step, horizon })))
  const crawls = sensors.map(() => Math.floor(budget / sensors.length))
  const latency = (i: number, n: number) => sensors[i]!.rate * plans[i]!.latency(n)
  for (let exchanges = 0; ; exchanges++) {
    const gains = sensors.map((_, i) =>
      crawls[i]! < plans[i]!.most ? latency(i, crawls[i]!) - latency(i, crawls[i]! + 1) : 0,
    )
    const losses = sensors.map((_, i) =>
      crawls[i]! > 1 ? latency(i, crawls[i]! - 1) - latency(i, crawls[i]!) : Infinity,
    )
    const to = gains.indexOf(Math.max(...gains))
    const from = losses.indexOf(Math.min(...losses))
    if (gains[to]! - losses[from]! <= 1e-9 || to === from) return exchanges
    crawls[to]!++
    crawls[from]!--
  }
}

/** 10,000 candidates and 200 crawls. */
export function crawlSpeed(): Figure {
  const awake = Array.from({ length: 100 }, (_, i): Window => [i * 200, i * 200 + 100])
  const timeline = new Timeline(awake, { step: 1, horizon: 20_000 })
  const times = REPEATS.map(() => timed(() => new OptimalPlans(timeline).plan(200)))
  const rows = [{ candidates: timeline.times.length, crawls: 200, ms: rounded(Math.min(...times), 0) }]
  return { name: 'crawl-speed', title: 'The dynamic programme (aim: under a second)', rows, panels: [] }
}

/** Expected latency above, the time of planning below. */
function latencyAndTime(
  number: number,
  title: string,
  x: string,
  rows: readonly object[],
  points: readonly (readonly [x: number, latency: number, ms: number])[],
): Figure {
  const lines = { EasiCrawl: points.map(([at, latency]) => [at, latency] as const) }
  const { panels, ...rest } = figure(number, title, x, rows, lines)
  const time = { 'dynamic programme': points.map(([at, , ms]) => [at, ms] as const) }
  return { ...rest, panels: [...panels, { title: 'time', x, y: 'ms', series: seriesOf('line', time) }] }
}

function figure(
  number: number,
  title: string,
  x: string,
  rows: readonly object[],
  lines: Readonly<Record<string, readonly (readonly [number, number])[]>>,
  y = 'expected latency',
): Figure {
  const panel = { title: `EasiCrawl, Figure ${number}`, x, y, series: seriesOf('line', lines) }
  return { name: `crawl-${number}`, title: `EasiCrawl: ${title}`, rows, panels: [panel] }
}
