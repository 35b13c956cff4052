// The edge to the network: drives the core of a node or a client over libp2p. Everything asynchronous of the overlay
// is in this folder. What libp2p is made of is handed in: `machine.ts` and `page.ts` have it.
import type { Libp2p } from '@libp2p/interface'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import type { NodeInfo, SenderInfo } from '../control.ts'
import type { Id } from '../id.ts'
import type { Core, Peer, Surroundings } from '../surroundings.ts'
import { Admission } from './admission.ts'
import type { Configuration } from './client-configuration.ts'
import { Clock } from './clock.ts'
import type { Key } from './key.ts'
import { KnownNodes } from './known-nodes.ts'
import { DEFAULT_LIMITS, noCounts, type TransportCounters, type TransportLimits } from './limits.ts'
import type { Member } from './membership.ts'
import { newKey } from './new-key.ts'
import type { NodeServing, NodeServingInit } from './node-serving.ts'
import { dialNode, isDialable, roundTripMs } from './round-trip.ts'
import { peerOf, Sessions } from './sessions.ts'
import { pause } from './waiting.ts'

/** What a core gets: the directory is empty on a client. */
export interface TransportSurroundings extends Surroundings {
  readonly directory: { announce(info: SenderInfo): void; senders(): readonly SenderInfo[] }
  /** The other nodes; none on a client. */
  members(): readonly NodeInfo[]
}

export interface TransportOptions<C extends Core = Core> {
  readonly kind: Peer['kind']
  makeCore(surroundings: TransportSurroundings): C
  /** Multiaddrs; a client listens on nothing. */
  readonly listen?: readonly string[]
  /** Multiaddrs of nodes: a node joins by all of them and goes on trying, a client needs one that answers. */
  readonly join?: readonly string[]
  /** Without it a new one. */
  readonly key?: Key
  /** 32 bytes that all nodes and clients of a private overlay have in common. */
  readonly psk?: Uint8Array
  /** The peer ids of all nodes; without it anyone may be a node. */
  readonly allowPeers?: readonly string[]
  /** Whether a node serves clients; true unless said. */
  readonly clients?: boolean
  /** What a node tells the others of itself: 0 is idle, 1 is full. */
  load?(): number
  readonly limits?: Partial<TransportLimits>
  /** Ends the start, not what was started. */
  readonly signal?: AbortSignal
}

export interface Transport<C extends Core = Core> {
  readonly id: Id
  readonly core: C
  /** The peer id as text, as allow-lists have it. */
  readonly peerId: string
  /** Where others reach this node now, with its peer id. */
  readonly addresses: readonly string[]
  readonly counters: Readonly<TransportCounters>
  /** Resolves when a node of `join` has answered, or at once when there is none to join. */
  readonly joined: Promise<void>
  readonly libp2p: Libp2p
  /** Dials an address; resolves with the node's ID when it is connected, rejects when it cannot be. */
  connect(address: string, signal?: AbortSignal): Promise<Id>
  /** As `connect`, but only so far that the node's ID is known: the core may dial it. */
  meet(address: string, signal?: AbortSignal): Promise<Id>
  /** Resolves when a node is connected, rejects when it cannot be. */
  reach(node: Id, signal?: AbortSignal): Promise<void>
  /** Of these addresses, those that can be dialled from here. */
  dialable(addresses: readonly string[]): Promise<readonly string[]>
  /**
   * The smallest of some round trips to a node, in milliseconds: on the connection there is, or on one to the first address
   * where that node answers, which is closed again. Rejects when it does not answer.
   */
  roundTripMs(node: Id, addresses?: readonly string[]): Promise<number>
  /** Cuts all connections. */
  cut(): Promise<void>
  /** All nodes that announced themselves, this one too. */
  members(): readonly Member[]
  /** Tells the overlay of a sender; has to be told again within the core's lease. */
  announce(info: SenderInfo): void
  retract(sid: Id): void
  senders(): readonly SenderInfo[]
  /** What was sent still leaves; the core is told nothing any more. */
  stop(): Promise<void>
}

/** What libp2p is made with, and what a node serves with. */
export interface Parts extends Omit<NodeServingInit, 'libp2p'> {
  readonly configuration: Configuration
  readonly listen: readonly string[]
  readonly admission: Admission
}

/** Not started yet; on a node with what it does besides its sessions, which starts libp2p. */
export interface Opened {
  readonly libp2p: Libp2p
  readonly serving?: NodeServing
}

export type Open = (parts: Parts) => Promise<Opened>

/** Resolves when a node listens, or when a client is connected to one of its nodes. */
export async function startTransport<C extends Core>(
  options: TransportOptions<C>,
  open: Open,
): Promise<Transport<C>> {
  const transport = new Libp2pTransport(options, options.key ?? (await newKey()), open)
  try {
    await transport.start()
    return transport
  } catch (error) {
    await transport.stop()
    throw error
  }
}

class Libp2pTransport<C extends Core> implements Transport<C> {
  readonly id: Id
  readonly peerId: string
  readonly counters = noCounts()
  readonly #options: TransportOptions<C>
  readonly #key: Key
  readonly #open: Open
  readonly #limits: TransportLimits
  readonly #self: Peer
  readonly #clock = new Clock()
  readonly #nodes: KnownNodes
  readonly #admission: Admission
  readonly #core: C
  readonly #sessions: Sessions
  #libp2p: Libp2p | undefined
  #serving: NodeServing | undefined
  #stopped: Promise<void> | undefined

  constructor(options: TransportOptions<C>, key: Key, open: Open) {
    const peer = peerIdFromPrivateKey(key)
    this.#options = options
    this.#key = key
    this.#open = open
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#self = peerOf(peer, options.kind)
    this.id = this.#self.id
    this.peerId = peer.toString()
    this.#nodes = new KnownNodes(this.id, this.#limits.knownNodes)
    const { allowPeers, clients = true } = options
    this.#admission = new Admission({ allowPeers, clients, limits: this.#limits, counters: this.counters })
    this.#core = options.makeCore(this.#surroundings())
    this.#sessions = this.#makeSessions()
  }

  get core(): C {
    return this.#core
  }

  get libp2p(): Libp2p {
    if (this.#libp2p === undefined) throw new Error('not started')
    return this.#libp2p
  }

  get addresses(): readonly string[] {
    return this.libp2p.getMultiaddrs().map(String)
  }

  get joined(): Promise<void> {
    return this.#serving?.joined ?? Promise.resolve()
  }

  async start(): Promise<void> {
    const { join = [], signal } = this.#options
    signal?.throwIfAborted()
    const { libp2p, serving } = await this.#open(this.#parts())
    this.#libp2p = libp2p
    this.#serving = serving
    await (serving ?? libp2p).start()
    if (serving === undefined && join.length > 0) await this.#connectAny(join, signal)
    signal?.throwIfAborted()
  }

  async connect(address: string, signal?: AbortSignal): Promise<Id> {
    const id = await this.meet(address, signal)
    await this.reach(id, signal)
    return id
  }

  async meet(address: string, signal?: AbortSignal): Promise<Id> {
    const limited = AbortSignal.any([AbortSignal.timeout(this.#limits.dialMs), ...(signal ? [signal] : [])])
    const { remotePeer } = await this.libp2p.dial(multiaddr(address), { signal: limited })
    return this.#nodes.heardOf(remotePeer)
  }

  async reach(id: Id, signal?: AbortSignal): Promise<void> {
    const giveUp = () => this.#sessions.hangUp(id)
    signal?.addEventListener('abort', giveUp)
    await this.#sessions.reach(id).finally(() => signal?.removeEventListener('abort', giveUp))
  }

  async dialable(addresses: readonly string[]): Promise<readonly string[]> {
    const are = await Promise.all(addresses.map((address) => isDialable(this.libp2p, address)))
    return addresses.filter((_, i) => are[i])
  }

  async roundTripMs(node: Id, addresses: readonly string[] = []): Promise<number> {
    const signal = AbortSignal.timeout(this.#limits.measureMs)
    const known = this.#nodes.peerId(node)
    const open = known === undefined ? [] : this.libp2p.getConnections(known)
    if (open[0] !== undefined) return await roundTripMs(open[0], signal)
    const connection = await dialNode(this.libp2p, node, addresses, signal)
    try {
      return await roundTripMs(connection, signal)
    } finally {
      // Meanwhile the client may have moved there.
      if (!this.#sessions.has(node))
        void connection.close({ signal }).catch((error) => connection.abort(error))
    }
  }

  async cut(): Promise<void> {
    for (const connection of this.libp2p.getConnections()) connection.abort(new Error('cut'))
    // What follows from it is told in the next turns.
    await pause(0)
  }

  members(): readonly Member[] {
    return this.#serving?.membership.members() ?? []
  }

  announce(info: SenderInfo): void {
    this.#serving?.directory.announce(info)
  }

  retract(sid: Id): void {
    this.#serving?.directory.retract(sid)
  }

  senders(): readonly SenderInfo[] {
    return this.#serving?.directory.senders() ?? []
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#clock.stop()
    await this.#sessions.stop(AbortSignal.timeout(this.#limits.closeMs))
    await this.#serving?.stop()
    await this.#libp2p?.stop()
  }

  /** One after the other; a node that is about to start, or lets in only so many a second, gets a second chance. */
  async #connectAny(addresses: readonly string[], signal: AbortSignal | undefined): Promise<Id> {
    for (let tries = 1; ; tries++) {
      for (const [i, address] of addresses.entries()) {
        try {
          return await this.connect(address, signal)
        } catch (cause) {
          signal?.throwIfAborted()
          const isLast = i === addresses.length - 1 && tries >= this.#limits.dialTries
          if (isLast) throw new Error(`no node answers at ${addresses.join(', ')}`, { cause })
        }
      }
      await pause(this.#limits.joinRetryMs * 2 ** (tries - 1), signal)
    }
  }

  #surroundings(): TransportSurroundings {
    const clock = this.#clock
    return {
      self: this.#self,
      now: () => clock.now(),
      random: () => clock.random(),
      after: (delayMs, call) => clock.after(delayMs, call),
      send: (peer, stream, frame) => this.#sessions?.send(peer, stream, frame),
      dial: (peer) => this.#sessions.dial(peer),
      hangUp: (peer) => this.#sessions.hangUp(peer),
      closest: (key, count) => this.#nodes.closest(key, count),
      forget: (peer) =>
        this.#serving === undefined ? this.#nodes.forget(peer) : this.#serving.table.forget(peer),
      directory: { announce: (info) => this.announce(info), senders: () => this.senders() },
      members: () => this.#serving?.membership.others() ?? [],
    }
  }

  #makeSessions(): Sessions {
    const init = {
      self: this.#self,
      limits: this.#limits,
      counters: this.counters,
      connect: (node: Id, signal: AbortSignal) => this.#dial(node, signal),
      admits: this.#admission.admits.bind(this.#admission),
      met: (peer: Parameters<KnownNodes['heardOf']>[0]) =>
        this.#serving === undefined ? void this.#nodes.heardOf(peer) : this.#serving.table.heardOf(peer),
    }
    return new Sessions(init, this.#core)
  }

  #dial(node: Id, signal: AbortSignal) {
    const peer = this.#nodes.peerId(node)
    if (peer === undefined) return Promise.reject(new Error(`nobody has heard of node ${node}`))
    return this.libp2p.dial(peer, { signal })
  }

  #parts(): Parts {
    const { listen = [], join = [], psk, load = () => 0 } = this.#options
    const gater = this.#admission.gater((peer) => this.#libp2p?.getConnections(peer) ?? [])
    return {
      configuration: { key: this.#key, limits: this.#limits, gater, psk },
      listen,
      join,
      load,
      admission: this.#admission,
      self: this.#self,
      limits: this.#limits,
      counters: this.counters,
      clock: this.#clock,
      nodes: this.#nodes,
      sessions: this.#sessions,
    }
  }
}
