// Events and their values, as packing sees them (PACK section 2).
import { bytesToHex } from '@noble/hashes/utils.js'

/** A value that is not a set. */
export type Scalar = number | string | boolean | Uint8Array

/** An attribute's value. An array is a set; `null`, `undefined` and NaN are missing values. */
export type Value = Scalar | readonly Scalar[] | null | undefined

/** An event as applications write it: tag to value. */
export type Attributes = Readonly<Record<string, Value>>

/**
 * The events of one sender's queue, by position 0 to length - 1 in queue order.
 * Epochs never fall from one position to the next; within an epoch sequence numbers rise.
 */
export interface Events {
  readonly length: number
  epoch(position: number): number
  seq(position: number): number
  /** Publish time in milliseconds. */
  time(position: number): number
  /** The values of these attributes, a column for each, by position. One call reads each event once. */
  columns(tags: readonly string[]): readonly (readonly Value[])[]
}

/** Whether a value is missing: null, undefined or NaN. */
export function isMissing(value: Value): value is null | undefined {
  // biome-ignore lint/suspicious/noSelfCompare: NaN is the only value that differs from itself
  return value === null || value === undefined || value !== value
}

/** Whether a value is a set. */
export function isSet(value: Value): value is readonly Scalar[] {
  return Array.isArray(value)
}

/** The text by which a scalar compares when it does not compare as a number; bytes compare as hex. */
export function textOf(value: Scalar): string {
  return value instanceof Uint8Array ? bytesToHex(value) : String(value)
}

/**
 * A primitive that is the same for equal values and differs for different ones: sets are equal when they
 * have the same members, bytes when they have the same content, all missing values are equal.
 */
export function identityOf(value: Value): number | string | boolean | null {
  if (isMissing(value)) return null
  if (typeof value === 'string') return value.charCodeAt(0) === 0 ? `\0s${value}` : value
  if (typeof value !== 'object') return value
  if (value instanceof Uint8Array) return `\0b${unitsOf(value)}`
  const members = value.map((member) => {
    const identity = String(identityOf(member))
    return `${typeof member}${identity.length}:${identity}`
  })
  return `\0m${[...new Set(members)].sort().join()}`
}

/** Orders strings by code point (JavaScript's own order is by UTF-16 unit): negative, 0 or positive. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    // Surrogates (0xd800 to 0xdfff) stand for code points above every other unit.
    if (x !== y) return rankOf(x) - rankOf(y)
  }
  return a.length - b.length
}

function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

/** Bytes handed to one call as arguments: engines take tens of thousands. */
const CHUNK_BYTES = 8192

/** A character for each byte: five times faster than hex, which only people need. */
function unitsOf(bytes: Uint8Array): string {
  let units = ''
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
    const chunk = bytes.subarray(from, from + CHUNK_BYTES)
    units += String.fromCharCode.apply(null, chunk as unknown as number[])
  }
  return units
}
