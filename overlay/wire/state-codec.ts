// Digesters' states on the wire: plain data that says what it is.
import type { State } from '../../policies/digester.ts'
import { invalidFrame } from './frame-error.ts'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MAX_FRAME_BYTES, MAX_STATE_DEPTH } from './limits.ts'

/** What a value begins with. */
const NULL = 0
const FALSE = 1
const TRUE = 2
const FLOAT = 3
const INTEGER = 4
const TEXT = 5
const BYTES = 6
const LIST = 7
/** A text with half a surrogate pair, which UTF-8 cannot hold: its UTF-16 units, two bytes each. */
const UNITS = 8

/** Whole numbers beyond this are no shorter as INTEGER than as FLOAT. */
const MAX_INTEGER = 2 ** 48 - 1

export function writeState(writer: FrameWriter, state: State, depth = 0): void {
  writer.spend(1)
  if (state === null) writer.byte(NULL)
  else if (typeof state === 'boolean') writer.byte(state ? TRUE : FALSE)
  else if (typeof state === 'number') writeNumber(writer, state)
  else if (typeof state === 'string') writeText(writer, state)
  else if (state instanceof Uint8Array) {
    writer.byte(BYTES)
    writer.varint(state.length)
    writer.bytes(state)
  } else if (Array.isArray(state)) writeList(writer, state, depth + 1)
  else throw invalidFrame(`cannot hold a state with a value of type ${typeof state}`)
}

export function readState(reader: FrameReader, depth = 0): State {
  reader.spend(1)
  const kind = reader.byte()
  switch (kind) {
    case NULL:
      return null
    case FALSE:
      return false
    case TRUE:
      return true
    case FLOAT:
      return reader.float()
    case INTEGER:
      return readInteger(reader)
    case TEXT:
      return reader.text(MAX_FRAME_BYTES)
    case BYTES:
      // A copy: a state lives longer than its frame.
      return reader.bytes(reader.varint()).slice()
    case LIST:
      return readList(reader, depth + 1)
    case UNITS:
      return readUnits(reader)
    default:
      throw invalidFrame(`has a state's value of unknown kind ${kind}`)
  }
}

function writeNumber(writer: FrameWriter, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) <= MAX_INTEGER && !Object.is(value, -0)) {
    writer.byte(INTEGER)
    writer.varint(value < 0 ? -2 * value - 1 : 2 * value)
  } else {
    writer.byte(FLOAT)
    writer.float(value)
  }
}

function readInteger(reader: FrameReader): number {
  const zigzag = reader.count('a whole number, zigzag,', 2 * MAX_INTEGER)
  return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
}

function writeText(writer: FrameWriter, text: string): void {
  if (text.isWellFormed()) {
    writer.byte(TEXT)
    writer.text(text, MAX_FRAME_BYTES)
    return
  }
  writer.byte(UNITS)
  writer.varint(text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    writer.byte(unit & 0xff)
    writer.byte(unit >> 8)
  }
}

function readUnits(reader: FrameReader): string {
  const bytes = reader.bytes(2 * reader.count('the length of a text', MAX_FRAME_BYTES))
  const units: string[] = []
  for (let i = 0; i < bytes.length; i += 2) units.push(String.fromCharCode(bytes[i]! | (bytes[i + 1]! << 8)))
  return units.join('')
}

function writeList(writer: FrameWriter, list: readonly State[], depth: number): void {
  checkDepth(depth)
  writer.byte(LIST)
  writer.varint(list.length)
  for (const value of list) writeState(writer, value, depth)
}

function readList(reader: FrameReader, depth: number): State[] {
  checkDepth(depth)
  const list: State[] = []
  for (let count = reader.varint(); count > 0; count--) list.push(readState(reader, depth))
  return list
}

function checkDepth(depth: number): void {
  if (depth > MAX_STATE_DEPTH)
    throw invalidFrame(`has a state of more than ${MAX_STATE_DEPTH} lists in lists`)
}
