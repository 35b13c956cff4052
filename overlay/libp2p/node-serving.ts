// What a node does on libp2p besides its sessions: takes streams, joins, keeps tables, gossips, tidies up.
import type { Connection, Libp2p, Stream as Libp2pStream, PeerId } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { type Id, idOfPeer } from '../id.ts'
import type { Peer } from '../surroundings.ts'
import type { Clock } from './clock.ts'
import type { NodeServices } from './configuration.ts'
import { Directory } from './directory.ts'
import { Gossip } from './gossip.ts'
import { join } from './join.ts'
import type { KnownNodes } from './known-nodes.ts'
import type { TransportCounters, TransportLimits } from './limits.ts'
import { type Member, Membership } from './membership.ts'
import { RoutingTable } from './routing-table.ts'
import { protocolOf, STREAMS } from './session.ts'
import type { Sessions } from './sessions.ts'
import { Tidy } from './tidy.ts'

export interface NodeServingInit {
  readonly self: Peer
  readonly libp2p: Libp2p<NodeServices>
  readonly join: readonly string[]
  readonly limits: TransportLimits
  readonly counters: TransportCounters
  readonly clock: Clock
  readonly nodes: KnownNodes
  readonly sessions: Sessions
  load(): number
}

export class NodeServing {
  readonly table: RoutingTable
  readonly membership: Membership
  readonly directory: Directory
  readonly #init: NodeServingInit
  readonly #stopping = new AbortController()
  readonly #joined = Promise.withResolvers<void>()
  readonly #gossip: Gossip
  #tidy: Tidy | undefined
  #joining: Promise<void> | undefined

  constructor(init: NodeServingInit) {
    const { libp2p, limits, counters, nodes, clock } = init
    this.#init = init
    const gossip = new Gossip(libp2p.services.pubsub, limits, counters)
    this.#gossip = gossip
    const now = () => clock.now()
    this.table = new RoutingTable(libp2p, libp2p.services.dht, nodes)
    this.directory = new Directory({ gossip, limits, now })
    this.membership = this.#makeMembership(gossip)
  }

  /** Resolves when a node to join has answered, or at once when there is none. */
  get joined(): Promise<void> {
    return this.#joined.promise
  }

  async start(): Promise<void> {
    const { libp2p, self, limits, join: addresses } = this.#init
    await this.#handleStreams()
    libp2p.addEventListener('peer:disconnect', ({ detail }) => void this.#forgetStranger(detail))
    await libp2p.start()
    this.membership.start()
    this.directory.start()
    this.#tidy = new Tidy({
      ...this.#init,
      self: self.id,
      identify: libp2p.services.identify,
      gossip: this.#gossip,
    })
    if (addresses.length === 0) this.#joined.resolve()
    else
      this.#joining = join(libp2p, addresses, limits, this.#stopping.signal, (peer) => {
        this.table.heardOf(peer)
        this.#joined.resolve()
      })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#tidy?.stop()
    this.directory.stop()
    await this.membership.stop()
    await this.#joining
  }

  async #handleStreams(): Promise<void> {
    const { libp2p, sessions } = this.#init
    for (const kind of ['node', 'client'] as const) {
      for (const stream of STREAMS) {
        const accept = (raw: Libp2pStream, connection: Connection) =>
          sessions.accept(kind, stream, raw, connection)
        await libp2p.handle(protocolOf(kind, stream), accept, { maxInboundStreams: STREAMS_PER_CONNECTION })
      }
    }
  }

  /** Clients come with a new key each time, and the peer store would keep all of them for hours. */
  async #forgetStranger(peer: PeerId): Promise<void> {
    const { libp2p, nodes } = this.#init
    if (!nodes.has(idOfPeer(peer.toMultihash().bytes))) await libp2p.peerStore.delete(peer).catch(() => {})
  }

  #makeMembership(gossip: Gossip): Membership {
    const { self, libp2p, limits, clock, sessions } = this.#init
    return new Membership({
      self: self.id,
      gossip,
      limits,
      now: () => clock.now(),
      load: () => this.#init.load(),
      addresses: () => libp2p.getMultiaddrs().map((address) => address.decapsulate('/p2p').toString()),
      heard: (from, member, isChanged) => {
        this.table.heardOf(from)
        if (isChanged) void this.#learnAddresses(from, member)
      },
      gone: (id: Id) => {
        if (!sessions.has(id)) this.table.forget(id)
      },
    })
  }

  async #learnAddresses(from: PeerId, { addresses }: Member): Promise<void> {
    try {
      await this.#init.libp2p.peerStore.merge(from, {
        multiaddrs: addresses.map((address) => multiaddr(address)),
      })
    } catch {
      this.#init.counters.malformedGossip++
    }
  }
}

/** One, and those of attempts that were given up a moment ago. */
const STREAMS_PER_CONNECTION = 8
