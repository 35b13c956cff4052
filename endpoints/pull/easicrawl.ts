// EasiCrawl as a schedule: a plan that was made, or one that is made again after every crawl, from rates that are
// estimated from past events and sleep plans that are learnt. The paper plans in batches and leaves this for later.
import { allocate } from './crawl-budget.ts'
import { OptimalPlans } from './crawl-plan.ts'
import { Timeline } from './crawl-timeline.ts'
import type { MultiSchedule, Outcome, Round, Schedule } from './schedule.ts'
import type { SleepPlan } from './sleep-plan.ts'

/** Crawls at given times, ascending; never again after the last. */
export class CrawlPlan implements Schedule {
  readonly #times: readonly number[]

  constructor(times: readonly number[]) {
    this.#times = times.toSorted((a, b) => a - b)
  }

  first(now: number): number {
    return this.#times.find((time) => time >= now) ?? Number.POSITIVE_INFINITY
  }

  next(now: number, outcome: Outcome): number {
    if (outcome.kind === 'hit' && outcome.more) return now
    return this.#times.find((time) => time > now) ?? Number.POSITIVE_INFINITY
  }
}

export interface CrawledSensor {
  readonly sleep: SleepPlan
  /** Events in a millisecond while awake: a guess, which counts as much as one event. */
  readonly rate: number
  readonly weight?: number
  /** Crawls in a horizon at most. */
  readonly maxCrawls?: number
}

export interface EasiCrawlOptions {
  /** Crawls of all sensors in a horizon; at least one for each. */
  readonly budget: number
  readonly horizonMs: number
  /** Candidate times are multiples of it. */
  readonly stepMs: number
}

/** The online version: one horizon after the other, planned anew after every crawl. */
export class EasiCrawl implements MultiSchedule {
  readonly #sensors: readonly TrackedSensor[]
  readonly #budget: number
  readonly #horizonMs: number
  readonly #stepMs: number
  #left = 0
  #endsAt = 0
  #polled: readonly number[] = []

  constructor(sensors: readonly CrawledSensor[], { budget, horizonMs, stepMs }: EasiCrawlOptions) {
    if (budget < sensors.length)
      throw new RangeError(`a budget of ${budget} is below one crawl for each of ${sensors.length} sensors`)
    this.#sensors = sensors.map((sensor) => new TrackedSensor(sensor))
    this.#budget = budget
    this.#horizonMs = horizonMs
    this.#stepMs = stepMs
  }

  first(now: number): Round {
    this.#begin(now)
    for (const sensor of this.#sensors) sensor.begin(now)
    return this.#plan(now)
  }

  next(now: number, outcomes: readonly Outcome[]): Round {
    const more = this.#polled.filter((sensor, i) => this.#sensors[sensor]!.crawled(now, outcomes[i]!))
    this.#left -= this.#polled.length - more.length
    return more.length > 0 ? this.#round(now, more) : this.#plan(now)
  }

  #begin(now: number): void {
    this.#endsAt = now + this.#horizonMs
    this.#left = this.#budget
    for (const sensor of this.#sensors) sensor.crawls = 0
  }

  /** The earliest crawl of the best plan for what is left of the horizon; with nothing left, of the next horizon. */
  #plan(now: number): Round {
    const round = this.#earliest(now)
    if (round !== undefined) return round
    // A horizon in which nobody is thought to be awake ends with an attempt, or nothing would ever be learnt.
    const begins = this.#endsAt
    this.#begin(begins)
    return this.#earliest(begins) ?? this.#round(begins, [...this.#sensors.keys()])
  }

  #earliest(now: number): Round | undefined {
    const options = { step: this.#stepMs, horizon: this.#endsAt }
    const planned = this.#sensors
      .map((sensor, i) => ({ i, sensor, timeline: sensor.timeline(now, options) }))
      .filter(({ timeline, sensor }) => timeline.times.length > 0 && sensor.maxCrawls > sensor.crawls)
    if (planned.length === 0 || this.#left < 1) return undefined
    const plans = planned.map(({ timeline }) => new OptimalPlans(timeline))
    const shares = planned.map(({ sensor }) => sensor.share())
    const crawls = allocate(shares, plans, this.#left)
    const firsts = planned.map(({ timeline }, k) => timeline.times[plans[k]!.plan(crawls[k]!)[0]!]!)
    const at = Math.min(...firsts)
    return this.#round(
      at,
      planned.filter((_, k) => firsts[k] === at).map(({ i }) => i),
    )
  }

  #round(at: number, sources: readonly number[]): Round {
    this.#polled = sources
    return { at, sources }
  }
}

/** What is known of one sensor. */
class TrackedSensor {
  readonly #sleep: SleepPlan
  readonly #guess: number
  readonly #weight: number
  readonly maxCrawls: number
  /** In this horizon. */
  crawls = 0
  #events = 0
  #awakeMs = 0
  #crawledAt = 0

  constructor({ sleep, rate, weight = 1, maxCrawls = Number.POSITIVE_INFINITY }: CrawledSensor) {
    this.#sleep = sleep
    this.#guess = rate
    this.#weight = weight
    this.maxCrawls = maxCrawls
  }

  begin(now: number): void {
    this.#crawledAt = now
  }

  timeline(now: number, options: { readonly step: number; readonly horizon: number }): Timeline {
    const windows = this.#sleep.awake(this.#crawledAt, options.horizon)
    return new Timeline(windows, { ...options, crawledAt: this.#crawledAt, now })
  }

  share() {
    // The guess counts as one event.
    const rate = (1 + this.#events) / (1 / this.#guess + this.#awakeMs)
    return { rate, weight: this.#weight, maxCrawls: this.maxCrawls - this.crawls }
  }

  /** Whether it has more, which is fetched by the same crawl. */
  crawled(now: number, outcome: Outcome): boolean {
    const isAnswered = outcome.kind === 'hit' || outcome.reason === 'empty'
    this.#sleep.heard(now, isAnswered)
    if (outcome.kind === 'hit') {
      this.#events += outcome.publishedAt.length
      for (const at of outcome.publishedAt) this.#sleep.heard(at, true)
      if (outcome.more) return true
    }
    this.crawls++
    if (!isAnswered) return false
    for (const [from, to] of this.#sleep.awake(this.#crawledAt, now))
      this.#awakeMs += Math.max(0, Math.min(to, now) - Math.max(from, this.#crawledAt))
    this.#crawledAt = now
    return false
  }
}
