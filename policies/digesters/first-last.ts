// FIRST and LAST: the first and the last value among the dropped events (beyond PACK section 2).
import { defineDigester, type Shown } from '../digester.ts'
import { isMissing, isSet, type Scalar, textOf, type Value } from '../event.ts'
import { finiteOf } from './moments.ts'

/** Characters or bytes of a value that are shown: enough for a line on a screen. */
export const SHOWN_LENGTH = 256

/** Members of a set that are shown. */
export const SHOWN_MEMBERS = 16

/** Characters or bytes shown of each member, so that a cut set is about as large as two cut strings. */
export const SHOWN_MEMBER_LENGTH = 32

/** A value that was cut: plain data of bounded size. */
export type Excerpt = Scalar | readonly Scalar[]

export const FIRST = defineDigester<Excerpt[]>({
  name: 'FIRST',
  summary: 'the first value',
  attribute: true,
  create: () => [],
  add(state, values, from, to) {
    for (let i = from; i < to && state.length === 0; i++) {
      const value = values[i]
      if (!isMissing(value)) state.push(excerptOf(value))
    }
  },
  merge(state, later) {
    if (state.length === 0) state.push(...later)
  },
  show: showOnly,
})

export const LAST = defineDigester<Excerpt[]>({
  name: 'LAST',
  summary: 'the last value',
  attribute: true,
  create: () => [],
  add(state, values, from, to) {
    for (let i = to - 1; i >= from; i--) {
      const value = values[i]
      if (isMissing(value)) continue
      state[0] = excerptOf(value)
      return
    }
  },
  merge(state, later) {
    if (later.length > 0) state[0] = later[0]!
  },
  show: showOnly,
})

/**
 * The part of a value that a state keeps: one character, byte or member more than is shown, which says that
 * something was cut. It shares no memory with the value and never changes.
 */
export function excerptOf(value: NonNullable<Value>): Excerpt {
  if (!isSet(value)) return headOf(value, SHOWN_LENGTH + 1)
  return value.slice(0, SHOWN_MEMBERS + 1).map((member) => headOf(member, SHOWN_MEMBER_LENGTH + 1))
}

/** An excerpt for people: bytes as hex, what was cut ends with an ellipsis, as does a set that was. */
export function showExcerpt(excerpt: Excerpt): Shown {
  if (!isSet(excerpt)) return showScalar(excerpt, SHOWN_LENGTH)
  const shown = excerpt.slice(0, SHOWN_MEMBERS).map((member) => showScalar(member, SHOWN_MEMBER_LENGTH))
  return excerpt.length > SHOWN_MEMBERS ? [...shown, '…'] : shown
}

function showOnly(state: readonly Excerpt[]): Shown {
  return state.length === 0 ? null : showExcerpt(state[0]!)
}

function headOf(value: Scalar, length: number): Scalar {
  // Not `slice`: that of a Buffer shares its memory.
  if (value instanceof Uint8Array) return new Uint8Array(value.subarray(0, length))
  return typeof value === 'string' && value.length > length ? copyOf(value.slice(0, length)) : value
}

/** The same text in memory of its own: engines let a slice point into the text it is from, however long. */
function copyOf(slice: string): string {
  return JSON.parse(JSON.stringify(slice))
}

function showScalar(value: Scalar, length: number): Shown {
  if (typeof value === 'number') return finiteOf(value)
  if (typeof value === 'boolean') return value
  if (value.length <= length) return textOf(value)
  return `${textOf(value instanceof Uint8Array ? value.subarray(0, length) : wholeHead(value, length))}…`
}

/** The first `length` characters, or one less where that would tear a surrogate pair apart. */
function wholeHead(text: string, length: number): string {
  const unit = text.charCodeAt(length - 1)
  return text.slice(0, unit >= 0xd800 && unit <= 0xdbff ? length - 1 : length)
}
