// What can be pulled from: anything that answers `poll(since)`. A sender's root, a store, an HTTP feed, a function.

/** A source of items. `C`, the cursor, is the source's own business. */
export interface Source<T, C = unknown> {
  /**
   * Answers the items after `since`, oldest first; without `since`, those it still has. It may reject, or not answer until
   * the signal aborts: both count as a miss.
   */
  poll(since: C | undefined, signal: AbortSignal): Promise<Answer<T, C> | Overloaded>
}

export interface Answer<T, C> {
  readonly kind: 'answer'
  /** Oldest first; empty when there is nothing new. */
  readonly items: readonly T[]
  /** Where the items end, for the next poll. */
  readonly next: C
  /** Whether there is more already. */
  readonly more?: boolean
  /** When each item was published, by the source's clock, in milliseconds; ascending. */
  readonly publishedAt?: readonly number[]
  /** How long before this poll arrived the last item was published, by the source's clock: no clocks need to agree. */
  readonly phaseAdjustmentMs?: number
  /** Over how long a time the next poll should be spread, because many ask at once. */
  readonly desynchronisationMs?: number
  /** How long there will be nothing new for sure. */
  readonly notBeforeMs?: number
}

/** The source has too much to do; it asks to come again after a while. */
export interface Overloaded {
  readonly kind: 'overloaded'
  readonly retryAfterMs?: number
}

/** When the items of an answer were published, by the poller's clock: ascending, none after the poll. */
export function publishTimes(answer: Answer<unknown, unknown>, polledAt: number): number[] {
  const given = (answer.publishedAt ?? []).filter(Number.isFinite)
  const last = given.at(-1)
  if (answer.phaseAdjustmentMs === undefined)
    return bounded(last === undefined ? [polledAt] : given, polledAt)
  const lastAt = polledAt - Math.max(0, answer.phaseAdjustmentMs)
  return last === undefined
    ? [lastAt]
    : bounded(
        given.map((at) => at - last + lastAt),
        polledAt,
      )
}

function bounded(times: readonly number[], most: number): number[] {
  return times.map((at) => Math.min(at, most)).sort((a, b) => a - b)
}
