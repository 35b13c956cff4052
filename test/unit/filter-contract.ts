// What every filter promises, built-in or a user's: call `filterContract` inside a test file.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import { DecodedEvents } from '../../policies/decoded.ts'
import type { Events, Value } from '../../policies/event.ts'
import {
  complementOf,
  type FilterDefinition,
  type Operand,
  type Parameters,
  type Select,
  type Values,
} from '../../policies/filter.ts'
import type { Mode } from '../../policies/policy.ts'

/** The compiled parameters of a filter, as a test writes them. */
export type ParameterSet = Readonly<Record<string, unknown>>

/** An operand as the policy's text becomes one. */
export function operand(text: string): Operand {
  const reads = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text))
  return { text, number: reads ? Number(text) : undefined }
}

/** The filter of a definition in one of its modes, as a policy makes it. */
export function selectOf(
  definition: FilterDefinition,
  parameters: ParameterSet,
  mode: Mode = 'keep',
): Select {
  const compiled = parameters as Values<Parameters>
  if (mode === 'keep') return definition.keep(compiled)
  return definition.drop?.(compiled) ?? complementOf(definition.keep(compiled))
}

/** One call of a filter: an event for each value, and which of them are still in the queue. */
export interface Call {
  readonly values: readonly Value[]
  /** Ascending; all of them when left out. */
  readonly positions?: readonly number[]
  /** Publish times in ms; 1000 apart when left out. */
  readonly times?: readonly number[]
  readonly now?: number
  readonly seed?: number
}

const GUARD = 3

/** The positions that a filter keeps. `junk` stands where no filter may look. */
export function run(select: Select, call: Call, junk = 0xffffffff): number[] {
  const positions = call.positions ?? call.values.map((_, i) => i)
  const count = positions.length
  const input = new Uint32Array(count + GUARD).fill(junk)
  input.set(positions)
  const output = new Uint32Array(count + GUARD).fill(junk)
  const chance = seeded(call.seed ?? 1)
  const surroundings = { now: call.now ?? 0, random: chance }
  const kept = select(call.values, input, count, output, eventsOf(call), surroundings)
  expect([...input.subarray(0, count)], 'the input is left as it was').toEqual(positions)
  expect([...output.subarray(count)], 'nothing is written behind count').toEqual(new Array(GUARD).fill(junk))
  return [...output.subarray(0, kept)]
}

function eventsOf({ values, times }: Call): Events {
  return new DecodedEvents(
    values.map((value, i) => ({ epoch: 1, seq: i + 1, time: times?.[i] ?? i * 1000, event: { v: value } })),
  )
}

const scalars = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double(),
  fc.constantFrom('', 'a', 'b', '1', '1.0', 'NaN', '\0', '__proto__', '\u{1f600}', '\uffff'),
  fc.string({ maxLength: 4 }),
  fc.boolean(),
  fc.uint8Array({ maxLength: 3 }),
)

/** Every kind of value there is: scalars, bytes, sets, NaN and missing ones. */
export const anyValue: fc.Arbitrary<Value> = fc.oneof(
  { weight: 6, arbitrary: scalars },
  { weight: 2, arbitrary: fc.array(scalars, { maxLength: 3 }) },
  { weight: 2, arbitrary: fc.constantFrom(null, undefined, Number.NaN) },
)

/** Calls with such values, sparse positions, rising times. */
export function calls(value: fc.Arbitrary<Value> = anyValue): fc.Arbitrary<Required<Call>> {
  const event = fc.record({ value, present: fc.boolean(), step: fc.integer({ min: 0, max: 3000 }) })
  return fc
    .record({
      events: fc.array(event, { maxLength: 40 }),
      dense: fc.boolean(),
      now: fc.integer({ min: 0, max: 60_000 }),
      seed: fc.nat(),
    })
    .map(({ events, dense, now, seed }) => {
      let time = 0
      return {
        values: events.map((one) => one.value),
        positions: events.flatMap((one, i) => (dense || one.present ? [i] : [])),
        times: events.map((one) => {
          time += one.step
          return time
        }),
        now,
        seed,
      }
    })
}

export interface ContractOptions {
  /**
   * Whether `drop` keeps exactly what `keep` drops. Not so for FIRST and LAST, which let events pass in both
   * modes; every event survives at least one of the two all the same.
   */
  readonly complement?: boolean
}

/** Describes what every filter promises, for this one with each of the parameter sets. */
export function filterContract(
  definition: FilterDefinition,
  parameterSets: readonly ParameterSet[],
  value: fc.Arbitrary<Value> = anyValue,
  { complement = true }: ContractOptions = {},
): void {
  for (const parameters of parameterSets) {
    describe(`filter ${definition.name} ${JSON.stringify(parameters)} keeps the contract:`, () => {
      for (const mode of ['keep', 'drop'] as const) contractOfMode(definition, parameters, mode, value)

      it(complement ? 'drop keeps exactly what keep drops' : 'every event survives keep or drop', () => {
        fc.assert(
          fc.property(calls(value), (call) => {
            const keep = run(selectOf(definition, parameters, 'keep'), call)
            const drop = run(selectOf(definition, parameters, 'drop'), call)
            const both = complement ? [...keep, ...drop] : [...new Set([...keep, ...drop])]
            expect(both.sort((a, b) => a - b)).toEqual(call.positions)
          }),
        )
      })
    })
  }
}

function contractOfMode(
  definition: FilterDefinition,
  parameters: ParameterSet,
  mode: Mode,
  value: fc.Arbitrary<Value>,
): void {
  const make = () => selectOf(definition, parameters, mode)

  it(`${mode}: survivors are a subsequence of the positions given`, () => {
    fc.assert(
      fc.property(calls(value), (call) => {
        const kept = run(make(), call)
        const given = new Set(call.positions)
        expect(kept.every((position) => given.has(position))).toBe(true)
        expect(kept.every((position, i) => i === 0 || position > kept[i - 1]!)).toBe(true)
      }),
    )
  })

  it(`${mode}: looks only at the positions given, and not behind count`, () => {
    fc.assert(
      fc.property(calls(value), value, (call, other) => {
        const given = new Set(call.positions)
        const values = call.values.map((one, i) => (given.has(i) ? one : other))
        expect(run(make(), { ...call, values }, 0)).toEqual(run(make(), call))
      }),
    )
  })

  it(`${mode}: gives the same for the same seed, and keeps no state between calls`, () => {
    fc.assert(
      fc.property(calls(value), calls(value), (call, between) => {
        const select = make()
        const first = run(select, call)
        run(select, between)
        expect(run(select, call)).toEqual(first)
        expect(run(make(), call)).toEqual(first)
      }),
    )
  })

  it(`${mode}: leaves the values as they were`, () => {
    fc.assert(
      fc.property(calls(value), (call) => {
        const before = structuredClone(call.values)
        run(make(), call)
        expect(call.values).toEqual(before)
      }),
    )
  })

  it(`${mode}: takes an empty queue, a column of missing values, and every kind of value`, () => {
    expect(run(make(), { values: [] })).toEqual([])
    expect(run(make(), { values: [1, 2, 3], positions: [] })).toEqual([])
    for (const missing of [null, undefined, Number.NaN]) {
      run(make(), { values: new Array<Value>(9).fill(missing) })
    }
    const odd = [
      Number.NaN,
      Infinity,
      -Infinity,
      -0,
      '',
      [],
      [[]],
      [Number.NaN],
      new Uint8Array(),
      true,
      '\ud800',
    ]
    run(make(), { values: odd as Value[] })
    fc.assert(fc.property(calls(anyValue), (call) => run(make(), call).length <= call.positions.length))
  })
}
