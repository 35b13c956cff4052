// Writes the bytes of one frame: varints, floats, texts and runs of bytes. Long runs are not copied, so that one block of
// events goes to many links.
import { Uint8ArrayList } from 'uint8arraylist'
import { invalidFrame } from './frame-error.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_ENTRIES } from './limits.ts'

/** Bytes of the longest varint: safe integers have 53 bits. */
export const MAX_VARINT_BYTES = 8

/** Runs from this length on are cheaper to list than to copy. */
const LISTED_BYTES = 4_096

const textEncoder = new TextEncoder()

export class FrameWriter {
  #bytes: Uint8Array
  #view: DataView
  #at = 0
  readonly #list = new Uint8ArrayList()
  /** Where what is not in the list begins. */
  #unlisted = 0
  /** Of the runs that were not copied. */
  #notCopied = 0
  #entriesLeft = MAX_FRAME_ENTRIES

  /** Room for so many bytes; it grows when that is not enough. */
  constructor(bytes: number) {
    this.#bytes = new Uint8Array(bytes)
    this.#view = new DataView(this.#bytes.buffer)
  }

  get length(): number {
    return this.#at + this.#notCopied
  }

  /** The frame. */
  finish(): Uint8ArrayList {
    this.#listCopied()
    return this.#list
  }

  /** What was written from a place on, as a copy; without long runs. */
  since(start: number): Uint8Array {
    return this.#bytes.slice(start - this.#notCopied, this.#at)
  }

  /** Counts entries of the frame. */
  spend(entries: number): void {
    this.#entriesLeft -= entries
    if (this.#entriesLeft < 0) throw invalidFrame(`has more than ${MAX_FRAME_ENTRIES} entries`)
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = value
  }

  /** Seven bits a byte, the lowest first; the highest bit says that more follow. */
  varint(value: number): void {
    // True for whole numbers from 0 to 127 only.
    if ((value & 0x7f) === value) this.byte(value)
    else this.#longVarint(value)
  }

  /** A whole number of either sign: n as 2n, -n as 2n - 1. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value)
  }

  float(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.#at, value, true)
    this.#at += 8
  }

  /** Its length in bytes, and UTF-8. */
  text(text: string, maxBytes: number): void {
    const bytes = textEncoder.encode(text)
    if (bytes.length > maxBytes) throw invalidFrame(`has a text of more than ${maxBytes} bytes`)
    this.varint(bytes.length)
    this.bytes(bytes)
  }

  /** Nobody may write them any more. */
  bytes(bytes: Uint8Array): void {
    if (bytes.length >= LISTED_BYTES) {
      this.#listCopied()
      this.#list.append(bytes)
      this.#notCopied += bytes.length
      return
    }
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  #listCopied(): void {
    if (this.#at > this.#unlisted) this.#list.append(this.#bytes.subarray(this.#unlisted, this.#at))
    this.#unlisted = this.#at
  }

  #longVarint(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw invalidFrame(`cannot hold ${value} as a count`)
    this.#reserve(MAX_VARINT_BYTES)
    let rest = value
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#at++] = rest
  }

  #reserve(more: number): void {
    const least = this.#at + more
    if (least <= this.#bytes.length) return
    // A varint reserves more than it may need.
    if (least > MAX_FRAME_BYTES + MAX_VARINT_BYTES)
      throw invalidFrame(`has more than ${MAX_FRAME_BYTES} bytes`)
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, least))
    grown.set(this.#bytes)
    this.#bytes = grown
    this.#view = new DataView(grown.buffer)
  }
}
