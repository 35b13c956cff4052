// Packing a queue with a policy (PACK section 2, "Policy execution", and Figure 3): the whole queue goes
// through each filter in turn; what is dropped becomes digests that stand where the events stood.
import { type Digest, DigestRun } from './digest.ts'
import type { Events, Value } from './event.ts'
import type { Surroundings } from './filter.ts'
import type { CompiledFilter, Policy } from './policy.ts'

/** What a filter saw and kept in a pack; levels and filters count from 1. */
export interface Pass {
  readonly level: number
  readonly filter: number
  readonly seen: number
  readonly kept: number
}

/** The time, chance and place of a pack. */
export interface PackSurroundings extends Surroundings {
  /** The buffer's name, for the causes of the digests. */
  readonly buffer: string
  /** Told how many events each filter saw and kept; levels and filters count from 1. */
  observe?(level: number, filter: number, seen: number, kept: number): void
}

/** A packed queue: the positions that survive, ascending, and the digests that stand between them. */
export interface Packed {
  readonly kept: Uint32Array
  /** `digests.get(i)` stand before the event at `kept[i]`; those at `kept.length` stand at the end. */
  readonly digests: ReadonlyMap<number, readonly Digest[]>
}

/** Digests of earlier packs: `riding.get(i)` stand before the event at position i, `length` at the end. */
export type Riding = ReadonlyMap<number, readonly Digest[]>

const NONE: readonly Value[] = []

/** Working memory that a pack leaves behind for the next one, for this many events at most. */
const KEPT_MEMORY_EVENTS = 100_000

/** What packing works on; allocating it anew would be a third of the time of packing a thousand events. */
interface Memory {
  readonly survivors: Uint32Array
  readonly spare: Uint32Array
  /** How many levels each position has passed: it was dropped at the level after. */
  readonly passed: Uint8Array
}

let keptMemory: Memory | undefined

/**
 * One pack of one queue. `climb` may be called again with a higher level: levels are cumulative, so packing
 * goes on from where it is, until `finish`. The events and the riding digests are not changed.
 */
export class Packing {
  readonly #policy: Policy
  readonly #events: Events
  /** By ascending position; those before `#nextRider` have been digested. */
  readonly #riders: [position: number, digests: readonly Digest[]][]
  #nextRider = 0
  readonly #surroundings: PackSurroundings
  readonly #columns = new Map<string, readonly Value[]>()
  readonly #memory: Memory
  #survivors: Uint32Array
  #spare: Uint32Array
  #count: number
  #level = 0
  #finished = false

  constructor(policy: Policy, events: Events, riding: Riding, surroundings: PackSurroundings) {
    this.#policy = policy
    this.#events = events
    this.#riders = riding.size === 0 ? [] : [...riding].sort(([a], [b]) => a - b)
    this.#surroundings = surroundings
    const { length } = events
    this.#count = length
    this.#memory = takeMemory(length)
    this.#survivors = this.#memory.survivors
    this.#spare = this.#memory.spare
    for (let i = 0; i < length; i++) this.#survivors[i] = i
    this.#memory.passed.fill(0, 0, length)
  }

  /** The positions that survive so far, ascending. Valid until the next call. */
  get survivors(): Uint32Array {
    this.#assertOpen()
    return this.#survivors.subarray(0, this.#count)
  }

  /** How many events survive so far. */
  get count(): number {
    return this.#count
  }

  /** Runs the filters of every level up to this one that did not run yet. */
  climb(level: number): this {
    this.#read(level)
    while (this.#level < level) {
      const filters = this.#policy.levels[this.#level++]!
      for (let f = 0; f < filters.length; f++) this.#filter(filters[f]!, f + 1)
      this.#markPassed()
    }
    return this
  }

  /** Drops everything: for when no level frees anything. */
  worstCase(): this {
    this.#read(this.#level)
    this.#count = 0
    return this
  }

  /** The survivors, and a digest for every contiguous run of what was dropped. Ends this pack. */
  finish(): Packed {
    this.#assertOpen()
    const run = new DigestRun(this.#policy, this.#surroundings.buffer, this.#level, this.#columns)
    const digests = new Map<number, readonly Digest[]>()
    let from = 0
    for (let i = 0; i <= this.#count; i++) {
      const to = i < this.#count ? this.#survivors[i]! : this.#events.length
      if (to > from || this.#riderAt <= to) digests.set(i, this.#digest(run, from, to))
      from = to + 1
    }
    const kept = this.#survivors.slice(0, this.#count)
    this.#finished = true
    keepMemory(this.#memory)
    return { kept, digests }
  }

  /** Afterwards its memory belongs to another pack. */
  #assertOpen(): void {
    if (this.#finished) throw new Error('a pack cannot go on after finish()')
  }

  #filter({ attribute, select }: CompiledFilter, number: number): void {
    const seen = this.#count
    const values = attribute === undefined ? NONE : this.#columns.get(attribute)!
    this.#count = select(values, this.#survivors, seen, this.#spare, this.#events, this.#surroundings)
    const survivors = this.#spare
    this.#spare = this.#survivors
    this.#survivors = survivors
    this.#surroundings.observe?.(this.#level, number, seen, this.#count)
  }

  #markPassed(): void {
    const passed = this.#memory.passed
    const survivors = this.#survivors
    const count = this.#count
    const level = this.#level
    for (let i = 0; i < count; i++) passed[survivors[i]!] = level
  }

  /** The digests of the dropped positions `from` to `to - 1` and of those that ride on `from` to `to`. */
  #digest(run: DigestRun, from: number, to: number): readonly Digest[] {
    const riders = this.#riders
    // Where nothing was dropped, a digest stays as it is.
    if (from === to && riders[this.#nextRider]![1].length === 1) return riders[this.#nextRider++]![1]
    let start = from
    while (this.#riderAt <= to) {
      const [position, digests] = riders[this.#nextRider++]!
      if (position > start) run.events(this.#events, this.#memory.passed, start, position)
      start = position
      for (const digest of digests) run.digest(digest)
    }
    if (to > start) run.events(this.#events, this.#memory.passed, start, to)
    return run.finish()
  }

  /** The position of the next digests that ride on something. */
  get #riderAt(): number {
    return this.#riders[this.#nextRider]?.[0] ?? Number.POSITIVE_INFINITY
  }

  /** Reads the columns that this level and those below it need, and the digesters. */
  #read(level: number): void {
    this.#assertOpen()
    const tags: string[] = []
    for (let l = this.#level; l < level; l++)
      for (const { attribute } of this.#policy.levels[l]!) this.#want(tags, attribute)
    for (const { attribute } of this.#policy.digesters) this.#want(tags, attribute)
    if (tags.length === 0) return
    const columns = this.#events.columns(tags)
    for (let i = 0; i < tags.length; i++) this.#columns.set(tags[i]!, columns[i]!)
  }

  #want(tags: string[], attribute: string | undefined): void {
    if (attribute === undefined || this.#columns.has(attribute) || tags.includes(attribute)) return
    tags.push(attribute)
  }
}

function takeMemory(length: number): Memory {
  const memory = keptMemory
  keptMemory = undefined
  if (memory !== undefined && memory.passed.length >= length) return memory
  return {
    survivors: new Uint32Array(length),
    spare: new Uint32Array(length),
    passed: new Uint8Array(length),
  }
}

function keepMemory(memory: Memory): void {
  if (memory.passed.length <= KEPT_MEMORY_EVENTS) keptMemory = memory
}
