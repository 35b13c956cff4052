// Frames on a stream of bytes: each is its length as an unsigned varint of at most three bytes, then so many bytes.
import { Uint8ArrayList } from 'uint8arraylist'
import type { Frame } from '../surroundings.ts'

/** A frame that is empty or longer than allowed; the stream cannot be read on. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/** Cuts the bytes of a stream into frames, all frames of a chunk at once. */
export function splitFrames(limitBytes: number) {
  return async function* (source: AsyncIterable<Uint8Array | Uint8ArrayList>): AsyncGenerator<Uint8Array[]> {
    const splitter = new FrameSplitter(limitBytes)
    for await (const chunk of source) {
      const frames: Uint8Array[] = []
      if (chunk instanceof Uint8Array) splitter.push(chunk, frames)
      else for (const part of chunk) splitter.push(part, frames)
      if (frames.length > 0) yield frames
    }
  }
}

/**
 * A frame that one chunk holds whole is a slice of it; only one that spans chunks is copied. Chunks are its own: nobody
 * else may read them afterwards.
 */
export class FrameSplitter {
  readonly #limitBytes: number
  #length = 0
  /** How many bytes of the length have been read; -1 when it is complete. */
  #lengthBytes = 0
  /** The beginning of a frame that is not complete yet; it grows with what came, not with what was announced. */
  #partial: Uint8Array = NOTHING
  #filled = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Appends the frames that this chunk completes. Throws a FrameError, after which it must not be used. */
  push(chunk: Uint8Array, frames: Uint8Array[]): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#lengthBytes >= 0) {
        this.#readLength(chunk[at++]!)
      } else if (this.#filled === 0 && chunk.length - at >= this.#length) {
        frames.push(chunk.subarray(at, at + this.#length))
        at += this.#length
        this.#next()
      } else {
        at += this.#gather(chunk.subarray(at, at + this.#length - this.#filled), frames)
      }
    }
  }

  #readLength(byte: number): void {
    this.#length |= (byte & 0x7f) << (7 * this.#lengthBytes)
    this.#lengthBytes++
    if (byte < 0x80) this.#lengthBytes = -1
    else if (this.#lengthBytes === MAX_LENGTH_BYTES)
      throw new FrameError('a frame length of more than 3 bytes')
    if (this.#lengthBytes === -1 && (this.#length === 0 || this.#length > this.#limitBytes)) {
      throw new FrameError(`a frame of ${this.#length} bytes, where 1 to ${this.#limitBytes} are allowed`)
    }
  }

  #gather(part: Uint8Array, frames: Uint8Array[]): number {
    const filled = this.#filled + part.length
    if (filled > this.#partial.length) {
      const grown = allocate(Math.min(this.#length, GROWTH * filled))
      grown.set(this.#partial.subarray(0, this.#filled))
      this.#partial = grown
    }
    const { length } = part
    this.#partial.set(part, this.#filled)
    this.#filled = filled
    free(part)
    if (filled === this.#length) {
      frames.push(this.#partial.subarray(0, filled))
      this.#next()
    }
    return length
  }

  #next(): void {
    this.#length = 0
    this.#lengthBytes = 0
    this.#filled = 0
    this.#partial = NOTHING
  }
}

/**
 * The frames with their lengths, as few buffers: what is small is copied together, because every buffer becomes a write
 * of its own below; what is large is taken as it is.
 */
export function joinFrames(frames: readonly Frame[]): Uint8ArrayList {
  const list = new Uint8ArrayList()
  const copies = allocate(copiedBytes(frames))
  let from = 0
  let at = 0
  for (const frame of frames) {
    at = writeLength(copies, at, frame.length)
    for (const piece of piecesOf(frame)) {
      if (piece.length <= COPIED_BYTES) {
        copies.set(piece, at)
        at += piece.length
      } else {
        if (at > from) list.append(copies.subarray(from, at))
        list.append(piece)
        from = at
      }
    }
  }
  if (at > from) list.append(copies.subarray(from, at))
  return list
}

/** Its memory is its own, and not cleared where that can be had. */
const allocate: (bytes: number) => Uint8Array =
  globalThis.Buffer?.allocUnsafeSlow ?? ((bytes) => new Uint8Array(bytes))

const NOTHING = new Uint8Array(0)
/** Three bytes of seven bits hold lengths below 2 MiB. */
const MAX_LENGTH_BYTES = 3
/** What is longer is cheaper to write alone than to copy. */
const COPIED_BYTES = 4 * 1024
/** Memory for a frame is at most so many times what came of it: most frames then get all of theirs at once. */
const GROWTH = 16

/**
 * What has its memory for itself gives it back at once. What arrives is collected only with the old generation, and
 * so soon that receivers would spend a seventh of their time on it.
 */
function free(chunk: Uint8Array): void {
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.length) buffer.transfer(0)
}

function piecesOf(frame: Frame): Iterable<Uint8Array> {
  return frame instanceof Uint8Array ? [frame] : frame
}

function copiedBytes(frames: readonly Frame[]): number {
  let bytes = 0
  for (const frame of frames) {
    bytes += lengthBytes(frame.length)
    for (const piece of piecesOf(frame)) if (piece.length <= COPIED_BYTES) bytes += piece.length
  }
  return bytes
}

function lengthBytes(length: number): number {
  return length < 0x80 ? 1 : length < 0x4000 ? 2 : 3
}

function writeLength(buffer: Uint8Array, at: number, length: number): number {
  let rest = length
  while (rest >= 0x80) {
    buffer[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  buffer[at++] = rest
  return at
}
