// How an application declares the attributes of its events, and what TypeScript makes of it.

import { MAX_TAGS_BYTES } from '../overlay/wire/limits.ts'
import { areTags } from '../overlay/wire/schema.ts'
import { SpillwayError } from '../policies/error.ts'
import type { Scalar, Value } from '../policies/event.ts'
import { suggestion } from '../policies/suggestion.ts'
import { RESERVED_TAGS } from './delivery.ts'
import { inWords } from './options.ts'

/** What an attribute holds; a `set` is written as an array, `any` is all of them. */
export type AttributeType = 'number' | 'string' | 'boolean' | 'bytes' | 'set' | 'any'

/** Tag to type. */
export type Declaration = Readonly<Record<string, AttributeType>>

interface Types {
  number: number
  string: string
  boolean: boolean
  bytes: Uint8Array
  set: readonly Scalar[]
  any: Value
}

/** The events of a declaration: an attribute may be missing. */
export type EventOf<D extends Declaration> = { readonly [T in keyof D]?: Types[D[T]] | null }

/** Tags of one event. */
export const MAX_TAGS = 256

const TYPES: readonly string[] = [
  'number',
  'string',
  'boolean',
  'bytes',
  'set',
  'any',
] satisfies AttributeType[]
/** What others call them. */
const SYNONYMS: Readonly<Record<string, AttributeType>> = {
  int: 'number',
  integer: 'number',
  float: 'number',
  double: 'number',
  text: 'string',
  bool: 'boolean',
  array: 'set',
  list: 'set',
}

/** Throws NAME_INVALID for attributes that events cannot have, or types that there are not. */
export function checkDeclaration(declaration: Declaration): void {
  if (typeof declaration !== 'object' || declaration === null || Array.isArray(declaration)) {
    throw new SpillwayError(
      'NAME_INVALID',
      `expected attributes with their types, like { PulseRate: 'number' }, got ${inWords(declaration)}`,
    )
  }
  checkTags(Object.keys(declaration))
  for (const [tag, type] of Object.entries<unknown>(declaration)) {
    if (TYPES.includes(type as string)) continue
    const word = String(type)
    const meant = Object.hasOwn(SYNONYMS, word) ? ` (did you mean "${SYNONYMS[word]}"?)` : ''
    throw new SpillwayError(
      'NAME_INVALID',
      `attribute "${tag}": unknown type ${inWords(type)}${meant || suggestion(word, TYPES)}, expected ${TYPES.join(', ')}`,
    )
  }
}

/** Throws NAME_INVALID for tags that events cannot have. */
export function checkTags(tags: readonly string[]): void {
  const reserved = tags.find((tag) => RESERVED_TAGS.includes(tag))
  if (reserved !== undefined) {
    throw new SpillwayError(
      'NAME_INVALID',
      `an attribute cannot be called "${reserved}", expected another name than ${RESERVED_TAGS.join(', ')}`,
    )
  }
  if (tags.length === 0 || tags.length > MAX_TAGS) {
    throw new SpillwayError('NAME_INVALID', `${tags.length} attributes, expected 1 to ${MAX_TAGS}`)
  }
  const twice = tags.find((tag, i) => tags.indexOf(tag) < i)
  if (twice !== undefined) {
    throw new SpillwayError('NAME_INVALID', `the attribute "${twice}" twice, expected each name once`)
  }
  if (tags.includes('')) throw new SpillwayError('NAME_INVALID', 'an attribute without a name, expected one')
  if (!areTags(tags)) {
    throw new SpillwayError(
      'NAME_INVALID',
      `attribute names that cannot be sent, expected well-formed text, ${MAX_TAGS_BYTES} bytes together`,
    )
  }
}

/** A declaration, as it is looked into for every event. */
export class Declared {
  readonly #tags: readonly string[]
  readonly #types: readonly AttributeType[]
  readonly #places: ReadonlyMap<string, number>

  constructor(declaration: Declaration) {
    this.#tags = Object.keys(declaration)
    this.#types = Object.values(declaration)
    this.#places = new Map(this.#tags.map((tag, place) => [tag, place]))
  }

  /**
   * Throws EVENT_INVALID for an attribute that was not declared, which would be lost without a word, or that holds
   * something else than was declared. Nothing is allocated, and attributes in the declared order are not looked up.
   */
  check(event: unknown): void {
    if (typeof event !== 'object' || event === null || Array.isArray(event))
      throw invalid(`expected an object of attributes, got ${inWords(event)}`)
    let next = 0
    for (const tag in event) {
      const place = tag === this.#tags[next] ? next : this.#places.get(tag)
      if (place === undefined) throw undeclared(tag, this.#tags)
      next = place + 1
      const type = this.#types[place]!
      const value = (event as Record<string, unknown>)[tag]
      if (!holds(type, value)) throw mistyped(tag, type, value)
    }
  }
}

/** Whether the value is of the type, or missing. */
function holds(type: AttributeType, value: unknown): boolean {
  if (type === 'number' && typeof value === 'number') return true
  if (type === 'string' && typeof value === 'string') return true
  if (type === 'boolean' && typeof value === 'boolean') return true
  if (type === 'any' && isScalar(value)) return true
  if (type === 'bytes' && value instanceof Uint8Array) return true
  if ((type === 'set' || type === 'any') && isSet(value)) return true
  return value === null || value === undefined
}

function isScalar(value: unknown): boolean {
  const type = typeof value
  return type === 'number' || type === 'string' || type === 'boolean' || value instanceof Uint8Array
}

function isSet(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  for (let i = 0; i < value.length; i++) if (!isScalar(value[i])) return false
  return true
}

const SCALARS = 'numbers, text, booleans or bytes'
const HOLDING: Readonly<Record<AttributeType, string>> = {
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  bytes: 'a Uint8Array',
  set: `a set, as an array of ${SCALARS}`,
  any: `a number, text, boolean, bytes, or an array of ${SCALARS} as a set`,
}

function undeclared(tag: string, tags: readonly string[]): SpillwayError {
  return invalid(`the sender has no attribute "${tag}"${suggestion(tag, tags)}, expected ${tags.join(', ')}`)
}

function mistyped(tag: string, type: AttributeType, value: unknown): SpillwayError {
  const wrong = Array.isArray(value) ? value.find((member) => !isScalar(member)) : undefined
  const got = wrong === undefined ? inWords(value) : `${inWords(wrong)} in an array`
  return invalid(`attribute "${tag}": expected ${HOLDING[type]}, got ${got}`)
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('EVENT_INVALID', message)
}
