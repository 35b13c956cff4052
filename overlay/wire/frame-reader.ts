// Reads the bytes of one frame. Everything that is not there, too long or not as short as it could be throws
// FRAME_INVALID; nothing is allocated before the frame was seen to be long enough for it.
import { invalidFrame } from './frame-error.ts'
import { MAX_VARINT_BYTES } from './frame-writer.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_ENTRIES, WIRE_VERSION } from './limits.ts'

/** Strict, and a text may begin with a byte order mark. */
const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class FrameReader {
  readonly #bytes: Uint8Array
  #lazyView: DataView | undefined
  #at = 0
  #entriesLeft = MAX_FRAME_ENTRIES

  /** Begins after the version. */
  constructor(frame: Uint8Array) {
    if (frame.length > MAX_FRAME_BYTES) throw invalidFrame(`has more than ${MAX_FRAME_BYTES} bytes`)
    this.#bytes = plain(frame)
    const version = this.byte()
    if (version !== WIRE_VERSION) throw invalidFrame(`has version ${version}, expected ${WIRE_VERSION}`)
  }

  get at(): number {
    return this.#at
  }

  /** How many bytes are left. */
  get left(): number {
    return this.#bytes.length - this.#at
  }

  /** Counts entries of the frame, before memory is used for them. */
  spend(entries: number): void {
    this.#entriesLeft -= entries
    if (this.#entriesLeft < 0) throw invalidFrame(`has more than ${MAX_FRAME_ENTRIES} entries`)
  }

  byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw endsEarly()
    this.#at++
    return byte
  }

  /** A safe integer, written as short as it can be. */
  varint(): number {
    const byte = this.byte()
    return byte < 0x80 ? byte : this.#restOfVarint(byte & 0x7f)
  }

  zigzag(): number {
    const zigzag = this.varint()
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
  }

  /** A varint within bounds; `what` names it. */
  count(what: string, max: number, min = 0): number {
    const count = this.varint()
    if (count > max || count < min) throw invalidFrame(`has ${count} as ${what}, expected ${min} to ${max}`)
    return count
  }

  float(): number {
    this.#lazyView ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength)
    return this.#lazyView.getFloat64(this.#advance(8), true)
  }

  /** Milliseconds: any number but infinities and NaN. */
  time(): number {
    const time = this.float()
    if (!Number.isFinite(time)) throw invalidFrame(`has ${time} as a time`)
    return time
  }

  /** Its length in bytes, and UTF-8. */
  text(maxBytes: number): string {
    return this.utf8(this.count('the length of a text', maxBytes))
  }

  utf8(length: number): string {
    const bytes = this.bytes(length)
    try {
      return textDecoder.decode(bytes)
    } catch (error) {
      throw invalidFrame('has a text that is not UTF-8', error)
    }
  }

  /** A view, not a copy. */
  bytes(length: number): Uint8Array {
    const start = this.#advance(length)
    return this.#bytes.subarray(start, start + length)
  }

  /** What was read from a place on; a view, not a copy. */
  since(start: number): Uint8Array {
    return this.#bytes.subarray(start, this.#at)
  }

  #restOfVarint(first: number): number {
    let value = first
    let scale = 128
    for (let i = 1; i < MAX_VARINT_BYTES; i++) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return wholeVarint(value, byte)
      scale *= 128
    }
    throw invalidFrame(`has a varint of more than ${MAX_VARINT_BYTES} bytes`)
  }

  /** Moves on and returns where it was. */
  #advance(bytes: number): number {
    const at = this.#at
    if (bytes > this.left) throw endsEarly()
    this.#at = at + bytes
    return at
  }
}

function wholeVarint(value: number, lastByte: number): number {
  if (lastByte === 0) throw invalidFrame('has a varint that could be shorter')
  if (value > Number.MAX_SAFE_INTEGER) throw invalidFrame('has a varint of more than 53 bits')
  return value
}

/** Node's Buffer is an Uint8Array whose slices and constructor behave differently. */
function plain(bytes: Uint8Array): Uint8Array {
  if (bytes.constructor === Uint8Array) return bytes
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function endsEarly(): Error {
  return invalidFrame('ends too early')
}
