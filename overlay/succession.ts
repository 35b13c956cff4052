// How one root of receivers follows another: what waits there for a receiver that is away comes as a copy of its queue
// (`mirrors.ts`), and what the next root gets from the tree waits until that has reached where it begins.
import { type Cursor, type Item, itemsFrom, laterOf } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy } from '../policies/policy.ts'
import { Early } from './early.ts'
import { HANDOVER_MS, type Host } from './host.ts'
import type { Id } from './id.ts'
import type { Copy, Mirror, Mirrors } from './mirrors.ts'

/** What goes from root to root of a receiver. */
export interface Inheritance {
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
  /** Where it began. */
  first: Cursor | undefined
  isGranted: boolean
  /** The root before this one is sending what waited there; undefined when it is done, or when there was none. */
  catching: Catching | undefined
  /** The root that has done so. */
  caught: Id | undefined
}

/** Where the next root begins, and what came to it meanwhile: it waits until the copy has reached that. */
interface Catching {
  readonly root: Id
  readonly since: number
  until: Cursor | undefined
  readonly early: Early
}

export class Succession {
  readonly #host: Host
  readonly #rpb: RemoteBuffer
  readonly #mirrors: Mirrors
  /** Those for which the root before this one is sending what waited there. */
  readonly #catching = new Set<Inheritance>()

  constructor(host: Host, rpb: RemoteBuffer, mirrors: Mirrors) {
    this.#host = host
    this.#rpb = rpb
    this.#mirrors = mirrors
  }

  /** Queues of this root elsewhere, of others here, and those that are on their way here. */
  get size(): number {
    return this.#mirrors.mirrored + this.#mirrors.copies + this.#catching.size
  }

  /** Whether another root sends here what waits there; `known` is the receiver, if this is its root. */
  isFrom(root: Id, key: string, known: Inheritance | undefined): boolean {
    return this.#mirrors.copyOf(key)?.root === root || known?.catching?.root === root
  }

  /** A queue that waits. */
  newQueue({ key, rid, proxy, policy }: Pick<Inheritance, 'key' | 'rid' | 'proxy' | 'policy'>): void {
    this.#rpb.unsubscribe(key, rid)
    this.#rpb.subscribe(key, this.#host.linkTo(proxy), rid, policy)
    this.#rpb.suspend(key, rid)
  }

  /** What comes through the tree, behind all that the root before still sends. */
  deliver(one: Inheritance, rid: string | undefined, items: readonly Item[]): void {
    if (one.catching === undefined) {
      this.#put(one, rid, items)
      return
    }
    if (!one.catching.early.add({ rid, items })) this.#caughtUp(one)
  }

  /** The receiver is away: what waits here is kept at `to` as well, or at the node that would be root next. Again as a refresh. */
  mirror(
    { sid, rid, key, proxy, owner, policy, generation, cursor, first, isGranted }: Inheritance,
    to?: Id,
  ): void {
    if (!isGranted) return
    const at = { ...(cursor === undefined ? {} : { cursor }), ...(first === undefined ? {} : { first }) }
    const waiting = () => this.#rpb.classOf(key, rid)?.queue.items ?? []
    this.#mirrors.mirror({ sid, rid, proxy, owner, policy, generation, ...at }, waiting, to)
  }

  isMirrored({ key }: Inheritance): boolean {
    return this.#mirrors.isMirrored(key)
  }

  /** The receiver is back: what waits here is needed nowhere else. */
  mirrorNoMore({ sid, rid }: Inheritance): void {
    this.#mirrors.drop(sid, rid)
  }

  /** The receiver has gone. */
  forget(one: Inheritance): void {
    this.#catching.delete(one)
    this.mirrorNoMore(one)
  }

  /** Another root has a receiver of which this node would be the root next. */
  keep(root: Id, mirror: Mirror, policy: Policy): void {
    const { sid, rid } = mirror
    if (this.#mirrors.keep(root, mirror, policy))
      this.newQueue({ key: sid + rid, rid, proxy: this.#host.id, policy })
  }

  /**
   * A copy of what waited at a root that is gone, or about to be, is the queue of what is returned. Undefined without a
   * copy of just this receiver and policy.
   */
  inherit<Rest>(
    key: string,
    owner: Id,
    hash: string | undefined,
    rest: Rest,
  ): (Inheritance & Rest) | undefined {
    const copy = this.#mirrors.copyOf(key)
    if (copy === undefined) return undefined
    const { root, policy, mirror } = copy
    if (mirror.owner !== owner || policy.hash !== hash) {
      this.#forgetCopy(copy)
      return undefined
    }
    this.#mirrors.forget(key)
    const { sid, rid, proxy, generation, cursor, first } = mirror
    const isThere = this.#host.isThere(root)
    const catching = isThere
      ? { root, since: this.#host.now(), until: undefined, early: new Early() }
      : undefined
    const told = { sid, rid, key, owner, policy, cursor, generation, proxy, first, isGranted: true }
    const heir = { ...told, catching, caught: isThere ? undefined : root, ...rest }
    if (isThere) this.#catching.add(heir)
    return heir
  }

  /**
   * The root before this one tells late what waits there: if nothing has left here yet, that comes first, and true is
   * returned.
   */
  catch(known: Inheritance, root: Id, { first }: Mirror): boolean {
    const { sid, key, rid, isGranted } = known
    if (known.caught === root) this.#host.tell(root, { kind: 'unmirror', sid, rid })
    const own = this.#rpb.classOf(key, rid)
    const hasBegun = own?.slot !== undefined || this.#rpb.isOnItsWay(key, rid)
    if (known.caught !== undefined || known.catching !== undefined || own === undefined || hasBegun)
      return false
    const until = isGranted ? known.first : undefined
    known.catching = { root, since: this.#host.now(), until, early: new Early() }
    known.catching.early.add({ rid, items: [...own.queue.items] })
    // It stood there: that is where it began.
    known.first = first
    this.#catching.add(known)
    this.newQueue(known)
    return true
  }

  /** What waits at another root. */
  mirrored(
    from: Id,
    key: string,
    known: Inheritance | undefined,
    rid: string | undefined,
    items: readonly Item[],
  ): void {
    if (known?.catching?.root === from) {
      this.#put(known, rid, items)
      this.#look(known)
    } else if (this.#mirrors.copyOf(key)?.root === from) this.#rpb.put(key, rid, items)
  }

  /** No more comes from that root, or it is a stand-in that has become the root: then it returns true. */
  unmirror(from: Id, sid: Id, rid: Id, known: Inheritance | undefined): boolean {
    const copy = this.#mirrors.copyOf(sid + rid)
    if (copy?.root === from) this.#forgetCopy(copy)
    if (known?.catching?.root !== from) return this.#mirrors.ended(from, sid, rid)
    this.#caughtUp(known)
    return false
  }

  /** The tree has its class now, which begins here. */
  granted(one: Inheritance, first: Cursor | undefined): void {
    if (one.catching === undefined) return
    one.catching.until = first
    this.#look(one)
  }

  /** A node is gone, with what it was still sending, or had for this root. */
  lost(peer: Id): void {
    for (const one of [...this.#catching]) if (one.catching?.root === peer) this.#caughtUp(one)
    this.#mirrors.lost(peer)
  }

  /** Nobody is waited for longer than that. */
  settle(): void {
    const late = this.#host.now() - HANDOVER_MS
    for (const one of [...this.#catching])
      if (one.catching !== undefined && one.catching.since < late) this.#caughtUp(one)
  }

  /** Forgets copies that were not heard of since `before`. */
  refresh(before: number): void {
    for (const copy of this.#mirrors.stale(before)) this.#forgetCopy(copy)
  }

  /** Into the receiver's queue, and into the copy of that, if there is one. */
  #put({ key }: Inheritance, rid: string | undefined, items: readonly Item[]): void {
    this.#rpb.put(key, rid, items)
    this.#mirrors.put(key, rid, items)
  }

  /** Whether the root before has sent everything up to where this one begins. */
  #look(one: Inheritance): void {
    const end = this.#rpb.endOf(one.key)
    const until = one.catching?.until
    if (until !== undefined && laterOf(end, until) === end) this.#caughtUp(one)
  }

  #caughtUp(one: Inheritance): void {
    const { sid, rid, key, catching } = one
    this.#catching.delete(one)
    if (catching === undefined) return
    one.catching = undefined
    one.caught = catching.root
    for (const part of catching.early.parts)
      this.#put(one, part.rid, itemsFrom(part.items, this.#rpb.endOf(key)))
    this.#host.tell(catching.root, { kind: 'unmirror', sid, rid })
  }

  #forgetCopy({ mirror: { sid, rid } }: Copy): void {
    this.#mirrors.forget(sid + rid)
    this.#rpb.unsubscribe(sid + rid, rid)
  }
}
