// Hashes for what must be the same in every run: choices that are computed instead of stored, and the trace.

/** Mixes two numbers into one of 32 bits. */
export function mix(a: number, b: number): number {
  let mixed = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

/** A number in [0, 1) of a hash. */
export function fraction(hash: number): number {
  return (hash >>> 0) / 4294967296
}

/** The bytes of a frame that go into the trace: enough to tell frames apart, little enough not to be felt. */
const SAMPLED_BYTES = 24

/** A running hash of everything that happened: the same seed gives the same trace. */
export class Trace {
  #a = 0x811c9dc5
  #b = 0x1b873593
  #length = 0

  /** How many things were added. */
  get length(): number {
    return this.#length
  }

  /** 16 hex digits. */
  get hash(): string {
    return [this.#a, this.#b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
  }

  add(what: number, atMs: number, from: number, to: number): void {
    this.#length++
    // Microseconds, so that jitter counts.
    this.#mix(what ^ (from << 4), Math.floor(atMs * 1_000) | 0)
    this.#mix(to, from)
  }

  bytes(bytes: Uint8Array): void {
    const { length } = bytes
    this.#mix(length, 0)
    const step = length <= SAMPLED_BYTES ? 1 : length / SAMPLED_BYTES
    let word = 0
    for (let at = 0; at < length; at += step) word = Math.imul(word ^ bytes[at | 0]!, 0x01000193)
    this.#mix(word, length)
  }

  #mix(x: number, y: number): void {
    this.#a = Math.imul(this.#a ^ x, 0x01000193) ^ (this.#a >>> 13)
    this.#b = Math.imul(this.#b ^ y, 0x85ebca6b) ^ (this.#b >>> 16)
    this.#a ^= this.#b << 7
  }
}
