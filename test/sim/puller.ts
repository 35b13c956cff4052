// A receiver that pulls: the client's core and a schedule under the virtual clock, as `pull` drives them in real time.
import { positionOf } from '../../buffers/block.ts'
import type { Cursor, Item } from '../../buffers/item.ts'
import { miss, type Outcome, type Schedule } from '../../endpoints/pull/schedule.ts'
import { answerOf } from '../../endpoints/pull/sender-answer.ts'
import { publishTimes } from '../../endpoints/pull/source.ts'
import type { PollOutcome } from '../../overlay/client.ts'
import type { Surroundings, Timer } from '../../overlay/surroundings.ts'
import type { SimReceiver } from './scenario.ts'
import type { Taken } from './witness.ts'

/** As `SenderPull` has it. */
const TIMEOUT_MS = 10_000

/** Asks a sender's root, or forgets that it did. */
export interface Asking {
  /** The number of a new request, whose outcome is told to this puller. */
  begin(puller: Puller): number
  poll(request: number, since: Cursor | undefined): void
  forget(request: number): void
}

export class Puller implements SimReceiver {
  readonly #surroundings: Surroundings
  readonly #asking: Asking
  readonly #schedule: Schedule
  readonly #available: () => void
  readonly #ready: Taken[] = []
  readonly counts = { polls: 0, hits: 0, busy: 0, failed: 0 }
  /** Of each event: from its publication, by the sender's clock, to the answer. */
  readonly latenciesMs: number[] = []
  /** When each poll was sent, and over how long the next was asked to spread. */
  readonly polledAt: number[] = []
  readonly spreadsMs: number[] = []
  #since: Cursor | undefined
  #hasBegun = false
  #request = -1
  #sentAt = 0
  #timeout: Timer | undefined

  constructor(surroundings: Surroundings, asking: Asking, schedule: Schedule, available: () => void) {
    this.#surroundings = surroundings
    this.#asking = asking
    this.#schedule = schedule
    this.#available = available
    this.#pollAt(schedule.first(surroundings.now()))
  }

  take(): Taken | undefined {
    return this.#ready.shift()
  }

  /** Told by the client. */
  polled(request: number, outcome: PollOutcome): void {
    if (request !== this.#request) return
    this.#request = -1
    this.#asking.forget(request)
    this.#timeout?.cancel()
    try {
      this.#read(outcome)
    } catch {
      if (outcome.kind === 'denied') this.#ready.push({ kind: 'refused', reason: outcome.reason })
      else this.#missed('failed', 0)
    }
    this.#available()
  }

  #read(outcome: PollOutcome): void {
    const answer = answerOf(outcome, this.#since)
    if (answer.kind === 'overloaded') {
      this.#missed('overloaded', answer.retryAfterMs ?? 0)
      return
    }
    if (!this.#hasBegun)
      this.#ready.push({ kind: 'subscribed', first: outcome.kind === 'items' ? outcome.first : undefined })
    this.#hasBegun = true
    this.#since = answer.next
    const { items, more = false, desynchronisationMs = 0 } = answer
    for (const item of items) this.#ready.push(this.#takenOf(item))
    if (items.length === 0) {
      this.#missed('empty', 0)
      return
    }
    this.counts.hits++
    this.spreadsMs.push(desynchronisationMs)
    const publishedAt = publishTimes(answer, this.#sentAt)
    this.#next({ kind: 'hit', publishedAt, more, desynchronisationMs, responseMs: 0 }, 0)
  }

  #takenOf(item: Item): Taken {
    if (item.kind !== 'events') return item
    const { block } = item
    const position = positionOf(item, item.from)
    const time = block.time(position)
    this.latenciesMs.push(this.#surroundings.now() - time)
    return {
      kind: 'event',
      epoch: block.epoch,
      seq: block.seq(position),
      time,
      attributes: block.attributes(position),
    }
  }

  #missed(reason: 'empty' | 'overloaded' | 'failed', waitMs: number): void {
    if (reason === 'overloaded') this.counts.busy++
    if (reason === 'failed') this.counts.failed++
    this.#next(miss(reason), waitMs)
  }

  #next(outcome: Outcome, waitMs: number): void {
    const now = this.#surroundings.now()
    this.#pollAt(Math.max(this.#schedule.next(this.#sentAt, outcome), this.#sentAt + waitMs, now))
  }

  #pollAt(at: number): void {
    if (at < Number.POSITIVE_INFINITY)
      this.#surroundings.after(at - this.#surroundings.now(), () => this.#poll())
  }

  #poll(): void {
    this.counts.polls++
    this.#sentAt = this.#surroundings.now()
    this.polledAt.push(this.#sentAt)
    this.#timeout = this.#surroundings.after(TIMEOUT_MS, () => {
      this.polled(this.#request, { kind: 'failed', reason: 'no answer' })
    })
    // The answer may come at once.
    this.#request = this.#asking.begin(this)
    this.#asking.poll(this.#request, this.#since)
  }
}
