// A node of the overlay, running: its core on libp2p.
import type { QueueBounds } from '../buffers/queue.ts'
import type { Transport } from '../overlay/libp2p/transport.ts'
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
  /** Tells the others that it leaves, and closes everything. */
  close(): Promise<void>
}

const DEFAULT_QUEUE: QueueBounds = { items: 10_000, bytes: 8_388_608 }
const OPTIONS = [
  'listen',
  'join',
  'key',
  'psk',
  'allowPeers',
  'queue',
  'budgetBytes',
  'signal',
] satisfies (keyof NodeOptions)[]
const DEFAULT_LISTEN: readonly string[] = ['/ip4/127.0.0.1/tcp/0']

/**
 * Starts a node; resolves when it serves. A node of `join` that is not there yet is tried again. Throws
 * ADDRESS_INVALID, KEY_INVALID, OPTION_INVALID or LISTEN_FAILED.
 */
export async function createNode(options: NodeOptions = {}): Promise<Node> {
  checkNodeOptions(options)
  const { listen = DEFAULT_LISTEN, join, key, psk, allowPeers, queue, budgetBytes, signal } = options
  const core = {
    ...(queue === undefined ? {} : { bounds: { ...DEFAULT_QUEUE, ...queue } }),
    ...(budgetBytes === undefined ? {} : { budgetBytes }),
  }
  const makeCore = (surroundings: ConstructorParameters<typeof OverlayNode>[0]) =>
    new OverlayNode(surroundings, core)
  const transport = await start(
    { kind: 'node', makeCore, listen, join, psk, allowPeers, signal },
    machine(key),
  )
  return new RunningNode(transport, signal)
}

function checkNodeOptions(options: NodeOptions): void {
  checkOptions('createNode', options, OPTIONS)
  const { listen, join, allowPeers, queue, budgetBytes } = options
  checkList('createNode: listen', listen)
  checkList('createNode: join', join)
  checkList('createNode: allowPeers', allowPeers)
  checkPeers(allowPeers ?? [])
  checkQueue('createNode', queue)
  checkWhole('createNode: budgetBytes', budgetBytes, MIN_BUDGET_BYTES)
}

class RunningNode implements Node {
  readonly #transport: Transport<OverlayNode>
  readonly #closing = new AbortController()

  constructor(transport: Transport<OverlayNode>, signal: AbortSignal | undefined) {
    this.#transport = transport
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

  close(): Promise<void> {
    this.#closing.abort()
    return this.#transport.stop()
  }
}
