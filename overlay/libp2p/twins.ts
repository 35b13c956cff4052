// Inbound streams come one by one; the control and the data stream of one attempt belong together.
import type { Connection } from '@libp2p/interface'
import type { Peer, Stream } from '../surroundings.ts'
import type { FramedStream } from './framed-stream.ts'
import type { TransportCounters, TransportLimits } from './limits.ts'
import type { Offer } from './sessions.ts'

export interface Arrival {
  readonly peer: Peer
  readonly connection: Connection
  readonly stream: Stream
  readonly framed: FramedStream
}

interface Waiting {
  readonly arrival: Arrival
  readonly timer: NodeJS.Timeout
}

export class Twins {
  readonly #limits: TransportLimits
  readonly #counters: TransportCounters
  readonly #offered: (offer: Offer) => void
  readonly #ungreeted = new Set<Waiting>()
  readonly #single = new Map<string, Waiting>()

  constructor(limits: TransportLimits, counters: TransportCounters, offered: (offer: Offer) => void) {
    this.#limits = limits
    this.#counters = counters
    this.#offered = offered
  }

  /** Waits for the greeting, then for the twin; a stream that stays alone is aborted. */
  async arrived(arrival: Arrival): Promise<void> {
    const timer = setTimeout(() => arrival.framed.abort(), this.#limits.greetingMs)
    const waiting = { arrival, timer }
    this.#ungreeted.add(waiting)
    try {
      const greeting = await arrival.framed.greeting
      this.#greeted(waiting, `${arrival.connection.id} ${arrival.peer.kind} ${greeting.attempt}`, greeting)
    } catch {
      this.#counters[arrival.framed.end === 'malformed' ? 'malformedFrames' : 'strayStreams']++
      clearTimeout(timer)
    } finally {
      this.#ungreeted.delete(waiting)
    }
  }

  stop(): void {
    for (const { arrival, timer } of [...this.#ungreeted, ...this.#single.values()]) {
      clearTimeout(timer)
      arrival.framed.abort()
    }
    this.#single.clear()
  }

  #greeted({ arrival, timer }: Waiting, key: string, greeting: Offer['greeting']): void {
    clearTimeout(timer)
    const twin = this.#single.get(key)
    if (twin === undefined || twin.arrival.stream === arrival.stream) {
      this.#wait(arrival, key)
      return
    }
    clearTimeout(twin.timer)
    this.#single.delete(key)
    const [control, data] = arrival.stream === 'control' ? [arrival, twin.arrival] : [twin.arrival, arrival]
    const streams = { control: control.framed, data: data.framed }
    this.#offered({ peer: arrival.peer, connection: arrival.connection, streams, greeting })
  }

  #wait(arrival: Arrival, key: string): void {
    this.#drop(key)
    const timer = setTimeout(() => this.#drop(key), this.#limits.greetingMs)
    this.#single.set(key, { arrival, timer })
  }

  #drop(key: string): void {
    const single = this.#single.get(key)
    if (single === undefined) return
    clearTimeout(single.timer)
    single.arrival.framed.abort()
    this.#single.delete(key)
    this.#counters.strayStreams++
  }
}
