// A node as the root of receivers, RR (PACK sections 3 and 4): it wants the sender's events from the tree and sends
// them on to the receivers' proxies through RPB. A receiver's queue takes events from the moment it subscribes, and
// drains when its class is granted and its owner is allowed to have them. An entry of RPB is one receiver's alone: what
// is for everyone behind a link could not be told from what is for one that is about to join or to leave it.
import { type Cursor, type Item, laterOf } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy, PolicySpec } from '../policies/policy.ts'
import { Backlogs, type Recall } from './backlogs.ts'
import type { RoutedMessage } from './control.ts'
import type { Forest } from './forest.ts'
import { HANDOVER_MS, type Host, LEASE_MS } from './host.ts'
import type { Id } from './id.ts'
import type { Mirror, Mirrors } from './mirrors.ts'
import { type Inheritance, Succession } from './succession.ts'
import type { Tree } from './tree.ts'

type Subscribe = Extract<RoutedMessage, { kind: 'subscribe' }>

interface Subscription extends Inheritance {
  heardAt: number
  /** Whether the receiver was told that it stands. */
  isStanding: boolean
  /** Whether it is detached: then its queue waits. */
  isAway: boolean
  /** Whether what waits while it is away stays here until it is recalled. */
  isDigestFirst: boolean
  /** Whether it was away and attached again, and what waits is still to follow. */
  isReturning: boolean
  /** The proxies it left that still have something for it, the first one first; meanwhile its queue waits. */
  left: Left[]
  /** Whether its proxy was sent something by another: it may have that without a connection to this node. */
  wasSent: boolean
  /** Whether another node is its root, and only what waited here is still to go there. */
  isOver: boolean
}

/** What is about to follow a receiver is asked for again after so long. */
const SOON_MS = 200

interface Left {
  readonly proxy: Id
  /** When it began to matter. */
  since: number
  /** Where it goes, as soon as the proxy was told, and with which attachment. */
  told: number | undefined
}

export class ReceiverRoot {
  readonly #host: Host
  readonly #rpb: RemoteBuffer
  readonly #forest: Forest
  readonly #bySender = new Map<Id, Map<Id, Subscription>>()
  /** Those that have left a proxy that still has something for them. */
  readonly #leaving = new Set<Subscription>()
  readonly #succession: Succession
  readonly #backlogs: Backlogs

  constructor(host: Host, rpb: RemoteBuffer, forest: Forest, mirrors: Mirrors) {
    this.#host = host
    this.#rpb = rpb
    this.#forest = forest
    this.#succession = new Succession(host, rpb, mirrors)
    this.#backlogs = new Backlogs(host, rpb)
  }

  /** Senders that receivers have whose root is here, with those of them that move or are recalling. */
  get size(): number {
    return this.#bySender.size + this.#leaving.size + this.#backlogs.size
  }

  subscribe(message: Subscribe): void {
    const { sid, rid, proxy, owner, policy: spec, generation, cursor, pending, away } = message
    const isDigestFirst = message.backlog === 'digest-first'
    const known = this.#find(sid, rid) ?? this.#adopt(message)
    if (known !== undefined && known.generation > generation) {
      // What it has is collected, or about to be.
      if (known.left.some((left) => left.proxy === proxy)) {
        this.#askAgain(known, proxy, generation)
        return
      }
      this.#host.tell(proxy, {
        kind: 'refused',
        sid,
        rid,
        reason: 'the receiver is attached elsewhere',
        generation,
        newest: known.generation,
      })
      return
    }
    if (known !== undefined && known.policy.hash === this.#compile(spec)?.hash) {
      known.heardAt = this.#host.now()
      known.isOver = false
      known.isDigestFirst = isDigestFirst
      // Of one that was away only by what this node thought, the client knows nothing.
      if (known.isAway && known.generation < generation) known.isReturning = true
      const isBack = known.isAway && away !== true
      const isNew = known.generation < generation || known.proxy !== proxy || isBack
      known.generation = generation
      if (isNew) this.#move(known, proxy, cursor)
      else if (pending === true && known.isStanding) this.#tellStands(known)
      if (away === true && !known.isAway) this.#detach(known)
      return
    }
    if (known !== undefined) this.#remove(known)
    let policy: Policy
    try {
      policy = this.#host.compile(spec)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#host.tell(proxy, { kind: 'refused', sid, rid, reason })
      return
    }
    this.#add({
      sid,
      rid,
      key: sid + rid,
      owner,
      policy,
      generation,
      cursor,
      proxy,
      heardAt: this.#host.now(),
      isStanding: false,
      isGranted: false,
      isAway: away === true,
      isDigestFirst,
      isReturning: false,
      left: [],
      wasSent: false,
      first: undefined,
      catching: undefined,
      caught: undefined,
      isOver: false,
    })
  }

  get mirrors(): number {
    return this.#succession.size
  }

  /** Whether another root sends here what waits there for a receiver that is away. */
  isMirroredFrom(root: Id, key: string): boolean {
    return this.#succession.isFrom(root, key, this.#named(key))
  }

  /** Whether it is nobody's root. */
  get isIdle(): boolean {
    return this.#bySender.size === 0
  }

  /** `to` is the receiver's root now: what waits here goes there first. */
  unsubscribe(sid: Id, rid: Id, proxy: Id, to: Id | undefined): void {
    const known = this.#find(sid, rid)
    if (known?.proxy !== proxy) return
    if (to === undefined || to === this.#host.id || !known.isAway || !known.isGranted) this.#remove(known)
    else {
      this.#succession.mirror(known, to)
      known.isOver = true
      known.heardAt = Math.min(known.heardAt, this.#host.now() + HANDOVER_MS - LEASE_MS)
    }
  }

  /** The receiver's proxy says that it is away. */
  suspend(proxy: Id, sid: Id, rid: Id, generation: number): void {
    const known = this.#find(sid, rid)
    if (known?.proxy === proxy && known.generation <= generation && !known.isAway) this.#detach(known)
  }

  /** The receiver's client asks for what waited while it was away. */
  recall(recall: Recall): void {
    const { sid, rid, owner, path } = recall
    const known = this.#find(sid, rid)
    if (known === undefined || known.owner !== owner) this.#backlogs.tell(recall, { kind: 'unknown' })
    else if (known.isAway || known.isReturning || known.proxy !== (path[0] ?? this.#host.id))
      this.#backlogs.tell(recall, { kind: 'busy', retryAfterMs: SOON_MS })
    else this.#backlogs.recall(recall)
  }

  /** Another root has a receiver that is away, and this node would be its root next, or is already. */
  mirror(from: Id, mirror: Mirror): void {
    const { sid, rid } = mirror
    const known = this.#find(sid, rid)
    const policy = this.#compile(mirror.policy)
    if (policy === undefined) return
    if (known === undefined) this.#succession.keep(from, mirror, policy)
    else if (known.policy.hash !== policy.hash) this.#host.tell(from, { kind: 'unmirror', sid, rid })
    else if (this.#succession.catch(known, from, mirror)) this.#stands(known, mirror.first)
  }

  /** What waits at another root for a receiver that is away. */
  mirrored(from: Id, key: string, rid: string | undefined, items: readonly Item[]): void {
    this.#succession.mirrored(from, key, this.#named(key), rid, items)
  }

  /** There is no more to come from that root, or a stand-in has become the root. */
  unmirror(from: Id, sid: Id, rid: Id): void {
    const known = this.#find(sid, rid)
    if (this.#succession.unmirror(from, sid, rid, known) && known?.isOver) this.#remove(known)
  }

  /** Events or items of a sender came through the tree. */
  deliver(sid: Id, hash: string | undefined, items: readonly Item[]): void {
    for (const subscription of this.#bySender.get(sid)?.values() ?? []) {
      const { rid, policy, key } = subscription
      if (hash !== undefined && hash !== policy.hash) continue
      const own = hash === undefined ? undefined : rid
      // A queue to this node itself is drained before anything leaves it: then there need not be one.
      if (this.#isHere(subscription) && this.#rpb.isDone(key)) this.#host.handOver(key, own, items)
      else this.#succession.deliver(subscription, own, items)
    }
  }

  #isHere({ proxy, isGranted, isAway, left, catching }: Subscription): boolean {
    return proxy === this.#host.id && isGranted && !isAway && left.length === 0 && catching === undefined
  }

  /** The tree has the classes now. */
  granted(tree: Tree, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    for (const subscription of [...(this.#bySender.get(tree.sid)?.values() ?? [])]) {
      if (!hashes.includes(subscription.policy.hash)) continue
      if (!isProvisional) this.#succession.granted(subscription, first)
      if (subscription.isGranted) continue
      if (isProvisional) this.#stands(subscription, first)
      else this.#grant(tree, subscription, first)
    }
  }

  denied(tree: Tree, hashes: readonly string[], reason: string): void {
    for (const subscription of [...(this.#bySender.get(tree.sid)?.values() ?? [])]) {
      if (hashes.includes(subscription.policy.hash)) this.#refuse(subscription, reason)
    }
  }

  /** The proxy that a receiver left has sent on all it had. */
  collected(from: Id, sid: Id, rid: Id, generation: number): void {
    const subscription = this.#find(sid, rid)
    const first = subscription?.left[0]
    if (first?.proxy === from && first.told === generation) this.#next(subscription!)
  }

  /** A proxy is gone: what it had is lost, and what is elsewhere follows. */
  lost(peer: Id): void {
    for (const one of [...this.#leaving]) if (one.left[0]?.proxy === peer) this.#next(one)
    this.#succession.lost(peer)
    for (const one of this.#all()) {
      if (one.proxy === peer && !one.isAway) this.#detach(one)
      else if (one.isAway && !this.#succession.isMirrored(one)) this.#succession.mirror(one)
    }
  }

  /** Looks after those that move: told when something was acknowledged, and now and then. */
  settle(): void {
    this.#succession.settle()
    for (const subscription of [...this.#leaving]) this.#lookAfter(subscription)
  }

  /** Whether it is the turn of the first of the proxies that it left, or nobody waits for that any more. */
  #lookAfter(subscription: Subscription): void {
    const { sid, rid, key, proxy, generation, cursor, first: begins, left, isGranted } = subscription
    const [first] = left
    // What follows from one that was looked after before may have ended this one's wait.
    if (first === undefined) return
    if (this.#host.now() - first.since > HANDOVER_MS) this.#next(subscription)
    else if (first.told === undefined && isGranted && !this.#rpb.isOnItsWay(key, rid)) {
      first.told = generation
      const to = left[1]?.proxy ?? proxy
      if (left.length === 1) subscription.wasSent = true
      const at = {
        ...(cursor === undefined ? {} : { cursor }),
        ...(begins === undefined ? {} : { first: begins }),
      }
      this.#host.tell(first.proxy, { kind: 'collect', sid, rid, to, generation, ...at })
    }
  }

  /** A proxy has been gone for longer than anybody waits. */
  departed(proxy: Id): void {
    for (const subscriptions of [...this.#bySender.values()]) {
      for (const one of [...subscriptions.values()]) if (one.proxy === proxy) this.#remove(one)
    }
  }

  /** Forgets those that were not heard of since `before`. */
  refresh(before: number): void {
    for (const subscriptions of [...this.#bySender.values()]) {
      for (const one of [...subscriptions.values()]) if (one.heardAt < before) this.#remove(one)
    }
    this.#succession.refresh(before)
    for (const one of this.#all()) if (one.isAway && !one.isOver) this.#succession.mirror(one)
  }

  #add(subscription: Subscription): void {
    this.#list(subscription)
    this.#succession.newQueue(subscription)
    this.#want(subscription)
  }

  #list(subscription: Subscription): void {
    const { sid, rid } = subscription
    const subscriptions = this.#bySender.get(sid) ?? new Map<Id, Subscription>()
    this.#bySender.set(sid, subscriptions.set(rid, subscription))
  }

  #want(subscription: Subscription): void {
    const { sid, policy } = subscription
    if (this.#forest.treeOf(sid).wantLocal(policy)) return
    this.#refuse(subscription, 'the sender has too many different policies already')
  }

  /**
   * The receiver is attached again, maybe behind another proxy: its queue follows, from what it expects next. Before,
   * it gets what the proxy that it left still has.
   */
  #move(subscription: Subscription, proxy: Id, cursor: Cursor | undefined): void {
    const { sid, rid, proxy: before, isStanding, left, wasSent } = subscription
    if (before !== proxy) subscription.wasSent = false
    subscription.proxy = proxy
    subscription.cursor = cursor
    subscription.isAway = false
    this.#succession.mirrorNoMore(subscription)
    this.#rpb.suspend(sid + rid, rid)
    // A proxy that nothing was sent to yet has nothing.
    const hasSome = left.length === 0 || left.at(-1)!.told !== undefined
    if (hasSome && before !== proxy && (wasSent || this.#host.isThere(before))) {
      left.push({ proxy: before, since: this.#host.now(), told: undefined })
      this.#leaving.add(subscription)
      this.#lookAfter(subscription)
    } else if (left.length === 0) this.#follow(subscription)
    this.#askAgain(subscription, proxy, subscription.generation)
    if (isStanding) this.#tellStands(subscription)
  }

  /** A proxy that it left had it again when it was asked for what it has: then it has not answered. */
  #askAgain(subscription: Subscription, proxy: Id, generation: number): void {
    const { left } = subscription
    const [first, second] = left
    if (first?.proxy !== proxy || first.told === undefined || first.told >= generation) return
    // Left again meanwhile: it is asked once for all it has.
    if (second?.proxy === proxy) left.splice(1, 1)
    first.told = undefined
    first.since = this.#host.now()
    this.#lookAfter(subscription)
  }

  /** The first of the proxies that it left has nothing more. */
  #next(subscription: Subscription): void {
    const [, next] = subscription.left
    subscription.left.shift()
    if (next === undefined) this.#follow(subscription)
    else {
      next.since = this.#host.now()
      this.#lookAfter(subscription)
    }
  }

  #detach(subscription: Subscription): void {
    subscription.isAway = true
    this.#rpb.suspend(subscription.key, subscription.rid)
    this.#succession.mirror(subscription)
  }

  /** What waits here goes to the receiver's proxy. */
  #follow(subscription: Subscription): void {
    const { key, rid, proxy, cursor, first, isAway, isGranted, left } = subscription
    if (left.length > 0) return
    this.#leaving.delete(subscription)
    if (!isGranted || isAway) return
    const next = laterOf(first, cursor)
    if (subscription.isReturning && subscription.isDigestFirst) this.#backlogs.keep(subscription, next)
    subscription.isReturning = false
    this.#rpb.resume(key, rid, this.#host.linkTo(proxy), next)
  }

  #grant(tree: Tree, subscription: Subscription, first: Cursor | undefined): void {
    const { owner } = subscription
    if (tree.allow !== undefined && !tree.allow.includes(owner)) {
      this.#refuse(subscription, 'the sender does not allow this client to subscribe')
      return
    }
    subscription.isGranted = true
    this.#stands(subscription, first)
    this.#follow(subscription)
    this.#lookAfter(subscription)
  }

  /** Where it begins is told once; a sender that was not known then has its first event to come. */
  #stands(subscription: Subscription, first: Cursor | undefined): void {
    if (subscription.isStanding) return
    subscription.isStanding = true
    subscription.first = first
    this.#tellStands(subscription)
  }

  #tellStands({ sid, rid, proxy, first }: Subscription): void {
    this.#host.tell(proxy, { kind: 'subscribed', sid, rid, ...(first === undefined ? {} : { first }) })
  }

  #refuse(subscription: Subscription, reason: string): void {
    const { sid, rid, proxy } = subscription
    this.#remove(subscription)
    this.#host.tell(proxy, { kind: 'refused', sid, rid, reason })
  }

  #remove(subscription: Subscription): void {
    const { sid, rid, policy } = subscription
    this.#leaving.delete(subscription)
    this.#succession.forget(subscription)
    this.#backlogs.drop(sid, rid)
    const subscriptions = this.#bySender.get(sid)!
    subscriptions.delete(rid)
    if (subscriptions.size === 0) this.#bySender.delete(sid)
    this.#rpb.unsubscribe(sid + rid, rid)
    for (const other of subscriptions.values()) if (other.policy.hash === policy.hash) return
    this.#forest.unwantLocal(sid, policy.hash)
  }

  /** A copy of what waited at a root that is gone, or about to be, is the queue now. */
  #adopt({ sid, rid, owner, policy: spec }: Subscribe): Subscription | undefined {
    const states = {
      heardAt: this.#host.now(),
      isStanding: true,
      isAway: true,
      isOver: false,
      isDigestFirst: false,
      isReturning: false,
      left: [],
      wasSent: false,
    }
    const subscription = this.#succession.inherit(sid + rid, owner, this.#compile(spec)?.hash, states)
    if (subscription === undefined) return undefined
    this.#list(subscription)
    this.#want(subscription)
    return this.#find(sid, rid)
  }

  #all(): Subscription[] {
    return [...this.#bySender.values()].flatMap((subscriptions) => [...subscriptions.values()])
  }

  #compile(spec: PolicySpec): Policy | undefined {
    try {
      return this.#host.compile(spec)
    } catch {
      return undefined
    }
  }

  #find(sid: Id, rid: Id): Subscription | undefined {
    return this.#bySender.get(sid)?.get(rid)
  }

  /** By its name in RPB. */
  #named(key: string): Subscription | undefined {
    return this.#find(key.slice(0, key.length / 2), key.slice(key.length / 2))
  }
}
