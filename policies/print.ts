// Prints a policy as XML. Reading it again gives an equal policy.
import { type DigesterSpec, FILTER_KEYS, type FilterSpec, type Policy, type PolicySpec } from './policy.ts'

const REFERENCES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  // Written as they are, these would be read as spaces.
  ['\t', '&#9;'],
  ['\n', '&#10;'],
  ['\r', '&#13;'],
])

/** The policy as XML, indented, with a newline at its end. */
export function printPolicy(policy: Policy): string {
  return printSpec(policy.spec)
}

/** A canonical policy as XML. */
export function printSpec({ attribute, summary, levels }: PolicySpec): string {
  const children = [
    ...(summary === undefined ? [] : element('summary', [], summary.map(digester))),
    ...levels.flatMap((level) => element('level', [], level.map(filter))),
  ]
  return `${element('policy', [['attribute', attribute]], [children]).join('\n')}\n`
}

type Lines = readonly string[]

function digester(spec: string | DigesterSpec): Lines {
  const { name, attribute } = typeof spec === 'string' ? { name: spec } : spec
  return element(
    'digester',
    [
      ['name', name],
      ['attribute', attribute],
    ],
    [],
  )
}

function filter(spec: FilterSpec): Lines {
  const paras = Object.entries(spec)
    .filter(([key]) => !FILTER_KEYS.includes(key))
    .flatMap(([name, value]) =>
      [value].flat().map((value) =>
        element(
          'para',
          [
            ['name', name],
            ['value', value],
          ],
          [],
        ),
      ),
    )
  return element(
    'filter',
    [
      ['name', spec.name],
      ['attribute', spec.attribute],
      ['mode', spec.mode],
    ],
    paras,
  )
}

type Written = readonly [name: string, value: unknown]

function element(name: string, attributes: readonly Written[], children: readonly Lines[]): Lines {
  const written = attributes.filter(([, value]) => value !== undefined)
  const start = `<${name}${written.map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join('')}`
  if (children.length === 0) return [`${start}/>`]
  return [`${start}>`, ...children.flat().map((line) => `  ${line}`), `</${name}>`]
}

function escaped(text: string): string {
  return text.replace(/[&<>"\t\n\r]/g, (character) => REFERENCES.get(character)!)
}
