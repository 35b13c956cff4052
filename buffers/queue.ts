// A bounded queue of items (PACK section 4). A digest rides on the item after it and a marker stands behind
// everything of its epoch: neither costs a slot. The queue keeps order and counts; what is done when it is full
// is decided by those who have one.
import type { Pass } from '../policies/pack.ts'
import { costOf, endWithin, positionOf, type Run } from './block.ts'
import type { Budget } from './budget.ts'
import { type Cursor, frameBytes, type Item, itemBytes, itemsFrom, slotsOf } from './item.ts'

/** What was taken and not acknowledged counts as well. */
export interface QueueBounds {
  /** Events. */
  readonly items: number
  /** Bytes of events, digests and markers. */
  readonly bytes: number
}

/** Where a queue stands, and what it asks for. Time is in milliseconds. */
export interface QueueSurroundings {
  /** The buffer's name: the cause in digests. */
  readonly buffer: string
  readonly budget: Budget
  now(): number
  random(): number
  /** Told when a queue fills beyond the high-water mark, and when it is below the low one again. */
  pressure?(queue: Queue, high: boolean): void
  /**
   * Told of every pack: its level, 0 for the worst case, how many events there were before and after, and what each
   * filter did.
   */
  packed?(queue: Queue, level: number, before: number, after: number, passes: readonly Pass[]): void
}

/** What stands elsewhere and counts against a queue's bounds as well: in all, and of that on its way. */
export interface Beside {
  readonly events: number
  readonly bytes: number
  readonly takenEvents: number
  readonly takenBytes: number
}

/** Items taken from the head of a queue, in order. */
export interface Taken {
  readonly items: readonly Item[]
  readonly events: number
  /** What they count against the bounds. */
  readonly bytes: number
  /** About what they take of a frame. */
  readonly frameBytes: number
}

/** Share of a bound at which a queue is called filling, and at which that is over. */
const HIGH_WATER = 0.8
const LOW_WATER = 0.5
/** Share of the bounds that may be on its way: the rest can still be packed when more arrives. */
const ON_ITS_WAY = 0.5
/** A queue by itself. */
const NOTHING: Beside = Object.freeze({ events: 0, bytes: 0, takenEvents: 0, takenBytes: 0 })
/** Free places at the front of the list beyond which it is cut. */
const SLACK = 256

/** A run whose end moves. */
type OpenRun = { -readonly [K in keyof Run]: Run[K] }

export abstract class Queue {
  readonly bounds: QueueBounds
  readonly surroundings: QueueSurroundings
  #beside = NOTHING
  #items: Item[] = []
  #head = 0
  #events = 0
  #bytes = 0
  #takenEvents = 0
  #takenBytes = 0
  /** The last run while it may still grow: one that this queue made and nobody else has seen. */
  #open: OpenRun | undefined
  #isHigh = false
  #isClosed = false

  constructor(bounds: QueueBounds, surroundings: QueueSurroundings) {
    this.bounds = bounds
    this.surroundings = surroundings
    surroundings.budget.join(this)
  }

  /** How many events wait. */
  get events(): number {
    return this.#events
  }

  /** How many bytes wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many events were taken and not acknowledged. */
  get takenEvents(): number {
    return this.#takenEvents
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  get isEmpty(): boolean {
    return this.#head === this.#items.length
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** With what its bounds are shared; nothing when undefined. */
  set beside(beside: Beside | undefined) {
    this.#beside = beside ?? NOTHING
  }

  /** How many events are on their way, here and beside. */
  get pinnedEvents(): number {
    return this.#takenEvents + this.#beside.takenEvents
  }

  get pinnedBytes(): number {
    return this.#takenBytes + this.#beside.takenBytes
  }

  /**
   * Whether something waits that may be taken now: at most half of the bounds is on its way at once, or one item
   * that is larger.
   */
  get canTake(): boolean {
    if (this.isEmpty) return false
    const { pinnedBytes } = this
    if (pinnedBytes === 0) return true
    const item = this.#items[this.#head]!
    const bytesLeft = this.bounds.bytes * ON_ITS_WAY - pinnedBytes
    if (item.kind !== 'events') return itemBytes(item) <= bytesLeft
    return costOf(item, item.from + 1) <= bytesLeft && this.pinnedEvents + 1 <= this.bounds.items * ON_ITS_WAY
  }

  /** Whether there is more than the bounds allow. */
  get isOver(): boolean {
    return this.roomItems < 0 || this.roomBytes < 0
  }

  /** How full the queue is, in events or in bytes, whichever is more: 1 is full. */
  get fill(): number {
    return Math.max(1 - this.roomItems / this.bounds.items, 1 - this.roomBytes / this.bounds.bytes)
  }

  get roomItems(): number {
    return this.bounds.items - this.#events - this.#takenEvents - this.#beside.events
  }

  get roomBytes(): number {
    return this.bounds.bytes - this.#bytes - this.#takenBytes - this.#beside.bytes
  }

  /** Publish time of the oldest event that waits or that a waiting digest counts; undefined without one. */
  get oldestTime(): number | undefined {
    for (let i = this.#head; i < this.#items.length; i++) {
      const item = this.#items[i]!
      if (item.kind === 'digest') return item.fromTime
      if (item.kind === 'events') return item.block.time(positionOf(item, item.from))
    }
    return undefined
  }

  /** What waits first. */
  get head(): Item | undefined {
    return this.#items[this.#head]
  }

  /** What waits, in order. */
  get items(): readonly Item[] {
    this.#open = undefined
    return this.#head === 0 ? this.#items : this.#items.slice(this.#head)
  }

  /** Packs because the node's budget is near; false when there was nothing to drop. */
  abstract relieve(): boolean

  /** How far into the run its events fit here, as an end of it. */
  endOfFit(run: Run): number {
    return endWithin(run, this.roomItems, this.roomBytes)
  }

  /** Appends an item, whatever the bounds. A run is only read, not kept. */
  append(item: Item): void {
    if (item.kind === 'events') this.appendRun(item, item.to)
    else {
      this.#supersedeMarker(item.epoch)
      this.#open = undefined
      this.#items.push(item)
      this.#count(0, itemBytes(item))
    }
  }

  /** Appends the events of the run that stand before `to`, whatever the bounds. */
  appendRun(run: Run, to: number): void {
    const { block, picks, from } = run
    this.#supersedeMarker(block.epoch)
    const cost = costOf(run, to)
    const last = this.#open
    if (last !== undefined && last.block === block && last.picks === picks && last.to === from) {
      last.to = to
    } else {
      this.#open = { kind: 'events', block, picks, from, to }
      this.#items.push(this.#open)
    }
    this.#count(to - from, cost)
  }

  /** Puts items in front of what waits, whatever the bounds. */
  prepend(items: readonly Item[]): void {
    this.#items = [...items, ...this.items]
    this.#head = 0
    for (const item of items) this.#count(slotsOf(item), itemBytes(item))
  }

  /** Appends all that waits in another queue, by reference, without what lies below `first`. */
  appendAll(other: Queue, first: Cursor | undefined): void {
    for (const item of itemsFrom(other.items, first)) this.append(item)
  }

  /** Has these items instead of what waits. */
  replace(items: Item[]): void {
    let events = 0
    let bytes = 0
    for (const item of items) {
      events += slotsOf(item)
      bytes += itemBytes(item)
    }
    this.#items = items
    this.#head = 0
    this.#open = undefined
    this.#count(events - this.#events, bytes - this.#bytes)
  }

  /** Takes away what lies below the cursor. */
  discardBelow(cursor: Cursor): void {
    this.replace([...itemsFrom(this.items, cursor)])
  }

  /**
   * Takes items from the head if `canTake`: at most so many bytes of a frame and events, yet at least one item if that
   * takes at most `maxFirstBytes`. They count against the bounds until they are acknowledged.
   */
  take(
    maxBytes: number,
    maxFirstBytes = Number.POSITIVE_INFINITY,
    maxEvents = Number.POSITIVE_INFINITY,
  ): Taken | undefined {
    if (!this.canTake) return undefined
    const { pinnedEvents, pinnedBytes } = this
    const least = pinnedBytes === 0 ? 1 : 0
    const eventsLeft = Math.max(least, Math.floor(this.bounds.items * ON_ITS_WAY) - pinnedEvents)
    const bytesLeft = this.bounds.bytes * ON_ITS_WAY - pinnedBytes
    const items: Item[] = []
    let events = 0
    let bytes = 0
    let ofFrame = 0
    while (!this.isEmpty) {
      const item = this.#takeItem(
        maxBytes - ofFrame,
        items.length === 0 ? maxFirstBytes : 0,
        bytesLeft - bytes,
        Math.min(maxEvents, eventsLeft) - events,
      )
      if (item === undefined) break
      items.push(item)
      events += slotsOf(item)
      bytes += itemBytes(item)
      ofFrame += frameBytes(item)
    }
    if (items.length === 0) return undefined
    if (this.isEmpty) this.#open = undefined
    if (this.isEmpty || this.#head > SLACK) this.#cut()
    this.#takenEvents += events
    this.#takenBytes += bytes
    this.#count(-events, -bytes)
    this.surroundings.budget.change(bytes)
    return { items, events, bytes, frameBytes: ofFrame }
  }

  /** The other side has it: it counts no more. */
  acknowledge({ events, bytes }: Pick<Taken, 'events' | 'bytes'>): void {
    if (this.#isClosed) return
    this.#takenEvents -= events
    this.#takenBytes -= bytes
    this.surroundings.budget.change(-bytes)
    this.#watch()
  }

  /** Nobody reads or fills this queue any more; what waits is gone, and so is the memory of what was taken. */
  close(): void {
    this.replace([])
    this.acknowledge({ events: this.#takenEvents, bytes: this.#takenBytes })
    this.#isClosed = true
    this.surroundings.budget.leave(this)
  }

  /** The head item if it fits, or as much of it as does; its first event or digest may have `firstBytes`. */
  #takeItem(maxBytes: number, firstBytes: number, bytesLeft: number, maxEvents: number): Item | undefined {
    const item = this.#items[this.#head]!
    if (item.kind !== 'events') {
      const ofFrame = frameBytes(item)
      const isFitting = ofFrame <= maxBytes && itemBytes(item) <= bytesLeft
      if (!isFitting && ofFrame > firstBytes) return undefined
      this.#head++
      return item
    }
    let end = endWithin(item, maxEvents, Math.min(maxBytes, bytesLeft))
    if (end === item.from) end = endWithin(item, Math.min(1, maxEvents), firstBytes)
    if (end === item.from) return undefined
    if (end === item.to) {
      this.#head++
      return item
    }
    const { kind, block, picks, from } = item
    if (item === this.#open) this.#open.from = end
    else this.#items[this.#head] = { kind, block, picks, from: end, to: item.to }
    return { kind, block, picks, from, to: end }
  }

  /** A marker that stands at the end has nothing to say once more of its epoch follows. */
  #supersedeMarker(epoch: number): void {
    const last = this.isEmpty ? undefined : this.#items.at(-1)
    if (last?.kind !== 'marker' || last.epoch !== epoch) return
    this.#items.pop()
    this.#count(0, -itemBytes(last))
  }

  /** Counts what came to wait, or waits no more. What was taken stays in the budget. */
  #count(events: number, bytes: number): void {
    this.#events += events
    this.#bytes += bytes
    this.surroundings.budget.change(bytes)
    this.#watch()
  }

  /** By what is here alone: this runs for every event, and what stands beside is watched by itself. */
  #watch(): void {
    const { items, bytes } = this.bounds
    const fill = Math.max(
      (this.#events + this.#takenEvents) / items,
      (this.#bytes + this.#takenBytes) / bytes,
    )
    if (this.#isHigh ? fill > LOW_WATER : fill < HIGH_WATER) return
    this.#isHigh = !this.#isHigh
    this.surroundings.pressure?.(this, this.#isHigh)
  }

  #cut(): void {
    this.#items = this.#items.slice(this.#head)
    this.#head = 0
  }
}
