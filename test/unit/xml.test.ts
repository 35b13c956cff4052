// The policy language: what it means, and where every mistake is pointed at.
import { describe, expect, it } from 'vitest'
import { compilePolicy, type PolicyError } from '../../policies/compile.ts'
import { parsePolicy } from '../../policies/xml.ts'
import { mistakesIn, ward as spec } from './policy-mistakes.ts'

const ward = `\ufeff<?xml version="1.0" encoding="UTF-8"?>
<!-- A hospital ward -->
<policy attribute="PulseRate">
  <summary><digester name="MEAN"/><digester name='MAX' attribute = "Temp"></digester></summary>
  <level><filter name="DELTA"><para name="change" value="5"/></filter></level>
  <level><filter name="WITHIN" mode="drop">
    <para name="low" value="50"/><!-- low > high? --><para value="100" name="high"/></filter></level>
  <level><filter name="LATEST"><para name="window" value="&#49;&#x30;"/></filter></level>
</policy>
<!-- the end -->
`

const level = (inside: string) => `<policy attribute="a">\n <level>\n  ${inside}\n </level>\n</policy>`
const uniq = '<filter name="UNIQ"/>'

function errorOf(xml: string): PolicyError {
  return mistakesIn(() => parsePolicy(xml, { file: 'ward.xml' }))
}

describe('parsePolicy', () => {
  it('reads the same policy as the plain object', () => {
    const policy = compilePolicy(spec)
    expect(parsePolicy(ward).spec).toEqual(policy.spec)
    expect(parsePolicy(ward).hash).toBe(policy.hash)
    expect(parsePolicy(ward.replaceAll('\n', '\r\n')).hash).toBe(policy.hash)
  })

  it('reads repeated paras as a set, decodes references, and takes line ends in values as spaces', () => {
    const paras = [
      '&#10;&#x1F600;',
      '&#x0000000041;&#00000000066;',
      '&lt;&gt;&quot;&apos;',
      '__proto__',
      'a\n\tb',
      'a&amp;b',
    ]
    const xml = `<policy attribute="a"><level><filter name="INSET">${paras
      .map((value) => `<para name="value" value="${value}"/>`)
      .join('')}</filter></level></policy>`
    expect(parsePolicy(xml).spec.levels[0]![0]!.value).toEqual([
      '\n😀',
      '<>"\'',
      'AB',
      '__proto__',
      'a  b',
      'a&b',
    ])
  })

  it('lets the root say where the schema is', () => {
    const root =
      '<policy xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="policy.xsd"'
    expect(parsePolicy(`${root} attribute="a"><level><filter name="UNIQ"/></level></policy>`).top).toBe(1)
  })

  it('reports several mistakes in the order of the file', () => {
    const filters = '\n<filter name="UNIK"/><filter name="EVERY"/><filter nmae="UNIQ"/>'.repeat(5)
    const { errors } = errorOf(`<policy attribute="a">\n <levle/>\n <level>${filters}</level>\n</policy>`)
    const places = errors.map((line) => line.split(':').slice(1, 3).map(Number) as [number, number])
    expect(errors).toHaveLength(1 + 5 * 4)
    expect(places).toEqual(places.toSorted(([line, column], [l, c]) => line - l || column - c))
  })

  it('shows how to write a parameter that stands as an attribute, and does not call it missing', () => {
    expect(
      errorOf('<policy attribute="a"><level><filter name="EQ" value="5"/></level></policy>').errors,
    ).toEqual([
      'ward.xml:1:48: <filter> has no attribute "value", expected <para name="value" value="5"/> inside it',
    ])
  })

  it('refuses more values than a set may have', () => {
    const paras = '<para name="value" value="x"/>'.repeat(1025)
    const error = errorOf(level(`<filter name="INSET">${paras}</filter>`))
    expect([error.code, error.message]).toEqual([
      'POLICY_LIMIT',
      'ward.xml:3:30: 1025 values, the limit is 1024',
    ])
  })

  it('names policy.xml when it is told no file', () => {
    expect(() => parsePolicy('')).toThrow('policy.xml:1:1: no element, expected <policy>')
  })
})

describe('mistakes in XML', () => {
  const mistakes: readonly [what: string, xml: string, place: string, words: string][] = [
    ['nothing', ' \n', '1:1', 'expected <policy>'],
    ['text only', 'hello', '1:1', 'text "hello"'],
    ['another root', '<polcy/>', '1:1', 'did you mean "policy"'],
    ['two roots', `${level(uniq)}\n<policy/>`, '6:1', 'a second root'],
    ['text after the root', `${level(uniq)}\n  x`, '6:3', 'text "x"'],
    ['text in a level', level(`${uniq} and more`), '3:25', 'text "and more"'],
    [
      'digesters that are not closed, as in Figure 2',
      '<policy attribute="a">\n<summary>\n  <digester name="MEAN">\n  <digester name="MAX">\n</summary>\n</policy>',
      '4:3',
      '<digester> is not closed',
    ],
    [
      'one digester that is not closed',
      '<policy attribute="a">\n<summary>\n  <digester name="MEAN">\n</summary>\n</policy>',
      '3:3',
      '</digester> before </summary>',
    ],
    ['an end that is missing', '<policy>\n <level>\n', '2:2', '</level> before the end'],
    ['an end without a start', '<policy>\n</policy></policy>', '2:10', 'closes nothing'],
    ['an end that is not finished', '<policy></policy', '1:17', 'expected ">"'],
    [
      'a tag that is not finished',
      level('<filter name="UNIQ" ').split('\n </')[0]!,
      '3:3',
      '<filter is not finished',
    ],
    ['a bare <', level('< filter/>'), '3:3', 'a bare "<"'],
    ['a value without quotes', level('<filter name=UNIQ/>'), '3:11', 'not quoted'],
    ['an attribute without value', level('<filter name/>'), '3:11', 'has no value'],
    ['a value that is not finished', level('<filter name="UNIQ/>'), '3:11', 'not finished'],
    ['a quote that is missing', level('<filter name="UNIQ/>\n<filter name="UNIQ"/>'), '3:11', 'an earlier "'],
    ['an attribute twice', level('<filter name="UNIQ" name="UNIQ"/>'), '3:23', 'is repeated'],
    ['attributes without space', level('<filter name="UNIQ"mode="keep"/>'), '3:22', 'expected a space'],
    ['a DOCTYPE', `<!DOCTYPE policy>\n${level(uniq)}`, '1:1', 'DOCTYPE'],
    ['CDATA', level('<![CDATA[x]]>'), '3:3', 'CDATA'],
    ['a processing instruction', `\n<?xml version="1.0"?>${level(uniq)}`, '2:1', 'processing instruction'],
    ['a declaration of nothing', `<?xml bogus?>${level(uniq)}`, '1:1', 'expected <?xml version="1.0"'],
    ['a declaration that goes on', `<?xml version="1.0" x="y"?>${level(uniq)}`, '1:1', 'XML declaration'],
    ['another version of XML', `<?xml version="1.1"?>${level(uniq)}`, '1:1', 'XML declaration'],
    ['another encoding', `<?xml version="1.0" encoding="UTF-16"?>${level(uniq)}`, '1:1', 'encoding="UTF-8"'],
    ['an unfinished declaration', '<?xml version="1.0"', '1:1', 'XML declaration'],
    ['an unfinished comment', level('<!-- x'), '3:3', 'the comment is not finished'],
    ['dashes in a comment', level('<!-- x -- y -->'), '3:10', 'inside a comment'],
    ['an unknown entity', level('<filter name="&uniq;"/>'), '3:11', '&uniq;'],
    ['a bare &', level('<filter name="A & B"/>'), '3:11', '&amp;'],
    ['a reference to no character', level('<filter name="&#0;"/>'), '3:11', 'a character that XML has'],
    [
      'a reference to half a character',
      level('<filter name="&#xD800;"/>'),
      '3:11',
      'a character that XML has',
    ],
    [
      'a reference beyond all characters',
      level('<filter name="&#x110000;"/>'),
      '3:11',
      'a character that XML has',
    ],
    ['a control character', level('<filter name="\u0001"/>'), '3:17', 'control character'],
    ['an unknown element', level('<fliter name="UNIQ"/>'), '3:3', 'did you mean "filter"'],
    ['a misspelt level', '<policy>\n <levle/></policy>', '2:2', 'did you mean "level"'],
    ['an element in the wrong place', level('<level/>'), '3:3', 'expected <filter>'],
    [
      'an element where none is',
      level('<filter name="EVERY"><para name="n" value="2"><para/></para></filter>'),
      '3:49',
      'expected no element',
    ],
    ['an unknown attribute', level('<filter name="UNIQ" mod="drop"/>'), '3:23', 'did you mean "mode"'],
    [
      'the prefix xsi without its namespace',
      level(uniq).replace('<policy', '<policy xsi:noNamespaceSchemaLocation="policy.xsd"'),
      '1:9',
      'expected xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"',
    ],
    [
      'the prefix xsi for something else',
      level(uniq).replace('<policy', '<policy xmlns:xsi="http://example.com"'),
      '1:9',
      'expected xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"',
    ],
    [
      'two summaries',
      '<policy attribute="a">\n<summary/>\n<summary/>\n<level><filter name="UNIQ"/></level></policy>',
      '3:1',
      'one before the levels',
    ],
    [
      'a summary behind a level',
      '<policy attribute="a">\n<level><filter name="UNIQ"/></level>\n<summary/></policy>',
      '3:1',
      'one before the levels',
    ],
    ['no level', '\n<policy/>', '2:1', 'no level'],
    ['an empty level', '<policy attribute="a">\n  <level/></policy>', '2:3', 'without filters'],
    ['a filter without a name', level('<filter/>'), '3:3', 'without a name'],
    ['an unknown filter', level('<filter name="UNIK"/>'), '3:11', 'did you mean "UNIQ"'],
    [
      'an unknown digester',
      level(uniq).replace('\n', '\n<summary><digester name="MEEN"/></summary>'),
      '2:20',
      'did you mean "MEAN"',
    ],
    ['an unknown mode', level('<filter name="UNIQ" mode="kep"/>'), '3:23', 'did you mean "keep"'],
    [
      'a para without a name',
      level('<filter name="UNIQ"><para value="1"/></filter>'),
      '3:23',
      'without a name',
    ],
    [
      'a para without a value',
      level('<filter name="EQ"><para name="value"/></filter>'),
      '3:21',
      'without a value',
    ],
    [
      'an unknown parameter',
      level('<filter name="EVERY"><para name="m" value="2"/></filter>'),
      '3:30',
      'no parameter "m"',
    ],
    [
      'a parameter twice',
      level('<filter name="EVERY"><para name="n" value="2"/>\n<para name="n" value="3"/></filter>'),
      '4:16',
      'is repeated',
    ],
    [
      'a value that is no number',
      level('<filter name="EVERY"><para name="n" value="two"/></filter>'),
      '3:39',
      'a whole number from 1',
    ],
    [
      'a bad pattern',
      level('<filter name="MATCH"><para name="pattern" value="("/></filter>'),
      '3:45',
      'missing closing ): `(`, expected RE2 syntax',
    ],
    [
      'bounds in the wrong order',
      level('<filter name="WITHIN"><para name="high" value="1"/>\n<para name="low" value="9"/></filter>'),
      '4:18',
      'expected low <= high',
    ],
    [
      'no attribute',
      '<policy><level>\n<filter name="UNIQ"/></level></policy>',
      '2:1',
      'UNIQ has no attribute',
    ],
    [
      'an empty attribute',
      '<policy\n attribute=""><level><filter name="UNIQ"/></level></policy>',
      '2:2',
      'an empty attribute',
    ],
  ]

  it.each(mistakes)('points at %s', (_, xml, place, words) => {
    const error = errorOf(xml)
    expect(error.code).toBe('POLICY_INVALID')
    expect(error.errors).toEqual([expect.stringContaining(words)])
    expect(error.errors[0]!.startsWith(`ward.xml:${place}: `), error.message).toBe(true)
  })
})
