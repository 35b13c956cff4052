// Replays the publish times of a source against a schedule (DPT section 7): one poll returns one reading and says
// whether there is more; the immediate pull is a poll of its own.
import { deviation, mean, median } from './publication-window.ts'
import { hit, miss, type Schedule } from './schedule.ts'

/** What a schedule did with a trace. Latencies are use latencies: from publication to poll. */
export interface Replayed {
  readonly published: number
  readonly polls: number
  readonly hits: number
  /** In the order of the readings that were fetched. */
  readonly latenciesMs: readonly number[]
}

/** What a poll of a replay found: the reading's index, or undefined for a miss. */
export type Observe = (at: number, reading: number | undefined) => void

/** Polls a trace of ascending publish times from the first until the last reading is fetched. */
export function replay(trace: readonly number[], schedule: Schedule, observe?: Observe): Replayed {
  const latenciesMs: number[] = []
  let polls = 0
  let at = trace.length === 0 ? Number.POSITIVE_INFINITY : schedule.first(trace[0]!)
  while (latenciesMs.length < trace.length && at < Number.POSITIVE_INFINITY) {
    const reading = latenciesMs.length
    const publishedAt = trace[reading]!
    const isHit = publishedAt <= at
    polls++
    observe?.(at, isHit ? reading : undefined)
    if (isHit) latenciesMs.push(at - publishedAt)
    const next = schedule.next(at, isHit ? hit(publishedAt, (trace[reading + 1] ?? Infinity) <= at) : miss())
    if (next < at) throw new Error(`a schedule went back from ${at} to ${next}`)
    at = next
  }
  return { published: trace.length, polls, hits: latenciesMs.length, latenciesMs }
}

/** An outage is longer than so many median intervals. */
const OUTAGE_PERIODS = 10

/**
 * A replay with its outages set apart: neither the polls in an outage count nor the readings after it, until the schedule
 * has caught up with the source.
 */
export function replayApart(trace: readonly number[], schedule: Schedule): Replayed {
  const intervals = trace.slice(1).map((at, i) => at - trace[i]!)
  const longest = OUTAGE_PERIODS * median(intervals)
  const endsOutage = (reading: number) => (intervals[reading - 1] ?? 0) > longest
  const latenciesMs: number[] = []
  let polls = 0
  let expected = 0
  let isBehind = false
  replay(trace, schedule, (at, reading) => {
    isBehind ||= endsOutage(expected)
    if (!isBehind) polls++
    if (reading === undefined) return
    if (!isBehind) latenciesMs.push(at - trace[reading]!)
    expected = reading + 1
    if ((trace[expected] ?? Number.POSITIVE_INFINITY) > at) isBehind = false
  })
  return { published: trace.length, polls, hits: latenciesMs.length, latenciesMs }
}

/** The figures of a replay; latencies in milliseconds. */
export interface Figures {
  readonly published: number
  readonly polls: number
  readonly hits: number
  readonly hitPercent: number
  readonly latency: Latency
}

export interface Latency {
  readonly median: number
  readonly mean: number
  readonly stddev: number
  readonly p95: number
}

export function figuresOf({ published, polls, hits, latenciesMs }: Replayed): Figures {
  return { published, polls, hits, hitPercent: (100 * hits) / polls, latency: latencyOf(latenciesMs) }
}

export function latencyOf(latenciesMs: readonly number[]): Latency {
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  return {
    median: median(sorted),
    mean: mean(sorted),
    stddev: deviation(sorted),
    p95: sorted[Math.ceil(0.95 * sorted.length) - 1] ?? Number.NaN,
  }
}
