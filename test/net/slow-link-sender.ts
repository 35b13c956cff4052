// The fast side of the slow link, in a process of its own: a node, and a sender attached to it. Prints
// `{"address","sender"}`, publishes when its input says so, and prints what stood in the transport towards the
// receiver, sampled at every frame: what a policy could not reach any more.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { slotsOf } from '../../buffers/item.ts'
import { connect } from '../../endpoints/machine.ts'
import type { Id } from '../../overlay/id.ts'
import { createTransport } from '../../overlay/libp2p/machine.ts'
import type { Transport } from '../../overlay/libp2p/transport.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Core, Frame, Peer, Stream } from '../../overlay/surroundings.ts'
import { decodeControl } from '../../overlay/wire/control-frame.ts'
import { FrameDecoder } from '../../overlay/wire/data-frame.ts'
import type { SentReport, TransportSample } from './slow-link.ts'

interface Options {
  readonly listen: string
  /** Events in each of the node's queues. */
  readonly queueItems: number
  readonly everyMs: number
  readonly forMs: number
  readonly payloadBytes: number
  /** What arrives while the queue is full is dropped: never published. */
  readonly isDropTail: boolean
}

/** Where to the frames go that are watched: the only client that gets data is the receiver's. */
const PORT = 4600
/** Where the sender keeps the queue short, the node's own bound is not to be met. */
const NO_LIMIT = 100_000

/** Passes everything on to the node, and counts the bytes of data frames that are not acknowledged. */
class Watched implements Core {
  readonly #core: Core
  readonly #transport: () => Transport
  readonly #decoder = new FrameDecoder()
  readonly #flights: { number: number; bytes: number; events: number; sentAt: number }[] = []
  readonly samples: TransportSample[] = []
  readonly roundTripsMs: number[] = []
  #unacknowledged = 0
  /** Events that the receiver's core has. */
  arrived = 0

  constructor(
    makeNode: (send: (peer: Id, stream: Stream, frame: Uint8Array) => void) => Core,
    transport: () => Transport,
  ) {
    this.#transport = transport
    this.#core = makeNode((_peer, stream, frame) => {
      if (stream === 'data') this.#sent(frame)
    })
  }

  connected(peer: Peer): void {
    this.#core.connected(peer)
  }

  disconnected(peer: Id): void {
    this.#core.disconnected(peer)
  }

  received(peer: Id, stream: Stream, frame: Uint8Array): void {
    if (stream === 'control') {
      const message = decodeControl(frame)
      if (message.kind === 'ack') this.#acknowledged(message.number)
    }
    this.#core.received(peer, stream, frame)
  }

  #sent(frame: Uint8Array): void {
    const { number, parts } = this.#decoder.decode(frame)
    let events = 0
    for (const { items } of parts) for (const item of items) events += slotsOf(item)
    this.#flights.push({ number, bytes: frame.length, events, sentAt: performance.now() })
    this.#unacknowledged += frame.length
    // When the streams have handed it on.
    setImmediate(() => this.#sample())
  }

  #acknowledged(number: number): void {
    while (this.#flights.length > 0 && this.#flights[0]!.number <= number) {
      const { bytes, events, sentAt } = this.#flights.shift()!
      this.#unacknowledged -= bytes
      this.arrived += events
      this.roundTripsMs.push(performance.now() - sentAt)
    }
  }

  #sample(): void {
    let streamBytes = 0
    for (const { streams } of this.#transport().libp2p.getConnections())
      for (const { writeBufferLength } of streams) streamBytes += writeBufferLength
    const windowBytes = this.#unacknowledged
    this.samples.push({ at: performance.now(), windowBytes, streamBytes, kernelBytes: unsentByKernel() })
  }
}

/** What TCP has and the other side's has not acknowledged, of the node's connections beyond loopback. */
function unsentByKernel(): number {
  const port = PORT.toString(16).toUpperCase().padStart(4, '0')
  let bytes = 0
  for (const line of readFileSync('/proc/self/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local, remote, , queues] = line.trim().split(/\s+/)
    if (local?.endsWith(`:${port}`) && !remote!.startsWith('0100007F:'))
      bytes += Number.parseInt(queues!.split(':')[0]!, 16)
  }
  return bytes
}

const { listen, queueItems, everyMs, forMs, payloadBytes, isDropTail } = JSON.parse(
  process.argv[2]!,
) as Options
const transport: Transport<Watched> = await createTransport({
  kind: 'node',
  listen: [`/ip4/${listen}/tcp/${PORT}`, `/ip4/127.0.0.1/tcp/${PORT}`],
  makeCore: (surroundings) =>
    new Watched(
      (watch) => {
        const send = (peer: Id, stream: Stream, frame: Frame) => {
          watch(peer, stream, frame.subarray())
          surroundings.send(peer, stream, frame)
        }
        return new OverlayNode(
          { ...surroundings, send },
          { bounds: { items: isDropTail ? NO_LIMIT : queueItems, bytes: 8_388_608 } },
        )
      },
      () => transport,
    ),
})
const address = transport.addresses.find((each) => each.includes(listen))!
const client = await connect(transport.addresses.find((each) => each.includes('127.0.0.1'))!)
const sender = client.sender('ticks', { number: 'number', payload: 'bytes' })
await sender.opened
process.stdout.write(`${JSON.stringify({ address, sender: sender.id })}\n`)

const lines = createInterface(process.stdin)
await once(lines, 'line')
const payload = new Uint8Array(payloadBytes)
const began = performance.now()
let made = 0
await new Promise<void>((resolve) => {
  const publish = () => {
    const due = Math.min(forMs, performance.now() - began) / everyMs
    for (; made < due; made++) {
      if (isDropTail && sender.published - transport.core.arrived >= queueItems) continue
      sender.publish({ number: made, payload })
    }
    if (performance.now() - began < forMs) setTimeout(publish, everyMs / 4)
    else resolve()
  }
  publish()
})
const { samples, roundTripsMs } = transport.core
const overload = samples.length
await sender.close()
await once(lines, 'line')
const report: SentReport = {
  made,
  published: sender.published,
  samples: samples.slice(0, overload).map((sample) => ({ ...sample, at: sample.at - began })),
  roundTripsMs,
}
process.stdout.write(`${JSON.stringify(report)}\n`)
await client.close()
await transport.stop()
