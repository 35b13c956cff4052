// kad-dht's routing table as a source of nodes. It does not notice by itself that a peer is dead while a bucket has
// room, nor that one it was told to remove is back.
import type { Libp2p, PeerId } from '@libp2p/interface'
import type { KadDHT } from '@libp2p/kad-dht'
import type { Id } from '../id.ts'
import type { KnownNodes } from './known-nodes.ts'

/** What kad-dht's routing table has besides what its type says. */
interface Table {
  addEventListener(type: 'peer:add' | 'peer:remove', listener: (event: CustomEvent<PeerId>) => void): void
  add(peer: PeerId): Promise<void>
  remove(peer: PeerId): Promise<void>
}

export class RoutingTable {
  readonly #libp2p: Libp2p
  readonly #table: Table
  readonly #nodes: KnownNodes

  constructor(libp2p: Libp2p, dht: KadDHT, nodes: KnownNodes) {
    this.#libp2p = libp2p
    this.#table = (dht as unknown as { routingTable: Table }).routingTable
    this.#nodes = nodes
    this.#table.addEventListener('peer:add', ({ detail }) => void nodes.heardOf(detail))
  }

  /** Heard of by gossip or met: a node that was forgotten comes back, into the DHT's table too when it is near. */
  heardOf(peer: PeerId): void {
    const before = this.#nodes.size
    const id = this.#nodes.heardOf(peer)
    const isBack = this.#nodes.size > before && this.#nodes.has(id)
    if (isBack && this.#libp2p.getConnections(peer).length > 0) void this.#table.add(peer).catch(() => {})
  }

  forget(node: Id): void {
    const peer = this.#nodes.peerId(node)
    this.#nodes.forget(node)
    if (peer !== undefined) void this.#table.remove(peer).catch(() => {})
  }
}
