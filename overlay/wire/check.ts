// Checks of JSON from strangers. A check returns what it was given, without fields it does not know, or throws
// FRAME_INVALID with the name of the field and what was expected.
import { invalidFrame } from './frame-error.ts'

export type Check<T> = (value: unknown, name: string) => T

/** A check for each field; one that may be absent has a check that says so. */
export type Fields<T> = {
  readonly [K in Exclude<keyof T, 'kind'>]-?: Check<
    Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K]
  >
}

/** A value of which `holds` is true; `expected` completes "expected …". */
export function value<T>(expected: string, holds: (value: unknown) => boolean): Check<T> {
  return (value, name) => {
    if (!holds(value)) throw invalidFrame(`has a bad ${JSON.stringify(name)}, expected ${expected}`)
    return value as T
  }
}

/** At most so many characters. */
export function text(maxLength: number): Check<string> {
  return value(
    `a text of at most ${maxLength}`,
    (text) => typeof text === 'string' && text.length <= maxLength,
  )
}

/** A safe integer from 0 on. */
export function count(max = Number.MAX_SAFE_INTEGER): Check<number> {
  return value(`a whole number from 0 to ${max}`, (count) => {
    return Number.isSafeInteger(count) && (count as number) >= 0 && (count as number) <= max
  })
}

export const flag: Check<boolean> = value('true or false', (flag) => typeof flag === 'boolean')

export const finite: Check<number> = value('a number', Number.isFinite)

export function oneOf<T extends string>(...texts: T[]): Check<T> {
  return value(texts.join(', '), (text) => texts.includes(text as T))
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, name) => (value === undefined ? undefined : check(value, name))
}

export function list<T>(member: Check<T>, maxLength: number): Check<readonly T[]> {
  const isList = value<unknown[]>(`a list of at most ${maxLength}`, (list) => {
    return Array.isArray(list) && list.length <= maxLength
  })
  return (value, name) => isList(value, name).map((one) => member(one, name))
}

/** An object with these fields. */
export function record<T>(fields: Fields<T>): Check<T> {
  const checks = Object.entries(fields) as [string, Check<unknown>][]
  return (value, name) => {
    const given = object(value, name)
    const taken: Record<string, unknown> = {}
    for (const [field, check] of checks) {
      const one = check(Object.hasOwn(given, field) ? given[field] : undefined, field)
      if (one !== undefined) taken[field] = one
    }
    return taken as T
  }
}

/** An object whose `kind` says which fields it has. */
export function kinds<T extends { kind: string }>(
  fields: {
    readonly [K in T['kind']]: Fields<Extract<T, { kind: K }>>
  },
): Check<T> {
  const checks = new Map(Object.entries(fields).map(([kind, of]) => [kind, record(of as Fields<object>)]))
  return (value, name) => {
    const { kind } = object(value, name)
    const check = checks.get(kind as string)
    if (check === undefined) throw invalidFrame(`has a message of a kind that is not known`)
    return { kind, ...check(value, name) } as T
  }
}

/** Any JSON of at most so many characters and values, and lists and objects in one another. */
export function json<T>(maxSize: number, maxDepth: number): Check<T> {
  const fits = (value: unknown) => object(value, 'json') && sizeOf(value, maxDepth) <= maxSize
  return value(`an object of at most ${maxSize} characters, ${maxDepth} deep`, fits)
}

export const object: Check<Record<string, unknown>> = value('an object', (value) => {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
})

/** Characters of all texts and keys, and one for each value; infinite when it is deeper than allowed. */
function sizeOf(value: unknown, depth: number): number {
  if (typeof value === 'string') return 1 + value.length
  if (typeof value !== 'object' || value === null) return 1
  if (depth === 0) return Number.POSITIVE_INFINITY
  let size = 1
  for (const [key, one] of Object.entries(value)) size += key.length + sizeOf(one, depth - 1)
  return size
}
