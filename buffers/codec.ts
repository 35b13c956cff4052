// How an event's values become bytes and come back. A body holds one value for each tag of its sender's schema,
// in that order; the tags travel once, apart. Filters need columns: those are read without the rest.
import { SpillwayError } from '../policies/error.ts'
import type { Attributes, Scalar, Value } from '../policies/event.ts'

/** The tags of a sender's events, in the order in which bodies hold their values. */
export interface Schema {
  readonly tags: readonly string[]
}

/** Bytes of the longest body. */
export const MAX_BODY_BYTES = 65_536

/** What a value begins with. */
const MISSING = 0
const FALSE = 1
const TRUE = 2
const FLOAT = 3
const INTEGER = 4
const TEXT = 5
const BYTES = 6
const SET = 7

/** Whole numbers up to this size, either way, are written as INTEGER, in at most 5 bytes after the kind. */
const MAX_INTEGER = 2 ** 31 - 1
const SHORT_TEXT = 24

const textEncoder = new TextEncoder()
/** Without `ignoreBOM` a text would lose the byte order mark it begins with. */
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Writes bodies into memory that grows. */
export class BodyWriter {
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #at = 0

  /** The body of an event; valid until the next call. Throws EVENT_INVALID for what cannot be encoded. */
  encode(schema: Schema, attributes: Attributes): Uint8Array {
    this.#at = 0
    for (const tag of schema.tags) {
      this.#value(Object.hasOwn(attributes, tag) ? attributes[tag] : undefined)
      if (this.#at > MAX_BODY_BYTES) throw tooLarge()
    }
    return this.#bytes.subarray(0, this.#at)
  }

  #value(value: Value): void {
    if (Array.isArray(value)) {
      this.#kind(SET)
      this.#count(value.length)
      for (const member of value) this.#scalar(member)
    } else this.#scalar(value as Scalar | null | undefined)
  }

  #scalar(value: Scalar | null | undefined): void {
    if (value === null || value === undefined) this.#kind(MISSING)
    else if (typeof value === 'number') this.#number(value)
    else if (typeof value === 'string') this.#text(value)
    else if (typeof value === 'boolean') this.#kind(value ? TRUE : FALSE)
    else if (value instanceof Uint8Array) this.#run(BYTES, value)
    else
      throw invalid(
        `a value of type ${typeof value}, expected a number, text, boolean, bytes or a set of those`,
      )
  }

  #number(value: number): void {
    if (Number.isInteger(value) && Math.abs(value) <= MAX_INTEGER && !Object.is(value, -0)) {
      this.#kind(INTEGER)
      this.#count(value < 0 ? -2 * value - 1 : 2 * value)
      return
    }
    this.#reserve(9)
    this.#bytes[this.#at] = FLOAT
    this.#view.setFloat64(this.#at + 1, value, true)
    this.#at += 9
  }

  #text(value: string): void {
    if (value.length <= SHORT_TEXT && this.#ascii(value)) return
    if (value.length > MAX_BODY_BYTES) throw tooLarge()
    this.#run(TEXT, textEncoder.encode(value))
  }

  /** Writes a short text without calling the encoder; false when it is not ASCII. */
  #ascii(value: string): boolean {
    this.#reserve(2 + SHORT_TEXT)
    const bytes = this.#bytes
    const start = this.#at + 2
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i)
      if (unit > 0x7f) return false
      bytes[start + i] = unit
    }
    bytes[this.#at] = TEXT
    bytes[this.#at + 1] = value.length
    this.#at = start + value.length
    return true
  }

  #run(kind: number, bytes: Uint8Array): void {
    if (bytes.length > MAX_BODY_BYTES) throw tooLarge()
    this.#kind(kind)
    this.#count(bytes.length)
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  #kind(kind: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = kind
  }

  /** Seven bits a byte, the lowest first; the highest bit says that more follow. */
  #count(count: number): void {
    this.#reserve(5)
    let rest = count
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#at++] = rest
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    if (this.#at > MAX_BODY_BYTES) throw tooLarge()
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + more))
    grown.set(this.#bytes)
    this.#bytes = grown
    this.#view = new DataView(grown.buffer)
  }
}

function tooLarge(): SpillwayError {
  return invalid(`more than ${MAX_BODY_BYTES} bytes, expected a smaller event`)
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('EVENT_INVALID', `the event has ${message}`)
}

/** A text that was read: its bytes, and what they say. */
interface LastText {
  readonly start: number
  readonly length: number
  readonly text: string
}

/** Reads bodies. A body that does not hold what it says throws a RangeError. */
export class BodyReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0
  #end = 0
  #areViews = false
  /** The place in the schema of the value that is read. */
  #place = 0
  /** By place, the last text: most are the same in many events, and finding that out is cheaper than decoding. */
  readonly #lastTexts: (LastText | undefined)[] = []

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** All values of the body between two offsets, by tag. */
  attributes(schema: Schema, from: number, to: number): Attributes {
    this.#open(from, to)
    const attributes: Record<string, Value> = Object.create(null)
    for (const tag of schema.tags) attributes[tag] = this.#value()
    return attributes
  }

  /** As `attributes`, but into an object that has the tags already, and bytes are views, not copies. */
  read(schema: Schema, from: number, to: number, into: Record<string, Value>): void {
    this.#open(from, to)
    this.#areViews = true
    const { tags } = schema
    for (let i = 0; i < tags.length; i++) {
      this.#place = i
      into[tags[i]!] = this.#value()
    }
    this.#areViews = false
  }

  /**
   * Puts the values at some places of the schema (ascending) of the body between two offsets into the columns
   * of the same order, at one position.
   */
  pick(places: readonly number[], columns: readonly Value[][], position: number, from: number, to: number) {
    this.#open(from, to)
    let place = 0
    for (let c = 0; c < places.length; c++) {
      for (; place < places[c]!; place++) this.#skip()
      this.#place = place++
      columns[c]![position] = this.#value()
    }
  }

  #open(from: number, to: number): void {
    this.#at = from
    this.#end = to
  }

  #value(): Value {
    const kind = this.#byte()
    if (kind !== SET) return this.#scalar(kind)
    const members: Scalar[] = []
    for (let count = this.#count(); count > 0; count--) {
      const member = this.#scalar(this.#byte())
      if (member !== undefined) members.push(member)
    }
    return members
  }

  #scalar(kind: number): Scalar | undefined {
    switch (kind) {
      case MISSING:
        return undefined
      case FALSE:
        return false
      case TRUE:
        return true
      case FLOAT:
        return this.#view.getFloat64(this.#advance(8), true)
      case INTEGER: {
        const count = this.#count()
        return count % 2 === 0 ? count / 2 : -(count + 1) / 2
      }
      case TEXT:
        return this.#text()
      case BYTES: {
        const length = this.#count()
        const start = this.#advance(length)
        const view = this.#bytes.subarray(start, start + length)
        return this.#areViews ? view : new Uint8Array(view)
      }
      default:
        throw new RangeError(`a value of unknown kind ${kind}`)
    }
  }

  #text(): string {
    const length = this.#count()
    const start = this.#advance(length)
    const last = this.#lastTexts[this.#place]
    if (last?.length === length && this.#isSame(last.start, start, length)) return last.text
    const text = textDecoder.decode(this.#bytes.subarray(start, start + length))
    this.#lastTexts[this.#place] = { start, length, text }
    return text
  }

  #isSame(a: number, b: number, length: number): boolean {
    for (let i = 0; i < length; i++) if (this.#bytes[a + i] !== this.#bytes[b + i]) return false
    return true
  }

  #skip(): void {
    const kind = this.#byte()
    if (kind !== SET) this.#skipScalar(kind)
    else for (let count = this.#count(); count > 0; count--) this.#skipScalar(this.#byte())
  }

  #skipScalar(kind: number): void {
    if (kind === FLOAT) this.#advance(8)
    else if (kind === INTEGER) this.#count()
    else if (kind === TEXT || kind === BYTES) this.#advance(this.#count())
    else if (kind > BYTES) throw new RangeError(`a value of unknown kind ${kind}`)
  }

  #count(): number {
    let count = 0
    let scale = 1
    for (let i = 0; i < 5; i++) {
      const byte = this.#byte()
      count += (byte & 0x7f) * scale
      if (byte < 0x80) return count
      scale *= 128
    }
    throw new RangeError('a count of more than five bytes')
  }

  #byte(): number {
    return this.#bytes[this.#advance(1)]!
  }

  /** Moves on and returns where it was. */
  #advance(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#end) throw new RangeError('a body that ends too early')
    this.#at = at + bytes
    return at
  }
}
