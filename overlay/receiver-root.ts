// A node as the root of receivers, RR (PACK sections 3 and 4): it wants the sender's events from the tree and sends
// them on to the receivers' proxies through RPB. A receiver's queue takes events from the moment it subscribes, and
// drains when its class is granted and its owner is allowed to have them. An entry of RPB is one receiver's alone: what
// is for everyone behind a link could not be told from what is for one that is about to join or to leave it.
import { type Cursor, type Item, itemsFrom, laterOf } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy, PolicySpec } from '../policies/policy.ts'
import { Backlogs, type Recall } from './backlogs.ts'
import type { RoutedMessage } from './control.ts'
import type { Forest } from './forest.ts'
import { HANDOVER_MS, type Host, LEASE_MS } from './host.ts'
import type { Id } from './id.ts'
import type { Catching, Mirror, Mirrors } from './mirrors.ts'
import type { Tree } from './tree.ts'

type Subscribe = Extract<RoutedMessage, { kind: 'subscribe' }>

interface Subscription {
  readonly sid: Id
  readonly rid: Id
  /** Both behind one another: its name in RPB. */
  readonly key: string
  readonly owner: Id
  readonly policy: Policy
  /** What it expected next when it attached. */
  cursor: Cursor | undefined
  generation: number
  proxy: Id
  heardAt: number
  /** Whether the receiver was told that it stands, and whether its queue drains. */
  isStanding: boolean
  isGranted: boolean
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
  /** Where it began. */
  first: Cursor | undefined
  /** The root before this one is sending what waited there; undefined when it is done, or when there was none. */
  catching: Catching | undefined
  /** The root that has done so. */
  caught: Id | undefined
  /** Whether another node is its root, and only what waited here is still to go there. */
  isOver: boolean
}

/** What is about to follow a receiver is asked for again after so long. */
const SOON_MS = 200
/** Parts that may wait for the root before. */
const MAX_EARLY = 1_024

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
  readonly #mirrors: Mirrors
  readonly #backlogs: Backlogs
  /** Those for which the root before this one is sending what waited there. */
  readonly #catching = new Set<Subscription>()

  constructor(host: Host, rpb: RemoteBuffer, forest: Forest, mirrors: Mirrors) {
    this.#host = host
    this.#rpb = rpb
    this.#forest = forest
    this.#mirrors = mirrors
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
    return this.#mirrors.mirrored + this.#mirrors.copies
  }

  /** Whether another root sends here what waits there for a receiver that is away. */
  isMirroredFrom(root: Id, key: string): boolean {
    const [sid, rid] = [key.slice(0, key.length / 2), key.slice(key.length / 2)]
    return this.#mirrors.copyOf(sid, rid)?.root === root || this.#find(sid, rid)?.catching?.root === root
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
      this.#mirror(known, to)
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
    if (known !== undefined) this.#catch(known, from, mirror)
    else if (this.#mirrors.keep(from, mirror, policy)) this.#newQueue(sid + rid, rid, this.#host.id, policy)
  }

  /** What waits at another root for a receiver that is away. */
  mirrored(from: Id, key: string, rid: string | undefined, items: readonly Item[]): void {
    const [sid, receiver] = [key.slice(0, key.length / 2), key.slice(key.length / 2)]
    const known = this.#find(sid, receiver)
    if (known?.catching?.root === from) {
      this.#put(known, rid, items)
      this.#look(known)
    } else if (this.#mirrors.copyOf(sid, receiver)?.root === from) this.#rpb.put(key, rid, items)
  }

  /** There is no more to come from that root, or a stand-in has become the root. */
  unmirror(from: Id, sid: Id, rid: Id): void {
    const known = this.#find(sid, rid)
    if (this.#mirrors.copyOf(sid, rid)?.root === from) this.#forgetCopy(sid, rid)
    if (known?.catching?.root === from) this.#caughtUp(known)
    else if (this.#mirrors.ended(from, sid, rid) && known?.isOver) this.#remove(known)
  }

  /** Events or items of a sender came through the tree. */
  deliver(sid: Id, hash: string | undefined, items: readonly Item[]): void {
    for (const subscription of this.#bySender.get(sid)?.values() ?? []) {
      const { rid, policy, key } = subscription
      if (hash !== undefined && hash !== policy.hash) continue
      const own = hash === undefined ? undefined : rid
      if (subscription.catching !== undefined) {
        this.#wait(subscription, subscription.catching, own, items)
        continue
      }
      // A queue to this node itself is drained before anything leaves it: then there need not be one.
      if (this.#isHere(subscription) && this.#rpb.isDone(key)) this.#host.handOver(key, own, items)
      else this.#put(subscription, own, items)
    }
  }

  #isHere({ proxy, isGranted, isAway, left }: Subscription): boolean {
    return proxy === this.#host.id && isGranted && !isAway && left.length === 0
  }

  /** The tree has the classes now. */
  granted(tree: Tree, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    for (const subscription of [...(this.#bySender.get(tree.sid)?.values() ?? [])]) {
      if (!hashes.includes(subscription.policy.hash)) continue
      if (subscription.catching !== undefined && !isProvisional) {
        subscription.catching.until = first
        this.#look(subscription)
      }
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
    for (const one of [...this.#catching]) if (one.catching?.root === peer) this.#caughtUp(one)
    this.#mirrors.lost(peer)
    for (const one of this.#all()) {
      if (one.proxy === peer && !one.isAway) this.#detach(one)
      else if (one.isAway && !this.#mirrors.isMirrored(one.key)) this.#mirror(one)
    }
  }

  /** Looks after those that move: told when something was acknowledged, and now and then. */
  settle(): void {
    const late = this.#host.now() - HANDOVER_MS
    for (const one of [...this.#catching])
      if (one.catching !== undefined && one.catching.since < late) this.#caughtUp(one)
    for (const subscription of [...this.#leaving]) {
      const { sid, rid, key, proxy, generation, cursor, first: begins, left, isGranted } = subscription
      const [first] = left
      // What follows from one that was looked after before may have ended this one's wait.
      if (first === undefined) continue
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
    for (const { mirror } of this.#mirrors.stale(before)) this.#forgetCopy(mirror.sid, mirror.rid)
    for (const one of this.#all()) if (one.isAway && !one.isOver) this.#mirror(one)
  }

  #add(subscription: Subscription): void {
    const { sid, rid, proxy, policy } = subscription
    const subscriptions = this.#bySender.get(sid) ?? new Map<Id, Subscription>()
    this.#bySender.set(sid, subscriptions.set(rid, subscription))
    this.#newQueue(sid + rid, rid, proxy, policy)
    this.#want(subscription)
  }

  /** A queue that waits. */
  #newQueue(key: string, rid: Id, proxy: Id, policy: Policy): void {
    this.#rpb.unsubscribe(key, rid)
    this.#rpb.subscribe(key, this.#host.linkTo(proxy), rid, policy)
    this.#rpb.suspend(key, rid)
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
    this.#mirrors.drop(sid, rid)
    this.#rpb.suspend(sid + rid, rid)
    // A proxy that nothing was sent to yet has nothing.
    const hasSome = left.length === 0 || left.at(-1)!.told !== undefined
    if (hasSome && before !== proxy && (wasSent || this.#host.isThere(before))) {
      left.push({ proxy: before, since: this.#host.now(), told: undefined })
      this.#leaving.add(subscription)
      this.settle()
    } else if (left.length === 0) this.#follow(subscription)
    this.#askAgain(subscription, proxy, subscription.generation)
    if (isStanding) this.#tellStands(subscription)
  }

  /** A proxy that it left had it again when it was asked for what it has: then it has not answered. */
  #askAgain({ left }: Subscription, proxy: Id, generation: number): void {
    const [first, second] = left
    if (first?.proxy !== proxy || first.told === undefined || first.told >= generation) return
    // Left again meanwhile: it is asked once for all it has.
    if (second?.proxy === proxy) left.splice(1, 1)
    first.told = undefined
    first.since = this.#host.now()
    this.settle()
  }

  /** The first of the proxies that it left has nothing more. */
  #next(subscription: Subscription): void {
    const [, next] = subscription.left
    subscription.left.shift()
    if (next === undefined) this.#follow(subscription)
    else {
      next.since = this.#host.now()
      this.settle()
    }
  }

  #detach(subscription: Subscription): void {
    subscription.isAway = true
    this.#rpb.suspend(subscription.key, subscription.rid)
    this.#mirror(subscription)
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
    this.settle()
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
    this.#catching.delete(subscription)
    this.#mirrors.drop(sid, rid)
    this.#backlogs.drop(sid, rid)
    const subscriptions = this.#bySender.get(sid)!
    subscriptions.delete(rid)
    if (subscriptions.size === 0) this.#bySender.delete(sid)
    this.#rpb.unsubscribe(sid + rid, rid)
    if ([...subscriptions.values()].some((other) => other.policy.hash === policy.hash)) return
    this.#forest.unwantLocal(sid, policy.hash)
  }

  #put(subscription: Subscription, rid: string | undefined, items: readonly Item[]): void {
    this.#rpb.put(subscription.key, rid, items)
    this.#mirrors.put(subscription.key, rid, items)
  }

  #mirror(
    { sid, rid, key, proxy, owner, policy, generation, cursor, first, isGranted }: Subscription,
    to?: Id,
  ): void {
    if (!isGranted) return
    const at = { ...(cursor === undefined ? {} : { cursor }), ...(first === undefined ? {} : { first }) }
    const waiting = () => this.#rpb.classOf(key, rid)?.queue.items ?? []
    this.#mirrors.mirror({ sid, rid, proxy, owner, policy, generation, ...at }, waiting, to)
  }

  /** A copy of what waited at a root that is gone, or about to be, is the queue now. */
  #adopt({ sid, rid, owner, policy: spec }: Subscribe): Subscription | undefined {
    const copy = this.#mirrors.copyOf(sid, rid)
    if (copy === undefined) return undefined
    const { root, policy, mirror } = copy
    if (mirror.owner !== owner || policy.hash !== this.#compile(spec)?.hash) {
      this.#forgetCopy(sid, rid)
      return undefined
    }
    this.#mirrors.forget(sid, rid)
    const { proxy, generation, cursor, first } = mirror
    const states = {
      isStanding: true,
      isGranted: true,
      isAway: true,
      isOver: false,
      isDigestFirst: false,
      isReturning: false,
      left: [],
      wasSent: false,
    }
    const heardAt = this.#host.now()
    const isThere = this.#host.isThere(root)
    const catching = isThere ? { root, since: heardAt, until: undefined, early: [] } : undefined
    const ids = { sid, rid, key: sid + rid, owner, policy }
    const told = { cursor, generation, proxy, first, heardAt, catching, caught: isThere ? undefined : root }
    const subscription: Subscription = { ...ids, ...told, ...states }
    if (isThere) this.#catching.add(subscription)
    const subscriptions = this.#bySender.get(sid) ?? new Map<Id, Subscription>()
    this.#bySender.set(sid, subscriptions.set(rid, subscription))
    this.#want(subscription)
    return this.#find(sid, rid)
  }

  /** The root before this one tells late what waits there: if nothing has left here yet, that comes first. */
  #catch(known: Subscription, root: Id, { first }: Mirror): void {
    const { key, rid, proxy, policy } = known
    if (known.caught === root) this.#host.tell(root, { kind: 'unmirror', sid: known.sid, rid })
    const own = this.#rpb.classOf(key, rid)
    const hasBegun = own?.slot !== undefined || this.#rpb.isOnItsWay(key, rid)
    if (known.caught !== undefined || known.catching !== undefined || own === undefined || hasBegun) return
    const until = known.isGranted ? known.first : undefined
    known.catching = { root, since: this.#host.now(), until, early: [{ rid, items: [...own.queue.items] }] }
    // It stood there: that is where it began.
    if (!known.isStanding) this.#stands(known, first)
    known.first = first
    this.#catching.add(known)
    this.#newQueue(key, rid, proxy, policy)
  }

  #wait(
    subscription: Subscription,
    { early }: Catching,
    rid: string | undefined,
    items: readonly Item[],
  ): void {
    early.push({ rid, items })
    if (early.length > MAX_EARLY) this.#caughtUp(subscription)
  }

  /** Whether the root before has sent everything up to where this one begins. */
  #look(subscription: Subscription): void {
    const { key, catching } = subscription
    const end = this.#rpb.endOf(key)
    if (catching?.until !== undefined && laterOf(end, catching.until) === end) this.#caughtUp(subscription)
  }

  #caughtUp(subscription: Subscription): void {
    const { sid, rid, key, catching } = subscription
    this.#catching.delete(subscription)
    if (catching === undefined) return
    subscription.catching = undefined
    subscription.caught = catching.root
    for (const part of catching.early)
      this.#put(subscription, part.rid, itemsFrom(part.items, this.#rpb.endOf(key)))
    this.#host.tell(catching.root, { kind: 'unmirror', sid, rid })
  }

  #forgetCopy(sid: Id, rid: Id): void {
    this.#mirrors.forget(sid, rid)
    this.#rpb.unsubscribe(sid + rid, rid)
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
}
