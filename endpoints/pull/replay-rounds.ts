// Replays several traces as one republisher of many sources (DPT section 7.7).
import type { RepublishingSchedule } from './mdpt.ts'
import { hit, miss, type Outcome } from './schedule.ts'

/** What a republisher did. Latency counts from when the m-th source had new data to when that was republished. */
export interface ReplayedRounds {
  /** Rounds that polled for the condition; immediate pulls of fresher data are part of their round. */
  readonly rounds: number
  /** Rounds after which the republishing condition was satisfied. */
  readonly republished: number
  /** Polls of single sources, all of them. */
  readonly polls: number
  readonly latenciesMs: readonly number[]
}

/** Polls until one of the traces ends; `trigger` sources must have new data. */
export function replayRounds(
  traces: readonly (readonly number[])[],
  trigger: number,
  schedule: RepublishingSchedule,
): ReplayedRounds {
  const sources = traces.map((trace) => new ReplayedSource(trace))
  const endsAt = Math.min(...traces.map((trace) => trace.at(-1) ?? Number.NEGATIVE_INFINITY))
  const latenciesMs: number[] = []
  let rounds = 0
  let polls = 0
  let round = schedule.first(Math.min(...traces.map((trace) => trace[0] ?? Number.POSITIVE_INFINITY)))
  while (round.at <= endsAt) {
    const { at } = round
    if (!schedule.isRefreshing) rounds++
    polls += round.sources.length
    const outcomes = round.sources.map((source) => sources[source]!.poll(at))
    round = schedule.next(at, outcomes)
    if (schedule.ready.length === 0) continue
    const since = sources.map((source) => source.newSince).sort((a, b) => a - b)
    latenciesMs.push(at - since[trigger - 1]!)
    for (const source of schedule.ready) sources[source]!.republished()
  }
  return { rounds, republished: latenciesMs.length, polls, latenciesMs }
}

class ReplayedSource {
  readonly #trace: readonly number[]
  #fetched = 0
  #republished = 0

  constructor(trace: readonly number[]) {
    this.#trace = trace
  }

  /** When the first reading that was not republished was published. */
  get newSince(): number {
    return this.#trace[this.#republished] ?? Number.POSITIVE_INFINITY
  }

  poll(at: number): Outcome {
    const publishedAt = this.#trace[this.#fetched] ?? Number.POSITIVE_INFINITY
    if (publishedAt > at) return miss()
    this.#fetched++
    return hit(publishedAt, (this.#trace[this.#fetched] ?? Number.POSITIVE_INFINITY) <= at)
  }

  republished(): void {
    this.#republished = this.#fetched
  }
}
