// The nodes one knows of: from kad-dht's routing table, from gossip, and from sessions. Whoever is forgotten stays
// dialable, because others may still name it, but is nobody's closest node until it is heard of again.
import type { PeerId } from '@libp2p/interface'
import { compareDistance, type Id, idOfPeer } from '../id.ts'

export class KnownNodes {
  readonly #self: Id
  readonly #limit: number
  /** Ordered by when they were heard of last; the longest silent is at the front. */
  readonly #peerIds = new Map<Id, PeerId>()
  readonly #live = new Set<Id>()

  constructor(self: Id, limit: number) {
    this.#self = self
    this.#limit = limit
  }

  get size(): number {
    return this.#live.size
  }

  has(node: Id): boolean {
    return this.#live.has(node)
  }

  peerId(node: Id): PeerId | undefined {
    return this.#peerIds.get(node)
  }

  /** Heard of, or heard of again; beyond the limit a new one is ignored unless one that was forgotten can go. */
  heardOf(peer: PeerId): Id {
    const id = idOfPeer(peer.toMultihash().bytes)
    if (id === this.#self) return id
    const isNew = !this.#peerIds.delete(id)
    if (isNew && this.#peerIds.size >= this.#limit && !this.#dropForgotten()) return id
    this.#peerIds.set(id, peer)
    this.#live.add(id)
    return id
  }

  forget(node: Id): void {
    this.#live.delete(node)
  }

  /** Up to so many, the closest to the key first; never this node itself. */
  closest(key: Id, count: number): Id[] {
    const nearest: Id[] = []
    for (const node of this.#live) {
      const last = nearest[count - 1]
      if (last !== undefined && compareDistance(key, node, last) > 0) continue
      let at = nearest.length
      while (at > 0 && compareDistance(key, node, nearest[at - 1]!) < 0) at--
      nearest.splice(at, 0, node)
      if (nearest.length > count) nearest.pop()
    }
    return nearest
  }

  #dropForgotten(): boolean {
    for (const id of this.#peerIds.keys()) {
      if (!this.#live.has(id)) return this.#peerIds.delete(id)
    }
    return false
  }
}
