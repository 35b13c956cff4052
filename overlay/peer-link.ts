// One peer as a core sees it: its link with the window above the transport, what it sent and we have, and whether
// it is still heard of. Control messages leave at once. Data and acknowledgements leave at the end of the turn in which
// there came to be some, so that whatever comes together leaves together; data only as far as the window allows.

import { nextAfter } from '../buffers/item.ts'
import { Link } from '../buffers/link.ts'
import type { Slot } from '../buffers/slot.ts'
import { SpillwayError } from '../policies/error.ts'
import type { ControlMessage, ToldCursor, Toward } from './control.ts'
import type { Peer, Surroundings } from './surroundings.ts'
import { Window } from './window.ts'
import { encodeControl } from './wire/control-frame.ts'
import { type DataFrame, FrameDecoder, FrameEncoder } from './wire/data-frame.ts'
import { invalidFrame } from './wire/frame-error.ts'
import { controlLimits } from './wire/limits.ts'

/** A peer that was silent for so long is asked whether it lives, and after so many such times it does not. */
export const HEARTBEAT_MS = 1_000
export const MISSED_HEARTBEATS = 4
/** What is remembered of what a peer sent; of more, the oldest would be sent again after a break. */
const MAX_CURSORS = controlLimits.resumeCursors
const CURSORS_PER_MESSAGE = 1_000
/** Control messages that wait for a connection; a peer to which more have to be told is not there. */
const MAX_WAITING = 1_024

/** What exists only while connected. */
interface Connection {
  readonly peer: Peer
  readonly encoder: FrameEncoder
  readonly decoder: FrameDecoder
  readonly window: Window
  heardAt: number
  pingedAt: number
  /** What the other side told so far of what it has; nothing is sent before it told all. */
  readonly told: Map<string, ToldCursor>
  isResumed: boolean
  /** A frame has left in the turn before, and the rest of the window is to follow. */
  isRestDue: boolean
}

export class PeerLink {
  readonly id: string
  readonly link: Link
  readonly #surroundings: Surroundings
  readonly #wake: () => void
  readonly #waiting: ControlMessage[] = []
  /** By part: the next number we expect of it. */
  readonly #cursors = new Map<string, ToldCursor>()
  #connection: Connection | undefined
  /** The last batch that was taken, as long as the other side was not told. */
  #toAcknowledge: number | undefined
  /** A client comes by itself. */
  #isClient = false
  /** When it was disconnected, or detached by its own wish; undefined while it is there. */
  #awayAt: number | undefined
  /** The newest attachment of a client, over this connection. */
  #generation = 0
  #unsendable = 0

  /** `wake` is called when there is something to send: `flush` has to follow before the time moves on. */
  constructor(id: string, surroundings: Surroundings, wake: (link: PeerLink) => void) {
    this.id = id
    this.#surroundings = surroundings
    this.#wake = () => wake(this)
    this.link = new Link(id, this.#wake)
    this.#awayAt = surroundings.now()
  }

  get isConnected(): boolean {
    return this.#connection !== undefined
  }

  get peer(): Peer | undefined {
    return this.#connection?.peer
  }

  /** Whether it was a client that was connected last. */
  get isClient(): boolean {
    return this.#isClient
  }

  /** Control messages that wait for a connection. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Parts of which it is remembered what the peer sent. */
  get cursors(): number {
    return this.#cursors.size
  }

  /** How many items and control messages no frame could hold. */
  get unsendable(): number {
    return this.#unsendable
  }

  /** The smallest round trip of late, in milliseconds; infinite before the first. */
  get roundTripMs(): number {
    return this.#connection?.window.roundTripMs ?? Number.POSITIVE_INFINITY
  }

  /** How long the peer has been away, in milliseconds; 0 while it is there. */
  get awayMs(): number {
    return this.#awayAt === undefined ? 0 : this.#surroundings.now() - this.#awayAt
  }

  /** A client that is connected is attached, maybe again. */
  attached(generation: number): void {
    this.#generation = Math.max(this.#generation, generation)
    this.#awayAt = undefined
  }

  /** A client that is connected detaches. False for an attachment that is over already. */
  detached(generation: number): boolean {
    if (generation < this.#generation) return false
    this.#awayAt ??= this.#surroundings.now()
    return true
  }

  connected(peer: Peer): void {
    const now = this.#surroundings.now()
    this.#awayAt = undefined
    this.#generation = 0
    this.#isClient = peer.kind === 'client'
    this.#connection = {
      peer,
      encoder: new FrameEncoder(),
      decoder: new FrameDecoder(),
      window: new Window(now),
      heardAt: now,
      pingedAt: now,
      told: new Map(),
      isResumed: false,
      isRestDue: false,
    }
    this.#tellCursors([...this.#cursors.values()])
    for (const message of this.#waiting.splice(0)) this.tell(message)
  }

  disconnected(): void {
    if (this.#connection === undefined) return
    this.#connection = undefined
    this.#toAcknowledge = undefined
    this.#awayAt ??= this.#surroundings.now()
  }

  /** Sends a control message; one to a peer that is not connected waits for the connection, which is asked for. */
  tell(message: ControlMessage): void {
    if (this.#connection !== undefined) {
      const frame = this.#encoded(message)
      if (frame !== undefined) this.#surroundings.send(this.id, 'control', frame)
      return
    }
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.shift()
    this.#waiting.push(message)
    if (!this.#isClient) this.#surroundings.dial(this.id)
  }

  /** Undefined when no frame can hold it: that is nobody's fault who asked for it, and what it told is told again. */
  #encoded(message: ControlMessage): Uint8Array | undefined {
    try {
      return encodeControl(message)
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw error
      this.#unsendable++
      return undefined
    }
  }

  /** Forgets how far parts came that nobody here expects any more. */
  sweep(isExpected: (cursor: ToldCursor) => boolean): void {
    for (const [key, cursor] of this.#cursors) if (!isExpected(cursor)) this.#cursors.delete(key)
  }

  /** Takes away what waits to be told. */
  drop(): readonly ControlMessage[] {
    return this.#waiting.splice(0)
  }

  /**
   * The other side has told what it expects: what it lacks goes back to the queues, and sending begins. Throws
   * FRAME_INVALID when it tells of more than anybody remembers.
   */
  resumed(cursors: readonly ToldCursor[], last: boolean): void {
    const connection = this.#connection
    if (connection === undefined || connection.isResumed) return
    const { told } = connection
    for (const cursor of cursors) told.set(keyOf(cursor.toward, cursor.sender, cursor.rid), cursor)
    if (told.size > MAX_CURSORS) throw invalidFrame(`tells of more than ${MAX_CURSORS} parts`)
    if (!last) return
    connection.isResumed = true
    this.link.giveBack((slot, rid) => told.get(keyOf(towardOf(slot), slot.sender, rid)))
    told.clear()
    this.#wake()
  }

  /** Sends what has come up since `wake`. */
  flush(): void {
    if (this.#toAcknowledge !== undefined) this.tell({ kind: 'ack', number: this.#toAcknowledge })
    this.#toAcknowledge = undefined
    this.#pump()
  }

  /**
   * What leaves in one turn arrives as one and is acknowledged as one. Were that the whole window, a slow link would
   * run dry until the acknowledgement is back. So where the way is long a frame leaves first, and the rest in the next
   * turn; a round trip later that is cut in two again, until every frame is on its own.
   */
  #pump(): void {
    const connection = this.#connection
    if (connection?.isResumed !== true) return
    const isWhole = connection.isRestDue || !connection.window.isWayLong
    connection.isRestDue = false
    while (this.#sendFrame(connection)) {
      if (isWhole) continue
      connection.isRestDue = !this.link.isIdle && connection.window.frameBytes > 0
      if (connection.isRestDue) this.#wake()
      return
    }
  }

  /** False when there is nothing to send, or no room in the window. */
  #sendFrame({ window, encoder }: Connection): boolean {
    const bytes = window.frameBytes
    const batch = bytes === 0 ? undefined : this.link.take(bytes)
    if (batch === undefined) return false
    const replaced = encoder.replaced
    const frame = encoder.encode(batch)
    this.#unsendable += encoder.replaced - replaced
    window.sent(batch.number, frame.length, this.#surroundings.now())
    this.#surroundings.send(this.id, 'data', frame)
    return true
  }

  acknowledged(number: number): void {
    if (this.#connection === undefined || !this.link.acknowledge(number)) return
    this.#connection.window.acknowledged(number, this.#surroundings.now())
    this.#wake()
  }

  /** Decodes a data frame. Throws FRAME_INVALID. */
  decode(frame: Uint8Array): DataFrame | undefined {
    return this.#connection?.decoder.decode(frame)
  }

  /** The frame's items are in the next queues: they will not be asked for again. */
  took({ number, parts }: DataFrame): void {
    for (const { toward, sender, rid, items } of parts) {
      // Items are in order, so that the last one says it for all of them.
      const last = items.findLast(({ kind }) => kind !== 'marker')
      const next = last === undefined ? undefined : nextAfter(last)
      if (next !== undefined) this.#expect({ ...next, toward, sender, ...(rid === undefined ? {} : { rid }) })
    }
    this.#toAcknowledge = number
    this.#wake()
  }

  /** The latest heard of is the last in the order, so that the first to be forgotten is the oldest. */
  #expect(cursor: ToldCursor): void {
    const key = keyOf(cursor.toward, cursor.sender, cursor.rid)
    this.#cursors.delete(key)
    this.#cursors.set(key, cursor)
    if (this.#cursors.size > MAX_CURSORS) this.#cursors.delete(this.#cursors.keys().next().value!)
  }

  #tellCursors(cursors: readonly ToldCursor[]): void {
    for (let i = 0; i === 0 || i < cursors.length; i += CURSORS_PER_MESSAGE) {
      const last = i + CURSORS_PER_MESSAGE >= cursors.length
      this.tell({ kind: 'resume', cursors: cursors.slice(i, i + CURSORS_PER_MESSAGE), last })
    }
  }

  heard(): void {
    if (this.#connection !== undefined) this.#connection.heardAt = this.#surroundings.now()
  }

  /** Asks a silent peer whether it lives. False when it does not. */
  beat(): boolean {
    const connection = this.#connection
    if (connection === undefined) return true
    const now = this.#surroundings.now()
    const silentMs = now - connection.heardAt
    if (silentMs >= MISSED_HEARTBEATS * HEARTBEAT_MS) return false
    if (silentMs >= HEARTBEAT_MS && now - connection.pingedAt >= HEARTBEAT_MS) {
      connection.pingedAt = now
      this.tell({ kind: 'ping', at: now })
    }
    return true
  }
}

/** Where a slot's items go: the prefix of its buffer's name. */
export function towardOf(slot: Slot): Toward {
  return slot.buffer.slice(0, 2) as Toward
}

function keyOf(toward: Toward, sender: string, rid: string | undefined): string {
  return `${toward}${sender}${rid ?? ''}`
}
