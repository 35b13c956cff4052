// When to crawl one sensor: the optimal plan by dynamic programming, the greedy one, a random one. EasiCrawl section
// IV. A plan with n crawls always has the last awake instant, so that every event is fetched.
import type { Timeline } from './crawl-timeline.ts'
import { LowerHull } from './lower-hull.ts'
import type { Chance } from './schedule.ts'

/** Memory for what a dynamic programme remembers: crawls times candidates, 4 bytes each. */
const CELLS_LIMIT = 100_000_000

/**
 * The optimal plans. The cost of going from one crawl to the next is a product of the later time and the earlier awake
 * time, and parts of each alone; so the predecessors are lines, and their lower hull gives every layer in O(m): O(n m) for
 * n crawls and m candidates, where the paper has O(n m^2). A layer is made when it is first asked for. Latencies are for a
 * rate of one event in a unit of time.
 */
export class OptimalPlans {
  readonly #timeline: Timeline
  readonly #hull: LowerHull
  /** By crawls: the predecessor of each candidate, when that is the last of so many crawls. */
  readonly #before: Int32Array[] = []
  /** By crawls. */
  readonly #latencies: number[] = []
  #costs: Float64Array

  constructor(timeline: Timeline) {
    this.#timeline = timeline
    this.#hull = new LowerHull(timeline.times.length)
    const { times, awake, moments } = timeline
    this.#costs = times.map((time, i) => time * awake[i]! - moments[i]!)
    this.#before.push(new Int32Array(0), new Int32Array(0))
    this.#latencies.push(Number.POSITIVE_INFINITY, this.#costs.at(-1) ?? 0)
  }

  /** How many crawls make sense: the number of candidate times. */
  get most(): number {
    return this.#timeline.times.length
  }

  /** The expected sum of latencies with so many crawls, at least one. */
  latency(crawls: number): number {
    while (this.#latencies.length <= crawls) this.#addLayer()
    return this.#latencies[crawls]!
  }

  /** The candidates, by index and ascending, of the best plan with so many crawls. */
  plan(crawls: number): number[] {
    this.latency(crawls)
    const plan: number[] = []
    for (let at = this.most - 1, left = crawls; left > 0; at = this.#before[left--]?.[at] ?? 0) plan.push(at)
    return plan.reverse()
  }

  /** The costs with one crawl more, and from where each comes. */
  #addLayer(): void {
    const crawls = this.#latencies.length
    const { times, awake, moments } = this.#timeline
    if (crawls * times.length > CELLS_LIMIT)
      throw new RangeError(
        `${crawls} crawls of ${times.length} candidate times are too many; take a larger step`,
      )
    const costs = new Float64Array(times.length).fill(Number.POSITIVE_INFINITY)
    const before = new Int32Array(times.length)
    this.#hull.clear()
    for (let i = crawls - 1; i < times.length; i++) {
      this.#hull.add(-awake[i - 1]!, this.#costs[i - 1]! + moments[i - 1]!, i - 1)
      before[i] = this.#hull.lowest(times[i]!)
      costs[i] = this.#hull.valueAt(times[i]!) + times[i]! * awake[i]! - moments[i]!
    }
    this.#costs = costs
    this.#before.push(before)
    this.#latencies.push(costs.at(-1) ?? 0)
  }
}

/**
 * The greedy plan, in one pass: with no more crawls than windows, the ends of evenly chosen windows; with more, the ends of
 * all, and the rest divides the longest stretches.
 */
export function greedyPlan(timeline: Timeline, crawls: number): number[] {
  const ends = timeline.windows.map(([, to]) => indexOf(timeline, to))
  const windows = ends.length
  if (crawls > windows) return spread(timeline, ends, crawls - windows)
  return Array.from({ length: crawls }, (_, k) => ends[Math.ceil(((k + 1) * windows) / crawls) - 1]!)
}

/** Each crawl more goes to the window whose stretches are the longest; a window's crawls divide it evenly. */
function spread(timeline: Timeline, ends: readonly number[], rest: number): number[] {
  const { windows } = timeline
  const parts = windows.map(() => 1)
  for (let left = rest; left > 0; left--) {
    const stretches = windows.map(([from, to], w) => (to - from) / parts[w]!)
    parts[stretches.indexOf(Math.max(...stretches))]!++
  }
  const chosen = new Set(ends)
  for (const [w, [from, to]] of windows.entries())
    for (let part = 1; part < parts[w]!; part++)
      chosen.add(indexOf(timeline, from + ((to - from) * part) / parts[w]!))
  return [...chosen].sort((a, b) => a - b)
}

/** The candidate nearest to a time. */
function indexOf({ times }: Timeline, time: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (times[middle]! < time) low = middle + 1
    else high = middle
  }
  if (low === 0) return 0
  if (low === times.length) return times.length - 1
  return times[low]! - time <= time - times[low - 1]! ? low : low - 1
}

/** A random plan: the last candidate, and others with equal chance. */
export function randomPlan({ times }: Timeline, crawls: number, random: Chance): number[] {
  const others = Array.from({ length: times.length - 1 }, (_, i) => i)
  const wanted = Math.min(crawls - 1, others.length)
  for (let i = 0; i < wanted; i++) {
    const other = i + Math.floor(random() * (others.length - i))
    const swapped = others[i]!
    others[i] = others[other]!
    others[other] = swapped
  }
  return [...others.slice(0, wanted).sort((a, b) => a - b), times.length - 1]
}
