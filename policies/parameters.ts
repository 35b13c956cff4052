// Reading the parameters of a filter: from what was written to what the filter is given, and to the canonical
// form, in which equal policies are equal.
import type { Operand, ParameterType } from './filter.ts'
import { policyLimits, UNWRITABLE } from './limits.ts'
import type { ParameterOutline, Piece } from './outline.ts'
import { type Complaints, quoted } from './policy-error.ts'

/** A parameter's value as the filter gets it, and as the canonical policy has it. */
export interface Read {
  readonly value: unknown
  readonly canonical: string | number | readonly (string | number)[]
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const DURATION = /^(.*?)(ms|s|m|h|d)?$/s
const MILLISECONDS = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/** What a parameter of each type takes, in words. */
export const EXPECTED: Readonly<Record<ParameterType, string>> = {
  operand: 'a value',
  operands: 'one value or more',
  number: 'a finite number',
  count: 'a whole number from 1',
  fraction: 'a number from 0 to 1',
  duration: 'milliseconds, or a number with a unit (ms s m h d)',
  text: 'a text',
}

/** The parameter's value; undefined after a complaint. */
export function readParameter(
  type: ParameterType,
  outline: ParameterOutline,
  complaints: Complaints,
): Read | undefined {
  if (type === 'operands') return readOperands(outline, complaints)
  const [piece, second] = outline.values
  if (second !== undefined && !outline.list) {
    return complaints.add(second.where, `${quoted(outline.name)} is repeated, expected one value`)
  }
  if (piece === undefined || outline.list) return complaints.add(outline.where, 'a list, expected one value')
  if (type === 'operand') return readOperand(piece, complaints)
  if (type === 'text') return readPattern(piece, complaints)
  return readNumber(type, piece, complaints)
}

/** A non-empty text without characters that XML cannot hold; undefined after a complaint. */
export function readName(piece: Piece, what: string, complaints: Complaints): string | undefined {
  const text = readText(piece, policyLimits.textLength, complaints)
  if (text === '') return complaints.add(piece.where, `an empty ${what}, expected a name`)
  return text
}

/** Each once and in one order, to the filter too: a set is the same however it was written. */
function readOperands({ values, where }: ParameterOutline, complaints: Complaints): Read | undefined {
  if (values.length === 0) return complaints.add(where, `an empty list, expected ${EXPECTED.operands}`)
  const reads = values.map((piece) => readOperand(piece, complaints))
  if (!reads.every((read) => read !== undefined)) return undefined
  const once = [...new Map(reads.map((read) => [read.value.text, read])).values()].sort(inOrder)
  return { value: once.map((read) => read.value), canonical: once.map((read) => read.canonical) }
}

interface ReadOperand extends Read {
  readonly value: Operand
  readonly canonical: string | number
}

/** Numbers before texts. */
function inOrder({ canonical: a }: ReadOperand, { canonical: b }: ReadOperand): number {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : 1
}

function readOperand(piece: Piece, complaints: Complaints): ReadOperand | undefined {
  const hint = typeof piece.value === 'boolean' ? `: write "${piece.value}"` : ''
  const text = readScalar(piece, complaints, hint)
  if (text === undefined) return undefined
  if (!DECIMAL.test(text)) return { value: { text, number: undefined }, canonical: text }
  const number = Number(text)
  if (!Number.isFinite(number))
    return complaints.add(piece.where, `${quoted(text)} is too large, expected a finite number`)
  // Other spellings of a number, like 1.0, stay text: compared with texts they are not the same.
  return { value: { text, number }, canonical: String(number) === text ? number : text }
}

function readPattern(piece: Piece, complaints: Complaints): Read | undefined {
  const text = readText(piece, policyLimits.patternLength, complaints)
  return text === undefined ? undefined : { value: text, canonical: text }
}

function readNumber(type: ParameterType, piece: Piece, complaints: Complaints): Read | undefined {
  const text = readScalar(piece, complaints)
  if (text === undefined) return undefined
  const number = type === 'duration' ? durationOf(text) : decimalOf(text)
  if (!fits(type, number))
    return complaints.add(piece.where, `${quoted(text)} is wrong, expected ${EXPECTED[type]}`)
  return { value: number, canonical: number }
}

function fits(type: ParameterType, number: number): boolean {
  switch (type) {
    case 'count':
      return Number.isSafeInteger(number) && number >= 1
    case 'fraction':
      return number >= 0 && number <= 1
    case 'duration':
      return Number.isFinite(number) && number >= 0
    default:
      return Number.isFinite(number)
  }
}

/** The number, NaN when it is none. Adding 0 makes the one zero of -0, which prints as 0. */
function decimalOf(text: string): number {
  return DECIMAL.test(text) ? Number(text) + 0 : Number.NaN
}

function durationOf(text: string): number {
  const [, digits = '', unit = 'ms'] = DURATION.exec(text) ?? []
  const ms = decimalOf(digits) * MILLISECONDS.get(unit)!
  // Microseconds are enough, and 1.005s is then 1005 and not 1004.9999999999999.
  return unit === 'ms' || !Number.isFinite(ms) ? ms : Math.round(ms * 1000) / 1000
}

function readScalar(piece: Piece, complaints: Complaints, hint = ''): string | undefined {
  const { value, where } = piece
  if (typeof value === 'number') {
    return Number.isFinite(value)
      ? String(value)
      : complaints.add(where, `${value} is wrong, expected a finite number`)
  }
  return readText(piece, policyLimits.textLength, complaints, `a number or a text${hint}`)
}

function readText(
  { value, where }: Piece,
  limit: number,
  complaints: Complaints,
  expected = 'a text',
): string | undefined {
  if (typeof value !== 'string')
    return complaints.add(where, `${quoted(value)} is wrong, expected ${expected}`)
  if (value.length > limit) complaints.limit(where, `${value.length} characters, the limit is ${limit}`)
  if (UNWRITABLE.test(value) || !value.isWellFormed()) {
    return complaints.add(
      where,
      `${quoted(value)} has a control character or half a character, expected text`,
    )
  }
  return value
}
