// What arrives for a subscription, in the order in which it is handed out: what is live as it comes; with "digest first" the
// preview of what waited before it, and the backlog beside it, as long as what is live leaves room.
import type { PrivateQueue } from '../buffers/private-queue.ts'
import type { Attributes } from '../policies/event.ts'
import type { Backlog } from './backlog.ts'
import type { Delivered, Delivery, Hand } from './delivery.ts'

/** The backlog waits while the receiver's own queue is fuller than this. */
const ROOM = 0.5

export class Arrivals<A extends Attributes> {
  readonly #delivery: Delivery<A>
  readonly #queue: PrivateQueue
  readonly #backlog: Backlog | undefined
  #isBacklogsTurn = false

  constructor(delivery: Delivery<A>, queue: PrivateQueue, backlog: Backlog | undefined) {
    this.#delivery = delivery
    this.#queue = queue
    this.#backlog = backlog
    if (backlog?.isUnderWay) delivery.await()
  }

  /** Whether something may be taken now. */
  get canTake(): boolean {
    return this.#canTakeLive || this.#canTakeBacklog || (this.#backlog?.hasPreview ?? false)
  }

  /** What is next: nothing, or an item with the gaps before it. */
  take(): Delivered<A>[] {
    const items: Delivered<A>[] = []
    this.#handSome((item) => items.push(item) > 0, 1)
    return items
  }

  /** Hands out some of what there is, until `to` returns false. */
  hand(to: Hand<A>): void {
    this.#handSome(to, Number.POSITIVE_INFINITY)
  }

  /** The client is attached: what is missing from now on may have waited somewhere. */
  attached(): void {
    if (this.#backlog !== undefined) this.#delivery.await()
  }

  /** No more of the backlog is wanted, or kept: what is missing of it. */
  giveUp(hasDeparted: boolean): Delivered<A>[] {
    this.#backlog?.end()
    return this.#delivery.giveUp(hasDeparted)
  }

  get #canTakeLive(): boolean {
    const { head } = this.#queue
    if (head === undefined || !this.#queue.canTake) return false
    if (this.#backlog === undefined) return true
    return !(this.#delivery.isAwaiting || this.#delivery.isMissingBefore(head)) || !this.#backlog.hold()
  }

  /** What is live and stands before a piece, comes before it. */
  get #canTakeBacklog(): boolean {
    const item = this.#backlog?.next
    if (item === undefined || this.#queue.fill > ROOM) return false
    return this.#delivery.isPast(item) || (this.#queue.isEmpty && this.#backlog!.isOvertaken)
  }

  #handSome(to: Hand<A>, maxEvents: number): void {
    const preview = this.#backlog?.takePreview()
    if (preview === undefined) this.#handNext(to, maxEvents)
    else to(this.#delivery.preview(preview))
    this.#goOn(to)
  }

  #handNext(to: Hand<A>, maxEvents: number): void {
    const isLive = this.#canTakeLive && !(this.#isBacklogsTurn && this.#canTakeBacklog)
    this.#isBacklogsTurn = isLive
    if (isLive) this.#delivery.hand(this.#queue, to, this.#backlog?.mayHold ? 1 : maxEvents)
    else if (this.#canTakeBacklog) this.#handBacklog(to)
  }

  #handBacklog(to: Hand<A>): void {
    const item = this.#backlog!.take()!
    if (!this.#delivery.isPast(item)) for (const gap of this.#delivery.missUpTo(item)) to(gap)
    this.#delivery.handBacklog(item, to)
  }

  /** Asks for more of the backlog if there is room, and tells what is missing when there is no more. */
  #goOn(to: Hand<A>): void {
    const backlog = this.#backlog
    if (backlog === undefined) return
    if (this.#queue.fill < ROOM) backlog.pull()
    if (!backlog.isUnderWay) for (const gap of this.#delivery.giveUp(false)) to(gap)
  }
}
