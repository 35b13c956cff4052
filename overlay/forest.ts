// The trees a node is part of, and RRB, through which events go down to its children (PACK section 4).
import type { Cursor, Item } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy } from '../policies/policy.ts'
import type { ClassSpec, ControlMessage } from './control.ts'
import type { Part } from './early.ts'
import type { Host } from './host.ts'
import type { Id } from './id.ts'
import { Tree, type TreeHost } from './tree.ts'

/** Told what happens to classes that this node's own receivers want. */
export interface LocalWants {
  granted(tree: Tree, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void
  denied(tree: Tree, hashes: readonly string[], reason: string): void
  deliver(tree: Tree, rid: string | undefined, items: readonly Item[]): void
}

export class Forest implements TreeHost {
  readonly id: Id
  readonly #host: Host
  readonly #rrb: RemoteBuffer
  readonly #trees = new Map<Id, Tree>()
  /** Set once, right after the forest is made. */
  local: LocalWants | undefined

  constructor(host: Host, rrb: RemoteBuffer) {
    this.id = host.id
    this.#host = host
    this.#rrb = rrb
  }

  get trees(): Iterable<Tree> {
    return this.#trees.values()
  }

  /** The tree of a sender, of which this node becomes part if it is not. */
  treeOf(sid: Id): Tree {
    const known = this.#trees.get(sid)
    if (known !== undefined) return known
    const tree = new Tree(sid, this)
    this.#trees.set(sid, tree)
    return tree
  }

  find(sid: Id): Tree | undefined {
    return this.#trees.get(sid)
  }

  unwantLocal(sid: Id, hash: string): void {
    this.#trees.get(sid)?.unwantLocal(hash)
    this.#prune(sid)
  }

  unwant(child: Id, sid: Id, hashes: readonly string[]): void {
    this.#trees.get(sid)?.unwant(child, hashes)
    this.#prune(sid)
  }

  /** Items from above: down to the children, and to who is local. What comes from elsewhere is not heard. */
  deliver(from: Id, sid: Id, rid: string | undefined, items: readonly Item[]): void {
    const tree = this.#trees.get(sid)
    if (tree !== undefined) this.passOn(tree, tree.take(from, { rid, items }))
  }

  passOn(tree: Tree, parts: readonly Part[]): void {
    for (const { rid, items } of parts) {
      this.#rrb.put(tree.sid, rid, items)
      this.local?.deliver(tree, rid, items)
    }
  }

  isAnnounced(sid: Id): boolean {
    return this.#host.isAnnounced(sid)
  }

  now(): number {
    return this.#host.now()
  }

  unregister(sid: Id, proxy: Id): void {
    this.#trees.get(sid)?.unregistered(proxy)
    this.#prune(sid)
  }

  /** Whether no tree goes through here. */
  get isIdle(): boolean {
    for (const tree of this.#trees.values()) if (!tree.isEmpty) return false
    return true
  }

  /** A node is about to leave: trees that it is above of find another way. */
  leaves(peer: Id): void {
    for (const tree of this.#trees.values()) tree.leaves(peer)
  }

  /** A child has been gone for longer than anybody waits. */
  departed(peer: Id): void {
    for (const tree of [...this.#trees.values()]) {
      tree.removeChild(peer)
      this.#prune(tree.sid)
    }
  }

  lost(peer: Id): void {
    for (const tree of this.#trees.values()) tree.lost(peer)
  }

  /** Asks for everything again, and forgets children not heard of since `before`. */
  refresh(before: number): void {
    for (const tree of [...this.#trees.values()]) {
      tree.refresh(before)
      this.#prune(tree.sid)
    }
  }

  nextHop(key: Id): Id | undefined {
    return this.#host.nextHop(key)
  }

  isThere(peer: Id): boolean {
    return this.#host.isThere(peer)
  }

  tell(peer: Id, message: ControlMessage): void {
    this.#host.tell(peer, message)
  }

  addChildClass(sid: Id, child: Id, policy: Policy): void {
    this.#rrb.subscribe(sid, this.#host.linkTo(child), child + policy.hash, policy)
  }

  removeChildClass(sid: Id, child: Id, hash: string): void {
    this.#rrb.unsubscribe(sid, child + hash)
  }

  compile({ hash, policy }: ClassSpec): Policy {
    if (policy === undefined) throw new Error('a class without its policy')
    const compiled = this.#host.compile(policy)
    if (compiled.hash !== hash) throw new Error("the policy's hash is not that of its class")
    return compiled
  }

  granted(tree: Tree, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    this.local?.granted(tree, hashes, first, isProvisional)
  }

  denied(tree: Tree, hashes: readonly string[], reason: string): void {
    this.local?.denied(tree, hashes, reason)
  }

  /** A tree with nobody below is left; a root stays while its sender's proxy tells of it. */
  #prune(sid: Id): void {
    const tree = this.#trees.get(sid)
    if (tree?.isEmpty && !tree.isRegistered) this.#trees.delete(sid)
  }
}
