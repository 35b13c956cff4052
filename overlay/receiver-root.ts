// A node as the root of receivers, RR (PACK sections 3 and 4): it wants the sender's events from the tree and sends
// them on to the receivers' proxies through RPB. A receiver's queue takes events from the moment it subscribes, and
// drains when its class is granted and its owner is allowed to have them. An entry of RPB is one receiver's alone: what
// is for everyone behind a link could not be told from what is for one that is about to join or to leave it.
import { type Cursor, type Item, laterOf } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy, PolicySpec } from '../policies/policy.ts'
import type { RoutedMessage } from './control.ts'
import type { Forest } from './forest.ts'
import { HANDOVER_MS, type Host } from './host.ts'
import type { Id } from './id.ts'
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
  /** The proxies it left that still have something for it, the first one first; meanwhile its queue waits. */
  left: Left[]
  /** Where it began. */
  first: Cursor | undefined
}

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

  constructor(host: Host, rpb: RemoteBuffer, forest: Forest) {
    this.#host = host
    this.#rpb = rpb
    this.#forest = forest
  }

  subscribe({ sid, rid, proxy, owner, policy: spec, generation, cursor, pending, away }: Subscribe): void {
    const known = this.#find(sid, rid)
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
      })
      return
    }
    if (known !== undefined && known.policy.hash === this.#hashOf(spec)) {
      known.heardAt = this.#host.now()
      const isNew = known.generation < generation || known.proxy !== proxy
      known.generation = generation
      if (isNew) this.#move(known, proxy, cursor)
      else if (pending === true && known.isStanding) this.#tellStands(known)
      if (away === true) this.#detach(known)
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
      left: [],
      first: undefined,
    })
  }

  unsubscribe(sid: Id, rid: Id, proxy: Id): void {
    const known = this.#find(sid, rid)
    if (known?.proxy === proxy) this.#remove(known)
  }

  /** Events or items of a sender came through the tree. */
  deliver(sid: Id, hash: string | undefined, items: readonly Item[]): void {
    for (const subscription of this.#bySender.get(sid)?.values() ?? []) {
      const { rid, policy, key } = subscription
      if (hash !== undefined && hash !== policy.hash) continue
      const own = hash === undefined ? undefined : rid
      // A queue to this node itself is drained before anything leaves it: then there need not be one.
      if (this.#isHere(subscription) && this.#rpb.isDone(key)) this.#host.handOver(key, own, items)
      else this.#rpb.put(key, own, items)
    }
  }

  #isHere({ proxy, isGranted, isAway, left }: Subscription): boolean {
    return proxy === this.#host.id && isGranted && !isAway && left.length === 0
  }

  /** The tree has the classes now. */
  granted(tree: Tree, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    for (const subscription of [...(this.#bySender.get(tree.sid)?.values() ?? [])]) {
      if (subscription.isGranted || !hashes.includes(subscription.policy.hash)) continue
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
  }

  /** Looks after those that move: told when something was acknowledged, and now and then. */
  settle(): void {
    for (const subscription of [...this.#leaving]) {
      const { sid, rid, proxy, generation, cursor, left } = subscription
      const first = left[0]!
      if (this.#host.now() - first.since > HANDOVER_MS) this.#next(subscription)
      else if (first.told === undefined && !this.#rpb.isOnItsWay(sid + rid, rid)) {
        first.told = generation
        const to = left[1]?.proxy ?? proxy
        const at = cursor === undefined ? {} : { cursor }
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
  }

  #add(subscription: Subscription): void {
    const { sid, rid, proxy, policy } = subscription
    const subscriptions = this.#bySender.get(sid) ?? new Map<Id, Subscription>()
    this.#bySender.set(sid, subscriptions.set(rid, subscription))
    this.#rpb.subscribe(sid + rid, this.#host.linkTo(proxy), rid, policy)
    this.#rpb.suspend(sid + rid, rid)
    if (this.#forest.treeOf(sid).wantLocal(policy)) return
    this.#refuse(subscription, 'the sender has too many different policies already')
  }

  /**
   * The receiver is attached again, maybe behind another proxy: its queue follows, from what it expects next. Before,
   * it gets what the proxy that it left still has.
   */
  #move(subscription: Subscription, proxy: Id, cursor: Cursor | undefined): void {
    const { sid, rid, proxy: before, isGranted, isStanding, left } = subscription
    subscription.proxy = proxy
    subscription.cursor = cursor
    subscription.isAway = false
    if (isGranted) {
      this.#rpb.suspend(sid + rid, rid)
      // A proxy that nothing was sent to yet has nothing.
      const hasSome = left.length === 0 || left.at(-1)!.told !== undefined
      if (hasSome && before !== proxy && this.#host.isThere(before)) {
        left.push({ proxy: before, since: this.#host.now(), told: undefined })
        this.#leaving.add(subscription)
        this.settle()
      } else if (left.length === 0) this.#follow(subscription)
      this.#askAgain(subscription, proxy, subscription.generation)
    }
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
    this.#rpb.suspend(subscription.sid + subscription.rid, subscription.rid)
  }

  /** What waits here goes to the receiver's proxy. */
  #follow(subscription: Subscription): void {
    const { sid, rid, proxy, cursor, isAway } = subscription
    this.#leaving.delete(subscription)
    if (!isAway) this.#rpb.resume(sid + rid, rid, this.#host.linkTo(proxy), cursor)
  }

  #grant(tree: Tree, subscription: Subscription, first: Cursor | undefined): void {
    const { sid, rid, owner, proxy, cursor } = subscription
    if (tree.allow !== undefined && !tree.allow.includes(owner)) {
      this.#refuse(subscription, 'the sender does not allow this client to subscribe')
      return
    }
    subscription.isGranted = true
    this.#stands(subscription, first)
    if (subscription.isAway) return
    this.#rpb.resume(sid + rid, rid, this.#host.linkTo(proxy), laterOf(subscription.first, cursor))
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
    const subscriptions = this.#bySender.get(sid)!
    subscriptions.delete(rid)
    if (subscriptions.size === 0) this.#bySender.delete(sid)
    this.#rpb.unsubscribe(sid + rid, rid)
    if ([...subscriptions.values()].some((other) => other.policy.hash === policy.hash)) return
    this.#forest.unwantLocal(sid, policy.hash)
  }

  #hashOf(spec: PolicySpec): string | undefined {
    try {
      return this.#host.compile(spec).hash
    } catch {
      return undefined
    }
  }

  #find(sid: Id, rid: Id): Subscription | undefined {
    return this.#bySender.get(sid)?.get(rid)
  }
}
