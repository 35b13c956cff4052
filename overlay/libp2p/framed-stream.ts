// One libp2p stream as frames: the first in each direction is a greeting, the rest are the core's. What is sent in
// one tick leaves in one write. Of a burst libp2p gets as much as it holds at a time, and the rest waits here. A peer
// that does not read is found by what piles up for it and does not become less.
import type { Stream as Libp2pStream } from '@libp2p/interface'
import { pipe } from 'it-pipe'
import type { Frame } from '../surroundings.ts'
import { FrameError, joinFrames, splitFrames } from './frames.ts'
import { decodeGreeting, encodeGreeting, type Greeting } from './greeting.ts'

/** Why a stream is over: it closed or broke, a frame was malformed, or the peer did not read. */
export type StreamEnd = 'closed' | 'malformed' | 'overfull'

export interface Receiver {
  received(frame: Uint8Array): void
  /** Told once, and never within a call of this stream's own methods. */
  ended(end: StreamEnd): void
}

export interface FramedStreamLimits {
  readonly frameBytes: number
  readonly unsentBytes: number
  readonly burstBytes: number
  readonly stalledMs: number
  /** What may arrive after the greeting and before somebody receives. */
  readonly earlyBytes: number
}

/** What libp2p gets at a time of more than that: it aborts a stream by itself that has 4 MiB to write. */
const HANDED_BYTES = 1_048_576

export class FramedStream {
  readonly #stream: Libp2pStream
  readonly #limits: FramedStreamLimits
  readonly #greeting = Promise.withResolvers<Greeting>()
  #greeted = false
  #early: Uint8Array[] = []
  #earlyBytes = 0
  #receiver: Receiver | undefined
  #end: StreamEnd | undefined
  #unsent: Frame[] = []
  #unsentBytes = 0
  /** In all, since the stream began. */
  #sentBytes = 0
  #stallTimer: NodeJS.Timeout | undefined
  /** Resolves when nothing waits any more. */
  #emptied: PromiseWithResolvers<void> | undefined
  readonly #reading: Promise<void>
  readonly #flush = (): void => this.flush()

  constructor(stream: Libp2pStream, limits: FramedStreamLimits) {
    this.#stream = stream
    this.#limits = limits
    this.#greeting.promise.catch(() => {})
    // Not at once: libp2p tells it while it is still writing.
    stream.addEventListener('idle', () => {
      if (this.#unsent.length > 0) queueMicrotask(this.#flush)
      else this.#emptied?.resolve()
    })
    this.#reading = this.#read()
  }

  /** What the other side greeted with; rejected when the stream ends before. */
  get greeting(): Promise<Greeting> {
    return this.#greeting.promise
  }

  get end(): StreamEnd | undefined {
    return this.#end
  }

  greet(greeting: Greeting): void {
    this.send(encodeGreeting(greeting))
  }

  /** From now on; what came early is received before this returns. */
  receive(receiver: Receiver): void {
    this.#receiver = receiver
    for (const frame of this.#early.splice(0)) if (this.#end === undefined) receiver.received(frame)
    if (this.#end !== undefined) this.#tellEnd()
  }

  send(frame: Frame): void {
    if (this.#end !== undefined) return
    if (frame.length === 0 || frame.length > this.#limits.frameBytes)
      throw new Error('a frame is neither empty nor too long')
    this.#unsent.push(frame)
    this.#unsentBytes += frame.length
    this.#sentBytes += frame.length
    if (this.#waitingBytes > this.#limits.burstBytes) this.#finish('overfull')
    else if (this.#unsent.length === 1) queueMicrotask(this.#flush)
    if (this.#waitingBytes > this.#limits.unsentBytes) this.#watch()
  }

  /** Hands over what was sent, as far as libp2p holds it; otherwise that happens at the end of the tick. */
  flush(): void {
    if (this.#unsent.length === 0 || this.#end !== undefined) return
    const frames = this.#nextFrames(HANDED_BYTES - this.#stream.writeBufferLength)
    if (frames.length === 0) return
    try {
      this.#stream.send(joinFrames(frames))
    } catch {
      this.#finish('closed')
    }
  }

  /** Drops what is on its way; the receiver is told nothing any more. */
  abort(): void {
    this.#receiver = undefined
    this.#finish('closed')
  }

  /** Resolves when all that was sent has left, or the stream is over, or by the signal; nothing is told any more. */
  async empty(signal: AbortSignal): Promise<void> {
    this.#receiver = undefined
    this.flush()
    if (this.#end !== undefined || this.#waitingBytes === 0) return
    this.#emptied ??= Promise.withResolvers()
    await Promise.race([this.#emptied.promise, aborted(signal)])
  }

  /** What is on its way is still delivered, if the peer takes it before the signal. */
  async close(signal: AbortSignal): Promise<void> {
    this.#receiver = undefined
    this.flush()
    this.#end ??= 'closed'
    clearTimeout(this.#stallTimer)
    await this.#stream.close({ signal }).catch(() => this.#stream.abort(new Error('not closed in time')))
  }

  /** Whether the other side has closed the stream, too, before the signal. */
  async isAnswered(signal: AbortSignal): Promise<boolean> {
    const isLate = aborted(signal).then(() => false)
    return await Promise.race([this.#reading.then(() => true), isLate])
  }

  /** What was sent and libp2p has not passed on. */
  get #waitingBytes(): number {
    return this.#unsentBytes + this.#stream.writeBufferLength
  }

  /** Frames of so many bytes at most, but for the first. None when there is no room at all. */
  #nextFrames(roomBytes: number): Frame[] {
    if (this.#unsentBytes <= roomBytes) {
      const frames = this.#unsent
      this.#unsent = []
      this.#unsentBytes = 0
      return frames
    }
    let count = 0
    for (let left = roomBytes; left > 0 && count < this.#unsent.length; count++) {
      left -= this.#unsent[count]!.length
    }
    const frames = this.#unsent.splice(0, count)
    for (const frame of frames) this.#unsentBytes -= frame.length
    return frames
  }

  /** Much waits: from now on some of it has to leave within each `stalledMs`. */
  #watch(): void {
    if (this.#stallTimer !== undefined || this.#end !== undefined) return
    const leftBytes = this.#sentBytes - this.#waitingBytes
    this.#stallTimer = setTimeout(() => {
      this.#stallTimer = undefined
      if (this.#waitingBytes <= this.#limits.unsentBytes) return
      if (this.#sentBytes - this.#waitingBytes <= leftBytes) this.#finish('overfull')
      else this.#watch()
    }, this.#limits.stalledMs)
  }

  async #read(): Promise<void> {
    try {
      await pipe(this.#stream, splitFrames(this.#limits.frameBytes), async (batches) => {
        for await (const frames of batches) for (const frame of frames) this.#received(frame)
      })
      this.#finish('closed')
    } catch (error) {
      this.#finish(error instanceof FrameError ? 'malformed' : 'closed')
    }
  }

  #received(frame: Uint8Array): void {
    if (this.#end !== undefined) return
    if (!this.#greeted) {
      this.#greeting.resolve(decodeGreeting(frame))
      this.#greeted = true
    } else if (this.#receiver !== undefined) {
      this.#receiver.received(frame)
    } else {
      this.#early.push(frame)
      this.#earlyBytes += frame.length
      if (this.#earlyBytes > this.#limits.earlyBytes)
        throw new FrameError('too much before the streams stand')
    }
  }

  #finish(end: StreamEnd): void {
    if (this.#end !== undefined) return
    this.#end = end
    this.#unsent = []
    this.#unsentBytes = 0
    this.#early = []
    clearTimeout(this.#stallTimer)
    this.#emptied?.resolve()
    this.#greeting.reject(new Error(`the stream ended: ${end}`))
    this.#stream.abort(new Error(end))
    this.#tellEnd()
  }

  #tellEnd(): void {
    const receiver = this.#receiver
    const end = this.#end
    if (receiver === undefined || end === undefined) return
    queueMicrotask(() => {
      if (this.#receiver === receiver) receiver.ended(end)
    })
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
