// All that is learnt of when a source publishes: the last intervals as they were, which hold its period, its jitter, its
// misses and its modes; and behind them a little doubt, that it may miss as often in a row as it never did.
import type { Distribution } from './poll-times.ts'

/** How many intervals are remembered: enough to see misses of one in a hundred, few enough to follow a change. */
const WINDOW = 1_000
/** An interval of more periods than this is an outage, which tells nothing of the next interval. */
export const OUTAGE_PERIODS = 10
/** The weight of the doubt, in intervals, and how much less likely every further miss is. */
const DOUBT = 1
const DOUBT_FALLS = 0.5
/** The doubt has the jitter of the intervals, as so many quantiles. */
const DOUBT_POINTS = 9
/** The doubt changes slowly; it is made again after so many intervals. */
const DOUBT_LASTS = 20

/** The distribution of the next interval, from the last ones. */
export class IntervalDistribution implements Distribution {
  readonly #recent: number[] = []
  readonly #sorted = new Float64Array(WINDOW)
  #oldest = 0
  #doubts: readonly Point[] = []
  #doubtAge = 0
  readonly times = new Float64Array(WINDOW + OUTAGE_PERIODS * DOUBT_POINTS)
  readonly weights = new Float64Array(WINDOW + OUTAGE_PERIODS * DOUBT_POINTS)
  length = 0
  /** The median interval; 0 before the first. */
  medianMs = 0

  /** Takes an interval; the oldest goes when the window is full. Call `settle` before looking. */
  add(intervalMs: number): void {
    const count = this.#recent.length
    if (count < WINDOW) {
      this.#recent.push(intervalMs)
      this.#insert(intervalMs, count)
      return
    }
    this.#remove(this.#recent[this.#oldest]!, count)
    this.#recent[this.#oldest] = intervalMs
    this.#oldest = (this.#oldest + 1) % WINDOW
    this.#insert(intervalMs, count - 1)
  }

  /** Makes the points of what was added. */
  settle(): void {
    const count = this.#recent.length
    this.length = 0
    if (count === 0) return
    this.medianMs = this.#sorted[count >> 1]!
    if (this.#doubtAge-- <= 0) this.#doubt(count)
    const doubts = this.#doubts
    let doubt = 0
    for (let i = 0; i < count && this.#sorted[i]! <= OUTAGE_PERIODS * this.medianMs; i++) {
      for (; doubt < doubts.length && doubts[doubt]!.time < this.#sorted[i]!; doubt++)
        this.#point(doubts[doubt]!.time, doubts[doubt]!.weight)
      this.#point(this.#sorted[i]!, 1)
    }
    for (; doubt < doubts.length; doubt++) this.#point(doubts[doubt]!.time, doubts[doubt]!.weight)
  }

  /** Whether at least three intervals are known, and half of them lie within a tenth of their median. */
  get isRegular(): boolean {
    const count = this.#recent.length
    const low = lowerBound(this.#sorted, count, 0.9 * this.medianMs, false)
    const high = lowerBound(this.#sorted, count, 1.1 * this.medianMs, true)
    return count >= 3 && high - low >= count / 2
  }

  /** The index of the first point after a time; `length` if there is none. */
  after(time: number): number {
    return lowerBound(this.times, this.length, time, true)
  }

  #point(time: number, weight: number): void {
    if (this.length > 0 && this.times[this.length - 1]! >= time) this.weights[this.length - 1]! += weight
    else {
      this.times[this.length] = time
      this.weights[this.length++] = weight
    }
  }

  /** Misses in a row that were not seen: the jitter of single intervals, so many periods later. */
  #doubt(count: number): void {
    this.#doubtAge = Math.min(DOUBT_LASTS, count)
    const single = lowerBound(this.#sorted, count, 1.5 * this.medianMs, true)
    const quantiles = Array.from({ length: DOUBT_POINTS }, (_, q) => {
      return this.#sorted[Math.floor(((q + 0.5) / DOUBT_POINTS) * single)]!
    })
    this.#doubts = Array.from({ length: OUTAGE_PERIODS - 1 }, (_, misses) => {
      const weight = (DOUBT * DOUBT_FALLS ** (misses + 1)) / DOUBT_POINTS
      return quantiles.map((time) => ({ time: time + (misses + 1) * this.medianMs, weight }))
    })
      .flat()
      .sort((a, b) => a.time - b.time)
  }

  #insert(value: number, count: number): void {
    const at = lowerBound(this.#sorted, count, value, false)
    this.#sorted.copyWithin(at + 1, at, count)
    this.#sorted[at] = value
  }

  #remove(value: number, count: number): void {
    const at = lowerBound(this.#sorted, count, value, false)
    this.#sorted.copyWithin(at, at + 1, count)
  }
}

interface Point {
  readonly time: number
  readonly weight: number
}

/** The first of `count` ascending values that is not below (or, `isAfter`, that is above) the given one. */
function lowerBound(values: Float64Array, count: number, value: number, isAfter: boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < value || (isAfter && values[middle] === value)) low = middle + 1
    else high = middle
  }
  return low
}
