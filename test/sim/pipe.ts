// One direction of a connection. Like a kernel it hides bytes: frames wait in the streams' write buffers, then
// stand in the hidden buffer until the link has taken them, then are under way. Frames under way are one linked
// list and one entry of the clock.
import { type Clock, Entry } from './clock.ts'
import type { Life } from './peer.ts'

/** A stream's frame, the news that the connection is open, or its end. */
export type FrameKind = 'control' | 'data' | 'opened' | 'closed'

export interface Frame {
  readonly kind: FrameKind
  readonly bytes: Uint8Array
  /** When its last byte has left the hidden buffer, and when it is at the other end. */
  departsAt: number
  arrivesAt: number
  next: Frame | undefined
}

/** How a link is. Both directions are alike. */
export interface LinkOptions {
  /** One way. */
  readonly latencyMs: number
  /** Up to so much more for each frame; frames stay in order. */
  readonly jitterMs: number
  readonly bytesPerSecond: number
  /** What the kernel takes off the streams' write buffers ahead of the link, in bytes. */
  readonly hiddenBytes: number
  /** What the streams' write buffers take; more aborts the connection, as libp2p does. */
  readonly waitingBytes: number
  /** What each frame costs beside its own bytes: yamux's header and TLS's record. */
  readonly overheadBytes: number
}

/** What a pipe asks of the network. */
export interface PipeOwner {
  readonly clock: Clock
  random(): number
  /** Whether frames do not get through now; the owner then calls `unblock` when they may. */
  isBlocked(pipe: Pipe): boolean
  arrived(pipe: Pipe, frame: Frame): void
  lost(pipe: Pipe, frames: number): void
  /** More waits than the write buffers take. */
  overflowed(pipe: Pipe): void
}

const NO_BYTES = new Uint8Array(0)

export class Pipe extends Entry {
  readonly from: Life
  readonly to: Life
  /** The other direction. */
  twin!: Pipe
  /** Whether the core at `from` has been told that it is connected, and not that it is no more. */
  isOpen = false
  /** Whether the end of the connection is in the pipe: nothing can follow it. */
  isClosing = false
  link: LinkOptions
  readonly #owner: PipeOwner
  /** Made when frames have to wait for the first time. */
  #pump: Pump | undefined
  #wire: Frame | undefined
  #wireLast: Frame | undefined
  #wireBytes = 0
  #control: Frame | undefined
  #controlLast: Frame | undefined
  #data: Frame | undefined
  #dataLast: Frame | undefined
  #waitingBytes = 0
  /** When the hidden buffer will be empty. */
  #freeAt = 0
  #lastArrival = 0
  #isBlocked = false
  #isFiring = false

  constructor(owner: PipeOwner, from: Life, to: Life, link: LinkOptions) {
    super()
    this.#owner = owner
    this.from = from
    this.to = to
    this.link = link
  }

  /** Bytes that were sent and have not arrived, without each frame's overhead in the write buffers. */
  get inside(): number {
    return this.#wireBytes + this.#waitingBytes
  }

  /** Bytes in the hidden buffer. */
  get hidden(): number {
    const { clock } = this.#owner
    return (Math.max(0, this.#freeAt - clock.now) * this.link.bytesPerSecond) / 1_000
  }

  /** Bytes in the streams' write buffers. */
  get waiting(): number {
    return this.#waitingBytes
  }

  send(kind: FrameKind, bytes: Uint8Array): void {
    if (this.isClosing) {
      this.#owner.lost(this, 1)
      return
    }
    this.#enter({ kind, bytes, departsAt: 0, arrivesAt: 0, next: undefined })
    if (this.#waitingBytes > this.link.waitingBytes) this.#owner.overflowed(this)
  }

  /** Ends the connection behind everything that was sent. */
  close(): void {
    if (this.isClosing) return
    this.isClosing = true
    this.#enter({ kind: 'closed', bytes: NO_BYTES, departsAt: 0, arrivesAt: 0, next: undefined })
  }

  /** The process at `from` is gone: what has not left the hidden buffer is lost. */
  loseUnsent(): void {
    const { now } = this.#owner.clock
    let last: Frame | undefined
    let bytes = 0
    for (let frame = this.#wire; frame !== undefined && frame.departsAt <= now; frame = frame.next) {
      last = frame
      bytes += this.#sizeOf(frame)
    }
    let lost = countOf(this.#control) + countOf(this.#data)
    lost += countOf(last === undefined ? this.#wire : last.next)
    if (last === undefined) this.#wire = undefined
    else last.next = undefined
    this.#wireLast = last
    this.#lastArrival = last?.arrivesAt ?? now
    this.#wireBytes = bytes
    this.#dropWaiting()
    this.#freeAt = now
    this.#owner.lost(this, lost)
    if (last === undefined && !this.#isBlocked) this.#owner.clock.cancel(this)
  }

  /** Everything in it is lost. */
  cut(): void {
    this.#owner.lost(this, countOf(this.#wire) + countOf(this.#control) + countOf(this.#data))
    this.#wire = undefined
    this.#wireLast = undefined
    this.#wireBytes = 0
    this.#dropWaiting()
    this.#freeAt = this.#owner.clock.now
    this.#lastArrival = this.#owner.clock.now
    this.#owner.clock.cancel(this)
  }

  /** Frames may get through again, after so many milliseconds. */
  unblock(delayMs: number): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    if (this.#wire !== undefined) {
      const { clock } = this.#owner
      clock.schedule(this, Math.max(this.#wire.arrivesAt, clock.now + delayMs))
    }
    this.#armPump()
  }

  override fire(): void {
    const owner = this.#owner
    if (owner.isBlocked(this)) {
      this.#isBlocked = true
      this.#stopPump()
      return
    }
    const { now } = owner.clock
    this.#isFiring = true
    for (let frame = this.#wire; frame !== undefined && frame.arrivesAt <= now; frame = this.#wire) {
      this.#wire = frame.next
      if (frame.next === undefined) this.#wireLast = undefined
      this.#wireBytes -= this.#sizeOf(frame)
      owner.arrived(this, frame)
    }
    this.#isFiring = false
    if (this.#wire !== undefined) owner.clock.schedule(this, this.#wire.arrivesAt)
  }

  /** The hidden buffer has room for the frame that waits first. */
  pump(): void {
    if (this.#isBlocked) return
    const { now } = this.#owner.clock
    let frame = this.#takeWaiting()
    while (frame !== undefined) {
      this.#commit(frame, now)
      const next = this.#control ?? this.#data
      frame = next !== undefined && this.#hasRoom(next, now) ? this.#takeWaiting() : undefined
    }
    this.#armPump()
  }

  #enter(frame: Frame): void {
    const { now } = this.#owner.clock
    const isIdle = this.#control === undefined && this.#data === undefined
    if (isIdle && this.#hasRoom(frame, now)) {
      this.#commit(frame, now)
      return
    }
    this.#wait(frame)
    this.#armPump()
  }

  /** Whether the hidden buffer takes a frame; an empty one takes every frame. */
  #hasRoom(frame: Frame, now: number): boolean {
    const { bytesPerSecond, hiddenBytes } = this.link
    // What the other side does not take stays in the buffers of both kernels.
    const hidden = this.#isBlocked
      ? this.#wireBytes
      : (Math.max(0, this.#freeAt - now) * bytesPerSecond) / 1_000
    return hidden === 0 || hidden + this.#sizeOf(frame) <= hiddenBytes
  }

  #commit(frame: Frame, now: number): void {
    const { latencyMs, jitterMs, bytesPerSecond } = this.link
    const size = this.#sizeOf(frame)
    const departsAt = Math.max(this.#freeAt, now) + (size * 1_000) / bytesPerSecond
    const jitter = jitterMs === 0 ? 0 : jitterMs * this.#owner.random()
    const arrivesAt = Math.max(departsAt + latencyMs + jitter, this.#lastArrival)
    frame.departsAt = departsAt
    frame.arrivesAt = arrivesAt
    this.#freeAt = departsAt
    this.#lastArrival = arrivesAt
    this.#wireBytes += size
    if (this.#wireLast === undefined) this.#wire = frame
    else this.#wireLast.next = frame
    this.#wireLast = frame
    if (!this.isScheduled && !this.#isBlocked && !this.#isFiring) this.#owner.clock.schedule(this, arrivesAt)
  }

  #wait(frame: Frame): void {
    this.#waitingBytes += this.#sizeOf(frame)
    if (frame.kind === 'control') {
      if (this.#controlLast === undefined) this.#control = frame
      else this.#controlLast.next = frame
      this.#controlLast = frame
    } else {
      if (this.#dataLast === undefined) this.#data = frame
      else this.#dataLast.next = frame
      this.#dataLast = frame
    }
  }

  /** Control overtakes data in the write buffers; the end is behind the data. */
  #takeWaiting(): Frame | undefined {
    const frame = this.#control ?? this.#data
    if (frame === undefined) return undefined
    if (frame === this.#control) {
      this.#control = frame.next
      if (frame.next === undefined) this.#controlLast = undefined
    } else {
      this.#data = frame.next
      if (frame.next === undefined) this.#dataLast = undefined
    }
    frame.next = undefined
    this.#waitingBytes -= this.#sizeOf(frame)
    return frame
  }

  #armPump(): void {
    const next = this.#control ?? this.#data
    if (next === undefined || this.#isBlocked) return
    this.#pump ??= new Pump(this)
    if (this.#pump.isScheduled) return
    const { bytesPerSecond, hiddenBytes } = this.link
    const room = Math.max(0, hiddenBytes - this.#sizeOf(next))
    this.#owner.clock.schedule(this.#pump, this.#freeAt - (room * 1_000) / bytesPerSecond)
  }

  #dropWaiting(): void {
    this.#control = undefined
    this.#controlLast = undefined
    this.#data = undefined
    this.#dataLast = undefined
    this.#waitingBytes = 0
    this.#stopPump()
  }

  #stopPump(): void {
    if (this.#pump !== undefined) this.#owner.clock.cancel(this.#pump)
  }

  #sizeOf(frame: Frame): number {
    return frame.bytes.length + this.link.overheadBytes
  }
}

class Pump extends Entry {
  readonly #pipe: Pipe

  constructor(pipe: Pipe) {
    super()
    this.#pipe = pipe
  }

  override fire(): void {
    this.#pipe.pump()
  }
}

function countOf(first: Frame | undefined): number {
  let count = 0
  for (let frame = first; frame !== undefined; frame = frame.next) count++
  return count
}
