// The tags of a policy's XML with the place of each attribute. Reads only what the language needs and refuses the
// rest of XML (document types, entities, CDATA, instructions, text), because policies come from strangers.
import { policyLimits, UNWRITABLE } from './limits.ts'
import { PolicyError, quoted } from './policy-error.ts'

/** The text of a policy and where in which file an index is. */
export class Source {
  readonly text: string
  readonly #file: string
  readonly #lineStarts: number[] = [0]

  constructor(xml: string, file: string) {
    this.#file = file
    // A byte order mark is no text. Line ends are normalised as XML says; that moves no line and no column.
    this.text = xml.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')
    for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1))
      this.#lineStarts.push(at + 1)
  }

  /** `file:line:column`, both from 1; columns count UTF-16 units, as editors do. */
  where(at: number): string {
    let low = 0
    let high = this.#lineStarts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#lineStarts[middle]! <= at) low = middle
      else high = middle
    }
    return `${this.#file}:${low + 1}:${at - this.#lineStarts[low]! + 1}`
  }

  fail(at: number, message: string): never {
    throw new PolicyError('POLICY_INVALID', [`${this.where(at)}: ${message}`])
  }
}

export interface Attribute {
  readonly name: string
  readonly at: number
  /** Decoded. */
  readonly value: string
}

/** A start tag. */
export interface Tag {
  readonly name: string
  readonly at: number
  readonly attributes: readonly Attribute[]
}

/** The start tags by index, and the text with everything but tags and line ends made blank. */
export interface Tags {
  readonly byIndex: ReadonlyMap<number, Tag>
  readonly bare: string
}

const SPACE = /[ \t\n]*/y
const NAME = /[^\s<>/="'&!?]+/y
const NOT_SPACE = /[^ \t\n]/g
const stated = (name: string, value: string) =>
  `[ \\t\\n]+${name}[ \\t\\n]*=[ \\t\\n]*(?:"${value}"|'${value}')`
const DECLARATION = new RegExp(
  `^<\\?xml${stated('version', '1[.]0')}(?:${stated('encoding', '[Uu][Tt][Ff]-8')})?` +
    `(?:${stated('standalone', '(?:yes|no)')})?[ \\t\\n]*\\?>`,
)
const REFERENCE = /&(?:#0*(\d{1,7})|#x0*([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));|&[^\s;&]{0,32};?/g
const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

/** Reads all tags; throws at the first place that is not well-formed or not part of the language. */
export function readTags(source: Source): Tags {
  return new Reader(source).read()
}

class Reader {
  readonly #source: Source
  readonly #text: string
  readonly #tags = new Map<number, Tag>()
  readonly #open: Tag[] = []
  #bare = ''
  #at = 0

  constructor(source: Source) {
    this.#source = source
    this.#text = source.text
  }

  read(): Tags {
    const control = this.#text.search(UNWRITABLE)
    if (control >= 0) this.#fail(control, 'a control character, expected text')
    while (this.#at < this.#text.length) this.#step()
    const unclosed = this.#open.at(-1)
    if (unclosed !== undefined) this.#failUnclosed(unclosed, 'the end')
    if (this.#tags.size === 0) this.#fail(0, 'no element, expected <policy>')
    return { byIndex: this.#tags, bare: this.#bare }
  }

  #step(): void {
    const from = this.#at
    if (this.#text[from] !== '<') this.#space()
    else if (this.#starts('<!--')) this.#comment()
    else if (from === 0 && /^<\?xml[ \t\n]/.test(this.#text)) this.#declaration()
    else if (this.#starts('<?')) this.#fail(from, 'a processing instruction, expected only elements')
    else if (this.#starts('<![CDATA[')) this.#fail(from, 'a CDATA section, expected only elements')
    else if (this.#starts('<!DOCTYPE'))
      this.#fail(from, 'a DOCTYPE, expected none: policies have no entities')
    else if (this.#starts('<!')) this.#fail(from, 'a declaration, expected only elements')
    else if (this.#starts('</')) this.#endTag()
    else this.#startTag()
  }

  #declaration(): void {
    const [declaration] = DECLARATION.exec(this.#text) ?? []
    if (declaration === undefined)
      this.#fail(0, 'a wrong XML declaration, expected <?xml version="1.0" encoding="UTF-8"?>')
    this.#blank(declaration.length)
  }

  #space(): void {
    const next = this.#text.indexOf('<', this.#at)
    const end = next < 0 ? this.#text.length : next
    NOT_SPACE.lastIndex = this.#at
    const found = NOT_SPACE.exec(this.#text)
    if (found !== null && found.index < end) {
      const near = this.#text.slice(found.index, Math.min(end, found.index + 24)).trim()
      this.#fail(found.index, `text ${quoted(near)}, expected only elements`)
    }
    this.#blank(end)
  }

  #comment(): void {
    const dashes = this.#text.indexOf('--', this.#at + 4)
    if (dashes >= 0 && this.#text[dashes + 2] !== '>')
      this.#fail(dashes, '"--" inside a comment, expected "-->"')
    if (dashes < 0) this.#fail(this.#at, 'the comment is not finished, expected "-->"')
    this.#blank(dashes + 3)
  }

  #endTag(): void {
    const from = this.#at
    this.#at += 2
    const name = this.#name() ?? this.#fail(from, '"</" without a name, expected an element\'s name')
    this.#match(SPACE)
    if (this.#text[this.#at] !== '>') this.#fail(this.#at, `</${name} is not finished, expected ">"`)
    this.#at += 1
    const opened = this.#open.pop()
    if (opened === undefined) this.#fail(from, `</${name}> closes nothing, expected no closing tag here`)
    if (opened.name !== name) this.#failUnclosed(opened, `</${name}>`)
    this.#bare += this.#text.slice(from, this.#at)
  }

  #startTag(): void {
    const at = this.#at
    this.#at += 1
    const name = this.#name() ?? this.#fail(at, 'a bare "<", expected an element')
    if (this.#open.length === 0 && this.#tags.size > 0) {
      this.#fail(at, `a second root <${name}>, expected nothing after the policy`)
    }
    const attributes = this.#attributes(name, at)
    const tag = { name, at, attributes }
    this.#tags.set(at, tag)
    const closed = this.#text[this.#at] === '/'
    this.#at += closed ? 2 : 1
    if (!closed) this.#open.push(tag)
    const { depth } = policyLimits
    if (this.#open.length > depth) {
      throw new PolicyError('POLICY_LIMIT', [
        `${this.#source.where(at)}: elements nested deeper than the limit of ${depth}`,
      ])
    }
    this.#bare += this.#text.slice(at, this.#at)
  }

  /** Reads up to the tag's end, which is left to be read. */
  #attributes(element: string, start: number): Attribute[] {
    const attributes: Attribute[] = []
    for (;;) {
      const spaced = this.#match(SPACE) !== ''
      if (this.#starts('>') || this.#starts('/>')) return attributes
      if (this.#at >= this.#text.length) this.#fail(start, `<${element} is not finished, expected ">"`)
      if (!spaced)
        this.#fail(this.#at, `${quoted(this.#text[this.#at])} in <${element}>, expected a space, ">" or "/>"`)
      const attribute = this.#attribute(element)
      if (attributes.some(({ name }) => name === attribute.name)) {
        this.#fail(attribute.at, `attribute ${quoted(attribute.name)} is repeated, expected it once`)
      }
      attributes.push(attribute)
    }
  }

  #attribute(element: string): Attribute {
    const at = this.#at
    const name =
      this.#name() ??
      this.#fail(at, `${quoted(this.#text[at])} in <${element}>, expected an attribute or ">"`)
    this.#match(SPACE)
    if (!this.#starts('=')) this.#fail(at, `attribute ${quoted(name)} has no value, expected ${name}="..."`)
    this.#at += 1
    this.#match(SPACE)
    const quote = this.#text[this.#at]
    if (quote !== '"' && quote !== "'")
      this.#fail(at, `the value of ${quoted(name)} is not quoted, expected ${name}="..."`)
    const from = this.#at + 1
    const end = this.#text.indexOf(quote, from)
    if (end < 0) this.#fail(at, `the value of ${quoted(name)} is not finished, expected ${quote}`)
    const raw = this.#text.slice(from, end)
    if (raw.includes('<'))
      this.#fail(at, `"<" in the value of ${quoted(name)}, expected "&lt;" or an earlier ${quote}`)
    this.#at = end + 1
    return { name, at, value: this.#decoded(raw, at, name) }
  }

  #decoded(raw: string, at: number, name: string): string {
    return raw.replace(/[\t\n]/g, ' ').replace(REFERENCE, (reference, decimal, hex, entity) => {
      if (entity !== undefined) return ENTITIES.get(entity)!
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      if (Number.isNaN(code)) {
        this.#fail(
          at,
          `${quoted(reference)} in the value of ${quoted(name)}, expected &amp; &lt; &gt; &quot; &apos; or &#...;`,
        )
      }
      const character = code <= 0x10ffff ? String.fromCodePoint(code) : '\0'
      if (UNWRITABLE.test(character) || !character.isWellFormed()) {
        this.#fail(
          at,
          `${quoted(reference)} in the value of ${quoted(name)}, expected a character that XML has`,
        )
      }
      return character
    })
  }

  #name(): string | undefined {
    return this.#match(NAME) || undefined
  }

  /** What the sticky pattern finds here, which is then read. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #starts(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  #blank(end: number): void {
    this.#bare += this.#text.slice(this.#at, end).replace(/[^\n]/g, ' ')
    this.#at = end
  }

  #failUnclosed({ name, at }: Tag, before: string): never {
    this.#fail(at, `<${name}> is not closed, expected "/>" at its end or </${name}> before ${before}`)
  }

  #fail(at: number, message: string): never {
    return this.#source.fail(at, message)
  }
}
