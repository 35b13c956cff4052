// Active control of updates: how often a receiver asks whether it missed something. Bogoiavlenskaia, Korzun and
// Kulakov, "Random Backoff for Active Control of Information Updates in Smart Spaces", FRUCT 24: AST + RBT. A hit is
// a loss that was found, a miss says that nothing was lost; an answer of overload, or a slow one, is a collision.
import type { Chance, Outcome, Schedule } from './schedule.ts'

/** The four levels: no checks; checks at a random timeout; adaptive (AST); adaptive with random back-off (AST + RBT). */
export type ActiveControlLevel = 'none' | 'basic' | 'adaptive' | 'active'

export interface ActiveControlOptions {
  /** The timeout in the beginning, and for `basic` on average: a minute. */
  readonly timeoutMs?: number
  /** AST stays within these: a second and an hour. */
  readonly minMs?: number
  readonly maxMs?: number
  /** delta, added to the timeout after a check that found no loss: 10 s. */
  readonly deltaMs?: number
  /** The back-off without a collision: a second. It grows to at most `backoffMaxMs`, ten minutes. */
  readonly backoffMs?: number
  readonly backoffMaxMs?: number
}

/** A loss divides the timeout by alpha, as in TCP. */
const ALPHA = 2
/** A collision multiplies the back-off by beta. */
const BETA = 2
/** A response slower than so many times the average is a collision. */
const SLOW = 4
/** How fast the average response follows; as TCP's round-trip estimate. */
const RESPONSE_GAIN = 1 / 8
/** The random part has a deviation of so much of the back-off. */
const SPREAD = 0.5

/** A check's timeouts: t = t_ast + t_rbt. */
export class ActiveControl implements Schedule {
  readonly #level: ActiveControlLevel
  readonly #random: Chance
  readonly #minMs: number
  readonly #maxMs: number
  readonly #deltaMs: number
  readonly #backoffStartMs: number
  readonly #backoffMaxMs: number
  #astMs: number
  #rbtMs: number
  #averageResponseMs: number | undefined

  constructor(level: ActiveControlLevel, random: Chance, options: ActiveControlOptions = {}) {
    this.#level = level
    this.#random = random
    this.#minMs = options.minMs ?? 1_000
    this.#maxMs = options.maxMs ?? 3_600_000
    this.#deltaMs = options.deltaMs ?? 10_000
    this.#backoffStartMs = options.backoffMs ?? 1_000
    this.#backoffMaxMs = options.backoffMaxMs ?? 600_000
    this.#astMs = options.timeoutMs ?? 60_000
    this.#rbtMs = this.#backoffStartMs
  }

  first(now: number): number {
    return now + this.#timeoutMs()
  }

  next(now: number, outcome: Outcome): number {
    const isCollision = this.#isCollision(outcome)
    if (this.#level === 'adaptive' || this.#level === 'active') this.#adapt(outcome)
    if (this.#level === 'active') this.#backOff(isCollision)
    if (outcome.kind === 'hit' && outcome.more) return now
    const spread = outcome.kind === 'hit' ? this.#random() * outcome.desynchronisationMs : 0
    return now + this.#timeoutMs() + spread
  }

  #timeoutMs(): number {
    switch (this.#level) {
      case 'none':
        return Number.POSITIVE_INFINITY
      case 'basic':
        return this.#astMs * (0.5 + this.#random())
      case 'adaptive':
        return this.#astMs
      case 'active': {
        const timeout = this.#astMs + this.#rbtMs + SPREAD * this.#rbtMs * normal(this.#random)
        return Math.min(Math.max(timeout, this.#minMs), this.#maxMs + this.#backoffMaxMs)
      }
    }
  }

  /** AST: an answer that did not come tells nothing about losses. */
  #adapt(outcome: Outcome): void {
    if (outcome.kind === 'miss' && outcome.reason !== 'empty') return
    const timeout = outcome.kind === 'hit' ? this.#astMs / ALPHA : this.#astMs + this.#deltaMs
    this.#astMs = Math.min(Math.max(timeout, this.#minMs), this.#maxMs)
  }

  #backOff(isCollision: boolean): void {
    this.#rbtMs = isCollision ? Math.min(this.#rbtMs * BETA, this.#backoffMaxMs) : this.#backoffStartMs
  }

  #isCollision(outcome: Outcome): boolean {
    if (outcome.kind === 'miss' && outcome.reason !== 'empty') return true
    const average = this.#averageResponseMs ?? outcome.responseMs
    this.#averageResponseMs = average + RESPONSE_GAIN * (outcome.responseMs - average)
    return outcome.responseMs > SLOW * average
  }
}

/** A number of the normal distribution with mean 0 and deviation 1 (Box and Muller). */
export function normal(random: Chance): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
