// What two peers have with each other: a control and a data stream on one connection, greeted in both directions.
import type { Connection } from '@libp2p/interface'
import type { Frame, Peer, Stream } from '../surroundings.ts'
import type { FramedStream, StreamEnd } from './framed-stream.ts'
import type { Greeting } from './greeting.ts'

/** `/spillway/<who dials>/<stream>/<version>`. */
export function protocolOf(dialler: Peer['kind'], stream: Stream): string {
  return `/spillway/${dialler}/${stream}/1`
}

export type Streams = Readonly<Record<Stream, FramedStream>>

export interface SessionEvents {
  received(session: Session, stream: Stream, frame: Uint8Array): void
  /** Told once, when the first of its streams is over; the other one has been aborted. */
  ended(session: Session, end: StreamEnd): void
}

export class Session {
  readonly peer: Peer
  readonly connection: Connection
  /** All attempts of the other side's run up to this one are settled. */
  readonly theirs: Greeting
  readonly #streams: Streams
  #isOver = false

  constructor(peer: Peer, connection: Connection, streams: Streams, theirs: Greeting) {
    this.peer = peer
    this.connection = connection
    this.theirs = theirs
    this.#streams = streams
  }

  /** Control first: what came early on it is received before what came early as data. */
  start(events: SessionEvents): void {
    for (const stream of STREAMS) {
      if (this.#isOver) return
      this.#streams[stream].receive({
        received: (frame) => events.received(this, stream, frame),
        ended: (end) => {
          this.abort()
          events.ended(this, end)
        },
      })
    }
  }

  send(stream: Stream, frame: Frame): void {
    this.#streams[stream].send(frame)
  }

  /** Nothing is told any more. */
  abort(): void {
    this.#isOver = true
    for (const stream of STREAMS) this.#streams[stream].abort()
  }

  /** As `abort`, but what was sent still leaves if the peer takes it before the signal. */
  async close(signal: AbortSignal): Promise<void> {
    this.#isOver = true
    // The end of one stream ends both at the other side.
    await Promise.all(STREAMS.map((stream) => this.#streams[stream].empty(signal)))
    await Promise.all(STREAMS.map((stream) => this.#streams[stream].close(signal)))
  }

  /** After `close`: whether the peer has closed its side, too, before the signal. */
  async isAnswered(signal: AbortSignal): Promise<boolean> {
    const answers = await Promise.all(STREAMS.map((stream) => this.#streams[stream].isAnswered(signal)))
    return answers.every((isAnswered) => isAnswered)
  }
}

export const STREAMS: readonly Stream[] = ['control', 'data']
