// A sensor that is awake only in given windows, and what it costs to crawl it at given times. Meng, Chen, Huang and Li,
// "EasiCrawl: A Sleep-aware Schedule Method for Crawling IoT Sensors", sections III and appendix A.
//
// Events are a Poisson process while the sensor is awake. The sum of their latencies has the expectation rate times the
// integral, over awake time, of the wait until the next crawl: what is here. The paper's equations (5) and (6)
// are not that expectation (ARCHITECTURE.md, "Pull").

/** From and to, in any unit of time. */
export type Window = readonly [from: number, to: number]

/** How many candidate times a sensor may have; a plan needs memory for each of them and each crawl. */
const CANDIDATES_LIMIT = 1_000_000
/** Of a step: what is closer is the same time. */
const ROUNDING = 1e-9

export interface TimelineOptions {
  /** Candidate times are the multiples of this that lie in a window, and the end of each window. */
  readonly step: number
  readonly horizon: number
  /** The last crawl: what happened before it waits no more. 0 if not given. */
  readonly crawledAt?: number
  /** There are no candidates at or before this; the last crawl if not given. */
  readonly now?: number
}

/** The candidate times of one sensor with what was awake before each. */
export class Timeline {
  /** The windows in order, without overlaps, cut to what lies between the last crawl and the horizon. */
  readonly windows: readonly Window[]
  /** Ascending; the last is the last awake instant. */
  readonly times: Float64Array
  /** Awake time since the last crawl, before each candidate; and the integral of time over it. */
  readonly awake: Float64Array
  readonly moments: Float64Array

  constructor(
    windows: readonly Window[],
    { step, horizon, crawledAt = 0, now = crawledAt }: TimelineOptions,
  ) {
    if (!(step > 0)) throw new RangeError(`a step is above 0, got ${step}`)
    this.windows = disjoint(windows, crawledAt, horizon)
    const times = candidatesOf(this.windows, step).filter((time) => time > now)
    this.times = Float64Array.from(times)
    this.awake = new Float64Array(times.length)
    this.moments = new Float64Array(times.length)
    this.#integrate()
  }

  #integrate(): void {
    let window = 0
    let awake = 0
    let moment = 0
    for (const [i, time] of this.times.entries()) {
      while (window < this.windows.length && this.windows[window]![1] <= time) {
        const [from, to] = this.windows[window++]!
        awake += to - from
        moment += (to * to - from * from) / 2
      }
      const from = Math.min(time, this.windows[window]?.[0] ?? time)
      this.awake[i] = awake + time - from
      this.moments[i] = moment + (time * time - from * from) / 2
    }
  }

  /** The expected sum of latencies, for a rate of one event in a unit of time, of crawls at these candidates, ascending. */
  latencyOf(candidates: readonly number[]): number {
    let sum = 0
    let [awake, moment] = [0, 0]
    for (const i of candidates) {
      sum += this.times[i]! * (this.awake[i]! - awake) - (this.moments[i]! - moment)
      awake = this.awake[i]!
      moment = this.moments[i]!
    }
    return sum
  }
}

function disjoint(windows: readonly Window[], from: number, to: number): Window[] {
  const cut = windows
    .map(([start, end]): [number, number] => [Math.max(start, from), Math.min(end, to)])
    .filter(([start, end]) => start < end)
    .sort(([a], [b]) => a - b)
  const result: [number, number][] = []
  for (const [start, end] of cut) {
    const last = result.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}

function candidatesOf(windows: readonly Window[], step: number): number[] {
  const times: number[] = []
  for (const [from, to] of windows) {
    const first = Math.ceil(from / step)
    if (times.length + (to - from) / step > CANDIDATES_LIMIT)
      throw new RangeError(`more than ${CANDIDATES_LIMIT} candidate times; take a larger step`)
    // A multiple that is the end but for rounding is no candidate beside it.
    for (let multiple = first; multiple * step < to - ROUNDING * step; multiple++) times.push(multiple * step)
    times.push(to)
  }
  return times
}
