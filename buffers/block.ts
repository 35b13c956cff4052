// Blocks of encoded events. Queues share them by reference; a block is only ever appended to.
import type { Attributes, Value } from '../policies/event.ts'
import { BodyReader, type Schema } from './codec.ts'

/** What an event costs besides its body: its offset, its number and its time. */
export const EVENT_OVERHEAD_BYTES = 16
/** Bodies beyond this go into the next block: a few hundred events share the fixed cost of one. */
export const BLOCK_BYTES = 32_768
/** Events beyond this, too: bodies may be empty. */
export const BLOCK_EVENTS = 2_048

/** What stands before the bodies at positions `from` to `to - 1` when they are sent. */
export interface Head {
  readonly from: number
  readonly to: number
  readonly bytes: Uint8Array
}

/** Events of one sender and one epoch, in order. Positions count from 0. */
export class Block {
  readonly schema: Schema
  readonly epoch: number
  #bytes: Uint8Array
  /** Where the body of each position begins, and at `length` where the last one ends. */
  #offsets: Uint32Array
  #seqs: Float64Array
  #times: Float64Array
  #length = 0
  /** Whether the bytes are part of somebody else's memory. */
  #liesOver = false
  /** Of the bytes as they are now. */
  #reader: BodyReader | undefined
  /**
   * Kept by who sends it, so that each is made once for many links. They live as long as the block: in a WeakMap they
   * would keep what it lies over until all of the old generation is collected.
   */
  heads: Head[] | undefined

  /** Room for so many body bytes and events; it grows when that is not enough. */
  constructor(schema: Schema, epoch: number, bytes = 128, events = 4) {
    this.schema = schema
    this.epoch = epoch
    this.#bytes = new Uint8Array(bytes)
    this.#offsets = new Uint32Array(events + 1)
    this.#seqs = new Float64Array(events)
    this.#times = new Float64Array(events)
  }

  /**
   * A block over memory that is there already, which nobody may write any more: position `i` has the body from
   * `offsets[i]` to `offsets[i + 1]`, and `offsets[0]` is 0. Appending to it copies.
   */
  static of(
    schema: Schema,
    epoch: number,
    bytes: Uint8Array,
    offsets: Uint32Array,
    seqs: Float64Array,
    times: Float64Array,
  ): Block {
    // Engines are slower to make empty arrays than small ones.
    const block = new Block(schema, epoch, 1, 1)
    block.#bytes = bytes
    block.#offsets = offsets
    block.#seqs = seqs
    block.#times = times
    block.#length = seqs.length
    block.#liesOver = true
    return block
  }

  get length(): number {
    return this.#length
  }

  /** Of all bodies together. */
  get bytes(): number {
    return this.#offsets[this.#length]!
  }

  /** What stays in memory with this block, and maybe with others: the frame it lies over, or its own bytes. */
  get memory(): ArrayBufferLike {
    return this.#bytes.buffer
  }

  /** How much that is, as far as it counts: what a block of its own may still grow into does not. */
  get memoryBytes(): number {
    const cost = this.cost(0, this.#length)
    return this.#liesOver ? Math.max(cost, this.memory.byteLength) : cost
  }

  seq(position: number): number {
    return this.#seqs[position]!
  }

  /** Publish time in milliseconds. */
  time(position: number): number {
    return this.#times[position]!
  }

  /** The encoded event; a view, not a copy. */
  body(position: number): Uint8Array {
    return this.bodies(position, position + 1)
  }

  /** The encoded events at positions `from` to `to - 1` back to back; a view, not a copy. */
  bodies(from: number, to: number): Uint8Array {
    return this.#bytes.subarray(this.#offsets[from]!, this.#offsets[to]!)
  }

  /** How many bytes the encoded event has. */
  bodyBytes(position: number): number {
    return this.#offsets[position + 1]! - this.#offsets[position]!
  }

  /** What the events at positions `from` to `to - 1` cost a queue. */
  cost(from: number, to: number): number {
    return this.#offsets[to]! - this.#offsets[from]! + (to - from) * EVENT_OVERHEAD_BYTES
  }

  /** Appends an event whose number is above all that are there. */
  append(seq: number, time: number, body: Uint8Array): void {
    const at = this.bytes
    this.#reserve(at + body.length)
    this.#bytes.set(body, at)
    this.#seqs[this.#length] = seq
    this.#times[this.#length] = time
    this.#offsets[++this.#length] = at + body.length
  }

  /** Appends the events at positions `from` to `to - 1` of another block of the same schema and epoch. */
  appendFrom(other: Block, from: number, to: number): void {
    const at = this.bytes
    const start = other.#offsets[from]!
    const size = other.#offsets[to]! - start
    this.#reserve(at + size, to - from)
    this.#bytes.set(other.#bytes.subarray(start, start + size), at)
    this.#seqs.set(other.#seqs.subarray(from, to), this.#length)
    this.#times.set(other.#times.subarray(from, to), this.#length)
    for (let i = from; i < to; i++) this.#offsets[++this.#length] = at + other.#offsets[i + 1]! - start
  }

  /** Puts the event's values into an object that has the tags of the schema. Bytes are views, not copies. */
  read(position: number, into: Record<string, Value>): void {
    this.#reader ??= new BodyReader(this.#bytes)
    this.#reader.read(this.schema, this.#offsets[position]!, this.#offsets[position + 1]!, into)
  }

  attributes(position: number): Attributes {
    return new BodyReader(this.#bytes).attributes(
      this.schema,
      this.#offsets[position]!,
      this.#offsets[position + 1]!,
    )
  }

  /**
   * The values of these tags at all positions, a column for each; one that the schema lacks is missing, and so are
   * all of a malformed body: packing must go on whatever a stranger sent.
   */
  columns(tags: readonly string[]): Value[][] {
    const length = this.#length
    const columns = tags.map(() => new Array<Value>(length).fill(undefined))
    const wanted = tags
      .map((tag, i) => ({ place: this.schema.tags.indexOf(tag), column: columns[i]! }))
      .filter(({ place }) => place >= 0)
      .sort((a, b) => a.place - b.place)
    const places = wanted.map(({ place }) => place)
    const picked = wanted.map(({ column }) => column)
    const reader = new BodyReader(this.#bytes)
    for (let i = 0; i < length; i++) {
      try {
        reader.pick(places, picked, i, this.#offsets[i]!, this.#offsets[i + 1]!)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        for (const column of picked) column[i] = undefined
      }
    }
    return columns
  }

  #reserve(bytes: number, events = 1): void {
    if (bytes > this.#bytes.length) {
      this.#bytes = grown(this.#bytes, bytes)
      this.#liesOver = false
      this.#reader = undefined
    }
    if (this.#length + events > this.#seqs.length) {
      this.#seqs = grown(this.#seqs, this.#length + events)
      this.#times = grown(this.#times, this.#length + events)
      this.#offsets = grown(this.#offsets, this.#seqs.length + 1)
    }
  }
}

/**
 * Some events of a block, in order: those at positions `from` to `to - 1`, or where there are picks at
 * `picks[from]` to `picks[to - 1]`. A run is never empty and never changes.
 */
export interface Run {
  readonly kind: 'events'
  readonly block: Block
  readonly picks: Uint32Array | undefined
  readonly from: number
  readonly to: number
}

/** The position in the block of the run's event `i`, which counts from `run.from`. */
export function positionOf({ picks }: Run, i: number): number {
  return picks === undefined ? i : picks[i]!
}

/** What the run's events before `to` cost a queue. */
export function costOf({ block, picks, from, to: end }: Run, to = end): number {
  if (picks === undefined) return block.cost(from, to)
  let cost = 0
  for (let i = from; i < to; i++) cost += block.cost(picks[i]!, picks[i]! + 1)
  return cost
}

/** The end of the longest part of the run, from its beginning, of at most so many events and bytes. */
export function endWithin(run: Run, events: number, bytes: number): number {
  const { block, from } = run
  const most = Math.min(run.to, from + events)
  if (run.picks === undefined && most > from && block.cost(from, most) <= bytes) return most
  let end = from
  for (let cost = 0; end < most; end++) {
    const position = positionOf(run, end)
    cost += block.cost(position, position + 1)
    if (cost > bytes) break
  }
  return end
}

/** Puts small runs behind one another into blocks, so that a queue of single events has few of them. */
export class BlockWriter {
  #open: Block | undefined

  /** Appends one event; the run is where it stands now. */
  write(schema: Schema, epoch: number, seq: number, time: number, body: Uint8Array): Run {
    const block = this.#blockFor(schema, epoch, body.length, 1)
    block.append(seq, time, body)
    return { kind: 'events', block, picks: undefined, from: block.length - 1, to: block.length }
  }

  /** Copies a run; it becomes one without picks. */
  copy(run: Run): Run {
    const events = run.to - run.from
    const bytes = costOf(run) - events * EVENT_OVERHEAD_BYTES
    const block = this.#blockFor(run.block.schema, run.block.epoch, bytes, events)
    const from = block.length
    if (run.picks === undefined) block.appendFrom(run.block, run.from, run.to)
    else for (let i = run.from; i < run.to; i++) block.appendFrom(run.block, run.picks[i]!, run.picks[i]! + 1)
    return { kind: 'events', block, picks: undefined, from, to: block.length }
  }

  #blockFor(schema: Schema, epoch: number, bytes: number, events: number): Block {
    const open = this.#open
    const isSame = open?.schema === schema && open.epoch === epoch
    if (isSame && open.bytes + bytes <= BLOCK_BYTES && open.length + events <= BLOCK_EVENTS) return open
    // After a full one another is likely to become full: it does not have to grow.
    this.#open = isSame
      ? new Block(schema, epoch, Math.max(BLOCK_BYTES, bytes), open.length)
      : new Block(schema, epoch, Math.max(128, bytes))
    return this.#open
  }
}

function grown<A extends Uint8Array | Uint32Array | Float64Array>(array: A, length: number): A {
  const size = Math.max(array.length * 2, length)
  const larger = new (array.constructor as new (length: number) => A)(size)
  larger.set(array)
  return larger
}
