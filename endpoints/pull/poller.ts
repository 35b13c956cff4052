// Polls one source once: with a timeout, errors turned into misses, the cursor moved on.
import { type Hit, type Miss, miss } from './schedule.ts'
import { type Answer, type Overloaded, publishTimes, type Source } from './source.ts'

/** Time, handed in: tests have their own. */
export interface PullClock {
  /** Milliseconds. */
  now(): number
  /** Resolves at a time, or when the signal aborts; never for Infinity. */
  until(at: number, signal: AbortSignal): Promise<void>
}

/** What a poll brought, and what the schedule is to know of it. */
export interface Polled<T> {
  readonly at: number
  readonly items: readonly T[]
  readonly outcome: Hit | Miss
  /** The source wants no poll before this. */
  readonly notBefore: number
  /** Why there was no answer. */
  readonly error?: unknown
}

/** A source with its cursor. */
export class Poller<T, C> {
  readonly #source: Source<T, C>
  readonly #clock: PullClock
  readonly #timeoutMs: number
  since: C | undefined

  constructor(source: Source<T, C>, since: C | undefined, timeoutMs: number, clock: PullClock) {
    this.#source = source
    this.since = since
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  /** Never rejects. */
  async poll(signal: AbortSignal): Promise<Polled<T>> {
    const at = this.#clock.now()
    try {
      const answer = await this.#ask(at, signal)
      return this.#read(answer, at)
    } catch (error) {
      return { at, items: [], outcome: this.#missed(at, 'failed'), notBefore: at, error }
    }
  }

  async #ask(at: number, signal: AbortSignal): Promise<Answer<T, C> | Overloaded> {
    const ended = new AbortController()
    const either = AbortSignal.any([signal, ended.signal])
    const late = this.#clock.until(at + this.#timeoutMs, either).then((): never => {
      throw new Error(signal.aborted ? 'cancelled' : `no answer within ${this.#timeoutMs} ms`)
    })
    try {
      return await Promise.race([this.#source.poll(this.since, either), late])
    } finally {
      ended.abort()
      late.catch(() => {})
    }
  }

  #read(answer: Answer<T, C> | Overloaded, at: number): Polled<T> {
    if (answer.kind === 'overloaded') {
      const notBefore = at + (answer.retryAfterMs ?? 0)
      return { at, items: [], outcome: this.#missed(at, 'overloaded'), notBefore }
    }
    const { items, next, more = false, desynchronisationMs = 0, notBeforeMs = 0 } = answer
    this.since = next
    const notBefore = at + notBeforeMs
    if (items.length === 0) return { at, items, outcome: this.#missed(at, 'empty'), notBefore }
    const publishedAt = publishTimes(answer, at)
    const responseMs = this.#clock.now() - at
    return {
      at,
      items,
      outcome: { kind: 'hit', publishedAt, more, desynchronisationMs, responseMs },
      notBefore,
    }
  }

  #missed(at: number, reason: Miss['reason']): Miss {
    return { ...miss(reason), responseMs: this.#clock.now() - at }
  }
}

/** A timer holds at most so many milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The machine's time. */
export const machineClock: PullClock = {
  now: () => Date.now(),
  async until(at, signal) {
    // The clock is read once for each wait: between two readings the time may pass, and timers warn of less than nothing.
    for (let leftMs = at - Date.now(); leftMs > 0 && !signal.aborted; leftMs = at - Date.now())
      await pause(Math.min(leftMs, LONGEST_TIMER_MS), signal)
  },
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, delayMs)
    signal.addEventListener('abort', end)
  })
}
