// Polling at a fixed interval: what DPT is compared with (DPT section 4.2).
import type { Chance, Outcome, Schedule } from './schedule.ts'

/** Polls every `intervalMs` from `phaseMs` after the start on, whatever it finds; at once where there is more. */
export class FixedInterval implements Schedule {
  readonly #intervalMs: number
  readonly #phaseMs: number
  readonly #random: Chance
  #startedAt = 0

  constructor(intervalMs: number, phaseMs: number, random: Chance) {
    if (!(intervalMs > 0)) throw new RangeError(`an interval is above 0, got ${intervalMs}`)
    this.#intervalMs = intervalMs
    this.#phaseMs = phaseMs
    this.#random = random
  }

  first(now: number): number {
    this.#startedAt = now + this.#phaseMs
    return this.#startedAt
  }

  next(now: number, outcome: Outcome): number {
    if (outcome.kind === 'hit' && outcome.more) return now
    const passed = Math.floor((now - this.#startedAt) / this.#intervalMs) + 1
    // A quotient just below a whole number would give this very poll again.
    const isNow = this.#startedAt + passed * this.#intervalMs <= now
    const elapsed = isNow ? passed + 1 : passed
    const spread = outcome.kind === 'hit' ? this.#random() * outcome.desynchronisationMs : 0
    return this.#startedAt + elapsed * this.#intervalMs + spread
  }
}
