// Printing: whatever is compiled can be printed as XML, read again and is the same policy.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../policies/compile.ts'
import { UNWRITABLE } from '../../policies/limits.ts'
import type { FilterSpec, PolicySpec } from '../../policies/policy.ts'
import { presetPolicy, presets } from '../../policies/presets.ts'
import { printPolicy } from '../../policies/print.ts'
import { parsePolicy } from '../../policies/xml.ts'

const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('a\n"b"\t<&>\'\r', '__proto__', '1.0', '-0', ' 1', ']]>'),
  )
  .filter((text) => !UNWRITABLE.test(text))
const tag = text.filter((text) => text !== '')
const number = fc.double({ noNaN: true, noDefaultInfinity: true })
const operand = fc
  .oneof(text, number, number.map(String))
  .filter((value) => !/^[+-]?(nan|inf(inity)?)$/i.test(String(value)))
const operands = fc.oneof(operand, fc.array(operand, { minLength: 1, maxLength: 5 }))
const count = fc.integer({ min: 1, max: 1e6 })
const written = <T>(values: fc.Arbitrary<T>) => fc.oneof(values, values.map(String))

function filters(
  names: string[],
  parameters: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<FilterSpec> {
  const optional = { attribute: tag, mode: fc.constantFrom('keep', 'drop') }
  const name: fc.Arbitrary<unknown> = fc.constantFrom(...names)
  const model: Record<string, fc.Arbitrary<unknown>> = { name, ...optional, ...parameters }
  return fc.record(model, { requiredKeys: ['name', ...Object.keys(parameters)] }) as fc.Arbitrary<FilterSpec>
}

const filter = fc.oneof(
  filters(['GT', 'GE', 'EQ', 'NE', 'LT', 'LE', 'CONTAIN'], { value: operand }),
  filters(['INSET', 'SUBSET', 'SUPSET', 'FIRST', 'LAST'], { value: operands }),
  filters(['UNIQ', 'GUNIQ'], {}),
  filters(['MATCH'], { pattern: fc.constantFrom('a+', '^[<>&"]\n$', '\\d{3}|é'), flags: fc.constant('i') }),
  filters(['WITHIN'], { low: written(fc.integer({ max: 0 })), high: written(fc.integer({ min: 1 })) }),
  filters(['DELTA'], { change: written(fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 })) }),
  filters(['LATEST', 'LATESTBY'], { window: written(count) }),
  filters(['EVERY'], { n: written(count) }),
  filters(['RANDOM'], { fraction: fc.double({ min: 0, max: 1, noNaN: true }) }),
  filters(['RATE'], {
    n: count,
    interval: fc.oneof(
      count,
      count.map((n) => `${n / 8}s`),
    ),
  }),
  filters(['AGE'], { max: fc.constantFrom('1ms', '0.3s', '2m', '1.5h', '7d', 12.5) }),
)
const digester = fc.record(
  {
    name: fc.constantFrom('COUNT', 'SUM', 'MIN', 'MAX', 'MEAN', 'STDDEV', 'FIRST', 'LAST', 'DISTINCT'),
    attribute: tag,
  },
  { requiredKeys: ['name'] },
)
const policy = fc.record({
  attribute: tag,
  summary: fc.uniqueArray(digester, { maxLength: 6, selector: ({ name }) => name }),
  levels: fc.array(fc.array(filter, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
}) as fc.Arbitrary<PolicySpec>

describe('printPolicy', () => {
  it('prints every policy so that reading it gives the same policy', () => {
    fc.assert(
      fc.property(policy, (spec) => {
        const compiled = compilePolicy(spec)
        const read = parsePolicy(printPolicy(compiled))
        expect(read.spec).toEqual(compiled.spec)
        expect(read.hash).toBe(compiled.hash)
      }),
      { numRuns: 500 },
    )
  })

  it('compiles a canonical policy to itself', () => {
    fc.assert(
      fc.property(policy, (spec) => {
        const { spec: canonical, hash } = compilePolicy(spec)
        expect(compilePolicy(canonical).hash).toBe(hash)
        expect(compilePolicy(JSON.parse(JSON.stringify(canonical))).hash).toBe(hash)
      }),
    )
  })

  it.each(Object.keys(presets))('prints the preset %s', (name) => {
    const preset = presetPolicy(name, 'a "quoted" <name>')
    expect(parsePolicy(printPolicy(preset)).hash).toBe(preset.hash)
  })

  it('indents and closes what is empty', () => {
    const spec = {
      attribute: 'a',
      summary: ['MAX'],
      levels: [[{ name: 'EQ', mode: 'drop', value: 'x\n<' }]],
    } as const
    expect(printPolicy(compilePolicy(spec))).toBe(`<policy attribute="a">
  <summary>
    <digester name="MAX"/>
  </summary>
  <level>
    <filter name="EQ" mode="drop">
      <para name="value" value="x&#10;&lt;"/>
    </filter>
  </level>
</policy>
`)
  })
})
