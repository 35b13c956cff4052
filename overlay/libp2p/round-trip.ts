// How far away a node is: the round trip of a few bytes that it echoes, as every node does for those of libp2p's ping.
import type { Connection, Libp2p, Stream, StreamMessageEvent } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { type Id, idOfPeer } from '../id.ts'
import { pause } from './waiting.ts'

const PROTOCOL = '/ipfs/ping/1.0.0'
const BYTES = 32
/** The smallest of so many counts, */
const EXCHANGES = 3
/** so far apart, so that one burst in a queue on the way does not meet them all. */
const APART_MS = 100

/** The smallest of some round trips. Rejects when the signal aborts, or the connection breaks, before. */
export async function roundTripMs(connection: Connection, signal: AbortSignal): Promise<number> {
  const stream = await connection.newStream(PROTOCOL, { signal })
  try {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < EXCHANGES; i++) {
      if (i > 0) await pause(APART_MS, signal)
      least = Math.min(least, await exchange(stream, signal))
    }
    return least
  } finally {
    stream.abort(new Error('measured'))
  }
}

/** A connection to the node at the first of these addresses where it answers; somebody else there is hung up on. */
export async function dialNode(
  libp2p: Libp2p,
  node: Id,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Connection> {
  for (const address of addresses) {
    signal.throwIfAborted()
    try {
      const connection = await libp2p.dial(multiaddr(address), { signal })
      if (idOfPeer(connection.remotePeer.toMultihash().bytes) === node) return connection
      const isInUse = libp2p.getConnections(connection.remotePeer).length > 1
      if (!isInUse) void connection.close().catch((error) => connection.abort(error))
    } catch {
      // There may be another way.
    }
  }
  throw new Error(`node ${node} answers at none of its addresses`)
}

/** Whether an address is one, and can be dialled from here. */
export async function isDialable(libp2p: Libp2p, address: string): Promise<boolean> {
  try {
    return await libp2p.isDialable(multiaddr(address))
  } catch {
    return false
  }
}

async function exchange(stream: Stream, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let missing = BYTES
  const received = ({ data }: StreamMessageEvent) => {
    missing -= data.byteLength
    if (missing <= 0) resolve()
  }
  const fail = () => reject(signal.reason ?? new Error('it does not answer'))
  stream.addEventListener('message', received)
  stream.addEventListener('close', fail)
  signal.addEventListener('abort', fail)
  const sentAt = performance.now()
  try {
    stream.send(new Uint8Array(BYTES))
    await promise
    return performance.now() - sentAt
  } finally {
    stream.removeEventListener('message', received)
    stream.removeEventListener('close', fail)
    signal.removeEventListener('abort', fail)
  }
}
