// Connections nobody needs: the second one that a simultaneous dial leaves, and those of strangers who are neither
// node nor have a session. And gossip's streams, which may have been on a connection that went.
import type { Identify } from '@libp2p/identify'
import type { Connection, Libp2p } from '@libp2p/interface'
import { type Id, idOfPeer } from '../id.ts'
import type { Gossip } from './gossip.ts'
import type { KnownNodes } from './known-nodes.ts'
import type { TransportCounters, TransportLimits } from './limits.ts'
import type { Sessions } from './sessions.ts'

export interface TidyInit {
  readonly self: Id
  readonly libp2p: Libp2p
  readonly identify: Identify
  readonly gossip: Gossip
  readonly sessions: Sessions
  readonly nodes: KnownNodes
  readonly limits: TransportLimits
  readonly counters: TransportCounters
}

export class Tidy {
  readonly #init: TidyInit
  readonly #timer: NodeJS.Timeout

  constructor(init: TidyInit) {
    this.#init = init
    this.#timer = setInterval(() => this.sweep(), SWEEP_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  sweep(): void {
    const peers = new Map<string, Connection[]>()
    for (const connection of this.#init.libp2p.getConnections()) {
      if (connection.status !== 'open') continue
      const key = connection.remotePeer.toString()
      peers.set(key, [...(peers.get(key) ?? []), connection])
    }
    for (const connections of peers.values()) this.#sweepPeer(connections)
  }

  #sweepPeer(connections: readonly Connection[]): void {
    const { sessions, nodes, limits } = this.#init
    const id = idOfPeer(connections[0]!.remotePeer.toMultihash().bytes)
    if (!sessions.has(id) && !nodes.has(id)) {
      for (const connection of connections)
        this.#closeIfOlder(connection, limits.idleConnectionMs, 'closedIdle')
      return
    }
    const kept = this.#choose(id, connections)
    for (const connection of connections) {
      const isSpare = connection !== kept && !sessions.isOn(id, connection)
      if (isSpare) this.#closeIfOlder(connection, limits.duplicateConnectionMs, 'closedDuplicates')
    }
    if (nodes.has(id)) this.#keepGossip(kept)
  }

  /** gossipsub opens its stream when a peer was identified, and never again by itself. */
  #keepGossip(connection: Connection): void {
    const isYoung = Date.now() - connection.timeline.open < SWEEP_MS
    if (isYoung || this.#init.gossip.reaches(connection.remotePeer)) return
    void this.#init.identify.identify(connection).catch(() => {})
  }

  /** The one with the session; else the one that the peer with the smaller ID opened, which both ends find. */
  #choose(id: Id, connections: readonly Connection[]): Connection {
    const opener = this.#init.self < id ? 'outbound' : 'inbound'
    const withSession = connections.find((connection) => this.#init.sessions.isOn(id, connection))
    return withSession ?? connections.find(({ direction }) => direction === opener) ?? connections[0]!
  }

  #closeIfOlder(connection: Connection, ageMs: number, counter: 'closedIdle' | 'closedDuplicates'): void {
    if (Date.now() - connection.timeline.open < ageMs) return
    this.#init.counters[counter]++
    void connection.close().catch((error) => connection.abort(error))
  }
}

const SWEEP_MS = 1_000
