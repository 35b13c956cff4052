// The built-in digesters: each passes the contract, and each tells what it says it tells.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import { type DigesterDefinition, defineDigester, type Shown } from '../../policies/digester.ts'
import { DISTINCT } from '../../policies/digesters/distinct.ts'
import { FIRST, LAST } from '../../policies/digesters/first-last.ts'
import { COUNT, MAX, MEAN, MIN, STDDEV, SUM } from '../../policies/digesters/moments.ts'
import { QUANTILES } from '../../policies/digesters/quantiles.ts'
import { SAMPLE, SAMPLE_SIZE } from '../../policies/digesters/sample.ts'
import type { Scalar, Value } from '../../policies/event.ts'
import { Repository } from '../../policies/repository.ts'
import { digesterContract, digestOf, eventsOf } from './digester-contract.ts'
import { collectedHeapBytes } from './heap.ts'

const numbers = fc.oneof(
  fc.integer({ min: -1000, max: 1000 }),
  fc.double({ min: -1e9, max: 1e9, noNaN: true }),
)
const scalars: fc.Arbitrary<Scalar> = fc.oneof(
  numbers,
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.boolean(),
  fc.uint8Array({ maxLength: 400 }),
)
const extremes = fc.oneof(
  fc.constantFrom(...[Number.MAX_VALUE, 1e308, 1e200, 1e154, 1, Number.MIN_VALUE].flatMap((n) => [n, -n])),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const infinities = fc.constantFrom(Infinity, -Infinity)
const anything: fc.Arbitrary<Value> = fc.oneof(
  { weight: 4, arbitrary: numbers },
  { weight: 3, arbitrary: scalars },
  { weight: 1, arbitrary: fc.array(scalars, { maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom(null, undefined, Number.NaN) },
)

type RunState = [first: number, head: number, last: number, tail: number, longest: number, count: number]

/** Written as a user would: the longest run, from the runs at both ends, so that a seam can join two. */
const LONGESTRUN = defineDigester<RunState>({
  name: 'LONGESTRUN',
  summary: 'the length of the longest run of equal adjacent numbers',
  attribute: true,
  create: () => [0, 0, 0, 0, 0, 0],
  add(state, values, from, to) {
    for (let i = from; i < to; i++) {
      const value = values[i]
      if (typeof value === 'number' && !Number.isNaN(value)) this.merge(state, [value, 1, value, 1, 1, 1])
    }
  },
  merge(state, later) {
    const [first, head, last, tail, longest, count] = state
    if (later[5] === 0) return
    const seam = count > 0 && last === later[0] ? tail + later[1] : 0
    state[0] = count === 0 ? later[0] : first
    state[1] = count === 0 ? later[1] : seam > 0 && head === count ? count + later[1] : head
    state[2] = later[2]
    state[3] = seam > 0 && later[3] === later[5] ? seam : later[3]
    state[4] = Math.max(longest, later[4], seam)
    state[5] = count + later[5]
  },
  show: (state) => state[4],
})

for (const definition of new Repository().digesters.values()) digesterContract(definition, anything)
digesterContract({ ...COUNT, name: 'COUNT of an attribute', attribute: true }, anything)
for (const definition of [SUM, MIN, MAX, MEAN, STDDEV, QUANTILES]) {
  const { name } = definition
  digesterContract({ ...definition, name: `${name} of the largest and smallest numbers` }, extremes)
  digesterContract({ ...definition, name: `${name} of infinities` }, fc.oneof(extremes, infinities))
}
digesterContract(LONGESTRUN, fc.oneof(fc.integer({ min: 0, max: 2 }), fc.constant(null)))

function shown(definition: DigesterDefinition, column: readonly Value[]): Shown {
  return definition.show(digestOf(definition, column))
}

const mixed: readonly Value[] = [
  4,
  'seven',
  null,
  10,
  Number.NaN,
  true,
  undefined,
  1,
  ['a'],
  new Uint8Array([9]),
]

describe('the repository', () => {
  it('has the digesters of the paper and those beyond it', () => {
    const names = [...new Repository().digesters.keys()]
    expect(names.join(' ')).toBe('COUNT SUM MIN MAX MEAN STDDEV FIRST LAST DISTINCT QUANTILES SAMPLE')
  })
})

describe('a digester of a user', () => {
  it('tells what it was written to tell', () => {
    expect(shown(LONGESTRUN, [1, 1, 2, null, 2, 2, 1])).toBe(3)
  })
})

describe('COUNT', () => {
  it('counts events when it has no attribute', () => {
    const state = COUNT.create()
    COUNT.add(state, [], 3, 10, eventsOf(mixed))
    expect(COUNT.show(state)).toBe(7)
  })

  it('counts the values that are there when it has one', () => {
    const state = COUNT.create()
    COUNT.add(state, mixed, 0, mixed.length, eventsOf(mixed))
    expect(COUNT.show(state)).toBe(7)
  })
})

describe('SUM, MIN, MAX, MEAN and STDDEV', () => {
  it('read the numbers and skip everything else', () => {
    expect(shown(SUM, mixed)).toBe(15)
    expect(shown(MIN, mixed)).toBe(1)
    expect(shown(MAX, mixed)).toBe(10)
    expect(shown(MEAN, mixed)).toBe(5)
    expect(shown(STDDEV, mixed)).toBeCloseTo(Math.sqrt(14), 12)
  })

  it('show nothing without numbers, and a sum of 0', () => {
    const none = ['3', null, false]
    expect(shown(SUM, none)).toBe(0)
    for (const definition of [MIN, MAX, MEAN, STDDEV]) expect(shown(definition, none)).toBeNull()
  })

  it('give the extremes of negative numbers', () => {
    expect(shown(MIN, [-3, -7, -5])).toBe(-7)
    expect(shown(MAX, [-3, -7, -5])).toBe(-3)
  })

  it('take the deviation of the whole population', () => {
    expect(shown(STDDEV, [2, 4, 4, 4, 5, 5, 7, 9])).toBe(2)
    expect(shown(STDDEV, [5])).toBe(0)
  })

  it('keep the deviation of small differences between large numbers', () => {
    expect(shown(STDDEV, [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])).toBeCloseTo(Math.sqrt(22.5), 9)
  })

  it('do not lose small numbers beside large ones', () => {
    expect(shown(SUM, [1e16, 1, 1, 1, 1, -1e16])).toBe(4)
    expect(shown(SUM, Array(10).fill(0.1))).toBe(1)
  })

  it('come back from beyond the largest number', () => {
    const column = [1e308, 1e308, -1e308, -1e308]
    expect(shown(SUM, column)).toBe(0)
    expect(shown(SUM, [...column, 3e292])).toBe(3e292)
    expect(shown(MEAN, column)).toBe(0)
    expect(shown(MEAN, [1e308, 1e308])).toBe(1e308)
    expect(shown(STDDEV, [1e308, 1e308])).toBe(0)
    expect(shown(STDDEV, column)).toBe(1e308)
    expect(shown(STDDEV, [1e200, -1e200])).toBe(1e200)
  })

  it('keep the states of ordinary numbers as they are', () => {
    expect(digestOf(MEAN, [1, 2, 3])).toStrictEqual([3, 6, 0])
    expect(digestOf(STDDEV, [1, 2, 3])).toStrictEqual([3, 2, 2])
  })

  it('show nothing where an infinity leaves nothing to say', () => {
    expect(shown(SUM, [Infinity, -Infinity, 1])).toBeNull()
    expect(shown(MEAN, [1, -Infinity])).toBe(-Number.MAX_VALUE)
    expect(shown(STDDEV, [1, Infinity])).toBeNull()
  })

  it('show the largest number for what is larger', () => {
    expect(shown(SUM, [1.7e308, 1.7e308])).toBe(Number.MAX_VALUE)
    expect(shown(MIN, [Number.NEGATIVE_INFINITY, 1])).toBe(-Number.MAX_VALUE)
  })
})

describe('FIRST and LAST', () => {
  it('give the first and the last value that is not missing', () => {
    expect(shown(FIRST, [null, Number.NaN, 'b', 'c', undefined])).toBe('b')
    expect(shown(LAST, [null, Number.NaN, 'b', 'c', undefined])).toBe('c')
    expect(shown(FIRST, [null])).toBeNull()
    expect(shown(LAST, [])).toBeNull()
  })

  it('take false, 0 and the empty string as values', () => {
    for (const value of [false, 0, '']) {
      expect(shown(FIRST, [value, 'x'])).toBe(value)
      expect(shown(LAST, ['x', value])).toBe(value)
    }
  })

  it('show bytes as hex', () => {
    expect(shown(FIRST, [new Uint8Array([0, 171, 255])])).toBe('00abff')
  })

  it('cut what is longer than 256 characters or bytes', () => {
    expect(shown(FIRST, ['x'.repeat(256)])).toBe('x'.repeat(256))
    expect(shown(FIRST, ['x'.repeat(257)])).toBe(`${'x'.repeat(256)}…`)
    expect(shown(LAST, [new Uint8Array(256)])).toBe('00'.repeat(256))
    expect(shown(LAST, [new Uint8Array(1000)])).toBe(`${'00'.repeat(256)}…`)
  })

  it('do not cut a character in two', () => {
    expect(shown(FIRST, [`${'x'.repeat(255)}😀`])).toBe(`${'x'.repeat(255)}…`)
  })

  it('show 16 members of a set, and 32 characters of each', () => {
    const set = Array.from({ length: 40 }, (_, i) => i)
    expect(shown(FIRST, [set.slice(0, 16)])).toEqual(set.slice(0, 16))
    expect(shown(FIRST, [set.slice(0, 17)])).toEqual([...set.slice(0, 16), '…'])
    expect(shown(LAST, [set])).toEqual([...set.slice(0, 16), '…'])
    expect(shown(LAST, [['y'.repeat(33), true]])).toEqual([`${'y'.repeat(32)}…`, true])
  })

  it('keep their own copy of bytes', () => {
    const bytes = new Uint8Array([1, 2])
    const state = digestOf(FIRST, [bytes])
    bytes[0] = 9
    expect(FIRST.show(state)).toBe('0102')
  })

  it('keep their own copy of a Buffer, whose slices are none', () => {
    const bytes = Buffer.from([1, 2])
    const states = [digestOf(FIRST, [bytes]), digestOf(LAST, [[bytes]])]
    bytes[0] = 9
    expect([FIRST.show(states[0]), LAST.show(states[1])]).toEqual(['0102', ['0102']])
  })

  it.each([FIRST, LAST, SAMPLE])('do not hold on to the long text they cut: $name', (definition) => {
    const texts = (i: number) => [`${i} ${'é'.repeat(500_000)}`, [`${i} ${'é'.repeat(500_000)}`]]
    const before = collectedHeapBytes()
    const states = Array.from({ length: 50 }, (_, i) => texts(i).map((text) => digestOf(definition, [text])))
    expect(collectedHeapBytes() - before).toBeLessThan(5_000_000)
    expect(states).toHaveLength(50)
  })

  it('cut a text without changing half characters', () => {
    const text = `\ud800"\\\n${'x'.repeat(300)}`
    expect(shown(FIRST, [text])).toBe(`${text.slice(0, 256)}…`)
  })
})

describe('DISTINCT', () => {
  const kinds: Record<string, (i: number) => Value> = {
    'whole numbers': (i) => i,
    fractions: (i) => 20 + i / 10,
    'powers of two': (i) => (i % 2 ? 1 : -1) * 2 ** ((i % 2000) - 1000) * (1 + Math.floor(i / 2000)),
    strings: (i) => `sensor-${i}`,
    sets: (i) => ['a', i],
    bytes: (i) => new Uint8Array([i & 255, (i >> 8) & 255, i >> 16]),
  }

  it.each(Object.entries(kinds))('is exact up to 64 %s', (_, make) => {
    for (const n of [0, 1, 10, 50, 64]) {
      const column = Array.from({ length: n * 3 }, (_, i) => make(i % n))
      expect(shown(DISTINCT, column)).toBe(n)
    }
  })

  it.each(Object.entries(kinds))('is within 10 %% of 100, 1,000 and 100,000 %s', (_, make) => {
    for (const n of [100, 1_000, 100_000]) {
      const column = Array.from({ length: n }, (_, i) => make(i))
      const exact = new Set(column.map((value) => JSON.stringify(value))).size
      const estimated = shown(DISTINCT, column) as number
      expect(Math.abs(estimated / exact - 1)).toBeLessThan(0.1)
    }
  })

  it('has a standard error of about 3 % and no bias, at every size', () => {
    for (const n of [100, 500, 2_500, 5_000, 20_000]) {
      const errors = Array.from({ length: 60 }, (_, run) => {
        const column = Array.from({ length: n }, (_, i) => `${run}/${i}`)
        return (shown(DISTINCT, column) as number) / n - 1
      })
      const bias = errors.reduce((a, b) => a + b, 0) / errors.length
      const spread = Math.sqrt(errors.reduce((a, b) => a + b * b, 0) / errors.length)
      expect(Math.abs(bias)).toBeLessThan(0.015)
      expect(spread).toBeLessThan(0.045)
    }
  })

  it('tells kinds apart and takes equal sets, equal bytes and both zeros as one value', () => {
    expect(shown(DISTINCT, [1, '1', true, new Uint8Array([1]), ['1'], [1]])).toBe(6)
    expect(
      shown(DISTINCT, [0, -0, ['a', 'b'], ['b', 'a', 'b'], new Uint8Array([7]), new Uint8Array([7])]),
    ).toBe(3)
  })

  it('has the same state whichever is merged into which', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(300), { maxLength: 200 }),
        fc.array(fc.nat(300), { maxLength: 200 }),
        (a, b) => {
          const ab = digestOf(DISTINCT, a)
          DISTINCT.merge(ab, digestOf(DISTINCT, b))
          const ba = digestOf(DISTINCT, b)
          DISTINCT.merge(ba, digestOf(DISTINCT, a))
          expect(ab).toStrictEqual(ba)
          expect(ab).toStrictEqual(digestOf(DISTINCT, [...a, ...b]))
        },
      ),
    )
  })
})

describe('QUANTILES', () => {
  const random = seeded(7)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const distributions: Record<string, () => number> = {
    uniform: () => random() * 100,
    'normal around zero': () => normal(),
    'negative exponential': () => Math.log(1 - random()),
    'long-tailed': () => Math.exp(3 * normal()),
    'whole numbers from -3 to 3': () => Math.floor(random() * 7) - 3,
    'very small and very large': () => (random() < 0.5 ? 1e-300 : 1e300) * (1 + random()),
    constant: () => 36.6,
  }
  const points = { p5: 0.05, p25: 0.25, p50: 0.5, p75: 0.75, p95: 0.95, p99: 0.99 }

  it.each(Object.entries(distributions))('is within 1 %% for numbers that are %s', (_, draw) => {
    for (const n of [1, 2, 10, 1_000, 20_000]) {
      const column = Array.from({ length: n }, draw)
      const sorted = column.toSorted((a, b) => a - b)
      const found = shown(QUANTILES, column) as Record<string, number>
      for (const [name, point] of Object.entries(points)) {
        const exact = sorted[Math.floor(point * (n - 1))]!
        expect(Math.abs(found[name]! - exact)).toBeLessThanOrEqual(Math.abs(exact) * (0.01 + 1e-9))
      }
    }
  })

  it('is exact for one value, and null for none', () => {
    expect(shown(QUANTILES, [-7.25])).toEqual({
      p5: -7.25,
      p25: -7.25,
      p50: -7.25,
      p75: -7.25,
      p95: -7.25,
      p99: -7.25,
    })
    expect(shown(QUANTILES, ['a', null, Number.NaN])).toBeNull()
  })

  it('stays finite at the ends of the number line', () => {
    const ends = [
      -Number.MAX_VALUE,
      -Number.MIN_VALUE,
      0,
      Number.MIN_VALUE,
      Number.MAX_VALUE,
      Number.POSITIVE_INFINITY,
    ]
    const found = shown(QUANTILES, ends) as Record<string, number>
    expect(Object.values(found).every(Number.isFinite)).toBe(true)
    expect(found.p5).toBe(-Number.MAX_VALUE)
    expect(found.p50).toBe(0)
  })

  it('gives up the lowest numbers first when they spread too far', () => {
    const column = Array.from({ length: 4_000 }, (_, i) => 1.03 ** (i - 2_000))
    const found = shown(QUANTILES, column) as Record<string, number>
    expect(found.p95! / column[Math.floor(0.95 * 3_999)]!).toBeCloseTo(1, 1)
    expect(found.p5).toBeGreaterThan(column[199]!)
  })

  it('has the same state in whatever order parts are merged, even when bins collapse', () => {
    const wide = fc.double({ min: -1e250, max: 1e250, noNaN: true })
    const long = fc.array(fc.array(wide, { minLength: 300, maxLength: 900 }), { minLength: 2, maxLength: 5 })
    fc.assert(
      fc.property(long, (parts) => {
        const merged = QUANTILES.create()
        for (const part of parts.toReversed()) QUANTILES.merge(merged, digestOf(QUANTILES, part))
        expect(merged).toEqual(digestOf(QUANTILES, parts.flat()))
      }),
      { numRuns: 30 },
    )
  })
})

describe('SAMPLE', () => {
  it('gives everything, in order, while there are no more than eight values', () => {
    expect(shown(SAMPLE, [5, null, 3, 'x', 1, undefined, true])).toEqual([5, 3, 'x', 1, true])
    expect(shown(SAMPLE, [])).toEqual([])
  })

  it('gives eight values of many, in order', () => {
    const found = shown(
      SAMPLE,
      Array.from({ length: 1_000 }, (_, i) => i),
    ) as number[]
    expect(found).toHaveLength(SAMPLE_SIZE)
    expect(found).toEqual(found.toSorted((a, b) => a - b))
    expect(new Set(found).size).toBe(SAMPLE_SIZE)
  })

  it('takes every position about equally often', () => {
    const [positions, runs] = [40, 5_000]
    const column = Array.from({ length: positions }, (_, i) => i)
    const hits = new Array<number>(positions).fill(0)
    for (let run = 0; run < runs; run++) {
      const state = SAMPLE.create()
      SAMPLE.add(state, column, 0, positions, { ...eventsOf(column), epoch: () => 1_750_000_000_000 + run })
      for (const position of SAMPLE.show(state) as number[]) hits[position]!++
    }
    const expected = (runs * SAMPLE_SIZE) / positions
    const chiSquare = hits.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    // 39 degrees of freedom: 99.9 % of uniform samples stay below 72.
    expect(chiSquare).toBeLessThan(72)
  })

  it('takes every stretch of a long epoch about equally often', () => {
    const [stretches, length] = [50, 64]
    const hits = new Array<number>(length).fill(0)
    const column = Array.from({ length }, (_, i) => i)
    for (let run = 0; run < stretches * 60; run++) {
      const seqs = column.map((i) => run * length + i + 1)
      for (const position of SAMPLE.show(digestOf(SAMPLE, column, seqs)) as number[]) hits[position]!++
    }
    const expected = (stretches * 60 * SAMPLE_SIZE) / length
    const chiSquare = hits.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    // 63 degrees of freedom: 99.9 % stay below 104.
    expect(chiSquare).toBeLessThan(104)
  })

  it('keeps the same sample in whatever order parts are merged', () => {
    const column = Array.from({ length: 500 }, (_, i) => i)
    const merged = SAMPLE.create()
    for (const from of [400, 100, 300, 0, 200]) {
      const part = SAMPLE.create()
      SAMPLE.add(part, column, from, from + 100, eventsOf(column))
      SAMPLE.merge(merged, part)
    }
    expect(merged).toStrictEqual(digestOf(SAMPLE, column))
  })

  it('takes the earliest of events with one priority, in whatever order they are merged', () => {
    type Entry = [priority: number, epoch: number, seq: number, value: number]
    const tied: Entry[] = Array.from({ length: 12 }, (_, i) => [5, i < 6 ? 1 : 2, (i % 6) + 1, i])
    const first = tied.slice(0, SAMPLE_SIZE)
    for (const order of [tied, tied.toReversed(), [...tied.slice(5), ...tied.slice(0, 5)]]) {
      const state = SAMPLE.create()
      for (const entry of order) SAMPLE.merge(state, [entry])
      expect(state).toStrictEqual(first)
    }
  })

  it('cuts long values', () => {
    expect(shown(SAMPLE, ['z'.repeat(300), new Uint8Array([1])])).toEqual([`${'z'.repeat(256)}…`, '01'])
  })
})
