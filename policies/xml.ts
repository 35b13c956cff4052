// The policy language (PACK section 2, Figure 2): reads a policy's XML into an outline and compiles that.
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { XMLParser } from 'fast-xml-parser'
import { type CompileOptions, compileOutline } from './compile.ts'
import { policyLimits } from './limits.ts'
import {
  checkCount,
  type DigesterOutline,
  type FilterOutline,
  type ParameterOutline,
  type Piece,
  type PolicyOutline,
} from './outline.ts'
import { FILTER_KEYS, type Policy } from './policy.ts'
import { Complaints, PolicyError, quoted } from './policy-error.ts'
import { standard } from './repository.ts'
import { nearest, suggestion } from './suggestion.ts'
import { type Attribute, readTags, Source, type Tag, type Tags } from './xml-tags.ts'

export interface ParseOptions extends CompileOptions {
  /** The name that stands before line and column in errors; `policy.xml` unless told. */
  readonly file?: string
}

/** Reads a policy. Throws a PolicyError that names every mistake as `file:line:column: what, expected what`. */
export function parsePolicy(xml: string, options: ParseOptions = {}): Policy {
  const { file = 'policy.xml', repository = standard } = options
  if (typeof xml !== 'string')
    throw new PolicyError('POLICY_INVALID', [`${file}:1:1: ${quoted(xml)}, expected XML`])
  refuseLong(xml, file)
  const source = new Source(xml, file)
  const complaints = new Complaints()
  const root = treeOf(source, readTags(source))
  return compileOutline(new Outliner(source, complaints).policy(root), complaints, repository)
}

function refuseLong(xml: string, file: string): void {
  const { bytes } = policyLimits
  // The first comparison spares us encoding what is too long anyway.
  if (xml.length <= bytes && utf8ToBytes(xml).length <= bytes) return
  throw new PolicyError('POLICY_LIMIT', [
    `${file}:1:1: the policy is longer than the limit of ${bytes} bytes`,
  ])
}

interface Element {
  readonly tag: Tag
  readonly children: readonly Element[]
}

interface Grammar {
  readonly attributes: readonly string[]
  readonly children: readonly string[]
}

const XSI = 'http://www.w3.org/2001/XMLSchema-instance'
// The attributes of `policy` after the first let editors find policy.xsd.
const LANGUAGE: ReadonlyMap<string, Grammar> = new Map([
  [
    'policy',
    {
      attributes: ['attribute', 'xmlns:xsi', 'xsi:noNamespaceSchemaLocation'],
      children: ['summary', 'level'],
    },
  ],
  ['summary', { attributes: [], children: ['digester'] }],
  ['digester', { attributes: ['name', 'attribute'], children: [] }],
  ['level', { attributes: [], children: ['filter'] }],
  ['filter', { attributes: FILTER_KEYS, children: ['para'] }],
  ['para', { attributes: ['name', 'value'], children: [] }],
])

const INDEX = XMLParser.getMetaDataSymbol() as symbol
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: true,
  captureMetaData: true,
  processEntities: false,
  parseTagValue: false,
  trimValues: false,
})

/** The elements as a tree. fast-xml-parser alone would let much pass that `readTags` has refused already. */
function treeOf(source: Source, { byIndex, bare }: Tags): Element {
  try {
    const [root] = elementsOf(parser.parse(bare), byIndex)
    if (root !== undefined) return root
  } catch (error) {
    failAtUnknown(source, byIndex, error)
  }
  return source.fail(0, 'no element, expected <policy>')
}

type Node = Record<string, unknown> & { readonly [INDEX]?: { readonly startIndex: number } }

function elementsOf(nodes: readonly Node[], byIndex: Tags['byIndex']): Element[] {
  return nodes.flatMap((node) => {
    const tag = byIndex.get(node[INDEX]?.startIndex ?? -1)
    const children = tag && node[tag.name]
    return tag && Array.isArray(children) ? [{ tag, children: elementsOf(children, byIndex) }] : []
  })
}

/** The parser throws, without a place, on names like `__proto__`: none of them is part of the language. */
function failAtUnknown(source: Source, byIndex: Tags['byIndex'], error: unknown): never {
  for (const { name, at } of byIndex.values()) {
    if (!LANGUAGE.has(name)) source.fail(at, unknownElement(name, [...LANGUAGE.keys()]))
  }
  return source.fail(0, `${error instanceof Error ? error.message : String(error)}, expected a policy`)
}

/** Turns elements into an outline, complaining of what the language does not have. */
class Outliner {
  readonly #source: Source
  readonly #complaints: Complaints

  constructor(source: Source, complaints: Complaints) {
    this.#source = source
    this.#complaints = complaints
  }

  policy(element: Element): PolicyOutline {
    if (element.tag.name !== 'policy')
      this.#source.fail(element.tag.at, unknownElement(element.tag.name, ['policy']))
    const where = this.#source.where(element.tag.at)
    const children = this.#childrenOf(element)
    const summaries = children.filter(({ tag }) => tag.name === 'summary')
    const levels = children.filter(({ tag }) => tag.name === 'level')
    checkCount('levels', levels.length || element.children.length - summaries.length, where, this.#complaints)
    this.#checkFirst(summaries, children)
    this.#checkPrefix(element)
    return {
      where,
      attribute: this.#piece(element, 'attribute'),
      summary: summaries.flatMap((summary) =>
        this.#counted(summary, 'digesters').map((child) => this.#digester(child)),
      ),
      levels: levels.map((level) => ({
        where: this.#source.where(level.tag.at),
        filters: this.#counted(level, 'filters').map((child) => this.#filter(child)),
      })),
    }
  }

  #checkFirst(summaries: readonly Element[], children: readonly Element[]): void {
    for (const summary of summaries) {
      if (summary === children[0]) continue
      this.#complain(
        summary.tag.at,
        'a <summary> that is not the first element, expected one before the levels or none',
      )
    }
  }

  /** Elsewhere a prefix that means nothing, or another thing, would make the whole document invalid. */
  #checkPrefix(element: Element): void {
    const bound = this.#piece(element, 'xmlns:xsi')
    const { where } = bound ?? this.#piece(element, 'xsi:noNamespaceSchemaLocation') ?? {}
    if (where !== undefined && bound?.value !== XSI)
      this.#complaints.add(where, `the prefix xsi has another meaning or none, expected xmlns:xsi="${XSI}"`)
  }

  /** The children that belong here. Where all are misspelt, which was complained of, they are not called missing. */
  #counted(element: Element, part: 'filters' | 'digesters'): Element[] {
    const children = this.#childrenOf(element)
    const where = this.#source.where(element.tag.at)
    checkCount(part, children.length || element.children.length, where, this.#complaints)
    return children
  }

  #digester(element: Element): DigesterOutline {
    this.#childrenOf(element)
    return this.#named(element)
  }

  #named(element: Element): DigesterOutline {
    return {
      where: this.#source.where(element.tag.at),
      name: this.#piece(element, 'name'),
      attribute: this.#piece(element, 'attribute'),
    }
  }

  #filter(element: Element): FilterOutline {
    const parameters = new Map<string, ParameterOutline & { readonly values: Piece[] }>()
    for (const para of this.#childrenOf(element)) {
      const { where, name, value } = this.#para(para)
      if (name === undefined) continue
      const key = String(name.value)
      const written = parameters.get(key) ?? { where: name.where, name: key, list: false, values: [] }
      // After the complaint an empty value stands in, lest the parameter be called missing too.
      written.values.push(value ?? { where, value: '' })
      parameters.set(key, written)
    }
    for (const { where, values } of parameters.values())
      checkCount('values', values.length, where, this.#complaints)
    // Complained of already; as parameters they are at least not called missing too.
    for (const { name, at, value } of element.tag.attributes.filter(isMisplaced)) {
      const where = this.#source.where(at)
      if (!parameters.has(name))
        parameters.set(name, { where, name, list: false, values: [{ where, value }] })
    }
    return { ...this.#named(element), mode: this.#piece(element, 'mode'), parameters }
  }

  #para(element: Element): { where: string; name: Piece | undefined; value: Piece | undefined } {
    this.#childrenOf(element)
    const where = this.#source.where(element.tag.at)
    const name = this.#piece(element, 'name')
    const value = this.#piece(element, 'value')
    if (name === undefined) this.#complaints.add(where, 'a para without a name, expected name="..."')
    if (value === undefined) this.#complaints.add(where, 'a para without a value, expected value="..."')
    return { where, name, value }
  }

  /** The children that belong here; the others, and attributes that do not, are complained of. */
  #childrenOf({ tag, children }: Element): Element[] {
    const grammar = LANGUAGE.get(tag.name)!
    for (const attribute of tag.attributes) {
      if (grammar.attributes.includes(attribute.name)) continue
      this.#complain(attribute.at, unknownAttribute(attribute, tag, grammar))
    }
    return children.filter((child) => {
      const known = grammar.children.includes(child.tag.name)
      if (!known)
        this.#complain(child.tag.at, `${unknownElement(child.tag.name, grammar.children)} in <${tag.name}>`)
      return known
    })
  }

  #piece({ tag }: Element, name: string): Piece | undefined {
    const attribute = tag.attributes.find((attribute) => attribute.name === name)
    return attribute && { where: this.#source.where(attribute.at), value: attribute.value }
  }

  #complain(at: number, message: string): void {
    this.#complaints.add(this.#source.where(at), message)
  }
}

function unknownAttribute(attribute: Attribute, tag: Tag, grammar: Grammar): string {
  const name = quoted(attribute.name)
  const known = grammar.attributes.filter((known) => !known.includes(':'))
  const near = suggestion(attribute.name, known)
  const expected =
    tag.name === 'filter' && isMisplaced(attribute)
      ? `<para name=${name} value=${quoted(attribute.value)}/> inside it`
      : known.join(', ') || 'none'
  return `<${tag.name}> has no attribute ${name}${near}, expected ${expected}`
}

/** Whether an attribute of a filter must be meant as a parameter, being like none that a filter has. */
function isMisplaced({ name }: Attribute): boolean {
  return nearest(name, LANGUAGE.get('filter')!.attributes) === undefined
}

function unknownElement(name: string, known: readonly string[]): string {
  const expected = known.map((name) => `<${name}>`).join(' or ') || 'no element'
  return `unexpected element ${quoted(name)}${suggestion(name, known)}, expected ${expected}`
}
