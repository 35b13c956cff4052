// What a sender's root remembers for those who pull: the sender's last items, in memory, in order (DESIGN section 9). A
// replicated store can take the ring's place: it is a `Recent` as well.
import { BlockWriter, costOf, endWithin, positionOf, type Run } from '../buffers/block.ts'
import {
  type Cursor,
  compareCursors,
  epochOf,
  type Item,
  itemBytes,
  itemFrom,
  type Marker,
  nextAfter,
  slotsOf,
} from '../buffers/item.ts'

/** The last items of one sender. */
export interface Recent {
  /** Items as they come from the sender's proxy, at this time by the root's clock. */
  put(items: readonly Item[], now: number): void
  /** Tells, at once or later, what there is from a place on: at most so many bytes, yet at least one event or digest. */
  read(since: Cursor | undefined, maxBytes: number, told: (found: Found) => void): void
  /** Told every few seconds: no more than so many bytes from now on. */
  settle(maxBytes: number): void
}

/** What there is from a place on. */
export interface Found {
  /** Where it begins: the place asked for, or the newest event; undefined when that was asked for and there is none. */
  readonly first: Cursor | undefined
  /** In order; a marker only where it says more than what is before it. */
  readonly items: readonly Item[]
  readonly more: boolean
  /** When the last of the items came to be known here, by the root's clock. */
  readonly at: number
}

/** Events of one sender: at one in five minutes the last three days. */
export const RING_EVENTS = 1_000
/** Bytes of one sender's items: a thousand events of 250. */
export const RING_BYTES = 262_144

/**
 * A ring in memory. What arrives is held by reference. What is still there when the ring settles is copied into blocks of
 * its own, so that no frame stays in memory for a few events of many.
 */
export class Ring implements Recent {
  readonly #writer = new BlockWriter()
  readonly #items: Item[] = []
  /** How many items, from the first on, are the ring's own. */
  #settled = 0
  #maxBytes = RING_BYTES
  #events = 0
  #bytes = 0
  /** Behind everything that was put here. */
  #next: Cursor | undefined
  /** The publish time of the newest item, by the sender's clock, and when it came, by ours. */
  #newestTime = 0
  #newestAt = 0

  get events(): number {
    return this.#events
  }

  get bytes(): number {
    return this.#bytes
  }

  put(items: readonly Item[], now: number): void {
    for (const item of items) {
      const fresh = this.#next === undefined ? item : itemFrom(item, this.#next)
      if (fresh?.kind === 'marker') this.#mark(fresh, now)
      else if (fresh !== undefined) this.#append(fresh, now)
    }
    this.#trim()
  }

  read(since: Cursor | undefined, maxBytes: number, told: (found: Found) => void): void {
    const first = since ?? this.#newest()
    if (first === undefined) told({ first, items: [], more: false, at: this.#newestAt })
    else told(this.#from(first, maxBytes))
  }

  settle(maxBytes: number): void {
    this.#maxBytes = maxBytes
    this.#trim()
    const arrived = this.#items.splice(this.#settled)
    for (const item of arrived) this.#settleItem(item)
    this.#settled = this.#items.length
  }

  #append(item: Exclude<Item, Marker>, now: number): void {
    const last = this.#items.at(-1)
    // What follows in its epoch says more than a marker.
    if (last?.kind === 'marker' && last.epoch === epochOf(item)) this.#pop()
    this.#push(item)
    this.#next = nextAfter(item)
    this.#newestTime = timeOf(item)
    this.#newestAt = now
  }

  /** What was copied behind one another is one run. */
  #settleItem(item: Item): void {
    const own = item.kind === 'events' ? this.#writer.copy(item) : item
    const last = this.#items.at(-1)
    const isNext = last?.kind === 'events' && own.kind === 'events' && last.block === own.block
    if (isNext && last.to === own.from) this.#items[this.#items.length - 1] = { ...last, to: own.to }
    else this.#items.push(own)
  }

  /** The sender's highest number. One that says nothing new is left out. */
  #mark(marker: Marker, now: number): void {
    const next = { epoch: marker.epoch, seq: marker.highest + 1 }
    if (this.#next !== undefined && compareCursors(next, this.#next) <= 0) return
    const last = this.#items.at(-1)
    if (last?.kind === 'marker' && last.epoch === marker.epoch) this.#pop()
    this.#push(marker)
    this.#next = next
    this.#newestAt = now
  }

  #push(item: Item): void {
    this.#items.push(item)
    this.#events += slotsOf(item)
    this.#bytes += itemBytes(item)
  }

  #pop(): void {
    this.#forget(this.#items.pop()!)
    this.#settled = Math.min(this.#settled, this.#items.length)
  }

  #shift(): void {
    this.#forget(this.#items.shift()!)
    this.#settled = Math.max(0, this.#settled - 1)
  }

  #forget(item: Item): void {
    this.#events -= slotsOf(item)
    this.#bytes -= itemBytes(item)
  }

  /** The oldest go. */
  #trim(): void {
    while (this.#events > RING_EVENTS || this.#bytes > this.#maxBytes) {
      const item = this.#items[0]!
      if (item.kind === 'events') this.#shorten(item)
      else this.#shift()
    }
  }

  /** As many of the run's events go as have to. */
  #shorten(run: Run): void {
    let from = Math.min(run.to, run.from + Math.max(0, this.#events - RING_EVENTS))
    const excess = this.#bytes - this.#maxBytes
    while (from < run.to && costOf(run, from) < excess) from++
    if (from === run.to) {
      this.#shift()
      return
    }
    this.#items[0] = { ...run, from }
    this.#events -= from - run.from
    this.#bytes -= costOf(run, from)
  }

  /** Where the newest event or digest begins; behind everything when there is none. */
  #newest(): Cursor | undefined {
    const item = this.#items.findLast(({ kind }) => kind !== 'marker')
    if (item === undefined) return this.#next
    if (item.kind === 'digest') return { epoch: item.epoch, seq: item.from }
    const { epoch, seq } = nextAfter(item)!
    return { epoch, seq: seq - 1 }
  }

  #from(first: Cursor, maxBytes: number): Found {
    // What is held reaches to the end; when all of it had to go, that it was there is still known.
    const items: Item[] = this.#items.length === 0 ? this.#lost(first) : []
    let left = maxBytes
    let time = this.#newestTime
    let more = false
    for (const held of this.#items) {
      const item = itemFrom(held, first)
      if (item === undefined || (item.kind === 'marker' && !isNews(item, first))) continue
      const fitting = fittingOf(item, left, items.length === 0)
      if (fitting !== undefined) {
        items.push(fitting)
        left -= itemBytes(fitting)
        if (fitting.kind !== 'marker') time = timeOf(fitting)
      }
      more = fitting === undefined || slotsOf(fitting) < slotsOf(item)
      if (more) break
    }
    return { first, items, more, at: this.#newestAt - Math.max(0, this.#newestTime - time) }
  }

  #lost(first: Cursor): Marker[] {
    const next = this.#next
    if (next === undefined || compareCursors(first, next) >= 0) return []
    return [{ kind: 'marker', epoch: next.epoch, highest: next.seq - 1, end: false }]
  }
}

/** As much of an item as fits; undefined for nothing of it. */
function fittingOf(item: Item, bytes: number, isFirst: boolean): Item | undefined {
  if (item.kind !== 'events') return isFirst || itemBytes(item) <= bytes ? item : undefined
  const end = Math.max(endWithin(item, item.to - item.from, bytes), isFirst ? item.from + 1 : item.from)
  return end === item.from ? undefined : { ...item, to: end }
}

/** Whether a marker tells of numbers from the place on. */
function isNews({ epoch, highest }: Marker, first: Cursor): boolean {
  return epoch > first.epoch || highest >= first.seq
}

/** The publish time of the last event. */
function timeOf(item: Exclude<Item, Marker>): number {
  return item.kind === 'events' ? item.block.time(positionOf(item, item.to - 1)) : item.toTime
}
