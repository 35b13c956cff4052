// A core that remembers what it was told, answers when asked to, and transports that end with the test.
import { onTestFinished } from 'vitest'
import type { Id } from '../../overlay/id.ts'
import { createTransport } from '../../overlay/libp2p/machine.ts'
import type { Transport, TransportOptions, TransportSurroundings } from '../../overlay/libp2p/transport.ts'
import type { Core, Peer, Stream } from '../../overlay/surroundings.ts'

export class RecordingCore implements Core {
  readonly surroundings: TransportSurroundings
  readonly peers = new Map<Id, Peer>()
  readonly events: string[] = []
  readonly frames: { peer: Id; stream: Stream; frame: Uint8Array }[] = []
  /** Sends every frame back where it came from. */
  isEcho = false
  /** In place of remembering. */
  onFrame: ((peer: Id, stream: Stream, frame: Uint8Array) => void) | undefined

  constructor(surroundings: TransportSurroundings) {
    this.surroundings = surroundings
  }

  connected(peer: Peer): void {
    this.peers.set(peer.id, peer)
    this.events.push(`connected ${peer.id}`)
  }

  disconnected(peer: Id): void {
    this.peers.delete(peer)
    this.events.push(`disconnected ${peer}`)
  }

  received(peer: Id, stream: Stream, frame: Uint8Array): void {
    if (this.onFrame !== undefined) this.onFrame(peer, stream, frame)
    else this.frames.push({ peer, stream, frame })
    if (this.isEcho) this.surroundings.send(peer, stream, frame)
  }
}

export type RecordingTransport = Transport<RecordingCore>

export const LOOPBACK = ['/ip4/127.0.0.1/tcp/0']

/** A node on loopback, stopped when the test ends. */
export async function node(
  options: Partial<TransportOptions<RecordingCore>> = {},
): Promise<RecordingTransport> {
  return started({ kind: 'node', listen: LOOPBACK, ...options })
}

export async function client(
  to: RecordingTransport,
  options: Partial<TransportOptions<RecordingCore>> = {},
): Promise<RecordingTransport> {
  return started({ kind: 'client', join: to.addresses, ...options })
}

async function started(
  options: Partial<TransportOptions<RecordingCore>> & { kind: Peer['kind'] },
): Promise<RecordingTransport> {
  const makeCore = (surroundings: TransportSurroundings) => new RecordingCore(surroundings)
  const transport = await createTransport({ makeCore, ...options })
  onTestFinished(() => transport.stop())
  return transport
}

/** Two nodes that have a session. */
export async function pair(options: Partial<TransportOptions<RecordingCore>> = {}) {
  const a = await node(options)
  const b = await node({ ...options, join: a.addresses })
  await b.connect(a.addresses[0]!)
  await until(() => a.core.peers.has(b.id) && b.core.peers.has(a.id))
  return { a, b }
}

/** Looks again and again until it is so. */
export async function until(isSo: () => boolean, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export function text(frame: Uint8Array): string {
  return new TextDecoder().decode(frame)
}

export function bytes(frame: string): Uint8Array {
  return new TextEncoder().encode(frame)
}
