// Multi-source DPT: polls when enough of several sources are expected to have something new, so that what is made of
// them can be republished at once. ISI-TR-660b section 6.5, Algorithm 3.
import { Dpt } from './dpt.ts'
import type { Chance, MultiSchedule, Outcome, Round, Schedule } from './schedule.ts'

/** A schedule of several sources that also says when the republishing condition is satisfied. */
export interface RepublishingSchedule extends MultiSchedule {
  /** The sources with new data, once there are enough of them and their data is the freshest; otherwise none. */
  readonly ready: readonly number[]
  /** Whether the round to come only fetches fresher data of sources that are ready already. */
  readonly isRefreshing: boolean
}

export interface MdptOptions {
  /** m, the trigger threshold: how many sources must have new data. */
  readonly trigger: number
  /** How many sources are polled for them, if that many are there: the candidate threshold; m if not given. */
  readonly candidates?: number
  /** What tracks each source: DPT-L if not given, as in the paper. */
  readonly track?: () => Schedule
}

/** MDPT over so many sources. */
export class Mdpt implements RepublishingSchedule {
  readonly #tracking: readonly Schedule[]
  readonly #trigger: number
  readonly #candidates: number
  /** t(s): when the next data of each source is expected. */
  readonly #expectedAt: number[] = []
  /** S_r; every other source is not ready. */
  readonly #ready = new Set<number>()
  #polled: readonly number[] = []
  isRefreshing = false
  ready: readonly number[] = []

  constructor(sources: number, random: Chance, { trigger, candidates = trigger, track }: MdptOptions) {
    if (!(trigger >= 1 && trigger <= sources && candidates >= trigger))
      throw new RangeError(`1 <= trigger <= sources and trigger <= candidates, got ${trigger}, ${candidates}`)
    this.#tracking = Array.from({ length: sources }, track ?? (() => new Dpt('lazy', random)))
    this.#trigger = trigger
    this.#candidates = candidates
  }

  first(now: number): Round {
    for (const [source, one] of this.#tracking.entries()) this.#expectedAt[source] = one.first(now)
    return this.#gather(now)
  }

  next(now: number, outcomes: readonly Outcome[]): Round {
    for (const [i, source] of this.#polled.entries()) {
      const outcome = outcomes[i]!
      this.#expectedAt[source] = this.#tracking[source]!.next(now, outcome)
      if (outcome.kind === 'hit') this.#ready.add(source)
    }
    this.ready = []
    if (this.#ready.size < this.#trigger) return this.#gather(now)
    const fresher = [...this.#ready].filter((source) => this.#expectedAt[source]! <= now)
    if (fresher.length > 0) return this.#round(now, fresher, true)
    this.ready = [...this.#ready]
    this.#ready.clear()
    return this.#gather(now)
  }

  /** Waits until as many sources as are wanted are expected, and polls all that are expected by then. */
  #gather(now: number): Round {
    const notReady = [...this.#expectedAt.keys()].filter((source) => !this.#ready.has(source))
    const expected = notReady.map((source) => this.#expectedAt[source]!).sort((a, b) => a - b)
    const wanted = Math.min(this.#candidates - this.#ready.size, expected.length)
    const at = Math.max(now, expected[wanted - 1]!)
    const candidates = notReady.filter((source) => this.#expectedAt[source]! <= at)
    return this.#round(at, candidates, false)
  }

  #round(at: number, sources: readonly number[], isRefreshing: boolean): Round {
    this.#polled = sources
    this.isRefreshing = isRefreshing
    return { at, sources }
  }
}

/** All sources at a fixed interval: what MDPT is compared with (section 7.7). */
export class FixedRounds implements RepublishingSchedule {
  readonly #sources: readonly number[]
  readonly #trigger: number
  readonly #intervalMs: number
  readonly #phaseMs: number
  readonly #ready = new Set<number>()
  #polled: readonly number[]
  #roundAt = 0
  isRefreshing = false
  ready: readonly number[] = []

  constructor(sources: number, trigger: number, intervalMs: number, phaseMs: number) {
    this.#sources = Array.from({ length: sources }, (_, source) => source)
    this.#polled = this.#sources
    this.#trigger = trigger
    this.#intervalMs = intervalMs
    this.#phaseMs = phaseMs
  }

  first(now: number): Round {
    this.#roundAt = now + this.#phaseMs
    return { at: this.#roundAt, sources: this.#sources }
  }

  next(now: number, outcomes: readonly Outcome[]): Round {
    const hits = this.#polled.filter((_, i) => outcomes[i]!.kind === 'hit')
    const more = this.#polled.filter((_, i) => {
      const outcome = outcomes[i]!
      return outcome.kind === 'hit' && outcome.more
    })
    for (const source of hits) this.#ready.add(source)
    this.ready = []
    this.isRefreshing = more.length > 0
    this.#polled = this.isRefreshing ? more : this.#sources
    if (this.isRefreshing) return { at: now, sources: more }
    if (this.#ready.size >= this.#trigger) {
      this.ready = [...this.#ready]
      this.#ready.clear()
    }
    this.#roundAt += this.#intervalMs
    return { at: this.#roundAt, sources: this.#sources }
  }
}
