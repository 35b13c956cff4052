// Policies from strangers: nothing they write takes long, allocates much, or throws anything but a SpillwayError.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import { compilePolicy } from '../../policies/compile.ts'
import { DecodedEvents } from '../../policies/decoded.ts'
import { SpillwayError } from '../../policies/error.ts'
import type { Events } from '../../policies/event.ts'
import { Packing } from '../../policies/pack.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import { presetPolicy } from '../../policies/presets.ts'
import { printPolicy } from '../../policies/print.ts'
import { parsePolicy } from '../../policies/xml.ts'
import { collectedHeapBytes } from './heap.ts'

const level = (inside: string) => `<policy attribute="a"><level>${inside}</level></policy>`
const valid = `<?xml version="1.0"?>\n<!-- c -->\n${printPolicy(
  compilePolicy({
    attribute: 'PulseRate',
    summary: ['MEAN', { name: 'MAX', attribute: 'Temp' }],
    levels: [
      [{ name: 'MATCH', pattern: '^a&b+$', flags: 'i' }],
      [{ name: 'INSET', value: [1, 'x', '<'] }],
      [
        { name: 'RATE', n: 3, interval: '1s' },
        { name: 'WITHIN', mode: 'drop', low: 1, high: 2 },
      ],
    ],
  }),
)}`

/** The code of the error; fails when it takes a second or throws something else. */
function codeOf(run: () => unknown): string {
  const started = performance.now()
  try {
    run()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    expect(error.message.length).toBeLessThan(10_000)
    return error.code
  } finally {
    expect(performance.now() - started).toBeLessThan(1000)
  }
}

describe('hostile XML', () => {
  it('refuses a billion laughs without laughing', () => {
    const entities = Array.from(
      { length: 9 },
      (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`,
    ).join('')
    const xml = `<!DOCTYPE policy [<!ENTITY l0 "ha">${entities}]>${level('<filter name="&l9;"/>')}`
    expect(codeOf(() => parsePolicy(xml))).toBe('POLICY_INVALID')
  })

  it('refuses a megabyte before reading it', () => {
    expect(codeOf(() => parsePolicy(level('<filter name="UNIQ"/>'.repeat(50_000))))).toBe('POLICY_LIMIT')
    expect(codeOf(() => parsePolicy('é'.repeat(40_000)))).toBe('POLICY_LIMIT')
  })

  it('refuses a thousand levels', () => {
    const xml = `<policy attribute="a">${'<level><filter name="UNIQ"/></level>'.repeat(1000)}</policy>`
    expect(codeOf(() => parsePolicy(xml))).toBe('POLICY_LIMIT')
    const levels = Array.from({ length: 1000 }, () => [{ name: 'UNIQ' }])
    expect(codeOf(() => compilePolicy({ attribute: 'a', levels }))).toBe('POLICY_LIMIT')
  })

  it('refuses deep nesting', () => {
    expect(codeOf(() => parsePolicy('<level>'.repeat(9000)))).toBe('POLICY_LIMIT')
    expect(codeOf(() => parsePolicy(`${'<a>'.repeat(8000)}${'</a>'.repeat(8000)}`))).toBe('POLICY_LIMIT')
  })

  it.each([
    ['attributes', `<policy ${Array.from({ length: 6000 }, (_, i) => `a${i}=""`).join(' ')}/>`],
    ['unknown elements', `<policy>${'<x/>'.repeat(16_000)}</policy>`],
    ['references', `<policy attribute="${'&#65;'.repeat(13_000)}"/>`],
    ['spaces in a tag', `<policy${' '.repeat(65_000)}`],
    ['comment openings', `${'<!--'.repeat(16_000)}`],
    ['line ends', '\n'.repeat(65_000)],
    ['closing tags', '</a>'.repeat(16_000)],
  ])('answers quickly to thousands of %s', (_, xml) => {
    expect(codeOf(() => parsePolicy(xml))).toMatch(/^POLICY_/)
  })
})

describe('hostile values', () => {
  it.each(['NaN', 'Infinity', '-Infinity', '1e999', '-1e999', '0x10', '1_000', '', ' 1', '٣'])(
    'refuses %j as a number',
    (value) => {
      const spec = (name: string, parameter: string) => ({
        attribute: 'a',
        levels: [[{ name, [parameter]: value }]],
      })
      expect(codeOf(() => compilePolicy(spec('DELTA', 'change')))).toBe('POLICY_INVALID')
      expect(codeOf(() => compilePolicy(spec('EVERY', 'n')))).toBe('POLICY_INVALID')
      expect(codeOf(() => compilePolicy(spec('RANDOM', 'fraction')))).toBe('POLICY_INVALID')
      expect(codeOf(() => compilePolicy(spec('AGE', 'max')))).toBe('POLICY_INVALID')
    },
  )

  it.each(['NaN', 'Infinity', '1e999', '-1e999'])('refuses to order by %s', (value) => {
    expect(codeOf(() => compilePolicy({ attribute: 'a', levels: [[{ name: 'GT', value }]] }))).toBe(
      'POLICY_INVALID',
    )
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, true, null, {}, [[]], () => 1, Symbol('x'), 1n])(
    'refuses the value %s',
    (value) => {
      const spec = { attribute: 'a', levels: [[{ name: 'EQ', value }]] } as unknown as PolicySpec
      expect(codeOf(() => compilePolicy(spec))).toBe('POLICY_INVALID')
    },
  )

  it('matches an evil pattern in linear time', () => {
    const policy = compilePolicy({ attribute: 'a', levels: [[{ name: 'MATCH', pattern: '(a+)+$' }]] })
    const values = [`${'a'.repeat(50_000)}!`]
    const events: Events = {
      length: 1,
      epoch: () => 0,
      seq: () => 1,
      time: () => 0,
      columns: () => [values],
    }
    const output = new Uint32Array(1)
    const started = performance.now()
    const { select } = policy.levels[0]![0]!
    expect(select(values, new Uint32Array(1), 1, output, events, { now: 0, random: () => 0 })).toBe(0)
    expect(performance.now() - started).toBeLessThan(1000)
  })

  it.each([
    `(?:${'a'.repeat(500)}){1000}`,
    '(?:a?){1000}'.repeat(42),
    'a{99999999}',
    '\\pL{1000}',
    '(\\pL{25}){25}',
    '(a{1000}){1000}',
    `(?:(?:${'a?'.repeat(240)}){31}){32}`,
    '((((a{9}){9}){9}){9}){9}',
  ])('refuses the greedy pattern %s at once', (pattern) => {
    const levels = new Array(32).fill(new Array(3).fill({ name: 'MATCH', pattern }))
    const started = performance.now()
    expect(codeOf(() => compilePolicy({ attribute: 'a', levels }))).toBe('POLICY_LIMIT')
    expect(performance.now() - started).toBeLessThan(200)
  })

  it('takes the patterns that people write', () => {
    const patterns = [
      '^(\\d{1,3}\\.){3}\\d{1,3}$',
      '^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$',
      '[a-z0-9._-]{1,64}@[a-z0-9.-]{1,64}\\.[a-z]{2,6}',
      'error|warning|failed|timeout|disconnect(ed|ing)?',
    ]
    for (const pattern of patterns) compilePolicy({ attribute: 'a', levels: [[{ name: 'MATCH', pattern }]] })
  })

  it('counts the instructions of all patterns together', () => {
    const match = { name: 'MATCH', pattern: 'a{90}' }
    const policy = (n: number) => ({ attribute: 'a', levels: [[{ name: 'UNIQ' }], new Array(n).fill(match)] })
    expect(codeOf(() => compilePolicy(policy(3)))).toBe('accepted')
    expect(() => compilePolicy(policy(4))).toThrow('the patterns need 368 instructions together')
    const dropping = policy(4).levels.map((level) =>
      level.map((filter) => ({ ...filter, mode: 'drop' as const })),
    )
    expect(codeOf(() => compilePolicy({ attribute: 'a', levels: dropping }))).toBe('POLICY_LIMIT')
  })

  it.each([
    ['in one pattern', ['[ab]*a[ab]{180}[cd]$'], 200],
    ['in many patterns', new Array(13).fill('[ab]*a[ab]{15}[cd]$'), 20],
    ['beside many choices', ['(?:[ab]*a[ab]{12}[cd]|(?:a?){130}[cd])$'], 30],
  ])('matches what would need a huge automaton in little time and memory, %s', (_, patterns, count) => {
    const random = seeded(1)
    const text = () => Array.from({ length: 1000 }, () => 'ab'[Math.floor(random() * 2)]).join('')
    const texts = Array.from({ length: count }, () => `${text()}d!`)
    const policy = compilePolicy({
      attribute: 'a',
      levels: [patterns.map((pattern) => ({ name: 'MATCH', mode: 'drop', pattern }))],
    })
    const events = new DecodedEvents(texts.map((a, i) => ({ epoch: 1, seq: i + 1, time: 0, event: { a } })))
    const before = collectedHeapBytes()
    const started = performance.now()
    const packing = new Packing(policy, events, new Map(), { buffer: 'b', now: 0, random: () => 0 })
    expect(packing.climb(1).count).toBe(count)
    // With re2js as it is the first takes 2 s, the second 80 MB.
    expect(performance.now() - started).toBeLessThan(1000)
    expect(collectedHeapBytes() - before).toBeLessThan(20_000_000)
    expect(policy.levels).toHaveLength(1)
  })

  it.each(['a{2,1}', '('.repeat(512), '(?=a)', '\\1', '[z-a]', '(?<n>'])(
    'refuses the pattern %s',
    (pattern) => {
      expect(codeOf(() => compilePolicy({ attribute: 'a', levels: [[{ name: 'MATCH', pattern }]] }))).toBe(
        'POLICY_INVALID',
      )
    },
  )
})

describe('names of Object.prototype', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype']

  it.each(names)('takes %s for an unknown element, filter, digester, parameter or key', (name) => {
    const refused = [
      () => parsePolicy(`<${name}/>`),
      () => parsePolicy(level(`<${name}/>`)),
      () => parsePolicy(`<policy ${name}="x" attribute="a"><level><filter name="UNIQ"/></level></policy>`),
      () => parsePolicy(level(`<filter name="${name}"/>`)),
      () => parsePolicy(level(`<filter name="UNIQ"><para name="${name}" value="1"/></filter>`)),
      () => compilePolicy(JSON.parse(`{"levels":[[{"name":"${name}"}]]}`)),
      () => compilePolicy(JSON.parse(`{"attribute":"a","levels":[[{"name":"UNIQ","${name}":1}]]}`)),
      () => compilePolicy(JSON.parse(`{"attribute":"a","summary":["${name}"],"levels":[[{"name":"UNIQ"}]]}`)),
      () => compilePolicy(JSON.parse(`{"attribute":"a","${name}":{},"levels":[[{"name":"UNIQ"}]]}`)),
      () => presetPolicy(name, 'a'),
    ]
    expect(refused.map(codeOf)).toEqual(refused.map(() => 'POLICY_INVALID'))
  })

  it.each(names)('takes %s as the name of an attribute', (name) => {
    const policy = parsePolicy(`<policy attribute="${name}"><level><filter name="UNIQ"/></level></policy>`)
    expect(policy.levels[0]![0]!.attribute).toBe(name)
    expect(parsePolicy(printPolicy(policy)).hash).toBe(policy.hash)
  })

  it('leaves Object.prototype alone', () => {
    codeOf(() =>
      compilePolicy(JSON.parse('{"__proto__":{"levels":[[{"name":"UNIQ"}]],"polluted":1},"levels":[]}')),
    )
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('random damage', () => {
  const snippets = [
    '<',
    '>',
    '/>',
    '"',
    '&',
    '&#0;',
    '<!--',
    '-->',
    '<![CDATA[',
    '<?x?>',
    '\0',
    '\ud800',
    '<level>',
    '=',
    ' ',
    '\r',
    '{9}',
  ]
  const damage = fc.record({
    at: fc.nat(valid.length),
    cut: fc.nat(20),
    insert: fc.oneof(fc.constantFrom(...snippets), fc.string({ unit: 'binary', maxLength: 5 })),
  })

  it('in XML never throws anything but a SpillwayError, and what is accepted can be printed', () => {
    const apply = (xml: string, { at, cut, insert }: { at: number; cut: number; insert: string }) =>
      xml.slice(0, at) + insert + xml.slice(at + cut)
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
        const xml = damages.reduce(apply, valid)
        codeOf(() => {
          const policy = parsePolicy(xml)
          if (parsePolicy(printPolicy(policy)).hash !== policy.hash) throw new Error('printed another policy')
        })
      }),
      { numRuns: 4000 },
    )
  })

  it('in plain objects never throws anything but a SpillwayError', () => {
    const key = fc.constantFrom('name', 'attribute', 'mode', 'value', 'n', '__proto__')
    const anything = fc.oneof(fc.anything(), fc.constantFrom('UNIQ', 'EQ', 'EVERY', 'drop', 1))
    const filter = fc.oneof(anything, fc.dictionary(key, anything))
    const list = <T>(member: fc.Arbitrary<T>) => fc.array(member, { maxLength: 3 })
    const policy = fc.record({
      attribute: anything,
      summary: fc.oneof(anything, list(filter)),
      levels: list(list(filter)),
    })
    fc.assert(
      fc.property(fc.oneof(anything, policy), (spec) => void codeOf(() => compilePolicy(spec as PolicySpec))),
      { numRuns: 3000 },
    )
  })
})
