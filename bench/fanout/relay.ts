// The bare relay of DESIGN section 11: our libp2p streams with TLS, frames of many payloads, and nothing else. No
// numbers, no queues, no acknowledgements, no policies. What Spillway does beyond carrying bytes is the difference.
import { createTransport } from '../../overlay/libp2p/machine.ts'
import type { Transport, TransportSurroundings } from '../../overlay/libp2p/transport.ts'
import type { Core, Peer, Stream } from '../../overlay/surroundings.ts'
import { opaque, PAYLOAD_BYTES, type Publisher, type System } from './system.ts'

/** A full frame has 64 KiB. */
const FRAME_EVENTS = 512
/** Frames that not all receivers have yet: 1 MiB, as our largest window. */
const FRAMES_AHEAD = 16
const GOT = Uint8Array.of(1)

class RelayCore implements Core {
  readonly surroundings: TransportSurroundings
  readonly peers = new Set<string>()
  onFrame: (peer: string, stream: Stream, frame: Uint8Array) => void = () => {}

  constructor(surroundings: TransportSurroundings) {
    this.surroundings = surroundings
  }

  connected(peer: Peer): void {
    this.peers.add(peer.id)
  }

  disconnected(peer: string): void {
    this.peers.delete(peer)
  }

  received(peer: string, stream: Stream, frame: Uint8Array): void {
    this.onFrame(peer, stream, frame)
  }
}

/** Passes every data frame on to all others, and tells the sender when all of them have it. */
export async function serve(join: readonly string[]): Promise<string> {
  const transport = await start('node', join)
  const { peers, surroundings } = transport.core
  /** By receiver, how many frames it has; by frame, how many receivers have it. */
  const gotBy = new Map<string, number>()
  const got: number[] = []
  let sender = ''
  transport.core.onFrame = (from, stream, frame) => {
    if (stream === 'data') {
      sender = from
      for (const peer of peers) if (peer !== from) surroundings.send(peer, 'data', frame)
      return
    }
    const number = gotBy.get(from) ?? 0
    gotBy.set(from, number + 1)
    got[number] = (got[number] ?? 0) + 1
    if (got[number] === peers.size - 1) surroundings.send(sender, 'control', GOT)
  }
  return transport.addresses[0]!
}

export const relay: System = {
  async publisher(address): Promise<Publisher> {
    const { core } = await start('client', [address])
    const [node] = core.peers
    let frame = new Uint8Array(FRAME_EVENTS * PAYLOAD_BYTES)
    let events = 0
    let framesAhead = 0
    let wake: (() => void) | undefined
    core.onFrame = () => {
      framesAhead--
      wake?.()
    }
    const send = () => {
      if (events === 0) return
      core.surroundings.send(node!, 'data', frame.subarray(0, events * PAYLOAD_BYTES))
      frame = new Uint8Array(frame.length)
      events = 0
      framesAhead++
    }
    return {
      stream: '',
      publish(at) {
        // What comes in one turn goes together.
        if (events === 0) setImmediate(send)
        frame.set(opaque(at), PAYLOAD_BYTES * events++)
        if (events === FRAME_EVENTS) send()
        return framesAhead < FRAMES_AHEAD
      },
      room: () =>
        new Promise((resolve) => {
          wake = resolve
        }),
      flush: async () => send(),
    }
  },

  async receiver(address, _stream, _payload, taker) {
    const { core } = await start('client', [address])
    core.onFrame = (node, _, frame) => {
      for (let at = 0; at < frame.length; at += PAYLOAD_BYTES)
        taker.opaque(frame.subarray(at, at + PAYLOAD_BYTES))
      core.surroundings.send(node, 'control', GOT)
    }
    return { lost: 0 }
  },
}

function start(kind: Peer['kind'], join: readonly string[]): Promise<Transport<RelayCore>> {
  const listen = kind === 'node' ? ['/ip4/127.0.0.1/tcp/0'] : []
  return createTransport({ kind, listen, join, makeCore: (surroundings) => new RelayCore(surroundings) })
}
