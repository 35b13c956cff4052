// A node of the overlay, running: its core on libp2p.
import type { QueueBounds } from '../buffers/queue.ts'
import { type AttachmentListener, AttachmentListeners, type AttachmentState } from '../mobility/listeners.ts'
import type { Transport } from '../overlay/libp2p/transport.ts'
import { pause } from '../overlay/libp2p/waiting.ts'
import { OverlayNode } from '../overlay/node.ts'
import { machine } from './machine.ts'
import { checkList, checkOptions, checkPeers, checkQueue, checkWhole, MIN_BUDGET_BYTES } from './options.ts'
import { start } from './start.ts'

export interface NodeOptions {
  /** Multiaddrs to listen on: `/ip4/0.0.0.0/tcp/4600`, `/ip4/0.0.0.0/tcp/4601/ws` for browsers. */
  readonly listen?: readonly string[]
  /** Addresses of nodes of the overlay to join. */
  readonly join?: readonly string[]
  /** A file with the node's key, made if it is not there; without it a new key each time. */
  readonly key?: string
  /** 32 bytes that all nodes and clients of a private overlay have in common. */
  readonly psk?: Uint8Array
  /** The peer ids of all nodes; without it anyone may be a node. */
  readonly allowPeers?: readonly string[]
  /** Bounds of each queue; 10,000 events and 8 MiB unless told. */
  readonly queue?: Partial<QueueBounds>
  /** Bytes over all queues, 1 MiB at least; 512 MiB unless told. */
  readonly budgetBytes?: number
  /** Of more clients, those that came last are sent to nodes that have room; 900 unless told. */
  readonly maxClients?: number
  /** Ends the start, and closes the node when it aborts later. */
  readonly signal?: AbortSignal
}

/** A running node. */
export interface Node {
  /** 64 hex digits. */
  readonly id: string
  /** As allow-lists have it. */
  readonly peerId: string
  /** Where others reach it. */
  readonly addresses: readonly string[]
  /** Resolves when a node of `join` has answered, or at once when there is none to join. */
  readonly joined: Promise<void>
  /**
   * Calls the listener with a client's ID when that becomes attached here, detached, or has departed; returns how to listen
   * no more. A client that attaches elsewhere is detached here, and departs when nothing is kept for it any more.
   */
  on(state: AttachmentState, listener: (client: string) => void): () => void
  /**
   * Leaves: its clients are sent to the other nodes, and what waits here follows them, for 10 seconds at most. Then it
   * tells the others that it is gone, and closes everything. At once when there is nobody else, or nothing here.
   */
  close(): Promise<void>
}

/** For so long a node that is closed waits until nothing is left that would be lost with it. */
const DRAIN_MS = 10_000
const LOOK_MS = 50
const DEFAULT_QUEUE: QueueBounds = { items: 10_000, bytes: 8_388_608 }
const OPTIONS = [
  'listen',
  'join',
  'key',
  'psk',
  'allowPeers',
  'queue',
  'budgetBytes',
  'maxClients',
  'signal',
] satisfies (keyof NodeOptions)[]
const DEFAULT_LISTEN: readonly string[] = ['/ip4/127.0.0.1/tcp/0']

/**
 * Starts a node; resolves when it serves. A node of `join` that is not there yet is tried again. Throws
 * ADDRESS_INVALID, KEY_INVALID, OPTION_INVALID or LISTEN_FAILED.
 */
export async function createNode(options: NodeOptions = {}): Promise<Node> {
  checkNodeOptions(options)
  const {
    listen = DEFAULT_LISTEN,
    join,
    key,
    psk,
    allowPeers,
    queue,
    budgetBytes,
    maxClients,
    signal,
  } = options
  const listeners: NodeListeners = new AttachmentListeners()
  const core = {
    ...(queue === undefined ? {} : { bounds: { ...DEFAULT_QUEUE, ...queue } }),
    ...(budgetBytes === undefined ? {} : { budgetBytes }),
    ...(maxClients === undefined ? {} : { maxClients }),
    // A listener that throws is no business of the core, which is in the middle of something.
    clientChanged: (client: string, state: AttachmentState) =>
      queueMicrotask(() => listeners.tell(state, client)),
  }
  let node: OverlayNode | undefined
  const makeCore = (surroundings: ConstructorParameters<typeof OverlayNode>[0]) => {
    node = new OverlayNode(surroundings, core)
    return node
  }
  const load = () => node?.load ?? 0
  const transport = await start(
    { kind: 'node', makeCore, listen, join, psk, allowPeers, load, signal },
    machine(key),
  )
  return new RunningNode(transport, listeners, signal)
}

function checkNodeOptions(options: NodeOptions): void {
  checkOptions('createNode', options, OPTIONS)
  const { listen, join, allowPeers, queue, budgetBytes, maxClients } = options
  checkList('createNode: listen', listen)
  checkList('createNode: join', join)
  checkList('createNode: allowPeers', allowPeers)
  checkPeers(allowPeers ?? [])
  checkQueue('createNode', queue)
  checkWhole('createNode: budgetBytes', budgetBytes, MIN_BUDGET_BYTES)
  checkWhole('createNode: maxClients', maxClients, 1)
}

type NodeListeners = AttachmentListeners<[client: string]>

class RunningNode implements Node {
  readonly #transport: Transport<OverlayNode>
  readonly #listeners: NodeListeners
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined

  constructor(transport: Transport<OverlayNode>, listeners: NodeListeners, signal: AbortSignal | undefined) {
    this.#transport = transport
    this.#listeners = listeners
    signal?.addEventListener('abort', () => void this.close(), { once: true, signal: this.#closing.signal })
  }

  get id(): string {
    return this.#transport.id
  }

  get peerId(): string {
    return this.#transport.peerId
  }

  get addresses(): readonly string[] {
    return this.#transport.addresses
  }

  get joined(): Promise<void> {
    return this.#transport.joined
  }

  on(state: AttachmentState, listener: (client: string) => void): () => void {
    return this.#listeners.listen({ [state]: listener } satisfies AttachmentListener<[string]>)
  }

  close(): Promise<void> {
    this.#closing.abort()
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { core } = this.#transport
    const until = performance.now() + DRAIN_MS
    if (core.hasOthers && !core.isIdle) core.leave()
    // Others may leave at the same time.
    while (core.hasOthers && !core.isIdle && performance.now() < until) await pause(LOOK_MS)
    await this.#transport.stop()
  }
}
