// A policy as it was written, with the place of every piece and nothing checked yet. XML and plain objects
// both become an outline, so that `compile.ts` has one set of rules for both.
import { policyLimits } from './limits.ts'
import { FILTER_KEYS } from './policy.ts'
import { type Complaints, quoted } from './policy-error.ts'
import { suggestion } from './suggestion.ts'

/** A written value and its place: `policy.levels[0][1].low` or `ward.xml:7:12`. */
export interface Piece {
  readonly where: string
  readonly value: unknown
}

export interface ParameterOutline {
  readonly where: string
  readonly name: string
  /** Written as a list, which is wrong where one value is expected even if it has one member. */
  readonly list: boolean
  readonly values: readonly Piece[]
}

export interface DigesterOutline {
  readonly where: string
  readonly name: Piece | undefined
  readonly attribute: Piece | undefined
}

export interface FilterOutline extends DigesterOutline {
  readonly mode: Piece | undefined
  readonly parameters: ReadonlyMap<string, ParameterOutline>
}

export interface LevelOutline {
  readonly where: string
  readonly filters: readonly FilterOutline[]
}

export interface PolicyOutline {
  readonly where: string
  readonly attribute: Piece | undefined
  readonly summary: readonly DigesterOutline[]
  readonly levels: readonly LevelOutline[]
}

type Dictionary = ReadonlyMap<string, unknown>

const POLICY_KEYS = ['attribute', 'summary', 'levels']
const DIGESTER_KEYS = ['name', 'attribute']

/** The outline of a policy written as a plain object. What is not an object or a list is complained of. */
export function outlineOf(spec: unknown, complaints: Complaints): PolicyOutline {
  return new Outliner(complaints).policy(spec)
}

type Part = keyof typeof PARTS

const PARTS = {
  levels: { limit: policyLimits.levels, many: 'levels', none: 'no level' },
  filters: {
    limit: policyLimits.filtersPerLevel,
    many: 'filters in a level',
    none: 'a level without filters',
  },
  digesters: { limit: policyLimits.digesters, many: 'digesters', none: undefined },
  values: { limit: policyLimits.members, many: 'values', none: undefined },
  // With more the XML is too long whatever they are: the shortest is 25 bytes, `<para name="n" value=""/>`.
  allValues: { limit: Math.floor(policyLimits.bytes / 25), many: 'values in all', none: undefined },
  keys: { limit: policyLimits.keys, many: 'keys', none: undefined },
}

/** Refuses too many at once, before anything is made of them, and complains of none where there must be one. */
export function checkCount(part: Part, count: number, where: string, complaints: Complaints): void {
  const { limit, many, none } = PARTS[part]
  if (count > limit) complaints.limit(where, `${count} ${many}, the limit is ${limit}`)
  if (count === 0 && none !== undefined) complaints.add(where, `${none}, expected one or more`)
}

class Outliner {
  readonly #complaints: Complaints
  /** How many members the lists of values have so far; one list may stand in many places. */
  #values = 0

  constructor(complaints: Complaints) {
    this.#complaints = complaints
  }

  policy(value: unknown): PolicyOutline {
    const where = 'policy'
    const policy: Dictionary = this.#dictionary({ value, where }, 'a policy', 'an object') ?? new Map()
    this.#complaints.throwIfAny()
    this.#refuseOthers(policy, POLICY_KEYS, where)
    const { summary, levels } = { summary: [], levels: [], ...Object.fromEntries(policy) }
    return {
      where,
      attribute: pieceOf(policy, 'attribute', where),
      summary: this.#list({ value: summary, where: `${where}.summary` }, 'digesters').flatMap(
        (piece) => this.#digester(piece) ?? [],
      ),
      levels: this.#list({ value: levels, where: `${where}.levels` }, 'levels').map((level) => ({
        where: level.where,
        filters: this.#list(level, 'filters').flatMap((piece) => this.#filter(piece) ?? []),
      })),
    }
  }

  #digester(piece: Piece): DigesterOutline | undefined {
    const { value, where } = piece
    if (typeof value === 'string') return { where, name: piece, attribute: undefined }
    const digester = this.#dictionary(piece, 'a part of a policy', 'a name or an object')
    if (digester === undefined) return undefined
    this.#refuseOthers(digester, DIGESTER_KEYS, where)
    return { where, name: pieceOf(digester, 'name', where), attribute: pieceOf(digester, 'attribute', where) }
  }

  #filter(piece: Piece): FilterOutline | undefined {
    const { where } = piece
    const filter = this.#dictionary(piece, 'a part of a policy', 'an object')
    if (filter === undefined) return undefined
    const parameters = new Map<string, ParameterOutline>()
    for (const [name, value] of filter) {
      if (!FILTER_KEYS.includes(name))
        parameters.set(name, this.#parameter(name, { value, where: step(where, name) }))
    }
    return {
      where,
      name: pieceOf(filter, 'name', where),
      attribute: pieceOf(filter, 'attribute', where),
      mode: pieceOf(filter, 'mode', where),
      parameters,
    }
  }

  #parameter(name: string, piece: Piece): ParameterOutline {
    const { value, where } = piece
    if (!Array.isArray(value)) return { where, name, list: false, values: [piece] }
    this.#values += value.length
    const values = this.#list(piece, 'values')
    checkCount('allValues', this.#values, where, this.#complaints)
    return { where, name, list: true, values }
  }

  #dictionary({ value, where }: Piece, what: string, expected: string): Dictionary | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.#complaints.add(where, `${quoted(value)} is not ${what}, expected ${expected}`)
    checkCount('keys', Object.keys(value).length, where, this.#complaints)
    // A key that is there with nothing in it is as good as absent.
    return new Map(Object.entries(value).filter(([, member]) => member !== undefined))
  }

  #list({ value, where }: Piece, part: Part): Piece[] {
    if (Array.isArray(value)) {
      checkCount(part, value.length, where, this.#complaints)
      return Array.from(value, (value, i) => ({ where: `${where}[${i}]`, value }))
    }
    this.#complaints.add(where, `${quoted(value)} is not a list, expected a list`)
    return []
  }

  #refuseOthers(dictionary: Dictionary, known: readonly string[], where: string): void {
    for (const key of dictionary.keys()) {
      if (known.includes(key)) continue
      const expected = `expected ${known.join(', ')}`
      this.#complaints.add(step(where, key), `unknown key${suggestion(key, known)}, ${expected}`)
    }
  }
}

function pieceOf(dictionary: Dictionary, key: string, where: string): Piece | undefined {
  return dictionary.has(key) ? { where: step(where, key), value: dictionary.get(key) } : undefined
}

function step(where: string, key: string): string {
  return /^[A-Za-z_$][\w$]{0,63}$/.test(key) ? `${where}.${key}` : `${where}[${quoted(key)}]`
}
