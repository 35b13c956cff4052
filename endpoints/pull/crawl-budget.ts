// How many crawls each sensor gets of a total budget. EasiCrawl section IV.A. The optimum of one sensor is convex in its
// crawls for any sleep plan, so giving each crawl to the sensor that gains most by it is exact; the paper exchanges
// crawls between pairs of sensors until nothing improves.
import { greedyPlan, OptimalPlans, randomPlan } from './crawl-plan.ts'
import { Timeline, type Window } from './crawl-timeline.ts'
import type { Chance } from './schedule.ts'

export interface Sensor {
  readonly id: string
  /** Events in a unit of time while it is awake. */
  readonly rate: number
  /** How much its latency counts. */
  readonly weight: number
  /** gamma: how often it may be crawled at most. */
  readonly maxCrawls: number
  readonly awake: readonly Window[]
}

export interface CrawlProblem {
  /** T: crawls lie between 0 and this. */
  readonly horizon: number
  /** epsilon: candidate times are multiples of it. */
  readonly step: number
  /** theta: crawls of all sensors together. */
  readonly budget: number
  readonly sensors: readonly Sensor[]
}

export type CrawlMethod = 'dp' | 'greedy' | 'random'

export interface SensorPlan {
  readonly id: string
  readonly crawls: readonly number[]
  /** The expected sum of the latencies of its events. */
  readonly expectedLatency: number
}

export interface CrawlSolution {
  readonly sensors: readonly SensorPlan[]
  /** The weighted sum. */
  readonly expectedLatency: number
}

/** Solves a problem; throws a RangeError when the budget is below one crawl for each sensor, or a sensor never wakes. */
export function solveCrawl(problem: CrawlProblem, method: CrawlMethod, random: Chance): CrawlSolution {
  const { sensors, budget } = problem
  const timelines = sensors.map((sensor) => timelineOf(sensor, problem))
  if (budget < sensors.length)
    throw new RangeError(`a budget of ${budget} is below one crawl for each of ${sensors.length} sensors`)
  const plans = plansOf(problem, timelines, method, random)
  const solved = sensors.map(({ id, rate }, i) => {
    const crawls = plans[i]!.map((candidate) => timelines[i]!.times[candidate]!)
    return { id, crawls, expectedLatency: rate * timelines[i]!.latencyOf(plans[i]!) }
  })
  const expectedLatency = solved.reduce((sum, plan, i) => sum + sensors[i]!.weight * plan.expectedLatency, 0)
  return { sensors: solved, expectedLatency }
}

function plansOf(
  { sensors, budget }: CrawlProblem,
  timelines: readonly Timeline[],
  method: CrawlMethod,
  random: Chance,
): number[][] {
  if (method === 'dp') {
    const plans = timelines.map((timeline) => new OptimalPlans(timeline))
    const crawls = allocate(sensors, plans, budget)
    return plans.map((one, i) => one.plan(crawls[i]!))
  }
  if (method === 'greedy') {
    // Evenly crawled, a sensor's latency falls with one over its crawls.
    const gain = ({ weight, rate }: Sensor, awake: number, crawls: number) =>
      (weight * rate * awake * awake) / (crawls * (crawls + 1))
    const crawls = divide(sensors, timelines, budget, gain)
    return timelines.map((timeline, i) => greedyPlan(timeline, crawls[i]!))
  }
  // The paper's arrangement to begin with, which its RandomCrawl keeps: in proportion to weight and awake time.
  const crawls = divide(sensors, timelines, budget, ({ weight }, awake, given) => (weight * awake) / given)
  return timelines.map((timeline, i) => randomPlan(timeline, crawls[i]!, random))
}

function timelineOf({ id, awake }: Sensor, { step, horizon }: CrawlProblem): Timeline {
  const timeline = new Timeline(awake, { step, horizon })
  if (timeline.times.length === 0) throw new RangeError(`sensor ${id} is never awake before ${horizon}`)
  return timeline
}

/** What `allocate` needs of a sensor. */
export type Share = Pick<Sensor, 'rate' | 'weight' | 'maxCrawls'>

/** Crawls for each sensor: one at least, then each to the one whose weighted latency falls most by it. */
export function allocate(
  sensors: readonly Share[],
  plans: readonly OptimalPlans[],
  budget: number,
): number[] {
  return give(sensors, budget, (i, crawls) => {
    const { rate, weight, maxCrawls } = sensors[i]!
    if (crawls >= Math.min(maxCrawls, plans[i]!.most)) return 0
    return weight * rate * (plans[i]!.latency(crawls) - plans[i]!.latency(crawls + 1))
  })
}

/** Crawls for each sensor without looking at plans: by what awake time and the crawls so far promise. */
function divide(
  sensors: readonly Sensor[],
  timelines: readonly Timeline[],
  budget: number,
  gain: (sensor: Sensor, awake: number, crawls: number) => number,
): number[] {
  return give(sensors, budget, (i, crawls) => {
    const { times, awake } = timelines[i]!
    return crawls >= Math.min(sensors[i]!.maxCrawls, times.length)
      ? 0
      : gain(sensors[i]!, awake.at(-1)!, crawls)
  })
}

/** One crawl for each, then one at a time to the largest gain, until the budget or what can be gained is used up. */
function give(
  sensors: readonly Share[],
  budget: number,
  gainOf: (i: number, crawls: number) => number,
): number[] {
  const crawls = sensors.map(() => 1)
  const gains = sensors.map((_, i) => gainOf(i, 1))
  for (let left = budget - sensors.length; left > 0; left--) {
    const best = gains.indexOf(Math.max(...gains))
    if (best < 0 || !(gains[best]! > 0)) break
    gains[best] = gainOf(best, ++crawls[best]!)
  }
  return crawls
}
