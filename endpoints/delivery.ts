// What a receiver gets: events, digests of what its policy dropped, and gaps for what was lost by accident, in order,
// with the receipt that accounts for all of them.
import { type Block, positionOf } from '../buffers/block.ts'
import type { Schema } from '../buffers/codec.ts'
import {
  type Cursor,
  compareCursors,
  epochOf,
  type Item,
  laterOf,
  type Marker,
  nextAfter,
} from '../buffers/item.ts'
import type { Queue } from '../buffers/queue.ts'
import {
  type EpochReceipt,
  type Gap,
  MAX_OPEN_GAPS,
  type OverlappingDigest,
  Receipt,
  without,
} from '../buffers/receipt.ts'
import { type Cause, countOf, type Digest } from '../policies/digest.ts'
import type { Shown } from '../policies/digester.ts'
import type { Attributes, Value } from '../policies/event.ts'
import type { Pass } from '../policies/pack.ts'
import type { Policy } from '../policies/policy.ts'

/**
 * An event: its attributes by their tags, beside where it stands in its sender's stream. Bytes are views of what
 * arrived, some hundred events together: who keeps a few for long copies them.
 */
export type DeliveredEvent<A extends Attributes = Attributes> = A & {
  readonly kind: 'event'
  readonly epoch: number
  readonly seq: number
  /** When it was published, in milliseconds. */
  readonly time: number
  /** It waited while the client was away, and comes after what is live, by the receiver's choice. */
  readonly backlog?: true
}

/** What the policy dropped: how many, why, and what each digester says, by its name. */
export interface DeliveredDigest {
  readonly kind: 'digest'
  readonly epoch: number
  readonly from: number
  readonly to: number
  readonly count: number
  /** Publish times of the first and the last event dropped, in milliseconds. */
  readonly fromTime: number
  readonly toTime: number
  readonly causes: readonly Cause[]
  /** How many of the events were accounted for before; the digesters' values still count them. */
  readonly overlaps?: number
  /** As of an event. */
  readonly backlog?: true
  /** It only says what waits: that still comes, and the receipt does not count this. */
  readonly preview?: true
  readonly [digester: string]: Shown | readonly Cause[] | undefined
}

/** A pack of the receiver's own queue: its policy has made room. */
export interface Pack {
  /** The level that made room; `worst-case` when none did, and everything became digests. */
  readonly level: number | 'worst-case'
  /** Events in the queue before and after. */
  readonly before: number
  readonly after: number
  /** In milliseconds. */
  readonly time: number
  /** What each filter that ran saw and kept; levels and filters count from 1. */
  readonly passes: readonly Pass[]
}

/** What was lost by accident. */
export interface DeliveredGap {
  readonly kind: 'gap'
  readonly epoch: number
  readonly from: number
  readonly to: number
  readonly count: number
  /** The client had departed, and nobody kept anything for it any more. */
  readonly cause?: 'departed'
  /** It is what the backlog did not bring, so that it comes late. */
  readonly backlog?: true
}

export type Delivered<A extends Attributes = Attributes> = DeliveredEvent<A> | DeliveredDigest | DeliveredGap

/** Tags that an event cannot have, because what is delivered says other things by these names. */
export const RESERVED_TAGS: readonly string[] = ['kind', 'epoch', 'seq', 'time', 'backlog']

/** Bytes taken from the queue at a time: some hundred events. */
const CHUNK_BYTES = 65_536

/** Takes one item; false when it wants no more. */
export type Hand<A extends Attributes> = (item: Delivered<A>) => boolean

export class Delivery<A extends Attributes> {
  readonly #policy: Policy
  readonly #receipt: Receipt
  readonly #gaps: Gap[] = []
  /** What is missing and may still come from the backlog: counted, and not told yet; undefined when nothing may. */
  #awaited: Gap[] | undefined
  /** The number after the last event. */
  readonly #next: { epoch: number; seq: number } = { epoch: 0, seq: 0 }
  /** Where it stood when its client departed, until the stream goes on from there. */
  #departure: { readonly at: Cursor | undefined } | undefined
  #blank: { readonly schema: Schema; readonly event: Readonly<Record<string, Value>> } | undefined

  constructor(policy: Policy, first: Cursor | undefined) {
    this.#policy = policy
    this.#receipt = new Receipt(first, (gap) => this.#missed(gap))
  }

  /** What is accounted for, an entry for each epoch. */
  get epochs(): EpochReceipt[] {
    return this.#receipt.epochs
  }

  /** The next number expected. */
  get cursor(): Cursor | undefined {
    return this.#receipt.cursor
  }

  /** Whether the sender said that no more will come. */
  get isEnded(): boolean {
    return this.#receipt.isEnded
  }

  /** The client has departed: a gap that begins behind what waits here is because of that. */
  departed(queue: Queue): void {
    this.#departure = { at: queue.items.reduce((at, item) => laterOf(at, behind(item)), this.cursor) }
  }

  /** From now on what is missing may still come from the backlog. */
  await(): void {
    this.#awaited ??= []
  }

  /** Whether something is missing that may come from the backlog. */
  get isAwaiting(): boolean {
    return this.#awaited !== undefined && this.#awaited.length > 0
  }

  /** The backlog brings no more: what is still missing of it is told. */
  giveUp(hasDeparted: boolean): DeliveredGap[] {
    const missing = this.#awaited ?? []
    this.#awaited = undefined
    const cause = hasDeparted ? { cause: 'departed' as const } : {}
    return missing.map((gap) => ({ ...toldOf(gap), ...cause, backlog: true }))
  }

  /** Whether something is missing before an item, or, by what it says, below it. */
  isMissingBefore(item: Item): boolean {
    const { cursor } = this
    if (cursor === undefined) return false
    const seq = item.kind === 'events' ? item.block.seq(positionOf(item, item.from)) : fromOf(item)
    return epochOf(item) > cursor.epoch ? seq > 1 : epochOf(item) === cursor.epoch && seq > cursor.seq
  }

  /** Whether everything up to an item's end is accounted for, missing or not. */
  isPast(item: Item): boolean {
    const { cursor } = this
    const end = behind(item)
    return cursor !== undefined && (end === undefined || compareCursors(end, cursor) <= 0)
  }

  /** Everything up to an item's end may come only from the backlog. */
  missUpTo(item: Item): Delivered<A>[] {
    const delivered: Delivered<A>[] = []
    const { epoch, seq } = behind(item)!
    this.#missBefore(epoch, seq, (gap) => delivered.push(gap) > 0)
    return delivered
  }

  /** Hands out an item of the backlog: what was missing of it is not missing any more. */
  handBacklog(item: Item, to: Hand<A>): boolean {
    if (item.kind === 'marker') return true
    if (item.kind === 'digest') {
      const accepted = this.#receipt.repairDigest(item)
      this.#found(item)
      return accepted === undefined || to({ ...this.#shown(item, accepted), backlog: true })
    }
    for (let i = item.from; i < item.to; i++) {
      const position = positionOf(item, i)
      const { epoch } = item.block
      const seq = item.block.seq(position)
      if (!this.#receipt.repair(epoch, seq)) continue
      this.#found({ epoch, from: seq, to: seq })
      if (!to({ ...this.#read(item.block, position), backlog: true })) return false
    }
    return true
  }

  /** What the backlog would be as a digest; it is not accounted for. */
  preview(digest: Digest): DeliveredDigest {
    return { ...this.#shown(digest, digest), preview: true }
  }

  /** Takes some of what waits, at most so many events; they count as delivered. */
  take(queue: Queue, maxEvents = Number.POSITIVE_INFINITY): Delivered<A>[] {
    const delivered: Delivered<A>[] = []
    this.hand(queue, (item) => delivered.push(item) > 0, maxEvents)
    return delivered
  }

  /** What items are to the receiver; they count as delivered. */
  deliver(items: readonly Item[]): Delivered<A>[] {
    const delivered: Delivered<A>[] = []
    for (const item of items) this.#handItem(item, (one) => delivered.push(one) > 0)
    return delivered
  }

  /** Hands out some of what waits, until `to` returns false; what was handed out counts as delivered. */
  hand(queue: Queue, to: Hand<A>, maxEvents = Number.POSITIVE_INFINITY): void {
    const taken = queue.take(CHUNK_BYTES, Number.POSITIVE_INFINITY, maxEvents)
    if (taken === undefined) return
    queue.acknowledge(taken)
    for (const item of taken.items) if (!this.#handItem(item, to)) return
  }

  #handItem(item: Item, to: Hand<A>): boolean {
    if (item.kind === 'marker') {
      return this.#missUpTo(item, to)
    }
    if (item.kind === 'digest') return this.#digest(item, to)
    for (let i = item.from; i < item.to; i++) {
      if (!this.#event(item.block, positionOf(item, i), to)) return false
    }
    return true
  }

  /** What is missing before a number is told, and counted, before what has the number. */
  #missBefore(epoch: number, seq: number, to: Hand<A>): boolean {
    return this.#missUpTo({ kind: 'marker', epoch, highest: seq - 1, end: false }, to)
  }

  #missUpTo(marker: Marker, to: Hand<A>): boolean {
    const { cursor } = this
    this.#receipt.marker(marker)
    const cause = this.#isDeparture(cursor) ? { cause: 'departed' as const } : {}
    for (const gap of this.#gaps.splice(0)) if (!to({ ...toldOf(gap), ...cause })) return false
    return true
  }

  #missed(gap: Gap): void {
    const awaited = this.#awaited
    if (awaited === undefined) this.#gaps.push(gap)
    else {
      awaited.push(gap)
      // The receipt remembers no more for repair either.
      if (awaited.length > MAX_OPEN_GAPS) this.#gaps.push(awaited.shift()!)
    }
  }

  #found(range: Omit<Gap, 'kind'>): void {
    if (this.#awaited !== undefined) this.#awaited = without(this.#awaited, range)
  }

  /** Whether what is missing from here on is missing because the client had departed. */
  #isDeparture(cursor: Cursor | undefined): boolean {
    const departure = this.#departure
    if (departure === undefined || isSame(this.cursor, departure.at)) return false
    const isHere = isSame(cursor, departure.at)
    // What waited when it departed comes first.
    if (isHere || departure.at === undefined || compareCursors(this.cursor!, departure.at) > 0)
      this.#departure = undefined
    return isHere
  }

  #event(block: Block, position: number, to: Hand<A>): boolean {
    const seq = block.seq(position)
    const { epoch } = block
    if (seq !== this.#next.seq || epoch !== this.#next.epoch) {
      if (!this.#missBefore(epoch, seq, to)) return false
    }
    if (!this.#receipt.event(epoch, seq)) return true
    this.#next.epoch = epoch
    this.#next.seq = seq + 1
    return to(this.#read(block, position))
  }

  #read(block: Block, position: number): DeliveredEvent<A> {
    const event = { ...this.#blankOf(block.schema) }
    block.read(position, event)
    event.kind = 'event'
    event.epoch = block.epoch
    event.seq = block.seq(position)
    event.time = block.time(position)
    return event as DeliveredEvent<A>
  }

  /** An event without its values. Copies of it have the same shape, which makes them cheap to fill and to read. */
  #blankOf(schema: Schema): Readonly<Record<string, Value>> {
    if (this.#blank?.schema !== schema) {
      const tags = Object.fromEntries(schema.tags.map((tag) => [tag, undefined]))
      this.#blank = { schema, event: { ...tags, kind: 'event', epoch: 0, seq: 0, time: 0 } }
    }
    return this.#blank.event
  }

  #digest(digest: Digest, to: Hand<A>): boolean {
    if (!this.#missBefore(digest.epoch, digest.from, to)) return false
    const accepted = this.#receipt.digest(digest)
    return accepted === undefined || to(this.#shown(digest, accepted))
  }

  /** A digest as it is delivered, with what was accepted of its range. */
  #shown(digest: Digest, accepted: Digest | OverlappingDigest): DeliveredDigest {
    const { digest: shown } = this.#policy.show(digest)
    const { epoch, from, fromTime, toTime, causes } = accepted
    const overlaps = 'overlaps' in accepted ? { overlaps: accepted.overlaps } : {}
    const count = countOf(digest) - (overlaps.overlaps ?? 0)
    return {
      ...shown,
      kind: 'digest',
      epoch,
      from,
      to: accepted.to,
      count,
      fromTime,
      toTime,
      causes,
      ...overlaps,
    }
  }
}

function toldOf({ kind, epoch, from, to }: Gap): DeliveredGap {
  return { kind, epoch, from, to, count: to - from + 1 }
}

/** What should be the next number for nothing to be missing. */
function fromOf(item: Digest | Marker): number {
  return item.kind === 'digest' ? item.from : item.highest + 1
}

/** The place behind everything that an item says. */
function behind(item: Item): Cursor | undefined {
  return item.kind === 'marker' ? { epoch: item.epoch, seq: item.highest + 1 } : nextAfter(item)
}

function isSame(a: Cursor | undefined, b: Cursor | undefined): boolean {
  return a?.epoch === b?.epoch && a?.seq === b?.seq
}
