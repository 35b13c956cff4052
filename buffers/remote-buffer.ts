// The remote buffers SPB, SRB, RRB, RPB and RCB (PACK section 4), and SIB: a two-level index, by sender and then by the
// link that leads towards its receivers. They differ in their names and in where their links lead.
import type { Policy } from '../policies/policy.ts'
import type { Run } from './block.ts'
import {
  type Cursor,
  epochOf,
  type Item,
  itemFrom,
  itemsFrom,
  laterOf,
  type Marker,
  nextAfter,
  runFrom,
} from './item.ts'
import type { Link } from './link.ts'
import { PrivateQueue } from './private-queue.ts'
import type { QueueBounds, QueueSurroundings } from './queue.ts'
import { isDone, type PolicyClass, Slot } from './slot.ts'

/** To the sender's proxy, its root, the receiver's root, its proxy, its client, and its root's stand-in. */
export type RemoteBufferName = 'SPB' | 'SRB' | 'RRB' | 'RPB' | 'RCB' | 'SIB'

/** What a buffer has of one sender. */
interface Entry {
  readonly slots: Map<Link, Slot>
  readonly classes: Map<string, PolicyClass>
  /** The classes of receivers that are away, with the link they were behind. */
  readonly suspended: Map<PolicyClass, Link>
  /** Where the next event for everyone is expected; undefined before the first. */
  next: Cursor | undefined
  /** Behind everything that was put here, for everyone or not. */
  end: Cursor | undefined
}

export class RemoteBuffer {
  readonly #bounds: QueueBounds
  readonly #surroundings: QueueSurroundings
  readonly #entries = new Map<string, Entry>()

  constructor(bounds: QueueBounds, surroundings: QueueSurroundings & { readonly buffer: RemoteBufferName }) {
    this.#bounds = bounds
    this.#surroundings = surroundings
  }

  /** How many senders it has anything of. */
  get size(): number {
    return this.#entries.size
  }

  get senders(): Iterable<string> {
    return this.#entries.keys()
  }

  /** The slots of a sender, one for each link. */
  slotsOf(sender: string): Iterable<Slot> {
    return this.#entries.get(sender)?.slots.values() ?? []
  }

  /** How full the fullest of a sender's queues is: 1 is full. */
  fillOf(sender: string): number {
    const entry = this.#entries.get(sender)
    let fill = 0
    for (const slot of entry?.slots.values() ?? []) fill = Math.max(fill, slot.fill)
    for (const { queue } of entry?.suspended.keys() ?? []) fill = Math.max(fill, queue.fill)
    return fill
  }

  /** Whether nothing of a sender waits or is on its way. */
  isDone(sender: string): boolean {
    const entry = this.#entries.get(sender)
    if (entry === undefined) return true
    for (const slot of entry.slots.values()) if (!slot.isDone) return false
    for (const { queue } of entry.suspended.keys()) if (!isDone(queue)) return false
    return true
  }

  /** Whether something is on its way to a receiver that is suspended. */
  isOnItsWay(sender: string, receiver: string): boolean {
    const entry = this.#entries.get(sender)
    const away = entry?.classes.get(receiver)
    return away !== undefined && (entry?.suspended.get(away)?.sentTo(away).length ?? 0) > 0
  }

  /** Behind everything of a sender that was put here; undefined when nothing was. */
  endOf(sender: string): Cursor | undefined {
    return this.#entries.get(sender)?.end
  }

  /** The class of a receiver, with its queue; undefined without a subscription. */
  classOf(sender: string, receiver: string): PolicyClass | undefined {
    return this.#entries.get(sender)?.classes.get(receiver)
  }

  /**
   * Adds a receiver behind a link, or moves it there with nothing. Returns where its stream begins: behind all
   * that was put here; undefined when nothing was.
   */
  subscribe(sender: string, link: Link, receiver: string, policy: Policy): Cursor | undefined {
    const entry = this.#entryOf(sender)
    this.#leave(entry, receiver)
    const policyClass = this.#classIn(this.#slotOf(entry, sender, link), policy, entry.end)
    policyClass.receivers.add(receiver)
    entry.classes.set(receiver, policyClass)
    return entry.end
  }

  /** Removes a receiver, and with the last one of a class its queue. False without a subscription. */
  unsubscribe(sender: string, receiver: string): boolean {
    const entry = this.#entries.get(sender)
    if (entry === undefined || !this.#leave(entry, receiver)) return false
    if (entry.classes.size === 0) this.#entries.delete(sender)
    return true
  }

  /** Puts events for everyone. What is below the number expected was here before, and is left out. */
  enqueue(sender: string, run: Run): void {
    const entry = this.#entries.get(sender)
    const fresh = entry?.next === undefined ? run : runFrom(run, entry.next)
    if (entry === undefined || fresh === undefined) return
    for (const slot of entry.slots.values()) {
      this.#rejoin(entry, slot)
      slot.enqueue(fresh)
    }
    for (const { queue } of entry.suspended.keys()) queue.enqueueRun(fresh)
    entry.next = nextAfter(fresh)
    entry.end = laterOf(entry.end, entry.next)
    this.#surroundings.budget.relieve()
  }

  /**
   * Puts items for one class, named by its policy's hash, wherever it has receivers, or for one receiver. What
   * is below the number expected was here before, and is left out. False when nobody wants them.
   */
  enqueueFor(sender: string, rid: string, items: readonly Item[]): boolean {
    const entry = this.#entries.get(sender)
    if (entry === undefined) return false
    const wanting = this.#classesOf(entry, rid)
    for (const policyClass of wanting) this.#enqueueIn(entry, policyClass, rid, items)
    this.#surroundings.budget.relieve()
    return wanting.length > 0
  }

  /** Puts items for everyone, or for one class or receiver, as they come from upstream. */
  put(sender: string, rid: string | undefined, items: readonly Item[]): void {
    if (rid !== undefined) {
      this.enqueueFor(sender, rid, items)
      return
    }
    for (const item of items) {
      if (item.kind === 'events') this.enqueue(sender, item)
      else if (item.kind === 'marker') this.mark(sender, item)
      // A digest is always a policy's, and so never for everyone.
    }
  }

  /** Puts a marker behind everything that is here. */
  mark(sender: string, marker: Marker): void {
    const entry = this.#entries.get(sender)
    if (entry === undefined) return
    for (const slot of entry.slots.values()) slot.mark(marker)
    for (const { queue } of entry.suspended.keys()) queue.enqueue([marker])
    this.#surroundings.budget.relieve()
  }

  /** The receiver is away: its queue stands apart, takes events and packs, but does not drain. */
  suspend(sender: string, receiver: string): boolean {
    const entry = this.#entries.get(sender)
    const policyClass = entry?.classes.get(receiver)
    if (entry === undefined || policyClass?.slot === undefined) return false
    const { link } = policyClass.slot
    const isAlone = policyClass.receivers.size === 1
    const away = isAlone ? policyClass : this.#branchOff(entry, policyClass, receiver)
    away.rid = receiver
    away.queue.appendAll(policyClass.slot.shared, policyClass.first)
    away.queue.packIfOver()
    if (isAlone) this.#removeFrom(entry, policyClass.slot, policyClass)
    entry.suspended.set(away, link)
    this.#surroundings.budget.relieve()
    return true
  }

  /**
   * The receiver is back, behind this link, where its queue now drains. The cursor says what it expects next:
   * what lies below is taken away; what was on its way and did not arrive is sent again.
   */
  resume(sender: string, receiver: string, link: Link, cursor?: Cursor): boolean {
    const entry = this.#entries.get(sender)
    const away = entry?.classes.get(receiver)
    const before = away && entry?.suspended.get(away)
    if (entry === undefined || away === undefined || before === undefined) return false
    entry.suspended.delete(away)
    before.reclaim(away, cursor)
    if (cursor !== undefined) away.queue.discardBelow(cursor)
    // All that was put here so far is in its queue.
    away.first = laterOf(away.first, entry.end)
    this.#slotOf(entry, sender, link).add(away)
    this.#surroundings.budget.relieve()
    return true
  }

  /**
   * Takes what waits for a receiver that is away, from the cursor on, and what was on its way to it and did not arrive.
   * Only what it would hear of the highest numbers stays.
   */
  withdraw(sender: string, receiver: string, cursor?: Cursor): readonly Item[] {
    const entry = this.#entries.get(sender)
    const away = entry?.classes.get(receiver)
    const before = away && entry?.suspended.get(away)
    if (away === undefined || before === undefined) return []
    before.reclaim(away, cursor)
    if (cursor !== undefined) away.queue.discardBelow(cursor)
    const items = [...away.queue.items]
    away.queue.replace(markersOf(items))
    return items.filter(({ kind }) => kind !== 'marker')
  }

  /** The classes of a policy, wherever they are, or the one of a receiver. */
  #classesOf(entry: Entry, rid: string): PolicyClass[] {
    const own = entry.classes.get(rid)
    const classes = own === undefined ? [] : [own]
    const isOther = (one: PolicyClass) => one.policy.hash === rid && one !== own
    for (const slot of entry.slots.values()) classes.push(...slot.classes.filter(isOther))
    for (const away of entry.suspended.keys()) if (isOther(away)) classes.push(away)
    return classes
  }

  #enqueueIn(entry: Entry, policyClass: PolicyClass, rid: string, items: readonly Item[]): void {
    const fresh = itemsFrom(items, laterOf(entry.next, policyClass.next))
    if (fresh.length === 0) return
    const { slot } = policyClass
    const isForOneOfSeveral = policyClass.policy.hash !== rid && policyClass.receivers.size > 1
    const owner = isForOneOfSeveral ? this.#branchOff(entry, policyClass, rid) : policyClass
    if (isForOneOfSeveral) slot?.add(owner)
    for (const item of fresh) owner.next = nextAfter(item) ?? owner.next
    entry.end = laterOf(entry.end, owner.next)
    if (slot === undefined) owner.queue.enqueue(fresh)
    else slot.enqueueFor(owner, fresh)
  }

  /** A class for one of several receivers, with the same waiting and on its way as theirs. */
  #branchOff(entry: Entry, policyClass: PolicyClass, receiver: string): PolicyClass {
    const { policy, first, next, slot, queue } = policyClass
    const branch = { ...this.#newClass(receiver, policy, first), next }
    branch.queue.appendAll(queue, undefined)
    slot?.link.inherit(policyClass, branch)
    this.#moveReceivers(entry, policyClass, branch, [receiver])
    return branch
  }

  /**
   * Receivers that were away and have all that waited for them become part of their policy's class again: when
   * nothing waits or is on its way that is for one of them and not for the other.
   */
  #rejoin(entry: Entry, slot: Slot): void {
    for (const single of slot.classes) {
      const { rid, policy, queue, first } = single
      if (rid === policy.hash || !isDone(queue)) continue
      const known = slot.classes.find((other) => other.rid === policy.hash)
      if ((known && !isDone(known.queue)) || hasSeenPart(known ? [single, known] : [single], slot)) continue
      const policyClass = known ?? this.#classIn(slot, policy, first)
      policyClass.next = laterOf(policyClass.next, single.next)
      slot.link.inherit(single, policyClass)
      this.#moveReceivers(entry, single, policyClass, [...single.receivers])
      this.#closeClass(entry, single)
    }
  }

  #leave(entry: Entry, receiver: string): boolean {
    const policyClass = entry.classes.get(receiver)
    if (policyClass === undefined) return false
    entry.classes.delete(receiver)
    policyClass.receivers.delete(receiver)
    if (policyClass.receivers.size === 0) this.#closeClass(entry, policyClass)
    return true
  }

  #moveReceivers(entry: Entry, from: PolicyClass, to: PolicyClass, receivers: readonly string[]): void {
    for (const receiver of receivers) {
      from.receivers.delete(receiver)
      to.receivers.add(receiver)
      entry.classes.set(receiver, to)
    }
  }

  #closeClass(entry: Entry, policyClass: PolicyClass): void {
    const { slot, queue } = policyClass
    const link = slot?.link ?? entry.suspended.get(policyClass)
    link?.disown(policyClass)
    entry.suspended.delete(policyClass)
    if (slot !== undefined) this.#removeFrom(entry, slot, policyClass)
    queue.close()
  }

  #removeFrom(entry: Entry, slot: Slot, policyClass: PolicyClass): void {
    slot.remove(policyClass)
    if (slot.classes.length > 0) return
    slot.close()
    entry.slots.delete(slot.link)
  }

  #entryOf(sender: string): Entry {
    let entry = this.#entries.get(sender)
    if (entry === undefined) {
      entry = { slots: new Map(), classes: new Map(), suspended: new Map(), next: undefined, end: undefined }
      this.#entries.set(sender, entry)
    }
    return entry
  }

  #slotOf(entry: Entry, sender: string, link: Link): Slot {
    let slot = entry.slots.get(link)
    if (slot === undefined) {
      slot = new Slot(sender, link, this.#bounds, this.#surroundings)
      entry.slots.set(link, slot)
    }
    return slot
  }

  /** The class of a policy in a slot, a new one if need be. */
  #classIn(slot: Slot, policy: Policy, first: Cursor | undefined): PolicyClass {
    const known = slot.classes.find(({ rid }) => rid === policy.hash)
    if (known !== undefined) return known
    const policyClass = this.#newClass(policy.hash, policy, first)
    slot.add(policyClass)
    return policyClass
  }

  #newClass(rid: string, policy: Policy, first: Cursor | undefined): PolicyClass {
    const queue = new PrivateQueue(policy, this.#bounds, this.#surroundings)
    return { rid, policy, receivers: new Set(), queue, first, next: undefined, slot: undefined }
  }
}

/** A marker for each epoch, behind all of it. */
function markersOf(items: readonly Item[]): Marker[] {
  const markers = new Map<number, Marker>()
  for (const item of items) {
    const epoch = epochOf(item)
    const { highest, end } = markers.get(epoch) ?? { highest: 0, end: false }
    const isMarker = item.kind === 'marker'
    const last = isMarker ? item.highest : nextAfter(item)!.seq - 1
    const marker = { highest: Math.max(highest, last), end: end || (isMarker && item.end) }
    markers.set(epoch, { kind: 'marker', epoch, ...marker })
  }
  return [...markers.values()]
}

/** Whether something that waits for everyone or is on its way to these lies below what is for one of them. */
function hasSeenPart(classes: readonly PolicyClass[], slot: Slot): boolean {
  const first = classes.reduce<Cursor | undefined>((latest, one) => laterOf(latest, one.first), undefined)
  if (first === undefined) return false
  const isSeen = (item: Item) => itemFrom(item, first) !== item
  return (
    slot.shared.items.some(isSeen) ||
    classes.some((one) => slot.link.sentTo(one).some(({ taken }) => taken.items.some(isSeen)))
  )
}
