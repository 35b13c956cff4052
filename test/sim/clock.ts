// The virtual clock: a binary heap of entries, by time and, among equal times, by the order in which they were
// scheduled. Times and orders stand in flat arrays beside the entries, so that sifting touches no objects.
import assert from 'node:assert/strict'

/** Something that happens once at a time. It is in the clock at most once, and may be scheduled again after. */
export abstract class Entry {
  /** Whether the clock will fire it. */
  isScheduled = false
  /** Its place in the order of scheduling, by which the clock tells it from what was cancelled before. */
  order = -1

  abstract fire(): void
}

/** Cancelled entries stay in the heap until they are more than half of it, and it has at least so many. */
const MIN_COMPACT = 1_024

export class Clock {
  #now = 0
  #length = 0
  #cancelled = 0
  #order = 0
  #fired = 0
  #times = new Float64Array(1_024)
  #orders = new Float64Array(1_024)
  readonly #entries: Entry[] = []

  /** In milliseconds since the beginning. */
  get now(): number {
    return this.#now
  }

  /** How many entries will fire. */
  get pending(): number {
    return this.#length - this.#cancelled
  }

  /** How many entries have fired. */
  get fired(): number {
    return this.#fired
  }

  /** Schedules an entry that is not scheduled; a time in the past is now. */
  schedule(entry: Entry, at: number): void {
    assert(!entry.isScheduled, 'an entry is scheduled once at a time')
    assert(!Number.isNaN(at), 'a time is a number')
    if (at === Number.POSITIVE_INFINITY) return
    entry.isScheduled = true
    entry.order = this.#order++
    if (this.#length === this.#times.length) this.#grow()
    this.#siftUp(this.#length++, Math.max(at, this.#now), entry.order, entry)
  }

  /** The entry will not fire. In constant time, amortised. */
  cancel(entry: Entry): void {
    if (!entry.isScheduled) return
    entry.isScheduled = false
    entry.order = -1
    this.#cancelled++
    if (this.#length >= MIN_COMPACT && this.#cancelled * 2 > this.#length) this.#compact()
  }

  /** Calls once, after so many milliseconds. */
  after(delayMs: number, call: () => void): Call {
    const entry = new Call(this, call)
    this.schedule(entry, this.#now + delayMs)
    return entry
  }

  /** Fires everything up to and including this time, which it then is. */
  runUntil(time: number): void {
    while (this.#length > 0 && this.#times[0]! <= time) this.#fireFirst()
    if (time > this.#now && time !== Number.POSITIVE_INFINITY) this.#now = time
  }

  #fireFirst(): void {
    const entry = this.#entries[0]!
    const isDue = entry.order === this.#orders[0]
    if (isDue) this.#now = this.#times[0]!
    this.#removeFirst()
    if (!isDue) {
      this.#cancelled--
      return
    }
    entry.isScheduled = false
    entry.order = -1
    this.#fired++
    entry.fire()
  }

  #removeFirst(): void {
    const last = --this.#length
    const entry = this.#entries.pop()!
    if (last > 0) this.#siftDown(0, this.#times[last]!, this.#orders[last]!, entry)
  }

  #siftUp(start: number, time: number, order: number, entry: Entry): void {
    const times = this.#times
    const orders = this.#orders
    const entries = this.#entries
    let at = start
    while (at > 0) {
      const parent = (at - 1) >> 1
      const parentTime = times[parent]!
      // What is scheduled later never overtakes at an equal time.
      if (parentTime < time || (parentTime === time && orders[parent]! < order)) break
      times[at] = parentTime
      orders[at] = orders[parent]!
      entries[at] = entries[parent]!
      at = parent
    }
    times[at] = time
    orders[at] = order
    entries[at] = entry
  }

  #siftDown(start: number, time: number, order: number, entry: Entry): void {
    const times = this.#times
    const orders = this.#orders
    const entries = this.#entries
    const length = this.#length
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= length) break
      const right = child + 1
      if (right < length) {
        const difference = times[right]! - times[child]!
        if (difference < 0 || (difference === 0 && orders[right]! < orders[child]!)) child = right
      }
      const childTime = times[child]!
      if (time < childTime || (time === childTime && order < orders[child]!)) break
      times[at] = childTime
      orders[at] = orders[child]!
      entries[at] = entries[child]!
      at = child
    }
    times[at] = time
    orders[at] = order
    entries[at] = entry
  }

  /** Drops the cancelled entries, and makes a heap of the others again. */
  #compact(): void {
    let kept = 0
    for (let i = 0; i < this.#length; i++) {
      const entry = this.#entries[i]!
      if (entry.order !== this.#orders[i]) continue
      this.#times[kept] = this.#times[i]!
      this.#orders[kept] = this.#orders[i]!
      this.#entries[kept++] = entry
    }
    this.#entries.length = kept
    this.#length = kept
    this.#cancelled = 0
    for (let i = (kept >> 1) - 1; i >= 0; i--) {
      this.#siftDown(i, this.#times[i]!, this.#orders[i]!, this.#entries[i]!)
    }
  }

  #grow(): void {
    const times = new Float64Array(this.#length * 2)
    const orders = new Float64Array(this.#length * 2)
    times.set(this.#times)
    orders.set(this.#orders)
    this.#times = times
    this.#orders = orders
  }
}

/** A function that is called once, unless it is cancelled. */
export class Call extends Entry {
  readonly #clock: Clock
  #call: (() => void) | undefined

  constructor(clock: Clock, call: () => void) {
    super()
    this.#clock = clock
    this.#call = call
  }

  cancel(): void {
    this.#clock.cancel(this)
    this.#call = undefined
  }

  override fire(): void {
    this.#call?.()
  }
}
