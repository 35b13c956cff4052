// Data Publication Tracking: a poller that learns when its source publishes. Park and Heidemann, "Low-latency
// Synchronization of Loosely-coupled Sensornet Republishing", ISI-TR-660b, Algorithms 1 and 2.
import { LEAST_MS, Publications, PublicationWindow } from './publication-window.ts'
import type { Chance, Hit, Outcome, Schedule } from './schedule.ts'

/** Aggressive, normal and lazy: DPT-A, -N and -L. */
export type DptVariant = 'aggressive' | 'normal' | 'lazy'

export interface DptOptions {
  /** Whether a second, longer period is learnt and waited for after many misses (section 6.3). */
  readonly bimodal?: boolean
  /** The period that is assumed before two readings were seen: a minute. */
  readonly firstPeriodMs?: number
  /** How a period retry is timed: on the learnt grid, as the text means it, or past it, as Algorithm 2 is printed. */
  readonly nextDelayBias?: 'intended' | 'printed'
  /**
   * Whose deviation is waited for: that of the intervals, as the paper says, in which one missed reading is an outlier
   * that spoils twenty of them; or that of the jitter, where it is none.
   */
  readonly deviationOf?: 'intervals' | 'jitter'
}

/** VARIANT_BIAS and VARIANT_FAST_TRIES of Algorithm 1. */
const VARIANTS = {
  aggressive: { bias: -1, fastTries: 2 },
  normal: { bias: 0, fastTries: 1 },
  lazy: { bias: 1, fastTries: 0 },
} as const

const FIRST_PERIOD_MS = 60_000
/** PERIOD_TRIES: then it is bimodal operation, or a long outage. */
const PERIOD_TRIES = 7
/** DELAY_CAP: the paper's two days. */
const DELAY_CAP_MS = 2 * 86_400_000

/** `retry_mode` with its `retry_count`. */
type Retry =
  | { readonly kind: 'success' }
  | { readonly kind: 'fast'; readonly count: number }
  | { readonly kind: 'period'; readonly count: number }
  | { readonly kind: 'bimodal'; readonly count: number }

/** DPT-A, -N or -L over one source; with `bimodal`, Bimodal DPT. */
export class Dpt implements Schedule {
  readonly #bias: number
  readonly #fastTries: number
  readonly #isBimodal: boolean
  readonly #firstPeriodMs: number
  readonly #isPrinted: boolean
  readonly #random: Chance
  readonly #window: PublicationWindow
  readonly #bimodal = new PublicationWindow()
  readonly #publications = new Publications()
  #retry: Retry = { kind: 'success' }
  /** The last publish time; before the first hit, when polling began. */
  #publishedAt = 0
  #succeededAt = 0
  #delayMs = 0

  constructor(variant: DptVariant, random: Chance, options: DptOptions = {}) {
    this.#bias = VARIANTS[variant].bias
    this.#fastTries = VARIANTS[variant].fastTries
    this.#random = random
    this.#isBimodal = options.bimodal ?? false
    this.#firstPeriodMs = options.firstPeriodMs ?? FIRST_PERIOD_MS
    this.#window = new PublicationWindow(options.deviationOf === 'jitter')
    this.#isPrinted = options.nextDelayBias === 'printed'
  }

  /** The estimated median of publish-to-publish times; the first period before any is known. */
  get #medianMs(): number {
    return this.#window.medianMs ?? this.#firstPeriodMs
  }

  first(now: number): number {
    this.#publishedAt = now
    this.#succeededAt = now
    return now
  }

  next(now: number, outcome: Outcome): number {
    return outcome.kind === 'hit' ? this.#succeed(now, outcome) : Math.max(now + LEAST_MS, this.#fail(now))
  }

  /** Blocks (1) to (4) of Algorithm 1. */
  #succeed(now: number, { publishedAt, more, desynchronisationMs }: Hit): number {
    for (const at of publishedAt) this.#track(at)
    this.#retry = { kind: 'success' }
    this.#succeededAt = now
    const spread = this.#random() * desynchronisationMs
    if (more) return Math.max(now, this.#publishedAt + spread)
    return this.#onGrid(now, 1) + spread
  }

  #track(at: number): void {
    const intervalMs = this.#publications.intervalTo(at)
    if (intervalMs !== undefined) {
      const window = this.#retry.kind === 'bimodal' && this.#isBimodal ? this.#bimodal : this.#window
      window.add(intervalMs)
    }
    this.#retry = { kind: 'success' }
    this.#publishedAt = at
  }

  /** Block (5), Algorithm 2. */
  #fail(now: number): number {
    this.#retry = this.#nextRetry()
    switch (this.#retry.kind) {
      case 'success':
      case 'fast':
        return now + this.#window.deviationMs
      case 'period':
        return this.#isPrinted
          ? this.#printed(now, this.#medianMs)
          : this.#periodRetry(now, this.#retry.count)
      case 'bimodal':
        return this.#bimodalRetry(now, this.#retry.count)
    }
  }

  #nextRetry(): Retry {
    const { kind, count } = { count: 0, ...this.#retry }
    if (kind === 'bimodal') return { kind, count: count + 1 }
    if (kind === 'period') {
      return count < PERIOD_TRIES ? { kind, count: count + 1 } : { kind: 'bimodal', count: 1 }
    }
    if (count < this.#fastTries) return { kind: 'fast', count: count + 1 }
    return { kind: 'period', count: 1 }
  }

  /** Retry k waits for period 2^k after the last publication; the back-off never waits longer than its cap. */
  #periodRetry(now: number, count: number): number {
    const periods = 2 ** count
    const at = this.#onGrid(now, periods)
    if (at - now <= DELAY_CAP_MS || periods === 1) return at
    const within = Math.floor((now + DELAY_CAP_MS - this.#publishedAt) / this.#medianMs)
    return Math.min(this.#onGrid(now, within), now + Math.max(DELAY_CAP_MS, this.#medianMs))
  }

  /** So many periods after the last publication, with the variant's bias; if that is past, the next one that is not. */
  #onGrid(now: number, periods: number): number {
    const offset = this.#publishedAt + this.#bias * this.#window.deviationMs
    const passed = Math.floor((now - offset) / this.#medianMs) + 1
    return offset + Math.max(periods, passed) * this.#medianMs
  }

  /** Waits for the other period, from the last publication on; then for two of it, four, and so on. */
  #bimodalRetry(now: number, count: number): number {
    const bimodalMs = this.#isBimodal ? this.#bimodal.medianMs : undefined
    if (this.#isPrinted) return this.#printed(now, bimodalMs ?? 0)
    if (bimodalMs === undefined) return this.#periodRetry(now, PERIOD_TRIES + count)
    const offset = this.#publishedAt + this.#bias * this.#bimodal.deviationMs
    const passed = Math.floor((now - offset) / bimodalMs) + 1
    const at = offset + Math.max(passed, 2 ** (count - 1)) * bimodalMs
    return Math.min(at, now + Math.max(DELAY_CAP_MS, bimodalMs))
  }

  /** As Algorithm 2 is printed: the time since the last success is added to a delay that already counts from now. */
  #printed(now: number, periodMs: number): number {
    const isFirst = this.#retry.kind === 'success' || this.#retry.count === 1
    if (isFirst) this.#delayMs = periodMs
    else this.#delayMs *= 2
    this.#delayMs = Math.min(Math.max(this.#delayMs, this.#medianMs), DELAY_CAP_MS)
    return now + this.#delayMs + (isFirst ? now - this.#succeededAt : 0)
  }
}
