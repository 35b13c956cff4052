// Policies as plain objects: what is accepted, its canonical form, and what every mistake is answered with.
import { describe, expect, it } from 'vitest'
import { compilePolicy, type PolicyError, policyLimits } from '../../policies/compile.ts'
import { defineFilter } from '../../policies/filter.ts'
import { Policy, type PolicySpec } from '../../policies/policy.ts'
import { presetPolicy, presets } from '../../policies/presets.ts'
import { Repository } from '../../policies/repository.ts'
import { mistakesIn, ward } from './policy-mistakes.ts'

const uniq = { name: 'UNIQ' }
const every = { name: 'EVERY', n: 2 }

function errorOf(spec: unknown, repository = new Repository()): PolicyError {
  return mistakesIn(() => compilePolicy(spec as PolicySpec, { repository }))
}

function level(...filters: unknown[]): unknown {
  return { attribute: 'a', levels: [filters] }
}

describe('compilePolicy', () => {
  it('compiles the ward policy with its levels, modes and attributes', () => {
    const policy = compilePolicy(ward)
    expect(policy).toBeInstanceOf(Policy)
    expect(policy.spec).toEqual(ward)
    expect(policy.top).toBe(3)
    expect(policy.levels[1]![0]).toMatchObject({ name: 'WITHIN', attribute: 'PulseRate', mode: 'drop' })
    expect(policy.levels[2]![0]!.attribute).toBeUndefined()
    expect(policy.digesters.map(({ key, attribute }) => [key, attribute])).toEqual([
      ['MEAN', 'PulseRate'],
      ['MAX', 'Temp'],
    ])
  })

  it('leaves defaults out of the canonical form, so that equal policies have equal hashes', () => {
    const wordy = {
      levels: [
        [{ change: '5', mode: 'keep', attribute: 'PulseRate', name: 'DELTA' }],
        [{ high: '100', low: '50', mode: 'drop', name: 'WITHIN' }],
        [{ name: 'LATEST', window: '10', attribute: 'unused' }],
      ],
      summary: [
        { name: 'MEAN', attribute: 'PulseRate' },
        { attribute: 'Temp', name: 'MAX' },
      ],
      attribute: 'PulseRate',
    } as const
    expect(compilePolicy(wordy).hash).toBe(compilePolicy(ward).hash)
    expect(JSON.stringify(compilePolicy(wordy).spec)).toBe(JSON.stringify(ward))
  })

  const inset = (...value: (string | number)[]): PolicySpec => ({
    attribute: 'a',
    levels: [[{ name: 'INSET', value }]],
  })
  const ways: readonly [what: string, ...PolicySpec[]][] = [
    [
      'the plain COUNT that every digest has',
      { attribute: 'a', summary: ['MEAN'], levels: [[uniq]] },
      { attribute: 'a', summary: ['COUNT', 'MEAN'], levels: [[uniq]] },
      { attribute: 'a', summary: ['MEAN', 'COUNT'], levels: [[uniq]] },
    ],
    [
      'no summary',
      { levels: [[every]] },
      { summary: [], levels: [[every]] },
      { summary: ['COUNT'], levels: [[every]] },
    ],
    ['an attribute that nobody reads', { levels: [[every]] }, { attribute: 'a', levels: [[every]] }],
    [
      'the attribute of the one filter',
      { attribute: 'a', levels: [[uniq]] },
      { levels: [[{ ...uniq, attribute: 'a' }]] },
      { attribute: 'b', levels: [[{ ...uniq, attribute: 'a' }]] },
    ],
    [
      'two attributes',
      { attribute: 'a', summary: ['MAX'], levels: [[uniq, { name: 'GUNIQ', attribute: 'b' }]] },
      {
        attribute: 'b',
        summary: [{ name: 'MAX', attribute: 'a' }],
        levels: [[{ ...uniq, attribute: 'a' }, { name: 'GUNIQ' }]],
      },
    ],
    [
      'two attributes as often as each other',
      { attribute: 'a', levels: [[{ ...uniq, attribute: 'b' }], [uniq]] },
      { attribute: 'b', levels: [[uniq], [{ ...uniq, attribute: 'a' }]] },
    ],
    ['the order of a set', inset('a', 2, 'b', 10), inset('b', 10, 'a', '2'), inset(10, 2, 'b', 'a')],
    ['the same member twice', inset('a', 1), inset('a', 1, 'a', '1')],
  ]

  it.each(ways)('takes for one policy what differs only in %s', (_, ...specs) => {
    const [first, ...others] = specs.map((spec) => compilePolicy(spec))
    for (const other of others) expect(other.spec).toEqual(first!.spec)
    expect(new Set([first, ...others].map((policy) => policy!.hash)).size).toBe(1)
  })

  const different: readonly [what: string, PolicySpec, PolicySpec][] = [
    ['a number and another spelling of it', inset(1), inset('1.0')],
    ['another member', inset('a'), inset('a', 'b')],
    [
      'COUNT of events and COUNT of values',
      { attribute: 'a', summary: ['COUNT'], levels: [[uniq]] },
      { attribute: 'a', summary: [{ name: 'COUNT', attribute: 'a' }], levels: [[uniq]] },
    ],
    [
      'the digesters in another order, in which their states and keys are',
      { attribute: 'a', summary: ['MAX', { name: 'MAX', attribute: 'b' }], levels: [[uniq]] },
      { attribute: 'a', summary: [{ name: 'MAX', attribute: 'b' }, 'MAX'], levels: [[uniq]] },
    ],
    [
      'the filters in another order',
      { levels: [[every], [{ name: 'LATEST', window: 1 }]] },
      { levels: [[{ name: 'LATEST', window: 1 }], [every]] },
    ],
  ]

  it.each(different)('keeps apart %s', (_, one, other) => {
    expect(compilePolicy(one).hash).not.toBe(compilePolicy(other).hash)
  })

  it('puts the attribute that is read most often on the policy, and the rest where it is read', () => {
    const spec: PolicySpec = {
      levels: [
        [
          { ...uniq, attribute: 'b' },
          { ...uniq, attribute: 'a' },
        ],
        [{ ...uniq, attribute: 'a' }],
      ],
    }
    expect(compilePolicy(spec).spec).toEqual({
      attribute: 'a',
      levels: [[{ ...uniq, attribute: 'b' }, uniq], [uniq]],
    })
  })

  it('puts none there for a COUNT of values, which always names its own', () => {
    const spec = { summary: [{ name: 'COUNT', attribute: 'a' }], levels: [[every]] }
    expect(compilePolicy(spec).spec).toEqual(spec)
    expect(compilePolicy({ ...spec, attribute: 'a' }).spec).toEqual(spec)
  })

  it('keeps spellings of numbers that would compare differently as texts, numbers before texts', () => {
    const { spec } = compilePolicy(inset('1', '1.0', '01', '1e3', 10, 2, 'x', ''))
    expect(spec.levels[0]![0]!.value).toEqual([1, 2, 10, '', '01', '1.0', '1e3', 'x'])
  })

  it('gives a filter the members of a set as the canonical policy has them', () => {
    let given: unknown
    const repository = new Repository().filter(
      defineFilter({
        name: 'OWN',
        summary: '',
        attribute: false,
        parameters: { member: { type: 'operands' } },
        keep: ({ member }) => {
          given = member.map(({ text }) => text)
          return () => 0
        },
      }),
    )
    compilePolicy({ levels: [[{ name: 'OWN', member: ['b', 'a', 'b', 10, 9] }]] }, { repository })
    expect(given).toEqual(['9', '10', 'a', 'b'])
  })

  it('writes durations in milliseconds and one value of a set as a list', () => {
    const spec = {
      attribute: 'a',
      levels: [
        [
          { name: 'AGE', max: '1.5m' },
          { name: 'RATE', n: 3, interval: '1.005s' },
          { name: 'FIRST', value: 'x' },
        ],
      ],
    }
    expect(compilePolicy(spec).spec.levels[0]).toEqual([
      { name: 'AGE', max: 90_000 },
      { name: 'RATE', n: 3, interval: 1005 },
      { name: 'FIRST', value: ['x'] },
    ])
  })

  it('keeps no state for the COUNT that every digest has, and counts values when COUNT names an attribute', () => {
    const spec = {
      attribute: 'a',
      summary: ['COUNT', { name: 'COUNT', attribute: 'a' }, 'MAX'],
      levels: [[uniq]],
    }
    const policy = compilePolicy(spec)
    expect(policy.digesters.map(({ key }) => key)).toEqual(['COUNT(a)', 'MAX'])
    expect(policy.spec).toEqual({ ...spec, summary: spec.summary.slice(1) })
  })

  it('gives the second digester of a name the attribute in its key', () => {
    const policy = compilePolicy({
      attribute: 'a',
      summary: [{ name: 'MAX', attribute: 'b' }, 'MAX'],
      levels: [[uniq]],
    })
    expect(policy.digesters.map(({ key }) => key)).toEqual(['MAX', 'MAX(a)'])
  })

  it('takes filters and parameters of the repository it is given', () => {
    const even = defineFilter({
      name: 'EVEN',
      summary: 'keeps nothing',
      attribute: false,
      parameters: { constructor: { type: 'count', optional: true } },
      keep: () => () => 0,
    })
    const repository = new Repository().filter(even)
    expect(compilePolicy({ levels: [[{ name: 'EVEN' }]] }, { repository }).levels[0]![0]!.name).toBe('EVEN')
    expect(errorOf({ levels: [[{ name: 'EVEN' }]] }).message).toContain('unknown filter "EVEN"')
  })

  it('reports what a filter of a user throws as a mistake in the policy', () => {
    const parameters = {}
    const keep = () => {
      throw new Error('out of order')
    }
    const repository = new Repository().filter({
      name: 'BAD',
      summary: '',
      attribute: false,
      parameters,
      keep,
    })
    expect(errorOf({ levels: [[{ name: 'BAD' }]] }, repository).message).toBe(
      'policy.levels[0][0]: BAD: out of order',
    )
  })
})

describe('mistakes in a plain object', () => {
  const mistakes: readonly [what: string, spec: unknown, start: string, words: string][] = [
    ['null', null, 'policy: ', 'expected an object'],
    ['a list', [], 'policy: ', 'a list is not a policy'],
    ['a text', '<policy/>', 'policy: ', 'expected an object'],
    ['no levels', { attribute: 'a' }, 'policy.levels: ', 'no level'],
    ['an empty list of levels', { levels: [] }, 'policy.levels: ', 'no level'],
    ['levels that are no list', { levels: {} }, 'policy.levels: ', 'expected a list'],
    ['levels that are null', { levels: null }, 'policy.levels: ', 'null is not a list'],
    [
      'a summary that is null',
      { summary: null, levels: [[every]] },
      'policy.summary: ',
      'null is not a list',
    ],
    [
      'a digester that is null',
      { summary: [null], levels: [[every]] },
      'policy.summary[0]: ',
      'expected a name or an object',
    ],
    ['a level that is no list', { levels: [uniq] }, 'policy.levels[0]: ', 'expected a list'],
    ['an empty level', { levels: [[]] }, 'policy.levels[0]: ', 'without filters'],
    ['a filter that is a text', level('UNIQ'), 'policy.levels[0][0]: ', 'expected an object'],
    ['an unknown key', { atribute: 'a', levels: [[every]] }, 'policy.atribute: ', 'did you mean "attribute"'],
    [
      'an attribute that is a number',
      { attribute: 5, levels: [[uniq]] },
      'policy.attribute: ',
      'expected a text',
    ],
    ['an empty attribute', { attribute: '', levels: [[uniq]] }, 'policy.attribute: ', 'an empty attribute'],
    ['a filter without a name', level({}), 'policy.levels[0][0]: ', 'without a name'],
    ['an empty name', level({ name: '' }), 'policy.levels[0][0].name: ', 'an empty name'],
    ['a name in a list', level({ name: ['UNIQ'] }), 'policy.levels[0][0].name: ', 'a list'],
    ['a near miss of a name', level({ name: 'UNIK' }), 'policy.levels[0][0].name: ', 'did you mean "UNIQ"'],
    ['a name in lower case', level({ name: 'uniq' }), 'policy.levels[0][0].name: ', 'did you mean "UNIQ"'],
    [
      'an unknown mode',
      level({ ...uniq, mode: 'dorp' }),
      'policy.levels[0][0].mode: ',
      'did you mean "drop"',
    ],
    ['an unknown parameter', level({ ...uniq, n: 1 }), 'policy.levels[0][0].n: ', 'expected none'],
    ['an odd parameter', level({ ...uniq, 'a b': 1 }), 'policy.levels[0][0]["a b"]: ', 'expected none'],
    [
      'a missing parameter',
      level({ name: 'EQ' }),
      'policy.levels[0][0]: ',
      'EQ has no "value", expected a value',
    ],
    ['a missing count', level({ name: 'EVERY' }), 'policy.levels[0][0]: ', 'expected a whole number from 1'],
    ['a list for one value', level({ name: 'EQ', value: [1] }), 'policy.levels[0][0].value: ', 'one value'],
    [
      'a truth value',
      level({ name: 'EQ', value: true }),
      'policy.levels[0][0].value: ',
      'a number or a text: write "true"',
    ],
    ['an object', level({ name: 'EQ', value: {} }), 'policy.levels[0][0].value: ', 'a number or a text'],
    ['NaN', level({ name: 'DELTA', change: Number.NaN }), 'policy.levels[0][0].change: ', 'finite'],
    [
      'infinity',
      level({ name: 'EQ', value: Number.POSITIVE_INFINITY }),
      'policy.levels[0][0].value: ',
      'finite',
    ],
    [
      'infinity in words',
      level({ name: 'DELTA', change: 'Infinity' }),
      'policy.levels[0][0].change: ',
      'finite',
    ],
    [
      'a number that is too large',
      level({ name: 'EQ', value: '1e999' }),
      'policy.levels[0][0].value: ',
      'too large',
    ],
    ['half a count', level({ name: 'EVERY', n: 1.5 }), 'policy.levels[0][0].n: ', 'a whole number from 1'],
    ['a count of zero', level({ name: 'EVERY', n: 0 }), 'policy.levels[0][0].n: ', 'a whole number from 1'],
    [
      'a large fraction',
      level({ name: 'RANDOM', fraction: 2 }),
      'policy.levels[0][0].fraction: ',
      'from 0 to 1',
    ],
    ['an unknown unit', level({ name: 'AGE', max: '5y' }), 'policy.levels[0][0].max: ', 'ms s m h d'],
    ['a negative duration', level({ name: 'AGE', max: -1 }), 'policy.levels[0][0].max: ', 'milliseconds'],
    ['an empty set', level({ name: 'INSET', value: [] }), 'policy.levels[0][0].value: ', 'an empty list'],
    ['a bad member', level({ name: 'INSET', value: [1, null] }), 'policy.levels[0][0].value[1]: ', 'null'],
    [
      'a hole in a set',
      level({ name: 'INSET', value: new Array(1) }),
      'policy.levels[0][0].value[0]: ',
      'nothing',
    ],
    [
      'a pattern that is a number',
      level({ name: 'MATCH', pattern: 5 }),
      'policy.levels[0][0].pattern: ',
      'a text',
    ],
    [
      'a bad pattern',
      level({ name: 'MATCH', pattern: '(' }),
      'policy.levels[0][0].pattern: ',
      'missing closing ): `(`, expected RE2 syntax',
    ],
    [
      'a bad flag',
      level({ name: 'MATCH', pattern: 'a', flags: 'g' }),
      'policy.levels[0][0].flags: ',
      'expected "i"',
    ],
    [
      'bounds in the wrong order',
      level({ name: 'WITHIN', low: 9, high: 1 }),
      'policy.levels[0][0].low: ',
      'WITHIN',
    ],
    ['a control character', level({ name: 'EQ', value: '\0' }), 'policy.levels[0][0].value: ', 'control'],
    [
      'half a character',
      level({ name: 'EQ', value: '\ud800' }),
      'policy.levels[0][0].value: ',
      'half a character',
    ],
    ['a filter without attribute', { levels: [[uniq]] }, 'policy.levels[0][0]: ', 'UNIQ has no attribute'],
    [
      'a digester without attribute',
      { summary: ['MAX'], levels: [[{ name: 'LATEST', window: 1 }]] },
      'policy.summary[0]: ',
      'MAX has no attribute',
    ],
    [
      'an unknown digester',
      { attribute: 'a', summary: ['MEEN'], levels: [[uniq]] },
      'policy.summary[0]: ',
      'did you mean "MEAN"',
    ],
    [
      'an unknown key of a digester',
      { attribute: 'a', summary: [{ name: 'MAX', mode: 'keep' }], levels: [[uniq]] },
      'policy.summary[0].mode: ',
      'unknown key',
    ],
    [
      'a digester twice',
      { attribute: 'a', summary: ['MAX', { name: 'MAX', attribute: 'a' }], levels: [[uniq]] },
      'policy.summary[1]: ',
      'there already',
    ],
    [
      'a plain COUNT twice',
      { attribute: 'a', summary: ['COUNT', 'COUNT'], levels: [[uniq]] },
      'policy.summary[1]: ',
      'there already',
    ],
  ]

  it.each(mistakes)('names the path of %s', (_, spec, start, words) => {
    const error = errorOf(spec)
    expect(error.code).toBe('POLICY_INVALID')
    expect(error.errors).toEqual([expect.stringContaining(words)])
    expect(error.errors[0]!.startsWith(start), error.message).toBe(true)
  })

  it('says once that a parameter is misspelt, and not also that it is missing', () => {
    expect(errorOf(level({ name: 'WITHIN', low: 1, hihg: 2 })).errors).toEqual([
      'policy.levels[0][0].hihg: WITHIN has no parameter "hihg" (did you mean "high"?), expected low, high',
    ])
    expect(errorOf(level({ name: 'WITHIN', low: 1, upper: 2 })).errors).toHaveLength(2)
  })

  it('throws an error that is called after its class', () => {
    expect(errorOf(null).name).toBe('PolicyError')
  })

  it('reports all mistakes at once, twenty of them in the message', () => {
    const filters = Array.from({ length: 16 }, () => ({ name: 'NOPE' }))
    const error = errorOf({ levels: [filters, filters] })
    expect(error.errors).toHaveLength(32)
    expect(error.message.split('\n')).toHaveLength(21)
    expect(error.message).toMatch(/\nand 12 more$/)
  })

  it('stops collecting at a hundred mistakes', () => {
    const filters = Array.from({ length: 16 }, () => ({ name: 'NOPE' }))
    const { errors } = errorOf({ levels: Array.from({ length: 32 }, () => filters) })
    expect(errors).toHaveLength(100)
    expect(errors.at(-1)).toMatch(/^policy\.levels\[6\]\[3\]\.name: /)
  })
})

describe('limits of a policy', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `v${i}`)
  const excesses: readonly [what: string, spec: unknown, limit: number][] = [
    ['levels', { attribute: 'a', levels: many(33).map(() => [uniq]) }, policyLimits.levels],
    [
      'filters in a level',
      { attribute: 'a', levels: [many(17).map(() => uniq)] },
      policyLimits.filtersPerLevel,
    ],
    ['digesters', { attribute: 'a', summary: many(17), levels: [[uniq]] }, policyLimits.digesters],
    ['values', level({ name: 'INSET', value: many(1025) }), policyLimits.members],
    [
      'characters of a pattern',
      level({ name: 'MATCH', pattern: 'a'.repeat(513) }),
      policyLimits.patternLength,
    ],
    ['characters of a value', level({ name: 'EQ', value: 'a'.repeat(1025) }), policyLimits.textLength],
    ['keys', level(Object.fromEntries(many(65).map((key) => [key, 1]))), policyLimits.keys],
    ['bytes', level({ name: 'INSET', value: many(1000).map((v) => v.padEnd(100)) }), policyLimits.bytes],
  ]

  it.each(excesses)('refuses too many %s and says the limit', (_, spec, limit) => {
    const error = errorOf(spec)
    expect(error.code).toBe('POLICY_LIMIT')
    expect(error.message).toContain(`limit is ${limit}`)
  })

  it.each([
    ['levels', { levels: new Array(1e8) }, '100000000 levels, the limit is 32'],
    ['filters', { levels: [new Array(1e8)] }, '100000000 filters in a level, the limit is 16'],
    ['digesters', { summary: new Array(1e8), levels: [] }, '100000000 digesters, the limit is 16'],
    ['values', level({ name: 'EQ', value: new Array(1e8) }), '100000000 values, the limit is 1024'],
  ])('counts a hundred million %s without looking at them', (_, spec, message) => {
    const started = performance.now()
    expect(errorOf(spec).message).toContain(message)
    expect(performance.now() - started).toBeLessThan(1000)
  })

  it('counts the values of all lists together before it reads them', () => {
    const wide = Object.fromEntries(many(60).map((key) => [key, many(1024)]))
    const levels = new Array(32).fill(new Array(16).fill({ name: 'INSET', value: many(1024), ...wide }))
    const started = performance.now()
    expect(errorOf({ attribute: 'a', levels }).message).toMatch(/: 3072 values in all, the limit is 2621$/)
    expect(performance.now() - started).toBeLessThan(1000)
  })

  it('accepts as much as the limits allow', () => {
    const pattern = `[${'a'.repeat(510)}]`
    const spec = level({ name: 'INSET', value: many(1024) }, { name: 'MATCH', pattern })
    expect(compilePolicy(spec as PolicySpec).top).toBe(1)
  })
})

describe('presets', () => {
  it.each(Object.keys(presets))('compiles %s for an attribute', (name) => {
    expect(presetPolicy(name, 'x').spec.attribute).toBe('x')
  })

  it('suggests the preset that was meant', () => {
    expect(() => presetPolicy('telemetri', 'x')).toThrow('did you mean "telemetry"')
    expect(() => presetPolicy('constructor', 'x')).toThrow('unknown preset "constructor"')
  })
})
