// Compiles policies: checks everything a stranger may have written and makes it ready to run, once.
// XML (`xml.ts`), presets and plain objects all come through here and get the same canonical form.
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { type CanonicalFilter, canonicalOf } from './canonical.ts'
import type { DigesterDefinition } from './digester.ts'
import { SpillwayError } from './error.ts'
import { complementOf, type FilterDefinition, type Select } from './filter.ts'
import { policyLimits } from './limits.ts'
import {
  type DigesterOutline,
  type FilterOutline,
  outlineOf,
  type Piece,
  type PolicyOutline,
} from './outline.ts'
import { EXPECTED, type Read, readName, readParameter } from './parameters.ts'
import { type CompiledDigester, type Mode, Policy, type PolicySpec } from './policy.ts'
import { Complaints, quoted } from './policy-error.ts'
import { printSpec } from './print.ts'
import { type Repository, standard } from './repository.ts'
import { nearest, suggestion } from './suggestion.ts'

export { policyLimits } from './limits.ts'
export { PolicyError } from './policy-error.ts'

export interface CompileOptions {
  /** The filters and digesters the policy may name; the built-in ones unless told. */
  readonly repository?: Pick<Repository, 'filters' | 'digesters'>
}

/** Compiles a policy. Throws a PolicyError (POLICY_INVALID or POLICY_LIMIT) that names every mistake and its path. */
export function compilePolicy(spec: PolicySpec, options: CompileOptions = {}): Policy {
  const complaints = new Complaints()
  return compileOutline(outlineOf(spec, complaints), complaints, options.repository ?? standard)
}

/** Compiles what was written, in whatever form. Throws what `complaints` has, with what it finds itself. */
export function compileOutline(
  outline: PolicyOutline,
  complaints: Complaints,
  repository: Pick<Repository, 'filters' | 'digesters'>,
): Policy {
  const context = contextOf(outline, complaints, repository)
  const digesters = compileSummary(outline.summary, context)
  const levels = outline.levels.map(({ filters }) =>
    filters.flatMap((filter) => compileFilter(filter, context) ?? []),
  )
  complaints.throwIfAny()
  refuseSlow(levels, outline.where, complaints)
  const spec = canonicalOf(levels, digesters)
  refuseLong(spec, outline.where, complaints)
  return new Policy(spec, levels, digesters)
}

interface Context {
  readonly complaints: Complaints
  readonly repository: Pick<Repository, 'filters' | 'digesters'>
  /** The policy's own attribute. */
  readonly attribute: string | undefined
  /** Whether the policy names one, be it a wrong one: then nobody else is blamed for having none. */
  readonly attributeGiven: boolean
}

function contextOf(
  outline: PolicyOutline,
  complaints: Complaints,
  repository: Context['repository'],
): Context {
  const { attribute } = outline
  return {
    complaints,
    repository,
    attribute: attribute && readName(attribute, 'attribute', complaints),
    attributeGiven: attribute !== undefined,
  }
}

/** Each pattern is short enough by itself, but a pack may run all of them over every value. */
function refuseSlow(levels: Policy['levels'], where: string, complaints: Complaints): void {
  const limit = policyLimits.patternInstructions
  const needed = levels.flat().reduce((sum, { select }) => sum + (select.instructions ?? 0), 0)
  if (needed > limit)
    complaints.limit(where, `the patterns need ${needed} instructions together, the limit is ${limit}`)
}

/** Whatever was compiled can be printed and read again, so the limit holds for what is printed too. */
function refuseLong(spec: PolicySpec, where: string, complaints: Complaints): void {
  const bytes = utf8ToBytes(printSpec(spec)).length
  if (bytes > policyLimits.bytes)
    complaints.limit(where, `${bytes} bytes as XML, the limit is ${policyLimits.bytes}`)
}

function compileFilter(outline: FilterOutline, context: Context): CanonicalFilter | undefined {
  const { complaints, repository } = context
  const before = complaints.count
  const definition = definitionOf(outline, 'filter', repository.filters, complaints)
  const mode = modeOf(outline.mode, complaints)
  const own = outline.attribute && readName(outline.attribute, 'attribute', complaints)
  if (definition === undefined) return undefined
  const attribute = definition.attribute ? (own ?? context.attribute) : undefined
  if (definition.attribute) requireAttribute(outline, definition.name, context)
  const reads = parametersOf(definition, outline, complaints)
  if (complaints.count > before) return undefined
  const select = selectOf(definition, mode, reads, outline, complaints)
  if (select === undefined) return undefined
  const parameters = Object.fromEntries(Array.from(reads, ([name, { canonical }]) => [name, canonical]))
  return { name: definition.name, attribute, mode, select, parameters }
}

function definitionOf<D>(
  outline: DigesterOutline,
  what: string,
  known: ReadonlyMap<string, D>,
  complaints: Complaints,
): D | undefined {
  if (outline.name === undefined)
    return complaints.add(outline.where, `a ${what} without a name, expected one`)
  const name = readName(outline.name, 'name', complaints)
  if (name === undefined) return undefined
  const definition = known.get(name)
  if (definition !== undefined) return definition
  const names = [...known.keys()]
  return complaints.add(
    outline.name.where,
    `unknown ${what} ${quoted(name)}${suggestion(name, names)}, expected one of ${names.join(' ')}`,
  )
}

function modeOf(piece: Piece | undefined, complaints: Complaints): Mode {
  if (piece === undefined) return 'keep'
  const { value } = piece
  if (value === 'keep' || value === 'drop') return value
  const near = typeof value === 'string' ? suggestion(value, ['keep', 'drop']) : ''
  complaints.add(piece.where, `unknown mode ${quoted(value)}${near}, expected "keep" or "drop"`)
  return 'keep'
}

function requireAttribute(outline: DigesterOutline, name: string, context: Context): void {
  if (outline.attribute !== undefined || context.attributeGiven) return
  context.complaints.add(outline.where, `${name} has no attribute, expected one here or on the policy`)
}

/** The parameters in the definition's order. */
function parametersOf(
  definition: FilterDefinition,
  outline: FilterOutline,
  complaints: Complaints,
): Map<string, Read> {
  const reads = new Map<string, Read>()
  const misspelt = refuseUnknown(definition, outline, complaints)
  for (const [name, parameter] of Object.entries(definition.parameters)) {
    const written = outline.parameters.get(name)
    const read = written && readParameter(parameter.type, written, complaints)
    if (read !== undefined) reads.set(name, read)
    else if (written === undefined && !parameter.optional && !misspelt.has(name)) {
      complaints.add(
        outline.where,
        `${definition.name} has no ${quoted(name)}, expected ${EXPECTED[parameter.type]}`,
      )
    }
  }
  return reads
}

/** Complains of parameters that the filter does not have, and returns those that were meant. */
function refuseUnknown(
  definition: FilterDefinition,
  outline: FilterOutline,
  complaints: Complaints,
): Set<string | undefined> {
  const known = Object.keys(definition.parameters)
  const expected = known.length === 0 ? 'none' : known.join(', ')
  const unknown = [...outline.parameters.values()].filter(({ name }) => !known.includes(name))
  for (const { name, where } of unknown) {
    const near = suggestion(name, known)
    complaints.add(where, `${definition.name} has no parameter ${quoted(name)}${near}, expected ${expected}`)
  }
  return new Set(unknown.map(({ name }) => nearest(name, known)))
}

/** Definitions may be users' own: whatever they throw is a complaint about the filter. */
function selectOf(
  definition: FilterDefinition,
  mode: Mode,
  reads: ReadonlyMap<string, Read>,
  outline: FilterOutline,
  complaints: Complaints,
): Select | undefined {
  const values = Object.fromEntries(Array.from(reads, ([name, read]) => [name, read.value])) as never
  try {
    const wrong = definition.check?.(values)
    if (wrong !== undefined) return complaints.add(placeOf(wrong, outline), `${definition.name}: ${wrong}`)
    if (mode === 'keep') return definition.keep(values)
    return definition.drop ? definition.drop(values) : complementOf(definition.keep(values))
  } catch (error) {
    const wrong = error instanceof Error ? error.message : String(error)
    const isLimit = error instanceof SpillwayError && error.code === 'POLICY_LIMIT'
    return complaints[isLimit ? 'limit' : 'add'](placeOf(wrong, outline), `${definition.name}: ${wrong}`)
  }
}

/** The parameter that the message begins with, as in `low="9" is above …`; otherwise the filter. */
function placeOf(message: string, { where, parameters }: FilterOutline): string {
  const [name = ''] = /^[\w-]+/.exec(message) ?? []
  return parameters.get(name)?.values[0]?.where ?? where
}

function compileSummary(outlines: readonly DigesterOutline[], context: Context): CompiledDigester[] {
  const digesters: CompiledDigester[] = []
  const taken = new Set<string>()
  for (const outline of outlines) {
    const definition = definitionOf(outline, 'digester', context.repository.digesters, context.complaints)
    const own = outline.attribute && readName(outline.attribute, 'attribute', context.complaints)
    if (definition === undefined) continue
    if (definition.attribute) requireAttribute(outline, definition.name, context)
    const attribute = definition.attribute ? (own ?? context.attribute) : own
    const full = attribute === undefined ? definition.name : `${definition.name}(${attribute})`
    if (taken.has(full))
      context.complaints.add(outline.where, `${quoted(full)} is there already, expected each digester once`)
    taken.add(full)
    // Every digest has the COUNT of its events, named or not, without keeping a state for it.
    if (full !== 'COUNT') digesters.push({ key: keyOf(definition, full, digesters), attribute, definition })
  }
  return digesters
}

function keyOf(definition: DigesterDefinition, full: string, before: readonly CompiledDigester[]): string {
  const isFirst = !before.some((other) => other.definition === definition)
  return isFirst && definition.name !== 'COUNT' ? definition.name : full
}
