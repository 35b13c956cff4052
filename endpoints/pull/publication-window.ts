// What DPT knows of a stream: the last publish-to-publish times, their median and deviation (DPT section 6.1).

/** How many intervals are remembered: the paper's 20. */
export const WINDOW_INTERVALS = 20
/** Readings within so long of the first of them are one publication: a burst tells nothing of the period. */
const TOGETHER_MS = 1_000
/** Delays and deviations are at least this; streams are tracked to the second (DPT section 6.1). */
export const LEAST_MS = 1_000

/** The intervals between publications; a source that publishes all the time has one in every `TOGETHER_MS`. */
export class Publications {
  #beganAt: number | undefined

  /** The interval that ends with a reading; undefined for the first one, and within a publication. Times ascend. */
  intervalTo(at: number): number | undefined {
    const intervalMs = this.#beganAt === undefined ? undefined : at - this.#beganAt
    if (intervalMs !== undefined && intervalMs < TOGETHER_MS) return undefined
    this.#beganAt = at
    return intervalMs
  }
}

/** The last intervals; `medianMs` is undefined before the first. */
export class PublicationWindow {
  readonly #isOfJitter: boolean
  readonly #intervals: number[] = []
  #medianMs: number | undefined
  #deviationMs = LEAST_MS

  /** The deviation is that of the intervals, or only of their distances from whole periods. */
  constructor(isOfJitter = false) {
    this.#isOfJitter = isOfJitter
  }

  get medianMs(): number | undefined {
    return this.#medianMs
  }

  /** The population's standard deviation, at least a second. */
  get deviationMs(): number {
    return this.#deviationMs
  }

  /** Takes an interval; the oldest goes when the window is full. */
  add(intervalMs: number): void {
    this.#intervals.push(intervalMs)
    if (this.#intervals.length > WINDOW_INTERVALS) this.#intervals.shift()
    this.#medianMs = Math.max(LEAST_MS, median(this.#intervals))
    const periodMs = this.#medianMs
    const values = this.#isOfJitter
      ? this.#intervals.map((interval) => interval - Math.max(1, Math.round(interval / periodMs)) * periodMs)
      : this.#intervals
    this.#deviationMs = Math.max(LEAST_MS, deviation(values))
  }
}

/** The median; of an even number the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The mean. */
export function mean(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value
  return sum / values.length
}

/** The standard deviation of a population. */
export function deviation(values: readonly number[]): number {
  const centre = mean(values)
  let sum = 0
  for (const value of values) sum += (value - centre) ** 2
  return Math.sqrt(sum / values.length)
}
