// Items in order, as they are taken from a queue: runs of events, digests, and markers between them.
import type { Digest } from '../policies/digest.ts'
import { costOf, positionOf, type Run } from './block.ts'

/** A place in a sender's stream: the number `seq` of an epoch. */
export interface Cursor {
  readonly epoch: number
  readonly seq: number
}

/**
 * The sender's highest number so far, or at its end, told behind the data, so that a lost tail becomes a gap.
 * A marker costs no slot; later ones of an epoch replace earlier ones.
 */
export interface Marker {
  readonly kind: 'marker'
  readonly epoch: number
  readonly highest: number
  /** No more will come in this epoch. */
  readonly end: boolean
}

/** What queues hold, by reference. */
export type Item = Run | Digest | Marker

/** What a marker costs a queue, in bytes. */
export const MARKER_BYTES = 32
/** What a digest costs a queue besides its digesters' states. */
const DIGEST_BYTES = 128
const CAUSE_BYTES = 16
/** The same in a frame. Behind a digest a new run begins, whose head has what the digest has. */
const FRAME_DIGEST_BYTES = 12
const FRAME_CAUSE_BYTES = 2
const FRAME_MARKER_BYTES = 12

/** Negative when `a` comes before `b` in the stream. */
export function compareCursors(a: Cursor, b: Cursor): number {
  return a.epoch - b.epoch || a.seq - b.seq
}

/** What a digest costs a queue, in bytes. */
export function digestBytes({ causes, states }: Pick<Digest, 'causes' | 'states'>): number {
  return DIGEST_BYTES + CAUSE_BYTES * causes.length + stateBytes(states)
}

/** What an item costs a queue, in bytes. */
export function itemBytes(item: Item): number {
  switch (item.kind) {
    case 'events':
      return costOf(item)
    case 'digest':
      return digestBytes(item)
    case 'marker':
      return MARKER_BYTES
  }
}

/** About how many bytes an item takes of a frame: digests and markers are shorter there than in memory. */
export function frameBytes(item: Item): number {
  switch (item.kind) {
    case 'events':
      return costOf(item)
    case 'digest':
      return FRAME_DIGEST_BYTES + FRAME_CAUSE_BYTES * item.causes.length + stateBytes(item.states)
    case 'marker':
      return FRAME_MARKER_BYTES
  }
}

/** How many slots an item takes: one for each event, none for digests and markers. */
export function slotsOf(item: Item): number {
  return item.kind === 'events' ? item.to - item.from : 0
}

/** The epoch of everything in an item. */
export function epochOf(item: Item): number {
  return item.kind === 'events' ? item.block.epoch : item.epoch
}

/** The later of two places, of which either may be unknown. */
export function laterOf(a: Cursor | undefined, b: Cursor | undefined): Cursor | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return compareCursors(a, b) < 0 ? b : a
}

/** The place of an item's first event; undefined for a marker. */
export function cursorOf(item: Item): Cursor | undefined {
  switch (item.kind) {
    case 'events':
      return { epoch: item.block.epoch, seq: item.block.seq(positionOf(item, item.from)) }
    case 'digest':
      return { epoch: item.epoch, seq: item.from }
    case 'marker':
      return undefined
  }
}

/** The place behind an item; undefined for a marker, which has none. */
export function nextAfter(item: Item): Cursor | undefined {
  switch (item.kind) {
    case 'events':
      return { epoch: item.block.epoch, seq: item.block.seq(positionOf(item, item.to - 1)) + 1 }
    case 'digest':
      return { epoch: item.epoch, seq: item.to + 1 }
    case 'marker':
      return undefined
  }
}

/** The run without the events below the cursor; undefined when none is left. */
export function runFrom(run: Run, cursor: Cursor): Run | undefined {
  const { block } = run
  if (block.epoch > cursor.epoch) return run
  if (block.epoch < cursor.epoch) return undefined
  let low = run.from
  let high = run.to
  while (low < high) {
    const middle = (low + high) >> 1
    if (block.seq(positionOf(run, middle)) < cursor.seq) low = middle + 1
    else high = middle
  }
  if (low === run.from) return run
  return low === run.to ? undefined : { ...run, from: low }
}

/** The item without what lies below the cursor. A digest that straddles it stays as it is. */
export function itemFrom(item: Item, cursor: Cursor): Item | undefined {
  switch (item.kind) {
    case 'events':
      return runFrom(item, cursor)
    case 'digest':
      return compareCursors({ epoch: item.epoch, seq: item.to }, cursor) < 0 ? undefined : item
    case 'marker':
      return item.epoch < cursor.epoch ? undefined : item
  }
}

/** The items without what lies below the cursor; all of them without one. */
export function itemsFrom(items: readonly Item[], cursor: Cursor | undefined): readonly Item[] {
  if (cursor === undefined) return items
  return items.map((item) => itemFrom(item, cursor)).filter((item) => item !== undefined)
}

/** States are plain data: numbers, texts, bytes and lists of those. */
function stateBytes(state: unknown): number {
  if (typeof state === 'string') return 8 + 2 * state.length
  if (state instanceof Uint8Array) return 64 + state.length
  if (!Array.isArray(state)) return 8
  let bytes = 16
  for (const part of state) bytes += stateBytes(part)
  return bytes
}
