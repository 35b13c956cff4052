import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, it } from 'vitest'
import type { Value } from '../../policies/event.ts'
import { defineFilter, type FilterDefinition } from '../../policies/filter.ts'
import { mostInstructions } from '../../policies/filters/pattern.ts'
import { standardFilters } from '../../policies/filters/standard.ts'
import type { Mode } from '../../policies/policy.ts'
import { Repository } from '../../policies/repository.ts'
import {
  type Call,
  calls,
  filterContract,
  operand,
  type ParameterSet,
  run,
  selectOf,
} from './filter-contract.ts'

const operands = (...texts: string[]) => ({ value: texts.map(operand) })
const ordered: ParameterSet[] = ['0', '1.0', 'a', '', '\u{10000}'].map((text) => ({ value: operand(text) }))
const sets: ParameterSet[] = [operands('1'), operands('a', '1.0', 'true', '')]
const windows: ParameterSet[] = [{ window: 1 }, { window: 3 }, { window: 1000 }]

const parameterSets: Readonly<Record<string, readonly ParameterSet[]>> = {
  GT: ordered,
  GE: ordered,
  EQ: ordered,
  NE: ordered,
  LT: ordered,
  LE: ordered,
  MATCH: [{ pattern: 'a' }, { pattern: '^[A-Z]?$', flags: 'i' }, { pattern: '' }],
  WITHIN: [
    { low: operand('-1'), high: operand('2') },
    { low: operand(''), high: operand('b') },
  ],
  INSET: sets,
  SUBSET: sets,
  SUPSET: sets,
  CONTAIN: ordered,
  FIRST: sets,
  LAST: sets,
  UNIQ: [{}],
  GUNIQ: [{}],
  DELTA: [{ change: 0 }, { change: 2 }],
  LATEST: windows,
  LATESTBY: windows,
  EVERY: [{ n: 1 }, { n: 3 }, { n: 1000 }],
  RANDOM: [{ fraction: 0 }, { fraction: 0.5 }, { fraction: 1 }],
  RATE: [
    { n: 1, interval: 1 },
    { n: 2, interval: 1500 },
  ],
  AGE: [{ max: 0 }, { max: 20_000 }],
}

describe('the built-in filters', () => {
  it('are those of the paper and LATESTBY, RATE and AGE', () => {
    expect(standardFilters.map(({ name }) => name).sort()).toEqual(Object.keys(parameterSets).sort())
  })

  it.each(standardFilters)(
    'say what $name keeps or drops, naming all that the policy must say',
    (definition) => {
      const { summary, attribute, parameters } = definition
      const required = Object.keys(parameters).filter((name) => !parameters[name]!.optional)
      const named = Array.from(summary.matchAll(/`(\w+)`/g), ([, name]) => name)
      expect(named.sort()).toEqual([...required, ...(attribute ? ['attribute'] : [])].sort())
      expect(summary).toMatch(/^(keeps|drops) /)
    },
  )

  for (const definition of standardFilters) {
    const complement = definition.name !== 'FIRST' && definition.name !== 'LAST'
    filterContract(definition, parameterSets[definition.name] ?? [], undefined, { complement })
  }
})

describe("a user's filter", () => {
  const evenLength = defineFilter({
    name: 'EVENLENGTH',
    summary: 'keeps texts of even length, up to `limit` of them',
    attribute: true,
    parameters: { limit: { type: 'count' } },
    keep:
      ({ limit }) =>
      (values, input, count, output) => {
        let n = 0
        for (let i = 0; i < count && n < limit; i++) {
          const value = values[input[i]!]
          if (typeof value === 'string' && value.length % 2 === 0) output[n++] = input[i]!
        }
        return n
      },
  })

  const repository = new Repository().filter(evenLength)
  filterContract(repository.filters.get('EVENLENGTH')!, [{ limit: 2 }, { limit: 100 }])

  it('stands beside the built-in ones, and takes the name of none', () => {
    expect(repository.filters.size).toBe(standardFilters.length + 1)
    expect(() => new Repository().filter({ ...evenLength, name: 'EQ' })).toThrow(
      expect.objectContaining({ code: 'NAME_TAKEN' }),
    )
    expect(new Repository().filters.has('EVENLENGTH')).toBe(false)
  })

  it.each([
    { ...evenLength, name: 'EVEN LENGTH' },
    { ...evenLength, parameters: { mode: { type: 'text' } as const } },
  ])('has names that can be written', (definition) => {
    expect(() => new Repository().filter(definition)).toThrow(
      expect.objectContaining({ code: 'NAME_INVALID' }),
    )
  })
})

/** The values that survive a filter. */
function kept(
  name: string,
  parameters: ParameterSet,
  values: readonly Value[],
  mode: Mode = 'keep',
): Value[] {
  return positions(name, parameters, { values }, mode).map((position) => values[position])
}

function positions(name: string, parameters: ParameterSet, call: Call, mode: Mode = 'keep'): number[] {
  return run(selectOf(definitionOf(name), parameters, mode), call)
}

function definitionOf(name: string): FilterDefinition {
  return standardFilters.find((definition) => definition.name === name)!
}

const value = (text: string) => ({ value: operand(text) })

describe('GT GE EQ NE LT LE', () => {
  it('compare numbers as numbers when the policy gives one', () => {
    const readings = [9, 10, 10.5, 100, -3]
    expect(kept('GT', value('10'), readings)).toEqual([10.5, 100])
    expect(kept('GE', value('10'), readings)).toEqual([10, 10.5, 100])
    expect(kept('EQ', value('10'), readings)).toEqual([10])
    expect(kept('NE', value('10'), readings)).toEqual([9, 10.5, 100, -3])
    expect(kept('LT', value('10'), readings)).toEqual([9, -3])
    expect(kept('LE', value('10'), readings)).toEqual([9, 10, -3])
  })

  it('read the number however the policy writes it', () => {
    expect(kept('EQ', value('1.0'), [1, '1', '1.0'])).toEqual([1, '1.0'])
    expect(kept('EQ', value('1e1'), [10, '10'])).toEqual([10])
    expect(kept('EQ', value('-0'), [0, -0])).toEqual([0, -0])
  })

  it('compare as texts when either side is none', () => {
    expect(kept('GT', value('10'), ['9', '10', '100', '1'])).toEqual(['9', '100'])
    expect(kept('LT', value('a'), [5, 'Z', 'a', 'b'])).toEqual([5, 'Z'])
    expect(kept('EQ', value('true'), [true, 'true', false])).toEqual([true, 'true'])
  })

  it('order texts by code point, not by UTF-16 unit', () => {
    expect(kept('GT', value('\uffff'), ['\u{10000}', '\uffff', 'z'])).toEqual(['\u{10000}'])
    expect(kept('LT', value('\u{1f600}'), ['\ue000', '\u{1f601}', '\uffff'])).toEqual(['\ue000', '\uffff'])
  })

  it('match no missing value, so that it survives only a dropping one', () => {
    const missing = [null, undefined, Number.NaN]
    for (const name of ['GT', 'GE', 'EQ', 'NE', 'LT', 'LE']) {
      for (const text of ['0', 'null', 'NaN', '']) {
        expect(kept(name, value(text), missing)).toEqual([])
        expect(kept(name, value(text), missing, 'drop')).toEqual(missing)
      }
    }
  })

  it('drop exactly what they match in mode drop', () => {
    expect(kept('GE', value('10'), [9, 10, null, 11], 'drop')).toEqual([9, null])
    expect(kept('NE', value('10'), [9, 10, null, 11], 'drop')).toEqual([10, null])
  })

  it('take infinities for the largest and smallest numbers', () => {
    expect(kept('GT', value('1e308'), [Infinity, -Infinity, 0])).toEqual([Infinity])
    expect(kept('NE', value('0'), [Infinity, -Infinity, 0])).toEqual([Infinity, -Infinity])
  })
})

describe('WITHIN', () => {
  const normal = { low: operand('50'), high: operand('100') }

  it('keeps what lies between the bounds, both included', () => {
    expect(kept('WITHIN', normal, [49.9, 50, 75, 100, 100.1])).toEqual([50, 75, 100])
  })

  it('in mode drop keeps the readings outside the normal range and the missing ones', () => {
    expect(kept('WITHIN', normal, [49.9, 50, null, 100, 100.1], 'drop')).toEqual([49.9, null, 100.1])
    expect(kept('WITHIN', normal, [null, Number.NaN, undefined])).toEqual([])
  })

  it('takes texts by code point', () => {
    const range = { low: operand('b'), high: operand('\uffff') }
    expect(kept('WITHIN', range, ['a', 'b', 'zz', '\uffff', '\u{10000}'])).toEqual(['b', 'zz', '\uffff'])
  })

  it('refuses bounds the wrong way round', () => {
    const check = definitionOf('WITHIN').check!
    expect(check(normal)).toBeUndefined()
    expect(check({ low: operand('10'), high: operand('9') })).toContain('low')
    expect(check({ low: operand('9'), high: operand('10') })).toBeUndefined()
  })
})

describe('MATCH', () => {
  it('finds its pattern anywhere in the text', () => {
    expect(kept('MATCH', { pattern: 'b+' }, ['abbc', 'ac', 'b'])).toEqual(['abbc', 'b'])
    expect(kept('MATCH', { pattern: '^b' }, ['abbc', 'b'])).toEqual(['b'])
  })

  it('looks at capitals unless it has the flag i', () => {
    expect(kept('MATCH', { pattern: 'ap' }, ['AP-1', 'ap-2'])).toEqual(['ap-2'])
    expect(kept('MATCH', { pattern: 'ap', flags: 'i' }, ['AP-1', 'ap-2'])).toEqual(['AP-1', 'ap-2'])
    expect(definitionOf('MATCH').check!({ pattern: 'a', flags: 'g' })).toContain('"i"')
  })

  it('matches no missing value', () => {
    expect(kept('MATCH', { pattern: '' }, [null, undefined, Number.NaN, ''])).toEqual([''])
    expect(kept('MATCH', { pattern: 'a' }, [null, 'a', 'b'], 'drop')).toEqual([null, 'b'])
  })

  it('takes linear time for a pattern that makes backtracking engines hang', () => {
    const begin = performance.now()
    expect(kept('MATCH', { pattern: '(a+)+$' }, [`${'a'.repeat(50_000)}b`])).toEqual([])
    expect(performance.now() - begin).toBeLessThan(1000)
  })
})

describe('the bound on the instructions of a pattern', () => {
  const atoms = [
    'a',
    '.',
    '[ab]',
    '[^]{9}(]',
    '[[:alpha:](]',
    '\\pL',
    '\\x{10000}',
    '\\Q({9}\\E',
    '\\(',
    '\\b',
    '',
  ]
  const repeats = ['', '?', '*', '+', '??', '{3}', '{0,4}', '{2,}', '{0}', '{7']
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...repeats)).map((parts) => parts.join('')),
      fc
        .tuple(tie('pattern'), fc.constantFrom('', '|', '(?i)'), tie('pattern'))
        .map((parts) => parts.join('')),
      fc
        .tuple(
          fc.constantFrom('(', '(?:', '(?P<n>', '(?i:'),
          tie('pattern'),
          fc.constant(')'),
          fc.constantFrom(...repeats),
        )
        .map((parts) => parts.join('')),
    ),
  }))

  it('holds for every pattern there is', () => {
    fc.assert(
      fc.property(pattern, (pattern) => {
        expect(mostInstructions(pattern)).toBeGreaterThanOrEqual(instructionsOf(pattern))
      }),
      { numRuns: 3000 },
    )
  })

  function instructionsOf(pattern: string): number {
    try {
      return RE2JS.compile(pattern).programSize()
    } catch {
      return 0
    }
  }
})

describe('INSET', () => {
  it('finds each of many texts, and no other', () => {
    const many = Array.from({ length: 20 }, (_, i) => `member ${i}`)
    for (let n = 1; n <= many.length; n++) {
      expect(kept('INSET', operands(...many.slice(0, n)), [...many, 'other'])).toEqual(many.slice(0, n))
    }
  })

  it('takes numbers by value however the policy writes them', () => {
    expect(kept('INSET', operands('1.0', '2'), [1, 2, 3])).toEqual([1, 2])
  })

  it('takes texts as they are written', () => {
    expect(kept('INSET', operands('1.0', 'a'), ['1', '1.0', 'a', 'b'])).toEqual(['1.0', 'a'])
    expect(kept('INSET', operands('true'), [true, false, 'true'])).toEqual([true, 'true'])
  })

  it('has no missing value among its members', () => {
    const missing = [null, undefined, Number.NaN]
    expect(kept('INSET', operands('null', 'NaN', 'undefined'), missing)).toEqual([])
    expect(kept('INSET', operands('a'), [null, 'a', 'b'], 'drop')).toEqual([null, 'b'])
  })

  it('means what EQ with one of the values means', () => {
    const texts = ['1', '1.0', 'a', 'true', 'Infinity', '']
    fc.assert(
      fc.property(fc.subarray(texts, { minLength: 1 }), calls(), (chosen, call) => {
        const either = chosen.flatMap((text) => positions('EQ', value(text), call))
        expect(positions('INSET', operands(...chosen), call)).toEqual(
          [...new Set(either)].sort((a, b) => a - b),
        )
      }),
      { examples: [[['Infinity'], { values: [Infinity], positions: [0], times: [0], now: 0, seed: 0 }]] },
    )
  })
})

describe('SUBSET, SUPSET and CONTAIN', () => {
  const candidates: Value[] = [[], ['a'], ['a', 'b'], ['b', 'a', 'a'], ['a', 'b', 'c'], ['c'], 'a', null]

  it('SUBSET keeps sets with no other members, the equal and the empty one too', () => {
    expect(kept('SUBSET', operands('a', 'b'), candidates)).toEqual([[], ['a'], ['a', 'b'], ['b', 'a', 'a']])
  })

  it('SUPSET keeps sets with at least these members, the equal one too', () => {
    expect(kept('SUPSET', operands('a', 'b'), candidates)).toEqual([
      ['a', 'b'],
      ['b', 'a', 'a'],
      ['a', 'b', 'c'],
    ])
  })

  it('SUPSET wants a member for each value, and takes a number for every way to write it', () => {
    const spellings = operands('1', '1.0', 'a', 'a')
    const sets = [
      [1, 'a'],
      ['1', 'a'],
      ['1', '1.0', 'a'],
      ['1', 1, 'a'],
      [1, 1, 1],
      ['a', 'a', 'a', 'a'],
    ]
    expect(kept('SUPSET', spellings, sets)).toEqual([sets[0], sets[2], sets[3]])
    expect(kept('SUPSET', operands('true', '00ff'), [[true, Uint8Array.of(0, 255)], [true]])).toEqual([
      [true, Uint8Array.of(0, 255)],
    ])
  })

  it('SUPSET means what CONTAIN of each value means', () => {
    const texts = ['1', '1.0', 'a', 'true', 'Infinity', '', '00']
    fc.assert(
      fc.property(fc.subarray(texts, { minLength: 1 }), calls(), (chosen, call) => {
        const each = chosen.map((text) => new Set(positions('CONTAIN', value(text), call)))
        expect(positions('SUPSET', operands(...chosen), call)).toEqual(
          call.positions.filter((position) => each.every((one) => one.has(position))),
        )
      }),
    )
  })

  it('SUPSET takes no longer for a thousand values than a set has members', () => {
    const many = Array.from({ length: 1000 }, (_, i) => `member ${i}`)
    const begin = performance.now()
    expect(kept('SUPSET', operands(...many), new Array(100).fill(many.toReversed()))).toHaveLength(100)
    const ones = Array.from({ length: 1000 }, (_, i) => `1.${'0'.repeat(i)}`)
    expect(kept('SUPSET', operands('x', ...ones), new Array(200).fill(new Array(1000).fill(1)))).toEqual([])
    // Comparing each with each takes 300 ms and more for either.
    expect(performance.now() - begin).toBeLessThan(150)
  })

  it('CONTAIN keeps sets with this member', () => {
    expect(kept('CONTAIN', value('c'), candidates)).toEqual([['a', 'b', 'c'], ['c']])
  })

  it('take numbers by value', () => {
    expect(kept('SUBSET', operands('1.0'), [[1], ['1'], ['1.0']])).toEqual([[1], ['1.0']])
    expect(kept('SUPSET', operands('1.0'), [[1, 2], ['1']])).toEqual([[1, 2]])
    expect(kept('CONTAIN', value('1.0'), [[2, 1], ['1'], 1])).toEqual([[2, 1]])
  })

  it('in mode drop keep the rest, missing values too', () => {
    expect(kept('SUBSET', operands('a'), [[], ['a'], ['b'], null], 'drop')).toEqual([['b'], null])
    expect(kept('SUPSET', operands('a'), [[], ['a'], null], 'drop')).toEqual([[], null])
    expect(kept('CONTAIN', value('a'), [[], ['a'], null], 'drop')).toEqual([[], null])
  })
})

describe('FIRST and LAST', () => {
  const call: Call = { values: ['x', 'in', 'out', null, 'in', 'y', 'out'] }
  const doors = operands('in', 'out')

  it('keep one event among those with a value of the set, and let all others pass', () => {
    expect(positions('FIRST', doors, call)).toEqual([0, 1, 3, 5])
    expect(positions('LAST', doors, call)).toEqual([0, 3, 5, 6])
  })

  it('in mode drop lose only that one, and let all others pass', () => {
    expect(positions('FIRST', doors, call, 'drop')).toEqual([0, 2, 3, 4, 5, 6])
    expect(positions('LAST', doors, call, 'drop')).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('let everything pass when no event has a value of the set', () => {
    for (const name of ['FIRST', 'LAST']) {
      for (const mode of ['keep', 'drop'] as const) {
        expect(positions(name, operands('none', 'null'), call, mode)).toEqual([0, 1, 2, 3, 4, 5, 6])
      }
    }
  })

  it('look only at what is still in the queue', () => {
    expect(positions('FIRST', doors, { ...call, positions: [0, 2, 4] })).toEqual([0, 2])
    expect(positions('LAST', doors, { ...call, positions: [1, 3, 4, 5] })).toEqual([3, 4, 5])
  })
})

describe('UNIQ and GUNIQ', () => {
  it('UNIQ drops a value equal to the one before, GUNIQ to any before', () => {
    const call = { values: ['a', 'a', 'b', 'a', 'b', 'b'] }
    expect(positions('UNIQ', {}, call)).toEqual([0, 2, 3, 4])
    expect(positions('GUNIQ', {}, call)).toEqual([0, 2])
    expect(positions('UNIQ', {}, call, 'drop')).toEqual([1, 5])
    expect(positions('GUNIQ', {}, call, 'drop')).toEqual([1, 3, 4, 5])
  })

  it('take adjacent as adjacent in what is still in the queue', () => {
    expect(positions('UNIQ', {}, { values: ['a', 'b', 'a'], positions: [0, 2] })).toEqual([0])
  })

  it('take all missing values for one value', () => {
    const call = { values: [null, undefined, Number.NaN, 1, null] }
    expect(positions('UNIQ', {}, call)).toEqual([0, 3, 4])
    expect(positions('GUNIQ', {}, call)).toEqual([0, 3])
  })

  it('take sets irrespective of order, and bytes by content', () => {
    const call: Call = {
      values: [['a', 'b'], ['b', 'a'], ['a'], Uint8Array.of(1), Uint8Array.of(1), Uint8Array.of(2)],
    }
    expect(positions('UNIQ', {}, call)).toEqual([0, 2, 3, 5])
    expect(positions('GUNIQ', {}, call)).toEqual([0, 2, 3, 5])
  })

  it('compare thousands of long bytes at once', () => {
    const values = Array.from({ length: 400 }, (_, i) => new Uint8Array(10_000).fill(i))
    const begin = performance.now()
    expect(positions('UNIQ', {}, { values })).toHaveLength(400)
    expect(positions('GUNIQ', {}, { values })).toHaveLength(256)
    // As hex, byte by byte, it took 400 ms.
    expect(performance.now() - begin).toBeLessThan(200)
  })

  it('tell 1 from "1" and from true', () => {
    expect(positions('UNIQ', {}, { values: [1, '1', true, 'true'] })).toEqual([0, 1, 2, 3])
    expect(positions('GUNIQ', {}, { values: [1, '1', true, 'true', '1'] })).toEqual([0, 1, 2, 3])
  })
})

describe('DELTA', () => {
  const five = { change: 5 }

  it('keeps the first event and every one at least the change away from the last kept', () => {
    expect(kept('DELTA', five, [70, 74.9, 75, 71, 70, 80])).toEqual([70, 75, 70, 80])
  })

  it('bounds the error under slow drift', () => {
    const drift = Array.from({ length: 100 }, (_, i) => i)
    expect(kept('DELTA', five, drift)).toEqual(drift.filter((reading) => reading % 5 === 0))
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 30 })), (readings) => {
        const survivors = new Set(positions('DELTA', five, { values: readings }))
        let last = Number.NaN
        readings.forEach((reading, i) => {
          if (survivors.has(i)) last = reading
          else expect(Math.abs(reading - last)).toBeLessThan(5)
        })
      }),
    )
  })

  it('keeps missing values without moving its reference', () => {
    expect(kept('DELTA', five, [70, null, 72, Number.NaN, undefined, 75])).toEqual([
      70,
      null,
      Number.NaN,
      undefined,
      75,
    ])
    expect(kept('DELTA', five, [null, 70, 71])).toEqual([null, 70])
    expect(kept('DELTA', five, [70, Number.NaN, 72, undefined, 73])).toEqual([70, Number.NaN, undefined])
  })

  it('in mode drop keeps the ones that are near', () => {
    expect(kept('DELTA', five, [70, null, 72, 75, 76], 'drop')).toEqual([72, 76])
  })

  it('drops an infinity that does not change', () => {
    expect(kept('DELTA', five, [Infinity, Infinity, -Infinity])).toEqual([Infinity, -Infinity])
  })

  it('refuses a negative change', () => {
    expect(definitionOf('DELTA').check!({ change: -1 })).toContain('-1')
    expect(definitionOf('DELTA').check!(five)).toBeUndefined()
  })
})

describe('LATEST and LATESTBY', () => {
  it('LATEST keeps the last of the queue', () => {
    expect(kept('LATEST', { window: 2 }, [1, 2, 3])).toEqual([2, 3])
    expect(kept('LATEST', { window: 9 }, [1, 2, 3])).toEqual([1, 2, 3])
    expect(kept('LATEST', { window: 2 }, [1, 2, 3], 'drop')).toEqual([1])
  })

  it('LATESTBY keeps the last of each value, in the order of the queue', () => {
    const call = { values: ['a', 'b', 'a', 'a', 'c', 'b', null, undefined] }
    expect(positions('LATESTBY', { window: 1 }, call)).toEqual([3, 4, 5, 7])
    expect(positions('LATESTBY', { window: 2 }, call)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(positions('LATESTBY', { window: 1 }, call, 'drop')).toEqual([0, 1, 2, 6])
  })
})

describe('EVERY', () => {
  it('keeps events 1, 1 + n, 1 + 2n of what is still in the queue', () => {
    expect(kept('EVERY', { n: 3 }, [1, 2, 3, 4, 5, 6, 7])).toEqual([1, 4, 7])
    expect(kept('EVERY', { n: 1 }, [1, 2, 3])).toEqual([1, 2, 3])
    expect(positions('EVERY', { n: 2 }, { values: [1, 2, 3, 4, 5], positions: [1, 2, 4] })).toEqual([1, 4])
  })

  it('in mode drop loses exactly those', () => {
    expect(kept('EVERY', { n: 3 }, [1, 2, 3, 4, 5, 6, 7], 'drop')).toEqual([2, 3, 5, 6])
    expect(kept('EVERY', { n: 1 }, [1, 2, 3], 'drop')).toEqual([])
  })
})

describe('RANDOM', () => {
  const values = new Array<Value>(10_000).fill(0)

  it('drops about its fraction, and keeps it in mode drop', () => {
    expect(positions('RANDOM', { fraction: 0.25 }, { values, seed: 7 }).length / 10_000).toBeCloseTo(0.75, 1)
    expect(positions('RANDOM', { fraction: 0.25 }, { values, seed: 7 }, 'drop').length / 10_000).toBeCloseTo(
      0.25,
      1,
    )
  })

  it('drops nothing of 0 and everything of 1', () => {
    expect(positions('RANDOM', { fraction: 0 }, { values })).toHaveLength(10_000)
    expect(positions('RANDOM', { fraction: 1 }, { values })).toHaveLength(0)
  })

  it('gives something else for another seed', () => {
    const one = positions('RANDOM', { fraction: 0.5 }, { values, seed: 1 })
    expect(positions('RANDOM', { fraction: 0.5 }, { values, seed: 2 })).not.toEqual(one)
    expect(positions('RANDOM', { fraction: 0.5 }, { values, seed: 1 })).toEqual(one)
  })
})

describe('RATE', () => {
  it('keeps the first n of a burst, and again when the interval has passed', () => {
    const times = [0, 1, 2, 999, 1000, 1001, 1500]
    const call = { values: times, times }
    expect(positions('RATE', { n: 2, interval: 1000 }, call)).toEqual([0, 1, 4, 5])
    expect(positions('RATE', { n: 2, interval: 1000 }, call, 'drop')).toEqual([2, 3, 6])
  })

  it('begins anew when the clock was set back', () => {
    const every2s = [0, 2000, 4000, 6000, 8000]
    for (const back of [2500, 5000, 100_000]) {
      const times = [...every2s, ...every2s.map((time) => 10_000 + time - back)]
      expect(positions('RATE', { n: 2, interval: 1000 }, { values: times, times })).toHaveLength(10)
    }
    const burst = [5000, 5001, 5002, 0, 1, 2, 1000]
    expect(positions('RATE', { n: 2, interval: 1000 }, { values: burst, times: burst })).toEqual([
      0, 1, 3, 4, 6,
    ])
  })

  it('takes times that are a little out of order for one interval', () => {
    const times = [10, 9, 10, 9, 10, 9]
    expect(positions('RATE', { n: 2, interval: 1000 }, { values: times, times })).toEqual([0, 1])
  })

  it('refuses an interval of 0', () => {
    const check = definitionOf('RATE').check!
    expect(check({ n: 1, interval: 0 })).toContain('interval="0"')
    expect(check({ n: 1, interval: 0.5 })).toBeUndefined()
  })

  it('never keeps more than n within any interval, and drops only where there are n', () => {
    const limits = fc.record({
      n: fc.integer({ min: 1, max: 4 }),
      interval: fc.integer({ min: 1, max: 5000 }),
    })
    fc.assert(
      fc.property(limits, calls(), (limit, call) => {
        const survivors = positions('RATE', limit, call)
        const times = survivors.map((position) => call.times[position]!)
        times.forEach((time, i) => {
          const later = times[i + limit.n]
          if (later !== undefined) expect(later - time).toBeGreaterThanOrEqual(limit.interval)
        })
        for (const position of call.positions) {
          if (survivors.includes(position)) continue
          const near = survivors.filter(
            (other) => other < position && call.times[position]! - call.times[other]! < limit.interval,
          )
          expect(near).toHaveLength(limit.n)
        }
      }),
    )
  })
})

describe('AGE', () => {
  it('keeps events published at most this long ago', () => {
    const call: Call = { values: [1, 2, 3, 4], times: [0, 999, 1000, 1500], now: 2000 }
    expect(positions('AGE', { max: 1000 }, call)).toEqual([2, 3])
    expect(positions('AGE', { max: 1000 }, call, 'drop')).toEqual([0, 1])
  })

  it('keeps an event from the future', () => {
    expect(positions('AGE', { max: 0 }, { values: [1], times: [5], now: 0 })).toEqual([0])
  })
})
