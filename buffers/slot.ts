// A slot of a remote buffer (PACK section 4, "Buffer packing"): what goes from one sender over one link. One
// queue is shared by all; when it overflows it is packed once for each policy into private queues, which drain
// before it. When those are empty, the slot is shared again. The bounds are for all that waits for a receiver: in its
// private queue, behind that in the shared one, and on its way from either.
import type { Policy } from '../policies/policy.ts'
import { costOf, type Run } from './block.ts'
import { type Cursor, type Item, itemsFrom, type Marker } from './item.ts'
import type { Link } from './link.ts'
import type { PrivateQueue } from './private-queue.ts'
import { type Beside, Queue, type QueueBounds, type QueueSurroundings, type Taken } from './queue.ts'
import { DecodedBlocks } from './queued-events.ts'

/** Receivers with the same policy behind the same link; a receiver that was away is a class of its own. */
export interface PolicyClass {
  /** To whom the items of its queue go: the policy's hash, or a receiver that was away. */
  rid: string
  readonly policy: Policy
  readonly receivers: Set<string>
  readonly queue: PrivateQueue
  /** What lies below is not for this class; undefined when everything is. */
  first: Cursor | undefined
  /** Where the next item for this class alone is expected; undefined before the first. */
  next: Cursor | undefined
  /** Where its queue drains; undefined while it is suspended. */
  slot: Slot | undefined
}

/** Items that are on their way over a link, and where they go back to if it breaks. */
export interface Sent {
  readonly slot: Slot
  /** Undefined for items to everyone. */
  readonly rid: string | undefined
  /** Whose bounds it counts against; undefined once it was given back. */
  queue: Queue | undefined
  readonly taken: Taken
  owners: readonly PolicyClass[]
}

class SharedQueue extends Queue {
  readonly #spill: () => boolean

  constructor(bounds: QueueBounds, surroundings: QueueSurroundings, spill: () => boolean) {
    super(bounds, surroundings)
    this.#spill = spill
  }

  relieve(): boolean {
    return this.#spill()
  }
}

/** Of private queues whatever is the most: so much less may be shared. Asked for every event that is published. */
class Largest implements Beside {
  classes: readonly PolicyClass[] = []

  get events(): number {
    let most = 0
    for (const { queue } of this.classes) most = Math.max(most, queue.events + queue.takenEvents)
    return most
  }

  get bytes(): number {
    let most = 0
    for (const { queue } of this.classes) most = Math.max(most, queue.bytes + queue.takenBytes)
    return most
  }

  get takenEvents(): number {
    let most = 0
    for (const { queue } of this.classes) most = Math.max(most, queue.takenEvents)
    return most
  }

  get takenBytes(): number {
    let most = 0
    for (const { queue } of this.classes) most = Math.max(most, queue.takenBytes)
    return most
  }
}

/** What left the shared queue. What waits there does not count: it comes into the private one before that packs. */
class OnItsWay implements Beside {
  readonly #shared: Queue

  constructor(shared: Queue) {
    this.#shared = shared
  }

  get events(): number {
    return this.#shared.takenEvents
  }

  get bytes(): number {
    return this.#shared.takenBytes
  }

  get takenEvents(): number {
    return this.#shared.takenEvents
  }

  get takenBytes(): number {
    return this.#shared.takenBytes
  }
}

export class Slot {
  readonly sender: string
  readonly link: Link
  /** Bytes this slot may still send before it is another one's turn; the link's own count. */
  deficit = 0
  /** Whether the link has it in its round; the link's own mark. */
  isReady = false
  readonly #shared: SharedQueue
  readonly #largest = new Largest()
  /** What counts against the bounds of each private queue. */
  readonly #onItsWayToAll: Beside
  /** Replaced, never changed, so that what was sent can remember for whom it was. */
  #classes: readonly PolicyClass[] = []
  #turn = 0

  constructor(sender: string, link: Link, bounds: QueueBounds, surroundings: QueueSurroundings) {
    this.sender = sender
    this.link = link
    this.#shared = new SharedQueue(bounds, surroundings, () => this.#relieve())
    this.#shared.beside = this.#largest
    this.#onItsWayToAll = new OnItsWay(this.#shared)
  }

  /** The name of its buffer. */
  get buffer(): string {
    return this.#shared.surroundings.buffer
  }

  get classes(): readonly PolicyClass[] {
    return this.#classes
  }

  get shared(): Queue {
    return this.#shared
  }

  /** Whether nothing waits and nothing is on its way. */
  get isDone(): boolean {
    return isDone(this.#shared) && this.#classes.every(({ queue }) => isDone(queue))
  }

  /** How full it is, for the class for which most waits: 1 is full. */
  get fill(): number {
    return this.#shared.fill
  }

  /** Whether something may be taken now. */
  get canTake(): boolean {
    return this.isShared ? this.#shared.canTake : this.#classes.some(({ queue }) => queue.canTake)
  }

  /** Whether everything goes to everyone: no private queue has anything. */
  get isShared(): boolean {
    return this.#classes.every(({ queue }) => queue.isEmpty)
  }

  /** Puts events for everyone. */
  enqueue(run: Run): void {
    // Usually nothing is private, and then nobody needs to ask how much.
    this.#shared.beside = this.#classes.every(({ queue }) => isDone(queue)) ? undefined : this.#largest
    let rest = run
    for (;;) {
      const end = this.#shared.endOfFit(rest)
      if (end > rest.from) this.#shared.appendRun(rest, end)
      if (end === rest.to) break
      rest = { ...rest, from: end }
      if (this.#shared.events > 0) {
        this.#spill(costOf(rest, end + 1))
        continue
      }
      // What is on its way takes all the room.
      this.#pushShared()
      for (const { queue, first } of this.#classes) queue.enqueue(itemsFrom([rest], first))
      break
    }
    this.link.ready(this)
  }

  /** Puts a marker behind everything. */
  mark(marker: Marker): void {
    this.#shared.append(marker)
    if (this.#shared.isOver) this.#pushShared()
    this.link.ready(this)
  }

  /** Puts items for one class, in order behind what is here already. */
  enqueueFor(policyClass: PolicyClass, items: readonly Item[]): void {
    this.#pushShared()
    policyClass.queue.enqueue(itemsFrom(items, policyClass.first))
    this.link.ready(this)
  }

  add(policyClass: PolicyClass): void {
    policyClass.slot = this
    policyClass.queue.beside = this.#onItsWayToAll
    this.#setClasses([...this.#classes, policyClass])
    this.link.ready(this)
  }

  remove(policyClass: PolicyClass): void {
    policyClass.slot = undefined
    policyClass.queue.beside = undefined
    this.#setClasses(this.#classes.filter((other) => other !== policyClass))
    // What it had on its way held the others back.
    if (this.#classes.length > 0) this.link.ready(this)
  }

  classOf(rid: string): PolicyClass | undefined {
    return this.#classes.find((one) => one.rid === rid)
  }

  /** Takes items of one queue: a private one in turn, or the shared one when they are empty. */
  take(maxBytes: number, maxFirstBytes: number): Sent | undefined {
    const classes = this.#classes
    for (let i = 0; i < classes.length; i++) {
      const turn = (this.#turn + i) % classes.length
      const owner = classes[turn]!
      if (!owner.queue.canTake) continue
      const taken = owner.queue.take(maxBytes, maxFirstBytes)
      // One whose item does not fit any more keeps its turn.
      if (taken !== undefined) this.#turn = turn + 1
      this.#shared.beside = this.#largest
      return taken && { slot: this, rid: owner.rid, queue: owner.queue, taken, owners: [owner] }
    }
    const taken = this.isShared ? this.#shared.take(maxBytes, maxFirstBytes) : undefined
    return taken && { slot: this, rid: undefined, queue: this.#shared, taken, owners: classes }
  }

  /** What was sent did not arrive, at least not from the cursor on: it goes back to the head, in order. */
  giveBack({ rid, queue, taken, owners }: Sent, cursor: Cursor | undefined): void {
    queue?.acknowledge(taken)
    const items = itemsFrom(taken.items, cursor)
    if (queue === this.#shared && owners === this.#classes && this.isShared) this.#shared.prepend(items)
    else for (const owner of owners) giveBackTo(owner, items, rid)
  }

  /** Nobody is behind this slot any more. */
  close(): void {
    this.link.remove(this)
    this.#shared.close()
  }

  #setClasses(classes: readonly PolicyClass[]): void {
    this.#classes = classes
    this.#largest.classes = classes
  }

  /** Empties the shared queue: each private queue takes what it has, and packs if one more event does not fit. */
  #spill(bytes: number): void {
    const decoded = new DecodedBlocks()
    this.#moveShared((queue) => queue.hasRoom(bytes) || queue.pack(bytes, decoded))
  }

  #relieve(): boolean {
    if (this.#shared.isEmpty) return false
    const decoded = new DecodedBlocks()
    this.#moveShared((queue) => (queue.isOver ? queue.pack(0, decoded) : queue.relieve(decoded)))
    return true
  }

  /** Moves what is shared behind what is private, so that what comes next can be private. */
  #pushShared(): void {
    if (!this.#shared.isEmpty) this.#moveShared((queue) => queue.packIfOver())
  }

  #moveShared(pack: (queue: PrivateQueue) => unknown): void {
    this.#shared.beside = this.#largest
    for (const { queue, first } of this.#classes) {
      queue.appendAll(this.#shared, first)
      pack(queue)
    }
    this.#shared.replace([])
  }
}

/** Whether nothing waits in the queue and nothing of it is on its way. */
export function isDone(queue: Queue): boolean {
  return queue.isEmpty && queue.takenBytes === 0
}

/** Puts items that went to `rid` in front of a class's queue; of what went to everyone, what was for the class. */
export function giveBackTo(
  { queue, first }: PolicyClass,
  items: readonly Item[],
  rid: string | undefined,
): void {
  if (!queue.isClosed) queue.prepend(rid === undefined ? itemsFrom(items, first) : items)
}
