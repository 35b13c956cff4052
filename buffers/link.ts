// Draining by link (DESIGN section 6): the queues of many senders share the next hop. Each sender gets its turn,
// by bytes, so that a noisy one does not starve a quiet one. What was taken is remembered until the other side
// acknowledges it.
import { Fifo } from './fifo.ts'
import { type Cursor, itemsFrom } from './item.ts'
import { giveBackTo, type PolicyClass, type Sent, type Slot } from './slot.ts'

/** The least that a sender may send in its turn: about a packet, so that turns are not too many. */
const MIN_QUANTUM_BYTES = 1500

/** What one frame carries. Batches are numbered from 1 and acknowledged in order. */
export interface Batch {
  readonly number: number
  /** About how many its items take of a frame. */
  readonly bytes: number
  readonly parts: readonly Sent[]
}

/** What the other side has of a slot: the next number it expects of a class, or of what goes to everyone. */
export type Told = (slot: Slot, rid: string | undefined) => Cursor | undefined

export class Link {
  readonly id: string
  readonly #wake: ((link: Link) => void) | undefined
  readonly #ring = new Fifo<Slot>()
  readonly #sent = new Fifo<Batch>()
  #lastNumber = 0
  #unacknowledgedBytes = 0
  #isSuspended = false

  /** `wake` is called when there is something to take after there was nothing. */
  constructor(id: string, wake?: (link: Link) => void) {
    this.id = id
    this.#wake = wake
  }

  get isIdle(): boolean {
    return this.#ring.length === 0
  }

  get isSuspended(): boolean {
    return this.#isSuspended
  }

  get unacknowledgedBytes(): number {
    return this.#unacknowledgedBytes
  }

  /** Queues go on taking events, and pack, but nothing is taken from them. */
  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
    if (this.#ring.length > 0) this.#wake?.(this)
  }

  /** Puts a slot into the round if something may be taken from it. */
  ready(slot: Slot): void {
    if (slot.isReady || !slot.canTake) return
    slot.isReady = true
    this.#ring.push(slot)
    if (this.#ring.length === 1 && !this.#isSuspended) this.#wake?.(this)
  }

  remove(slot: Slot): void {
    if (slot.isReady) this.#ring.remove(slot)
    slot.isReady = false
  }

  /**
   * Takes items for one frame: at most about so many bytes, yet at least one item if there is any. They stay here
   * until they are acknowledged.
   */
  take(maxBytes: number): Batch | undefined {
    if (this.#isSuspended || this.#ring.length === 0) return undefined
    const quantum = Math.max(MIN_QUANTUM_BYTES, maxBytes / this.#ring.length)
    const parts: Sent[] = []
    let left = maxBytes
    while (left > 0 && this.#ring.length > 0) {
      const slot = this.#ring.first!
      if (slot.deficit <= 0) slot.deficit += quantum
      if (slot.deficit > 0 && slot.canTake) {
        const firstBytes = parts.length === 0 ? Number.POSITIVE_INFINITY : left
        const sent = slot.take(Math.min(slot.deficit, left), firstBytes)
        // It does not fit any more: it comes first in the next frame.
        if (sent === undefined) break
        parts.push(sent)
        left -= sent.taken.frameBytes
        slot.deficit -= sent.taken.frameBytes
      }
      if (!slot.canTake) this.#leaveRing(slot)
      else if (slot.deficit <= 0) this.#ring.push(this.#ring.shift()!)
    }
    return parts.length === 0 ? undefined : this.#remember(parts, maxBytes - left)
  }

  /** The other side has every batch up to this one. False for one that was never sent or is long done. */
  acknowledge(number: number): boolean {
    if (number > this.#lastNumber || number < (this.#sent.first?.number ?? Number.POSITIVE_INFINITY))
      return false
    while (this.#sent.length > 0 && this.#sent.first!.number <= number) {
      const { parts, bytes } = this.#sent.shift()!
      this.#unacknowledgedBytes -= bytes
      for (const { slot, queue, taken } of parts) {
        queue?.acknowledge(taken)
        this.ready(slot)
      }
    }
    return true
  }

  /**
   * The link broke and the other side has told how far it got: what it does not have goes back to the head of
   * its queues, in order. Without `told`, it has nothing that it did not acknowledge.
   */
  giveBack(told?: Told): void {
    const batches = this.#sent.toArray()
    this.#sent.clear()
    this.#unacknowledgedBytes = 0
    const owners = new Set<PolicyClass>()
    for (const { parts } of batches.reverse()) {
      for (const sent of parts.toReversed()) {
        sent.slot.giveBack(sent, told?.(sent.slot, sent.rid))
        for (const owner of sent.owners) owners.add(owner)
      }
    }
    for (const { queue } of owners) if (!queue.isClosed) queue.packIfOver()
    // Not before everything is where it belongs: who is woken may take at once.
    for (const { parts } of batches) for (const { slot } of parts) this.ready(slot)
  }

  /** What is on its way to `owner`, in order. */
  sentTo(owner: PolicyClass): Sent[] {
    return this.#sent
      .toArray()
      .flatMap(({ parts }) => parts)
      .filter(({ owners }) => owners.includes(owner))
  }

  /** What is on its way to `owner` goes back to `heir` as well. */
  inherit(owner: PolicyClass, heir: PolicyClass): void {
    for (const sent of this.sentTo(owner)) {
      if (!sent.owners.includes(heir)) sent.owners = [...sent.owners, heir]
    }
  }

  /** What is on its way no more goes back to `owner`. */
  disown(owner: PolicyClass): void {
    for (const sent of this.sentTo(owner)) sent.owners = sent.owners.filter((other) => other !== owner)
  }

  /** Gives one class back what is on its way to it, from the cursor on if that is known. */
  reclaim(owner: PolicyClass, cursor: Cursor | undefined): void {
    const parts = this.sentTo(owner)
    this.disown(owner)
    for (const sent of parts.reverse()) {
      if (sent.queue === owner.queue) {
        sent.queue.acknowledge(sent.taken)
        sent.queue = undefined
      }
      giveBackTo(owner, itemsFrom(sent.taken.items, cursor), sent.rid)
    }
    owner.queue.packIfOver()
  }

  #leaveRing(slot: Slot): void {
    this.#ring.shift()
    slot.isReady = false
    // What it did not use is gone; what it had too much of stays.
    slot.deficit = Math.min(0, slot.deficit)
  }

  #remember(parts: readonly Sent[], bytes: number): Batch {
    const batch = { number: ++this.#lastNumber, bytes, parts }
    this.#sent.push(batch)
    this.#unacknowledgedBytes += bytes
    return batch
  }
}
