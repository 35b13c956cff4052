// A subscription, as an application has it: an async iterable, or handlers, whichever it likes better.
import type { Cursor } from '../buffers/item.ts'
import type { PrivateQueue } from '../buffers/private-queue.ts'
import type { EpochReceipt } from '../buffers/receipt.ts'
import type { PollOutcome } from '../overlay/client.ts'
import { afterTurn } from '../overlay/libp2p/waiting.ts'
import { SpillwayError } from '../policies/error.ts'
import type { Attributes } from '../policies/event.ts'
import type { Policy } from '../policies/policy.ts'
import { Arrivals } from './arrivals.ts'
import { Backlog } from './backlog.ts'
import {
  type Delivered,
  type DeliveredDigest,
  type DeliveredEvent,
  type DeliveredGap,
  Delivery,
} from './delivery.ts'

export interface Handlers<A extends Attributes> {
  event?(event: DeliveredEvent<A>): void
  digest?(digest: DeliveredDigest): void
  gap?(gap: DeliveredGap): void
  /** The queue fills, or has room again: from 0.8 and back to 0.5 of its bound. */
  pressure?(isHigh: boolean): void
}

/**
 * Handlers get what is there, for so long, before others get their turn. Were it only some of it, more would arrive
 * meanwhile, until as much waits for each receiver as may be on its way.
 */
const TURN_MS = 5

/** Asks a receiver's root for what waited while it was away. */
export type AskBacklog = (
  since: Cursor | undefined,
  isPreview: boolean,
  answered: (outcome: PollOutcome) => void,
) => void

export class Subscription<A extends Attributes = Attributes> implements AsyncIterable<Delivered<A>> {
  /** The sender's ID, and this receiver's. */
  readonly sender: string
  readonly receiver: string
  /** Resolves with where the stream begins (without it at 1) when the subscription stands; rejects with REFUSED or CLOSED. */
  readonly subscribed: Promise<Cursor | undefined>
  readonly #policy: Policy
  readonly #queue: PrivateQueue
  readonly #unsubscribe: () => void
  readonly #backlog: Backlog | undefined
  #delivery: Delivery<A> | undefined
  #arrivals: Arrivals<A> | undefined
  #handlers: Handlers<A> | undefined
  #isScheduled = false
  #isClosed = false
  #failure: SpillwayError | undefined
  #ready: Delivered<A>[] = []
  #waiting: (() => void)[] = []
  #settle!: { resolve(first: Cursor | undefined): void; reject(error: SpillwayError): void }

  /** Made by `Client.subscribe`. */
  constructor(
    sender: string,
    receiver: string,
    policy: Policy,
    queue: PrivateQueue,
    unsubscribe: () => void,
    ask?: AskBacklog,
  ) {
    this.sender = sender
    this.receiver = receiver
    this.#policy = policy
    this.#queue = queue
    this.#unsubscribe = unsubscribe
    this.#backlog =
      ask &&
      new Backlog({
        now: () => performance.now(),
        // In a page a timer is a number, and keeps nothing running.
        after: (delayMs, call) => void setTimeout(call, delayMs).unref?.(),
        ask,
        changed: () => this.arrived(),
      })
    this.subscribed = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // Who iterates hears of a refusal there.
    this.subscribed.catch(() => {})
  }

  /** What is accounted for, an entry for each epoch: delivered + digested + gaps = last - first + 1. */
  get receipt(): EpochReceipt[] {
    return this.#delivery?.epochs ?? []
  }

  /** Whether the sender said that no more will come, and nothing of the backlog will either. */
  get isEnded(): boolean {
    return this.#delivery?.isEnded === true && this.#backlog?.isUnderWay !== true
  }

  /** How full the queue is, from 0 to 1. */
  get fill(): number {
    return this.#queue.fill
  }

  /** Calls these from now on with what arrives, instead of iterating. */
  handle(handlers: Handlers<A>): this {
    this.#handlers = handlers
    this.#schedule()
    return this
  }

  /** Ends the subscription; iterations end. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.forgo()
    this.#unsubscribe()
    this.#settle.reject(new SpillwayError('CLOSED', 'the subscription is closed'))
    this.#wake()
  }

  /** Wants no more of what waited while the client was away: what is missing of it is told as gaps. */
  forgo(): void {
    this.#giveUp(false)
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

  /** The next item; undefined after `close`. Throws REFUSED when the subscription does not stand. */
  async next(): Promise<Delivered<A> | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      // One at a time: what waits in the queue can still be packed.
      if (this.#ready.length === 0 && this.#arrivals !== undefined) this.#ready = this.#arrivals.take()
      const item = this.#ready.shift()
      if (item !== undefined) return item
      if (this.#arrivals?.canTake) continue
      if (this.#isClosed) return undefined
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    }
  }

  /** Told by the client: the subscription stands. */
  begins(first: Cursor | undefined): void {
    if (this.#delivery !== undefined) return
    this.#delivery = new Delivery(this.#policy, first)
    this.#arrivals = new Arrivals(this.#delivery, this.#queue, this.#backlog)
    this.#settle.resolve(first)
    this.arrived()
  }

  /** Told by the client. */
  refused(reason: string): void {
    this.#failure = new SpillwayError('REFUSED', reason)
    this.#settle.reject(this.#failure)
    this.#wake()
  }

  /** Told by the client: something is in the queue. */
  arrived(): void {
    if (this.#handlers === undefined) this.#wake()
    else this.#schedule()
  }

  /** Told by the client: it has departed, and nobody keeps anything for this any more. */
  departed(): void {
    this.#delivery?.departed(this.#queue)
    this.#giveUp(true)
  }

  /** Told by the client: it is attached, and what waited meanwhile can be asked for. */
  attached(): void {
    this.#backlog?.attached()
    this.#arrivals?.attached()
  }

  /** Told by the client. */
  pressure(isHigh: boolean): void {
    try {
      this.#handlers?.pressure?.(isHigh)
    } catch (error) {
      throwLater(error)
    }
  }

  #giveUp(hasDeparted: boolean): void {
    this.#ready.push(...(this.#arrivals?.giveUp(hasDeparted) ?? []))
    if (this.#ready.length > 0) this.arrived()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Handlers run after the client has finished what it was told, and let others have their turn. */
  #schedule(): void {
    if (this.#isScheduled || this.#delivery === undefined) return
    this.#isScheduled = true
    afterTurn(() => {
      this.#isScheduled = false
      if (this.#handlers !== undefined && !this.#isClosed) this.#run(this.#handlers)
    })
  }

  #run(handlers: Handlers<A>): void {
    const until = performance.now() + TURN_MS
    const hand = (item: Delivered<A>) => this.#hand(item, handlers)
    for (const item of this.#ready.splice(0)) if (!hand(item)) return
    do this.#arrivals!.hand(hand)
    while (this.#mayGoOn && performance.now() < until)
    if (this.#mayGoOn) this.#schedule()
  }

  get #mayGoOn(): boolean {
    return !this.#isClosed && this.#arrivals!.canTake
  }

  /** False when the handler has closed the subscription. */
  #hand(item: Delivered<A>, handlers: Handlers<A>): boolean {
    try {
      if (item.kind === 'event') handlers.event?.(item as DeliveredEvent<A>)
      else if (item.kind === 'digest') handlers.digest?.(item as DeliveredDigest)
      else handlers.gap?.(item as DeliveredGap)
    } catch (error) {
      throwLater(error)
    }
    return !this.#isClosed
  }
}

/** What a handler throws is uncaught, but not before the others have been called: they count as delivered. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
