// The contract suite of digesters: the laws of `policies/digester.ts` that every one obeys, built-in or a
// user's, so that a digest of digests equals the digest of everything below it (PACK section 2).
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DigesterDefinition, Shown, State } from '../../policies/digester.ts'
import type { Events, Value } from '../../policies/event.ts'

const SIZE_LIMIT_BYTES = 16 * 1024
const TOLERANCE = 1e-9

/** Declares the suite. `values` makes what an attribute may hold, missing values among them. */
export function digesterContract(definition: DigesterDefinition, values: fc.Arbitrary<Value>): void {
  const columns = fc.array(values, { maxLength: 150 })
  const splits = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 })

  describe(`${definition.name} as a digester`, () => {
    it('shows the same for merged parts as for the whole', () => {
      fc.assert(
        fc.property(columns, splits, (column, at) => {
          const digests = partsOf(definition, column, at)
          const merged = digests.reduce(
            (state, part) => mergeInto(definition, state, part),
            definition.create(),
          )
          expectSame(definition.show(merged), definition.show(digestOf(definition, column)), column)
        }),
      )
    })

    it('shows the same when a state is added to piece by piece', () => {
      fc.assert(
        fc.property(columns, splits, (column, at) => {
          const state = definition.create()
          for (const [from, to] of rangesOf(column.length, at)) addRange(definition, state, column, from, to)
          expectSame(definition.show(state), definition.show(digestOf(definition, column)), column)
        }),
      )
    })

    it('merges associatively', () => {
      fc.assert(
        fc.property(columns, fc.tuple(fraction, fraction), (column, at) => {
          const [a, b, c] = threeParts(definition, column, at)
          const left = copyMerge(definition, copyMerge(definition, a, b), c)
          const right = copyMerge(definition, a, copyMerge(definition, b, c))
          expectSame(definition.show(left), definition.show(right), column)
        }),
      )
    })

    it('takes an empty state as neutral on both sides', () => {
      fc.assert(
        fc.property(columns, (column) => {
          const state = digestOf(definition, column)
          const before = definition.show(state)
          expectSame(definition.show(copyMerge(definition, definition.create(), state)), before, column)
          definition.merge(state, definition.create())
          expectSame(definition.show(state), before, column)
        }),
      )
    })

    it('does not change the state that is merged into another', () => {
      fc.assert(
        fc.property(columns, fraction, (column, at) => {
          const [first, later] = partsOf(definition, column, [at])
          const before = structuredClone(later)
          definition.merge(first, later!)
          expect(later).toStrictEqual(before)
        }),
      )
    })

    it('copies when it merges into a fresh state', () => {
      fc.assert(
        fc.property(columns, fraction, (column, at) => {
          const [first, later] = partsOf(definition, column, [at])
          const before = structuredClone(first)
          const copy = mergeInto(definition, definition.create(), first)
          addRange(definition, copy, column, 0, column.length)
          definition.merge(copy, later!)
          expect(first).toStrictEqual(before)
        }),
      )
    })

    it('makes states that are independent of each other', () => {
      fc.assert(
        fc.property(columns, (column) => {
          const fresh = structuredClone(definition.create())
          digestOf(definition, column)
          expect(definition.create()).toStrictEqual(fresh)
        }),
      )
    })

    it('reads only the positions it is given', () => {
      fc.assert(
        fc.property(columns, fraction, fraction, (column, x, y) => {
          const from = Math.floor(Math.min(x, y) * column.length)
          const to = Math.floor(Math.max(x, y) * column.length)
          const state = definition.create()
          addRange(definition, state, column, from, to)
          const alone = digestOf(definition, column.slice(from, to), numbersFrom(from, to))
          expectSame(definition.show(state), definition.show(alone), column)
        }),
      )
    })

    it.runIf(definition.attribute)('shows the same with missing values and without them', () => {
      const missing = fc.constantFrom(null, undefined, Number.NaN)
      fc.assert(
        fc.property(fc.array(fc.oneof(values, missing), { maxLength: 100 }), (column) => {
          const present = numbersFrom(0, column.length).filter((seq) => !isNothing(column[seq - 1]))
          const without = digestOf(
            definition,
            present.map((seq) => column[seq - 1]),
            present,
          )
          expectSame(definition.show(digestOf(definition, column)), definition.show(without), column)
        }),
      )
    })

    it('shows JSON', () => {
      fc.assert(
        fc.property(columns, (column) => {
          const shown = definition.show(digestOf(definition, column))
          expectSame(JSON.parse(JSON.stringify(shown)), shown, [])
        }),
      )
    })

    it('has a plain state that stays plain and a copy of which works as well', () => {
      fc.assert(
        fc.property(columns, fraction, (column, at) => {
          const [first, later] = partsOf(definition, column, [at])
          expectPlain(first)
          const carried = structuredClone(first)
          definition.merge(carried, structuredClone(later))
          expectPlain(carried)
          expectSame(definition.show(carried), definition.show(digestOf(definition, column)), column)
        }),
      )
    })

    it('has a small state after 100,000 values', () => {
      const many = fc.sample(values, { numRuns: 2_000, seed: 1 })
      const column = Array.from({ length: 100_000 }, (_, i) => vary(many[i % many.length], i))
      const state = digestOf(definition, column)
      expectPlain(state)
      expect(sizeOf(state)).toBeLessThan(SIZE_LIMIT_BYTES)
    })
  })
}

/** Events numbered `seqs` (by default from 1) of one epoch, one a second. */
export function eventsOf(column: readonly Value[], seqs = numbersFrom(0, column.length)): Events {
  return {
    length: column.length,
    epoch: () => 1,
    seq: (position) => seqs[position]!,
    time: (position) => seqs[position]! * 1000,
    columns: (tags) => tags.map(() => column),
  }
}

/** The state of a digester that was given the whole column at once. */
export function digestOf(definition: DigesterDefinition, column: readonly Value[], seqs?: number[]): State {
  const state = definition.create()
  definition.add(state, valuesFor(definition, column), 0, column.length, eventsOf(column, seqs))
  return state
}

const fraction = fc.double({ min: 0, max: 1, noNaN: true })

function addRange(
  definition: DigesterDefinition,
  state: State,
  column: readonly Value[],
  from: number,
  to: number,
): void {
  definition.add(state, valuesFor(definition, column), from, to, eventsOf(column))
}

/** A digester that reads no attribute is given no column. */
function valuesFor(definition: DigesterDefinition, column: readonly Value[]): readonly Value[] {
  return definition.attribute ? column : []
}

function partsOf(definition: DigesterDefinition, column: readonly Value[], at: readonly number[]): State[] {
  return rangesOf(column.length, at).map(([from, to]) => {
    const state = definition.create()
    addRange(definition, state, column, from, to)
    return state
  })
}

function threeParts(
  definition: DigesterDefinition,
  column: readonly Value[],
  at: readonly [number, number],
): readonly [State, State, State] {
  const [a, b, c] = partsOf(definition, column, at)
  return [a, b, c]
}

function rangesOf(length: number, at: readonly number[]): (readonly [number, number])[] {
  const cuts = at.map((share) => Math.floor(share * length)).sort((a, b) => a - b)
  const ends = [...cuts, length]
  return ends.map((end, i) => [i === 0 ? 0 : ends[i - 1]!, end] as const)
}

function mergeInto(definition: DigesterDefinition, state: State, later: State): State {
  definition.merge(state, later)
  return state
}

function copyMerge(definition: DigesterDefinition, first: State, later: State): State {
  return mergeInto(definition, mergeInto(definition, definition.create(), first), later)
}

function numbersFrom(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i + 1)
}

function isNothing(value: Value): boolean {
  return value === null || value === undefined || Number.isNaN(value)
}

/** A different value of the same kind and about the same size for every `i`. */
function vary(value: Value, i: number): Value {
  if (typeof value === 'number') return value * (1 + i / 1000)
  if (typeof value === 'string') return `${i} ${value}`
  return value
}

/** Equal but for rounding: to 1e-9 of the larger of the two, or of the largest finite number that went in. */
function expectSame(actual: Shown, expected: Shown, column: readonly Value[]): void {
  const scale = column.reduce<number>(
    (max, v) => (Number.isFinite(v) ? Math.max(max, Math.abs(v as number)) : max),
    0,
  )
  const problem = difference(actual, expected, scale)
  if (problem) expect(actual, `differs by more than rounding at ${problem}`).toStrictEqual(expected)
}

/** Where two shown values differ, or undefined. */
function difference(a: Shown, b: Shown, scale: number, path = 'the top'): string | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b), scale) ? undefined : path
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return Object.is(a, b) ? undefined : path
  }
  const [x, y] = [Object.entries(a), new Map<string, Shown>(Object.entries(b))]
  if (Array.isArray(a) !== Array.isArray(b) || x.length !== y.size) return path
  for (const [key, value] of x) {
    const other = y.get(key)
    const problem = other === undefined ? key : difference(value, other, scale, key)
    if (problem) return problem
  }
  return undefined
}

function expectPlain(state: State): void {
  if (Array.isArray(state)) {
    for (const part of state) expectPlain(part)
    return
  }
  if (state === null || ['number', 'string', 'boolean'].includes(typeof state)) return
  expect(state, 'a state is numbers, strings, booleans, null, bytes, and arrays of those').toBeInstanceOf(
    Uint8Array,
  )
}

/** Bytes of the state as JSON, in which bytes would be hex. */
function sizeOf(state: State): number {
  if (state instanceof Uint8Array) return 2 * state.length + 2
  if (Array.isArray(state)) return state.reduce((sum: number, part) => sum + sizeOf(part) + 1, 2)
  return Buffer.byteLength(JSON.stringify(state))
}
