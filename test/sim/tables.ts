// Routing tables as kad-dht's: buckets of k = 20 by common prefix, filled late and emptied never by themselves. They
// are computed, not stored: a bucket is a range of the sorted IDs, and a node's choice within one that is larger
// than k is made by hashed points in it, which stay where they are when nodes come and go.
import assert from 'node:assert/strict'
import type { Id } from '../../overlay/id.ts'
import { fraction, mix } from './hash.ts'

export interface TableOptions {
  /** Entries a bucket. */
  readonly k: number
  /** A node that joined is known to each other node after at most so long, in milliseconds. */
  readonly learnMs: number
  /** A node that was forgotten, but lives and can be reached, is heard of again after so long, to twice that. */
  readonly hearAgainMs: number
}

export const TABLE_DEFAULTS: TableOptions = { k: 20, learnMs: 5_000, hearAgainMs: 5_000 }

/** The bits of an ID that order it here; two nodes that share them all are refused. */
const PREFIX_BITS = 52
const HALF_BITS = 26
const HALF = 2 ** HALF_BITS

/** What the tables know of a node. Nodes that were there from the beginning joined at minus infinity. */
export interface Member {
  readonly id: Id
  /** The first 52 bits, and their halves. */
  readonly prefix: number
  readonly high: number
  readonly low: number
  /** What its choices are made with. */
  readonly salt: number
  joinedAt: number
  /** Infinite while it lives. */
  diedAt: number
  /** When the life before ended; minus infinity without one. */
  diedBefore: number
  /** Whom it forgot, and when. */
  readonly forgotten: Map<Member, number>
  /** Whom it met before it would have learned of them. */
  readonly met: Set<Member>
}

/** What the tables ask of the network. */
export interface TableWorld {
  now(): number
  isReachable(from: Id, to: Id): boolean
  /** When the last partition healed; minus infinity before. */
  readonly healedAt: number
}

export class Tables {
  readonly #options: TableOptions
  readonly #world: TableWorld
  readonly #seed: number
  readonly #members = new Map<Id, Member>()
  /** All members that ever were, by prefix. */
  #sorted: Member[] = []
  #prefixes = new Float64Array(0)
  #isSorted = true

  constructor(world: TableWorld, seed: number, options: Partial<TableOptions> = {}) {
    this.#world = world
    this.#seed = seed
    this.#options = { ...TABLE_DEFAULTS, ...options }
  }

  /** How many nodes there ever were. */
  get size(): number {
    return this.#sorted.length
  }

  /** The node joins, for the first time or again: its own table is new, and others learn of it after a while. */
  join(id: Id, at: number): void {
    const member = this.#members.get(id)
    if (member === undefined) {
      this.#add(memberOf(id, at, this.#seed))
      return
    }
    member.diedBefore = member.diedAt
    member.diedAt = Number.POSITIVE_INFINITY
    member.joinedAt = at
    member.forgotten.clear()
    member.met.clear()
  }

  /** The node is gone; it stays in the tables. */
  died(id: Id, at: number): void {
    this.#member(id).diedAt = at
  }

  forget(owner: Id, id: Id): void {
    const member = this.#members.get(id)
    if (member === undefined) return
    const { forgotten, met } = this.#member(owner)
    forgotten.set(member, this.#world.now())
    met.delete(member)
  }

  /** The owner has heard of the node itself: it is in the table, if there is room. */
  meet(owner: Id, id: Id): void {
    const own = this.#members.get(owner)
    const member = this.#members.get(id)
    if (own === undefined || member === undefined) return
    own.forgotten.delete(member)
    if (!this.#knows(own, member)) own.met.add(member)
  }

  /** Up to so many nodes of the owner's table, the closest to the key first. */
  closest(owner: Id, key: Id, count: number): Id[] {
    this.#sort()
    const own = this.#member(owner)
    const high = halfOf(key, 0)
    const low = halfOf(key, 1)
    const common = commonBits(own.high, own.low, high, low)
    const found: Member[] = []
    // All of a step are closer to the key than any of the next.
    this.#pick(own, common, found)
    sortFrom(found, 0, high, low)
    if (found.length < count) {
      const start = found.length
      this.#pickDeeper(own, common, found)
      sortFrom(found, start, high, low)
    }
    for (let bucket = common - 1; bucket >= 0 && found.length < count; bucket--) {
      const start = found.length
      this.#pick(own, bucket, found)
      sortFrom(found, start, high, low)
    }
    if (found.length > count) found.length = Math.max(0, count)
    return found.map(({ id }) => id)
  }

  /** The whole table. */
  tableOf(owner: Id): Id[] {
    return this.closest(owner, owner, Number.POSITIVE_INFINITY)
  }

  #add(member: Member): void {
    this.#members.set(member.id, member)
    this.#sorted.push(member)
    this.#isSorted = false
  }

  #sort(): void {
    if (this.#isSorted) return
    this.#sorted.sort((a, b) => a.prefix - b.prefix)
    this.#prefixes = Float64Array.from(this.#sorted, ({ prefix }) => prefix)
    this.#isSorted = true
    for (let i = 1; i < this.#prefixes.length; i++) {
      assert(this.#prefixes[i] !== this.#prefixes[i - 1], 'two nodes share 52 bits')
    }
  }

  /** Adds every bucket below this one. */
  #pickDeeper(own: Member, above: number, found: Member[]): void {
    for (let bucket = above + 1; bucket < PREFIX_BITS; bucket++) {
      const width = 2 ** (PREFIX_BITS - bucket)
      const start = Math.floor(own.prefix / width) * width
      const from = lowerBound(this.#prefixes, start, 0, this.#prefixes.length)
      const isAlone = !(this.#prefixes[from + 1]! < start + width)
      if (isAlone) return
      this.#pick(own, bucket, found)
    }
  }

  /** Adds the entries of one bucket: nodes that share so many bits with the owner, and not the next. */
  #pick(own: Member, bucket: number, found: Member[]): void {
    if (bucket >= PREFIX_BITS) return
    const prefixes = this.#prefixes
    const width = 2 ** (PREFIX_BITS - 1 - bucket)
    const side = Math.floor(own.prefix / width)
    const start = (side % 2 === 0 ? side + 1 : side - 1) * width
    const from = lowerBound(prefixes, start, 0, prefixes.length)
    const to = lowerBound(prefixes, start + width, from, prefixes.length)
    if (to - from <= this.#options.k) {
      for (let at = from; at < to; at++) this.#take(own, at, found)
      return
    }
    const first = found.length
    const salt = mix(own.salt, bucket)
    for (let entry = 0; entry < this.#options.k; entry++) {
      const point = start + width * fraction(mix(salt, entry))
      const at = lowerBound(prefixes, point, from, to)
      if (!this.#takeNext(own, at, from, to, found, first)) return
    }
  }

  /** Takes the first node from a place on, around the bucket, that is known and not taken. False without one. */
  #takeNext(own: Member, start: number, from: number, to: number, found: Member[], first: number): boolean {
    for (let step = 0, at = start; step < to - from; step++, at++) {
      if (at >= to) at = from
      if (!isIn(found, first, this.#sorted[at]!) && this.#take(own, at, found)) return true
    }
    return false
  }

  #take(own: Member, at: number, found: Member[]): boolean {
    const member = this.#sorted[at]!
    if (!this.#knows(own, member)) return false
    found.push(member)
    return true
  }

  #knows(own: Member, member: Member): boolean {
    if (own.forgotten.size > 0 && own.forgotten.has(member)) return this.#heardAgain(own, member)
    if (member.joinedAt === Number.NEGATIVE_INFINITY && member.diedAt >= own.joinedAt) return true
    if (own.met.size > 0 && own.met.has(member)) return true
    if (member.diedBefore >= own.joinedAt && member.diedBefore !== Number.NEGATIVE_INFINITY) return true
    const learnedAt = member.joinedAt + this.#learningMs(own, member)
    return learnedAt <= this.#world.now() && member.diedAt >= Math.max(learnedAt, own.joinedAt)
  }

  /** Whether a node that was forgotten has come up in others' answers again. */
  #heardAgain(own: Member, member: Member): boolean {
    if (member.diedAt !== Number.POSITIVE_INFINITY) return false
    if (!this.#world.isReachable(own.id, member.id)) return false
    const since = Math.max(own.forgotten.get(member)!, this.#world.healedAt, member.joinedAt)
    const delayMs = this.#options.hearAgainMs * (1 + fraction(mix(own.salt ^ 0x5bd1e995, member.salt)))
    if (this.#world.now() < since + delayMs) return false
    own.forgotten.delete(member)
    own.met.add(member)
    return true
  }

  #learningMs(own: Member, member: Member): number {
    return this.#options.learnMs * fraction(mix(own.salt, member.salt))
  }

  #member(id: Id): Member {
    const member = this.#members.get(id)
    assert(member !== undefined, `no node ${id}`)
    return member
  }
}

function memberOf(id: Id, joinedAt: number, seed: number): Member {
  const high = halfOf(id, 0)
  const low = halfOf(id, 1)
  return {
    id,
    prefix: high * HALF + low,
    high,
    low,
    salt: mix(mix(seed, high), low),
    joinedAt,
    diedAt: Number.POSITIVE_INFINITY,
    diedBefore: Number.NEGATIVE_INFINITY,
    forgotten: new Map(),
    met: new Set(),
  }
}

/** The first or second 26 bits of an ID. */
function halfOf(id: Id, half: 0 | 1): number {
  return half === 0 ? Number.parseInt(id.slice(0, 7), 16) >>> 2 : Number.parseInt(id.slice(6, 13), 16) % HALF
}

/** How many leading bits two prefixes share, up to 52. */
function commonBits(high: number, low: number, otherHigh: number, otherLow: number): number {
  const difference = high ^ otherHigh
  if (difference !== 0) return Math.clz32(difference) - (32 - HALF_BITS)
  return HALF_BITS + Math.min(HALF_BITS, Math.clz32(low ^ otherLow) - (32 - HALF_BITS))
}

/** Sorts from a position on, the closest to the key first. */
function sortFrom(found: Member[], start: number, high: number, low: number): void {
  const distance = (member: Member) => (member.high ^ high) * HALF + (member.low ^ low)
  for (let i = start + 1; i < found.length; i++) {
    const member = found[i]!
    const own = distance(member)
    let at = i
    for (; at > start && distance(found[at - 1]!) > own; at--) found[at] = found[at - 1]!
    found[at] = member
  }
}

function isIn(found: readonly Member[], first: number, member: Member): boolean {
  for (let i = first; i < found.length; i++) if (found[i] === member) return true
  return false
}

/** The first position in [from, to) whose value is not below; `to` without one. */
function lowerBound(values: Float64Array, value: number, from: number, to: number): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >> 1
    if (values[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
