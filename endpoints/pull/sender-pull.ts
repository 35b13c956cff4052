// Pulling from a sender of the overlay, as an application has it: like a subscription, with events, digests and gaps in
// order and a receipt, but asked for when the schedule says so.
import type { Cursor, Item } from '../../buffers/item.ts'
import type { EpochReceipt } from '../../buffers/receipt.ts'
import type { PollOutcome } from '../../overlay/client.ts'
import { SpillwayError } from '../../policies/error.ts'
import type { Attributes } from '../../policies/event.ts'
import { noPolicy } from '../../policies/policy.ts'
import { type Delivered, Delivery } from '../delivery.ts'
import { Pull, type PullCounts, type PullOptions } from './pull.ts'
import { answerOf } from './sender-answer.ts'

/** Asks the root of the sender. */
export type PollSender = (since: Cursor | undefined, signal: AbortSignal) => Promise<PollOutcome>

/** Roots answer within moments: an answer that is not there after so long was lost. */
const TIMEOUT_MS = 10_000

export class SenderPull<A extends Attributes = Attributes> implements AsyncIterable<Delivered<A>> {
  /** The sender's ID. */
  readonly sender: string
  readonly #pull: Pull<Item, Cursor>
  readonly #items: AsyncIterator<Item>
  readonly #begun = Promise.withResolvers<Cursor | undefined>()
  #delivery: Delivery<A> | undefined
  #ready: Delivered<A>[] = []
  /** What the pull brings next, once somebody has asked for it. */
  #coming: Promise<IteratorResult<Item, void>> | undefined

  /** Made by `Client.pull`. */
  constructor(sender: string, poll: PollSender, options: PullOptions<Cursor>) {
    this.sender = sender
    // Whoever iterates hears of a refusal there.
    this.#begun.promise.catch(() => {})
    if (options.since !== undefined) this.#begins(options.since)
    const source = {
      poll: async (since: Cursor | undefined, signal: AbortSignal) => {
        const outcome = await poll(since, signal)
        const answer = answerOf(outcome, since)
        if (answer.kind === 'answer') this.#begins(outcome.kind === 'items' ? outcome.first : undefined)
        return answer
      },
    }
    this.#pull = new Pull(source, { timeoutMs: TIMEOUT_MS, ...options })
    this.#items = this.#pull[Symbol.asyncIterator]()
  }

  /**
   * Resolves with where the stream begins (without it at 1) when the sender's root has answered; rejects with REFUSED
   * or CLOSED. To ask for it starts the polling.
   */
  get subscribed(): Promise<Cursor | undefined> {
    const end = (error: unknown) => this.#begun.reject(error)
    this.#fetch().then(({ done }) => done && end(new SpillwayError('CLOSED', 'the pull is closed')), end)
    return this.#begun.promise
  }

  /** What is accounted for, an entry for each epoch: delivered + digested + gaps = last - first + 1. */
  get receipt(): EpochReceipt[] {
    return this.#delivery?.epochs ?? []
  }

  get counts(): PullCounts {
    return this.#pull.counts
  }

  /** Behind what was delivered: to go on from there another time. */
  get since(): Cursor | undefined {
    return this.#delivery?.cursor
  }

  /** Ends the iteration, also while it waits. */
  close(): void {
    this.#pull.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Delivered<A>, void, undefined> {
    try {
      for (;;) {
        const item = await this.next()
        if (item === undefined) return
        yield item
      }
    } finally {
      this.close()
    }
  }

  /** The next item; undefined after `close`, or when the schedule ends. Throws REFUSED. */
  async next(): Promise<Delivered<A> | undefined> {
    for (;;) {
      const item = this.#ready.shift()
      if (item !== undefined) return item
      const coming = await this.#fetch()
      this.#coming = undefined
      if (coming.done || this.#pull.isClosed) return undefined
      this.#ready = this.#delivery!.deliver([coming.value])
    }
  }

  #fetch(): Promise<IteratorResult<Item, void>> {
    this.#coming ??= this.#items.next() as Promise<IteratorResult<Item, void>>
    return this.#coming
  }

  #begins(first: Cursor | undefined): void {
    if (this.#delivery !== undefined) return
    this.#delivery = new Delivery(noPolicy, first)
    this.#begun.resolve(first)
  }
}
