// Copies of the queues that wait at the roots of receivers that are away (PACK section 3: "buffers the data for the
// detached receiver on its root"), so that they outlive the root. A root keeps one at the node that would be root
// after it, in step with its own, through SIB. Here are both ends: what a root mirrors, and what it has of others.
import type { Item } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy } from '../policies/policy.ts'
import type { PathMessage } from './control.ts'
import type { Host } from './host.ts'
import type { Id } from './id.ts'

export type Mirror = Extract<PathMessage, { kind: 'mirror' }>

/** What a root tells of a receiver that is away. */
export interface Mirrored extends Omit<Mirror, 'kind' | 'policy'> {
  readonly policy: Policy
}

/** A queue of which another node is the root. */
export interface Copy {
  readonly root: Id
  readonly mirror: Mirror
  readonly policy: Policy
  heardAt: number
}

/** Queues that a node keeps for other roots. */
export const MAX_COPIES = 4_096

export class Mirrors {
  readonly #host: Host
  readonly #sib: RemoteBuffer
  /** By the IDs of sender and receiver: where the copy is. */
  readonly #standIns = new Map<string, Id>()
  /** By the IDs of sender and receiver. */
  readonly #copies = new Map<string, Copy>()

  constructor(host: Host, sib: RemoteBuffer) {
    this.#host = host
    this.#sib = sib
  }

  /** How many queues of other roots are here. */
  get copies(): number {
    return this.#copies.size
  }

  /** How many queues of this root are elsewhere. */
  get mirrored(): number {
    return this.#standIns.size
  }

  isMirrored(key: string): boolean {
    return this.#standIns.has(key)
  }

  /**
   * The receiver is away: what waits for it is kept at another node as well, its root's stand-in unless another is named.
   * Again as a refresh.
   */
  mirror(
    { policy, ...told }: Mirrored,
    waiting: () => readonly Item[],
    standIn = this.#host.standIn(told.rid),
  ): void {
    const { sid, rid } = told
    const key = sid + rid
    if (standIn !== this.#standIns.get(key)) this.drop(sid, rid)
    if (standIn === undefined) return
    this.#host.tell(standIn, { kind: 'mirror', ...told, policy: policy.spec })
    if (this.#standIns.has(key)) return
    this.#standIns.set(key, standIn)
    this.#sib.subscribe(key, this.#host.linkTo(standIn), rid, policy)
    this.#sib.put(key, rid, waiting())
  }

  /** What comes for a receiver that is away. */
  put(key: string, rid: string | undefined, items: readonly Item[]): void {
    if (this.#standIns.has(key)) this.#sib.put(key, rid, items)
  }

  /** The receiver is back, or has gone. */
  drop(sid: Id, rid: Id): void {
    const standIn = this.#standIns.get(sid + rid)
    if (standIn === undefined) return
    this.#end(sid, rid)
    this.#host.tell(standIn, { kind: 'unmirror', sid, rid })
  }

  /** A stand-in needs it no more. False when it is none. */
  ended(standIn: Id, sid: Id, rid: Id): boolean {
    if (this.#standIns.get(sid + rid) !== standIn) return false
    this.#end(sid, rid)
    return true
  }

  /** A stand-in is gone; the next refresh finds another. */
  lost(peer: Id): void {
    for (const [key, standIn] of [...this.#standIns])
      if (standIn === peer) this.#end(key.slice(0, key.length / 2), key.slice(key.length / 2))
  }

  #end(sid: Id, rid: Id): void {
    this.#standIns.delete(sid + rid)
    this.#sib.unsubscribe(sid + rid, rid)
  }

  /** By the IDs of sender and receiver behind one another. */
  copyOf(key: string): Copy | undefined {
    return this.#copies.get(key)
  }

  /** Another root has told of a queue. Whether it is new here, and taken. */
  keep(root: Id, mirror: Mirror, policy: Policy): boolean {
    const key = mirror.sid + mirror.rid
    const known = this.#copies.get(key)
    if (known === undefined && this.#copies.size >= MAX_COPIES) return false
    this.#copies.set(key, { root, mirror, policy, heardAt: this.#host.now() })
    return known?.root !== root || known.policy.hash !== policy.hash
  }

  /** The copy is the queue now, or is needed no more. */
  forget(key: string): void {
    this.#copies.delete(key)
  }

  /** Those that were not heard of since `before`. */
  stale(before: number): Copy[] {
    return [...this.#copies.values()].filter(({ heardAt }) => heardAt < before)
  }
}
