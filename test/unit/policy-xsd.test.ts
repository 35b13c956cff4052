// The schema for editors says the same as the parser: both accept, both refuse, both know the same names.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { policyLimits } from '../../policies/compile.ts'
import { presetPolicy } from '../../policies/presets.ts'
import { printPolicy } from '../../policies/print.ts'
import { standard } from '../../policies/repository.ts'
import { parsePolicy } from '../../policies/xml.ts'

const contents = readFileSync(new URL('../../policies/policy.xsd', import.meta.url), 'utf8')
const uniq = '<filter name="UNIQ"/>'
const level = `<level>${uniq}</level>`
const policy = (inside: string) => `<policy attribute="a">${inside}</policy>`

async function isValid(xml: string): Promise<boolean> {
  const schema = [{ fileName: 'policy.xsd', contents }]
  return (await validateXML({ xml: [{ fileName: 'policy.xml', contents: xml }], schema })).valid
}

function isRead(xml: string): boolean {
  try {
    parsePolicy(xml)
    return true
  } catch {
    return false
  }
}

function enumerated(type: string): string[] {
  const [, body = ''] =
    new RegExp(`<xs:simpleType name="${type}">(.*?)</xs:simpleType>`, 's').exec(contents) ?? []
  return Array.from(body.matchAll(/enumeration value="([^"]*)"/g), ([, name]) => name!)
}

describe('policy.xsd', () => {
  it.each([
    ['telemetry', printPolicy(presetPolicy('telemetry', 'x'))],
    ['alerts', printPolicy(presetPolicy('alerts', 'a "<name>"'))],
    ['state', printPolicy(presetPolicy('state', 'x'))],
    ['an empty summary', policy(`<summary/>${level}`)],
    ['comments', policy(`<!-- c -->${level}<!-- c -->`)],
    [
      'no attribute where none is needed',
      '<policy><level><filter name="LATEST"><para name="window" value="1"/></filter></level></policy>',
    ],
    ['a mode', policy('<level><filter name="UNIQ" mode="drop" attribute="b"/></level>')],
    [
      'a set',
      policy(
        '<level><filter name="INSET"><para name="value" value="1"/><para name="value" value=""/></filter></level>',
      ),
    ],
    [
      'the place of the schema',
      policy(level).replace(
        '<policy',
        '<policy xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="policy.xsd"',
      ),
    ],
    ['as many levels as may be', policy(level.repeat(policyLimits.levels))],
    ['as many filters as may be', policy(`<level>${uniq.repeat(policyLimits.filtersPerLevel)}</level>`)],
  ])('accepts %s, as the parser does', async (_, xml) => {
    expect([await isValid(xml), isRead(xml)]).toEqual([true, true])
  })

  it.each([
    ['another root', '<level/>'],
    ['no level', policy('')],
    ['an empty level', policy('<level/>')],
    ['two summaries', policy(`<summary/><summary/>${level}`)],
    ['a summary behind a level', policy(`${level}<summary/>`)],
    ['an unknown element', policy(`<levle>${uniq}</levle>`)],
    ['an unknown attribute', policy(`<level><filter name="UNIQ" kind="x"/></level>`)],
    ['text', policy(`${level}text`)],
    ['a filter without a name', policy('<level><filter/></level>')],
    ['an empty name', policy('<level><filter name=""/></level>')],
    ['a name with a space', policy('<level><filter name="UN IQ"/></level>')],
    ['an empty attribute', policy('<level><filter name="UNIQ" attribute=""/></level>')],
    ['another mode', policy('<level><filter name="UNIQ" mode="maybe"/></level>')],
    ['a para without a value', policy('<level><filter name="EVERY"><para name="n"/></filter></level>')],
    ['a para without a name', policy('<level><filter name="EVERY"><para value="1"/></filter></level>')],
    ['a filter in a filter', policy(`<level><filter name="UNIQ">${uniq}</filter></level>`)],
    [
      'the prefix xsi without its namespace',
      policy(level).replace('<policy', '<policy xsi:noNamespaceSchemaLocation="policy.xsd"'),
    ],
    ['digesters that are not closed', policy(`<summary><digester name="MEAN"></summary>${level}`)],
    ['too many levels', policy(level.repeat(policyLimits.levels + 1))],
    ['too many filters', policy(`<level>${uniq.repeat(policyLimits.filtersPerLevel + 1)}</level>`)],
    [
      'too many digesters',
      policy(`<summary>${'<digester name="MAX"/>'.repeat(policyLimits.digesters + 1)}</summary>${level}`),
    ],
  ])('refuses %s, as the parser does', async (_, xml) => {
    expect([await isValid(xml), isRead(xml)]).toEqual([false, false])
  })

  it('names the filters and digesters of the repository', () => {
    expect(enumerated('standardFilter')).toEqual([...standard.filters.keys()])
    expect(enumerated('standardDigester')).toEqual([...standard.digesters.keys()])
  })
})
