// Pulling, as an application has it: a source and a schedule make an async iterable of items.
import { SpillwayError } from '../../policies/error.ts'
import { machineClock, type Polled, Poller, type PullClock } from './poller.ts'
import type { MultiSchedule, Schedule } from './schedule.ts'
import type { Source } from './source.ts'

export interface PullOptions<C = unknown> {
  /** When to poll; schedules learn, so each pull needs one of its own. */
  readonly schedule: Schedule
  /** Where to begin: a cursor of the source, as `Pull.since` had it. */
  readonly since?: C
  /** A poll without an answer for so long is a miss: 30 s. */
  readonly timeoutMs?: number
  /** Told of every poll that failed, timed out or was refused; pulling goes on. */
  readonly missed?: (trouble: PullTrouble) => void
  /** Ends the iteration. */
  readonly signal?: AbortSignal
  readonly clock?: PullClock
}

/** A poll that brought no answer. */
export interface PullTrouble {
  /** When it was polled, in milliseconds. */
  readonly at: number
  readonly reason: 'failed' | 'overloaded'
  /** What the source threw, if it did. */
  readonly error?: unknown
}

export interface PullCounts {
  readonly polls: number
  readonly hits: number
  /** Polls that failed or were refused; they are misses, too. */
  readonly troubles: number
  readonly items: number
}

const TIMEOUT_MS = 30_000

/** Polls the source when the schedule says so, while somebody iterates; ends when the schedule does. */
export function pull<T, C>(source: Source<T, C>, options: PullOptions<C>): Pull<T, C> {
  return new Pull(source, options)
}

/** Items of a source as they are found. Iterate once; leaving the loop, `close` and the signal end it. */
export class Pull<T, C = unknown> implements AsyncIterable<T> {
  readonly #poller: Poller<T, C>
  readonly #options: PullOptions<C>
  readonly #clock: PullClock
  readonly #closing = new AbortController()
  #counts = { polls: 0, hits: 0, troubles: 0, items: 0 }

  /** Use `pull`. */
  constructor(source: Source<T, C>, options: PullOptions<C>) {
    this.#options = options
    this.#clock = options.clock ?? machineClock
    this.#poller = new Poller(source, options.since, options.timeoutMs ?? TIMEOUT_MS, this.#clock)
    const { signal } = options
    if (signal?.aborted) this.close()
    signal?.addEventListener('abort', () => this.close(), { once: true, signal: this.#closing.signal })
  }

  get counts(): PullCounts {
    return { ...this.#counts }
  }

  /** The cursor behind the last answer. */
  get since(): C | undefined {
    return this.#poller.since
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Ends the iteration, also while it waits. */
  close(): void {
    this.#closing.abort()
  }

  /** Throws what the source threw when that is REFUSED: it would be refused again. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const { signal } = this.#closing
    const { schedule } = this.#options
    try {
      for (let at = schedule.first(this.#clock.now()); at < Number.POSITIVE_INFINITY; ) {
        await this.#clock.until(at, signal)
        if (signal.aborted) return
        const polled = await this.#poller.poll(signal)
        if (signal.aborted) return
        this.#count(polled)
        if (isRefusal(polled.error)) throw polled.error
        at = Math.max(schedule.next(polled.at, polled.outcome), polled.notBefore)
        yield* polled.items
      }
    } finally {
      this.close()
    }
  }

  #count({ at, items, outcome, error }: Polled<T>): void {
    this.#counts.polls++
    this.#counts.items += items.length
    if (outcome.kind === 'hit') this.#counts.hits++
    else if (outcome.reason !== 'empty') {
      this.#counts.troubles++
      this.#options.missed?.({ at, reason: outcome.reason, ...(error === undefined ? {} : { error }) })
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof SpillwayError && error.code === 'REFUSED'
}

export interface PullTogetherOptions extends Omit<PullOptions, 'schedule' | 'since'> {
  /** MDPT, EasiCrawl or another schedule of as many sources. */
  readonly schedule: MultiSchedule
}

/** What a round of polls brought. */
export interface PulledRound<T> {
  readonly at: number
  /** The items of each source that was polled, by its index. */
  readonly items: ReadonlyMap<number, readonly T[]>
}

/**
 * Polls several sources together; every round that brought something is one item, and so is one that brought nothing
 * but made sources ready: after MDPT's, look at its `ready`.
 */
export async function* pullTogether<T>(
  sources: readonly Source<T, unknown>[],
  { schedule, timeoutMs = TIMEOUT_MS, missed, signal, clock = machineClock }: PullTogetherOptions,
): AsyncGenerator<PulledRound<T>, void, undefined> {
  const pollers = sources.map((source) => new Poller(source, undefined, timeoutMs, clock))
  const ending = signal ?? new AbortController().signal
  const notBefore = sources.map(() => Number.NEGATIVE_INFINITY)
  for (let round = schedule.first(clock.now()); round.at < Number.POSITIVE_INFINITY; ) {
    await clock.until(round.at, ending)
    if (ending.aborted) return
    const polled = await Promise.all(round.sources.map((source) => pollers[source]!.poll(ending)))
    if (ending.aborted) return
    for (const { at, outcome, error } of polled)
      if (outcome.kind === 'miss' && outcome.reason !== 'empty')
        missed?.({ at, reason: outcome.reason, ...(error === undefined ? {} : { error }) })
    for (const [i, source] of round.sources.entries()) notBefore[source] = polled[i]!.notBefore
    const items = new Map(polled.map((one, i) => [round.sources[i]!, one.items] as const))
    const at = Math.max(...polled.map((one) => one.at))
    const next = schedule.next(
      at,
      polled.map(({ outcome }) => outcome),
    )
    round = { ...next, at: Math.max(next.at, ...next.sources.map((source) => notBefore[source]!)) }
    const isReady = (schedule.ready ?? []).length > 0
    if (isReady || polled.some((one) => one.items.length > 0)) yield { at, items }
  }
}
