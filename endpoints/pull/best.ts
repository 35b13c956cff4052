// A better schedule than DPT: it learns the whole distribution of the intervals and polls at the times that minimise
// the expected latency at a price for every empty poll; the price follows from how many of them are allowed.
import { type Allowance, LazyAllowance, ShareAllowance } from './allowance.ts'
import { IntervalDistribution, OUTAGE_PERIODS } from './interval-distribution.ts'
import { pollTimes } from './poll-times.ts'
import { LEAST_MS, Publications } from './publication-window.ts'
import type { Chance, Hit, Outcome, Schedule } from './schedule.ts'

export interface BestOptions {
  /** The share of polls that may be empty, above 0 and below 1; without it, as many as DPT-L would have. */
  readonly emptyShare?: number
  /** The period that is assumed before two readings were seen: a minute. */
  readonly firstPeriodMs?: number
}

const FIRST_PERIOD_MS = 60_000
/** What an empty poll costs in the beginning, and at least and at most, in periods of latency. */
const PRICE_PERIODS = 2
const LEAST_PRICE_PERIODS = 1e-4
const MOST_PRICE_PERIODS = 30
/** Each empty poll beyond the allowance raises the price by so much: soon enough, and not nervous. */
const PRICE_RISE = 0.1
/** A little of the allowance is kept back, so that at every time it is kept. */
const SPENT = 0.97
/** As DPT's DELAY_CAP. */
const LONGEST_GAP_MS = 2 * 86_400_000

/** Polls when it is worth it: latency against empty polls, under the learnt distribution of intervals. */
export class Best implements Schedule {
  readonly #firstPeriodMs: number
  readonly #random: Chance
  readonly #allowance: Allowance
  readonly #intervals = new IntervalDistribution()
  /** The outages: where they come as regularly as readings (a source that batches by day), they are waited for. */
  readonly #outages = new IntervalDistribution()
  #polls: Int32Array = new Int32Array(0)
  #outagePolls: Int32Array = new Int32Array(0)
  readonly #publications = new Publications()
  #publishedAt = 0
  #misses = 0
  #priceMs = 0

  constructor(random: Chance, { emptyShare, firstPeriodMs = FIRST_PERIOD_MS }: BestOptions = {}) {
    this.#random = random
    this.#firstPeriodMs = firstPeriodMs
    this.#allowance =
      emptyShare === undefined ? new LazyAllowance(firstPeriodMs) : new ShareAllowance(emptyShare)
  }

  get #periodMs(): number {
    return this.#intervals.medianMs || this.#firstPeriodMs
  }

  first(now: number): number {
    this.#publishedAt = now
    return now
  }

  next(now: number, outcome: Outcome): number {
    if (outcome.kind === 'hit') return this.#succeed(now, outcome)
    this.#misses++
    this.#allowance.known(now, [], false)
    this.#setPrice()
    return Math.max(now + LEAST_MS, this.#after(now))
  }

  #succeed(now: number, { publishedAt, more, desynchronisationMs }: Hit): number {
    for (const at of publishedAt) this.#track(at)
    this.#allowance.known(now, publishedAt, more)
    const spread = this.#random() * desynchronisationMs
    if (more) return Math.max(now, this.#publishedAt + spread)
    this.#intervals.settle()
    this.#setPrice()
    this.#polls = pollTimes(this.#intervals, this.#priceMs, 0)
    this.#outages.settle()
    this.#outagePolls = pollTimes(this.#outages, this.#priceMs, 0)
    return this.#after(now) + spread
  }

  #track(at: number): void {
    const interval = this.#publications.intervalTo(at)
    if (interval !== undefined) {
      this.#intervals.add(interval)
      if (this.#intervals.length > 0 && interval > OUTAGE_PERIODS * this.#periodMs)
        this.#outages.add(interval)
    }
    this.#publishedAt = at
  }

  /** Proportional control: the more was spent beyond the allowance, the dearer an empty poll. */
  #setPrice(): void {
    const excess = this.#misses - SPENT * this.#allowance.misses
    const periods = PRICE_PERIODS * Math.exp(PRICE_RISE * excess)
    this.#priceMs = this.#periodMs * Math.min(MOST_PRICE_PERIODS, Math.max(LEAST_PRICE_PERIODS, periods))
  }

  #after(now: number): number {
    const elapsed = now - this.#publishedAt
    const point = this.#intervals.after(elapsed)
    if (point === this.#intervals.length) return this.#inOutage(now, elapsed)
    return this.#publishedAt + this.#intervals.times[this.#polls[point]!]!
  }

  /**
   * An outage that has lasted so long ends in the next second with a chance of one in twice that long (durations
   * without a scale), so that a gap of 2 sqrt(price * elapsed) is where waiting costs as much as polling. It ends
   * on the learnt grid, as polls that were only missed do.
   */
  #inOutage(now: number, elapsed: number): number {
    const outage = this.#outages.isRegular ? this.#outages.after(elapsed) : this.#outages.length
    if (outage < this.#outages.length)
      return this.#publishedAt + this.#outages.times[this.#outagePolls[outage]!]!
    const periodMs = this.#periodMs
    const gapMs = Math.min(LONGEST_GAP_MS, Math.max(periodMs, 2 * Math.sqrt(this.#priceMs * elapsed)))
    const lateMs = this.#intervals.length > 0 ? this.#intervals.times[this.#polls[0]!]! - periodMs : 0
    const periods = Math.ceil((elapsed + gapMs - lateMs) / periodMs)
    return Math.max(now, this.#publishedAt + lateMs + periods * periodMs)
  }
}
