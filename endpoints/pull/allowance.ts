// How many empty polls a schedule may spend: as many as DPT-L would have, polling for the same readings, or a share.
import { Dpt } from './dpt.ts'
import { hit, miss } from './schedule.ts'

/** Told the readings as they become known, it says how many empty polls are allowed by now. */
export interface Allowance {
  /** Publish times, ascending; and, unless there is `more`, that these are all until `now`. */
  known(now: number, publishedAt: readonly number[], more: boolean): void
  readonly misses: number
}

/** DPT-L polls, in mind only, for the readings that became known. */
export class LazyAllowance implements Allowance {
  readonly #dpt: Dpt
  #readings: number[] = []
  #taken = 0
  #at: number | undefined
  misses = 0

  constructor(firstPeriodMs: number) {
    this.#dpt = new Dpt('lazy', () => 0, { firstPeriodMs })
  }

  known(now: number, publishedAt: readonly number[], more: boolean): void {
    this.#readings.push(...publishedAt)
    if (this.#at === undefined && publishedAt.length > 0) this.#at = this.#dpt.first(publishedAt[0]!)
    if (more || this.#at === undefined) return
    while (this.#at <= now) this.#at = this.#poll(this.#at)
    this.#readings = this.#readings.slice(this.#taken)
    this.#taken = 0
  }

  #poll(at: number): number {
    const reading = this.#readings[this.#taken]
    if (reading === undefined || reading > at) {
      this.misses++
      return this.#dpt.next(at, miss())
    }
    this.#taken++
    return this.#dpt.next(at, hit(reading, (this.#readings[this.#taken] ?? Number.POSITIVE_INFINITY) <= at))
  }
}

/** A share of all polls may be empty. */
export class ShareAllowance implements Allowance {
  readonly #missesPerReading: number
  misses = 0

  constructor(emptyShare: number) {
    if (!(emptyShare > 0 && emptyShare < 1))
      throw new RangeError(`a share is between 0 and 1, got ${emptyShare}`)
    this.#missesPerReading = emptyShare / (1 - emptyShare)
  }

  known(_now: number, publishedAt: readonly number[]): void {
    this.misses += publishedAt.length * this.#missesPerReading
  }
}
