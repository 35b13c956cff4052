// Who may connect, and as what. Nodes trust nodes, so an allow-list names them; everybody else is a client, and
// what nodes say to each other (sessions of nodes, the DHT, gossip) is not for it.
import type { Connection, ConnectionGater, PeerId, Stream } from '@libp2p/interface'
import type { KadDHTComponents } from '@libp2p/kad-dht'
import type { Peer } from '../surroundings.ts'
import type { TransportCounters, TransportLimits } from './limits.ts'

type Registrar = KadDHTComponents['registrar']

export interface AdmissionInit {
  /** The peer ids of all nodes, as text; without it anyone may be a node. */
  readonly allowPeers?: readonly string[] | undefined
  /** Whether clients may connect. */
  readonly clients: boolean
  readonly limits: TransportLimits
  readonly counters: TransportCounters
}

export class Admission {
  readonly #nodes: ReadonlySet<string> | undefined
  readonly #init: AdmissionInit

  constructor(init: AdmissionInit) {
    this.#init = init
    this.#nodes = init.allowPeers === undefined ? undefined : new Set(init.allowPeers)
  }

  admits(peer: PeerId, kind: Peer['kind']): boolean {
    return kind === 'node' ? this.#mayBeNode(peer) : this.#init.clients
  }

  /** The allow-list as early as a peer's key is known, and the limit of connections a peer. */
  gater(connections: (peer: PeerId) => readonly Connection[]): ConnectionGater {
    return {
      denyDialPeer: (peer) => !this.#mayBeNode(peer),
      denyOutboundEncryptedConnection: (peer) => !this.#mayBeNode(peer),
      denyInboundEncryptedConnection: (peer) => {
        const isAllowed = this.#init.clients || this.#mayBeNode(peer)
        if (!isAllowed) this.#init.counters.refusedPeers++
        return !isAllowed || connections(peer).length >= this.#init.limits.connectionsPerPeer
      },
    }
  }

  /** The registrar as services between nodes see it: peers that cannot be nodes do not exist. */
  nodesOnly(registrar: Registrar): Registrar {
    if (this.#nodes === undefined) return registrar
    const overrides: Pick<Registrar, 'handle' | 'register'> = {
      handle: (protocol, handler, options) =>
        registrar.handle(protocol, (stream, connection) => this.#guard(stream, connection, handler), options),
      register: (protocol, topology, options) => {
        const onConnect = (peer: PeerId, connection: Connection) =>
          this.#mayBeNode(peer) ? topology.onConnect?.(peer, connection) : undefined
        return registrar.register(protocol, { ...topology, onConnect }, options)
      },
    }
    return Object.assign(Object.create(registrar), overrides)
  }

  #guard<T>(stream: Stream, connection: Connection, handler: (stream: Stream, connection: Connection) => T) {
    if (this.#mayBeNode(connection.remotePeer)) return handler(stream, connection)
    this.#init.counters.refusedPeers++
    stream.abort(new Error('for nodes only'))
  }

  #mayBeNode(peer: PeerId): boolean {
    return this.#nodes === undefined || this.#nodes.has(peer.toString())
  }
}
