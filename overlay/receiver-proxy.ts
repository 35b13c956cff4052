// A node as the proxy of receivers, RP (PACK sections 3 and 4): it takes subscriptions of attached clients to the
// receivers' roots, and sends what comes from there to the clients through RCB. An entry of RCB is one receiver's
// alone, because each receiver has its own root, and takes nothing from another's.
import { type Cursor, type Item, laterOf } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy } from '../policies/policy.ts'
import type { ClientMessage, PathMessage } from './control.ts'
import { Early } from './early.ts'
import { HANDOVER_MS, type Host } from './host.ts'
import { type Id, idOfEndpoint } from './id.ts'
import type { Peer } from './surroundings.ts'

type Subscribe = Extract<ClientMessage, { kind: 'subscribe' }>
type Refused = Extract<ClientMessage, { kind: 'refused' }>
type Collect = Extract<PathMessage, { kind: 'collect' }>

/** Subscriptions of one client; each has a queue. */
export const MAX_SUBSCRIPTIONS_OF_CLIENT = 4_096

interface Subscription {
  readonly sid: Id
  readonly rid: Id
  readonly client: Id
  readonly policy: Policy
  readonly generation: number
  readonly cursor: Cursor | undefined
  readonly backlog: 'digest-first' | undefined
  root: Id | undefined
  /** The root that comes next, when the one before has sent everything up to where it begins. */
  next: NextRoot | undefined
  /** Whether the client was told that it stands. */
  isStanding: boolean
  /** Whether the client is detached. */
  isAway: boolean
  /** Whether its root was told so: what comes for it waits there. */
  isSuspended: boolean
  /** The root asks for what is here, as soon as the root before has sent what it has. */
  collect: { readonly root: Id; readonly collect: Collect } | undefined
}

interface NextRoot {
  readonly id: Id
  readonly since: number
  /** Where it begins, as soon as it has told. */
  until: Cursor | undefined
  /** What came from it meanwhile. */
  readonly early: Early
}

/** What a receiver that is elsewhere now has left here: it follows. */
interface Leaving {
  readonly root: Id
  readonly collect: Collect
  readonly since: number
  /** The receiver is here again: this comes first. */
  next?: Subscription
}

export class ReceiverProxy {
  readonly #host: Host
  readonly #rcb: RemoteBuffer
  /** By the IDs of sender and receiver behind one another. */
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #byReceiver = new Map<Id, Set<Subscription>>()
  readonly #byClient = new Map<Id, Set<Subscription>>()
  /** By the same. */
  readonly #leaving = new Map<string, Leaving>()
  /** Those whose next root waits for the one before. */
  readonly #succeeding = new Set<Subscription>()
  /** Those that have lost their root: who was asked may not have noticed yet that it is dead. */
  readonly #seeking = new Set<Subscription>()

  constructor(host: Host, rcb: RemoteBuffer) {
    this.#host = host
    this.#rcb = rcb
  }

  /** Receivers that are here or were, by every index, with those of them that move, or whose root does. */
  get size(): number {
    const moving = this.#leaving.size + this.#succeeding.size + this.#seeking.size
    return this.#subscriptions.size + this.#byReceiver.size + this.#byClient.size + moving
  }

  /** Whether something may come for it: by the IDs of sender and receiver behind one another. */
  has(receiver: string): boolean {
    return this.#subscriptions.has(receiver)
  }

  subscribe(client: Peer, message: Subscribe): void {
    const { sid, rid, name, policy: spec, generation, cursor, backlog } = message
    try {
      if (idOfEndpoint(client.key, name) !== rid)
        throw new Error(`"${name}" is not the name of this receiver`)
      const isFull = (this.#byClient.get(client.id)?.size ?? 0) >= MAX_SUBSCRIPTIONS_OF_CLIENT
      if (isFull && this.#find(sid, rid) === undefined) {
        throw new Error(`more than ${MAX_SUBSCRIPTIONS_OF_CLIENT} subscriptions`)
      }
      const policy = this.#host.compile(spec)
      this.#add({
        sid,
        rid,
        client: client.id,
        policy,
        generation,
        cursor,
        backlog,
        root: undefined,
        next: undefined,
        isStanding: false,
        isAway: false,
        isSuspended: false,
        collect: undefined,
      })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#host.tell(client.id, { kind: 'refused', sid, rid, reason })
    }
  }

  unsubscribe(client: Id, sid: Id, rid: Id): void {
    const subscription = this.#find(sid, rid)
    if (subscription?.client === client) this.#remove(subscription)
    const leaving = this.#leaving.get(sid + rid)
    if (leaving?.next?.client === client) delete leaving.next
  }

  /** A node says that it is the receiver's root: it comes next, if the one before is still there. */
  rooted(root: Id, rid: Id): void {
    for (const subscription of this.#byReceiver.get(rid) ?? []) this.#rooted(subscription, root)
  }

  subscribed(root: Id, sid: Id, rid: Id, first: Cursor | undefined): void {
    const subscription = this.#find(sid, rid)
    if (subscription === undefined) return
    this.#rooted(subscription, root)
    if (subscription.next?.id === root) {
      subscription.next.until = first
      if (first === undefined) this.#succeed(subscription)
      else this.#look(subscription)
    }
    subscription.isStanding = true
    this.#host.tell(subscription.client, {
      kind: 'subscribed',
      sid,
      rid,
      ...(first === undefined ? {} : { first }),
    })
  }

  refused(message: Refused): void {
    const { sid, rid, generation } = message
    const subscription = rid === undefined ? undefined : this.#find(sid, rid)
    if (subscription === undefined) return
    if (generation !== undefined && generation !== subscription.generation) return
    // A client that is here all the same has a clock that went back: it attaches with a newer generation.
    if (generation === undefined || this.#host.isThere(subscription.client))
      this.#host.tell(subscription.client, message)
    this.#forget(subscription)
  }

  /** Items from a receiver's root. Those of another than it has now are not heard. */
  deliver(root: Id, receiver: string, rid: string | undefined, items: readonly Item[]): void {
    const subscription = this.#subscriptions.get(receiver)
    if (subscription?.root === root) {
      this.#rcb.put(receiver, rid, items)
      if (subscription.next !== undefined) this.#look(subscription)
    } else if (subscription?.next?.id === root) {
      if (!subscription.next.early.add({ rid, items })) this.#succeed(subscription)
    }
  }

  #rooted(subscription: Subscription, root: Id): void {
    const { root: before, next } = subscription
    this.#seeking.delete(subscription)
    if (before === root || next?.id === root) return
    if (next !== undefined) this.#tellUnsubscribe(subscription, next.id)
    subscription.next = { id: root, since: this.#host.now(), until: undefined, early: new Early() }
    const { isStanding, isSuspended } = subscription
    // What waits at a root goes from there to the next.
    if (before === undefined || !isStanding || isSuspended || !this.#host.isThere(before))
      this.#succeed(subscription)
    else this.#succeeding.add(subscription)
  }

  /** Whether the root before has sent everything up to where the next one begins. */
  #look(subscription: Subscription): void {
    const { sid, rid, next } = subscription
    const end = this.#rcb.endOf(sid + rid)
    if (next?.until !== undefined && laterOf(end, next.until) === end) this.#succeed(subscription)
  }

  #succeed(subscription: Subscription): void {
    const { sid, rid, root, next } = subscription
    this.#succeeding.delete(subscription)
    if (next === undefined) return
    if (root !== undefined) this.#tellUnsubscribe(subscription, root, next.id)
    subscription.root = next.id
    subscription.next = undefined
    for (const part of next.early.parts) this.#rcb.put(sid + rid, part.rid, part.items)
    this.#collectLate(subscription)
  }

  /** It was asked for what is here while it waited for the root before: unless the one that asked is gone, it goes now. */
  #collectLate(subscription: Subscription, gone?: Id): void {
    const { collect } = subscription
    subscription.collect = undefined
    if (collect !== undefined && collect.root !== gone) this.collect(collect.root, collect.collect)
  }

  /** A client is detached: what comes for it waits here, and from now on at the roots of its receivers. */
  detached(client: Id, generation = Number.POSITIVE_INFINITY): void {
    for (const subscription of this.#byClient.get(client) ?? []) {
      if (subscription.isAway || subscription.generation > generation) continue
      subscription.isAway = true
      this.#rcb.suspend(subscription.sid + subscription.rid, subscription.rid)
      this.#suspend(subscription)
      this.#ask(subscription)
    }
    for (const { next } of this.#leaving.values())
      if (next?.client === client && next.generation <= generation) next.isAway = true
  }

  /** A receiver is at another proxy now: what is here of it goes there. */
  collect(root: Id, collect: Collect): void {
    const { sid, rid, to, generation, cursor } = collect
    const subscription = this.#find(sid, rid)
    const leaving: Leaving = { root, collect, since: this.#host.now() }
    if (subscription === undefined || subscription.generation === generation) {
      this.#tellCollected(leaving)
      return
    }
    // It is here again, which the root has not heard yet. When it does, it asks again, if the receiver has left by then:
    // an answer now would let it forget what is here.
    if (subscription.generation > generation) return
    if (subscription.next !== undefined) {
      subscription.collect = { root, collect }
      subscription.next.until ??= collect.first
      this.#look(subscription)
      return
    }
    this.#unlist(subscription)
    this.#rcb.suspend(sid + rid, rid)
    this.#rcb.resume(sid + rid, rid, this.#host.linkTo(to), cursor)
    this.#leaving.set(sid + rid, leaving)
    // Data alone does not make a connection.
    if (!this.#host.isThere(to)) this.#host.tell(to, { kind: 'ping', at: this.#host.now() })
    this.settle()
  }

  /** What a receiver that is here now has left at another proxy. */
  takeOver(receiver: string, rid: string | undefined, items: readonly Item[]): void {
    this.#rcb.put(receiver, rid, items)
  }

  /** Looks after those that left: told when something was acknowledged, and now and then. */
  settle(): void {
    const late = this.#host.now() - HANDOVER_MS
    for (const subscription of [...this.#succeeding])
      if (subscription.next !== undefined && subscription.next.since < late) this.#succeed(subscription)
    for (const leaving of [...this.#leaving.values()]) {
      const { sid, rid } = leaving.collect
      if (this.#rcb.isDone(sid + rid) || leaving.since < late) this.#left(leaving)
    }
  }

  /** Whether it has nothing of any receiver. */
  get isIdle(): boolean {
    return this.#subscriptions.size === 0 && this.#leaving.size === 0
  }

  /** A node is about to leave: receivers whose root it is get another while it is still there. */
  leaves(peer: Id): void {
    for (const subscription of this.#subscriptions.values())
      if (subscription.root === peer) this.#ask(subscription)
  }

  /** A node is gone: receivers whose root it was, or may be about to be, look for another. */
  lost(peer: Id): void {
    for (const leaving of [...this.#leaving.values()]) if (leaving.collect.to === peer) this.#left(leaving)
    for (const subscription of [...this.#succeeding]) {
      if (subscription.next?.id === peer) {
        subscription.next = undefined
        this.#succeeding.delete(subscription)
        this.#collectLate(subscription, peer)
      } else if (subscription.root === peer) this.#succeed(subscription)
    }
    for (const subscription of this.#subscriptions.values())
      if (subscription.root === peer || subscription.root === undefined) {
        this.#seeking.add(subscription)
        this.#ask(subscription)
      }
  }

  /** Once a heartbeat: asks again for roots that were not found. */
  seek(): void {
    for (const subscription of this.#seeking) this.#ask(subscription)
  }

  /** A client is gone for good. */
  departed(client: Id): void {
    for (const subscription of [...(this.#byClient.get(client) ?? [])]) this.#remove(subscription)
    for (const leaving of this.#leaving.values()) if (leaving.next?.client === client) delete leaving.next
  }

  refresh(): void {
    for (const subscription of this.#subscriptions.values()) this.#ask(subscription)
  }

  #add(subscription: Subscription): void {
    const { sid, rid, client, policy } = subscription
    const leaving = this.#leaving.get(sid + rid)
    if (leaving !== undefined) {
      leaving.next = subscription
      return
    }
    const known = this.#find(sid, rid)
    if (known !== undefined) this.#unlist(known)
    const isKept = known?.policy.hash === policy.hash
    if (known !== undefined && !isKept) this.#rcb.unsubscribe(sid + rid, rid)
    if (isKept) subscription.root = known.next?.id ?? known.root
    this.#subscriptions.set(sid + rid, subscription)
    this.#byReceiver.set(rid, (this.#byReceiver.get(rid) ?? new Set()).add(subscription))
    this.#byClient.set(client, (this.#byClient.get(client) ?? new Set()).add(subscription))
    if (isKept) {
      this.#rcb.suspend(sid + rid, rid)
      this.#rcb.resume(sid + rid, rid, this.#host.linkTo(client), subscription.cursor)
    } else this.#rcb.subscribe(sid + rid, this.#host.linkTo(client), rid, policy)
    if (subscription.isAway) this.#rcb.suspend(sid + rid, rid)
    this.#ask(subscription)
  }

  #ask(subscription: Subscription): void {
    const { sid, rid, client, policy, generation, cursor, backlog, isStanding, isAway } = subscription
    const at = {
      ...(cursor === undefined ? {} : { cursor }),
      ...(isStanding ? {} : { pending: true }),
      ...(isAway ? { away: true } : {}),
      ...(backlog === undefined ? {} : { backlog }),
    }
    const proxy = this.#host.id
    this.#host.route(rid, {
      kind: 'subscribe',
      sid,
      rid,
      proxy,
      owner: client,
      policy: policy.spec,
      generation,
      ...at,
    })
  }

  #remove(subscription: Subscription): void {
    this.#forget(subscription)
    for (const root of [subscription.root, subscription.next?.id])
      if (root !== undefined) this.#tellUnsubscribe(subscription, root)
  }

  /** What comes waits at the root; one that is about to be another's sends here what it has until that begins. */
  #suspend(subscription: Subscription): void {
    const { sid, rid, root, next, generation } = subscription
    if (root === undefined || next !== undefined || this.#host.isLeaving(root)) return
    subscription.isSuspended = true
    this.#host.tell(root, { kind: 'suspend', sid, rid, generation })
  }

  #tellUnsubscribe({ sid, rid }: Subscription, root: Id, to?: Id): void {
    const proxy = this.#host.id
    const message = { kind: 'unsubscribe', sid, rid, proxy, ...(to === undefined ? {} : { to }) } as const
    this.#host.tell(root, { kind: 'route', key: rid, hops: 0, origin: this.#host.id, message })
  }

  #left(leaving: Leaving): void {
    const { sid, rid } = leaving.collect
    this.#leaving.delete(sid + rid)
    this.#rcb.unsubscribe(sid + rid, rid)
    this.#tellCollected(leaving)
    if (leaving.next !== undefined) this.#add(leaving.next)
  }

  #tellCollected({ root, collect: { sid, rid, generation } }: Leaving): void {
    this.#host.tell(root, { kind: 'collected', sid, rid, generation })
  }

  #forget(subscription: Subscription): void {
    this.#unlist(subscription)
    this.#rcb.unsubscribe(subscription.sid + subscription.rid, subscription.rid)
  }

  #unlist(subscription: Subscription): void {
    const { sid, rid, client } = subscription
    this.#succeeding.delete(subscription)
    this.#seeking.delete(subscription)
    this.#subscriptions.delete(sid + rid)
    for (const [index, key] of [
      [this.#byReceiver, rid],
      [this.#byClient, client],
    ] as const) {
      index.get(key)?.delete(subscription)
      if (index.get(key)?.size === 0) index.delete(key)
    }
  }

  #find(sid: Id, rid: Id): Subscription | undefined {
    return this.#subscriptions.get(sid + rid)
  }
}
