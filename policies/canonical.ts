// The canonical form of a policy: one plain object for all the ways to write it, so that equal policies have
// equal hashes. Each difference would cost a policy class.
import type { CompiledDigester, CompiledFilter, DigesterSpec, FilterSpec, PolicySpec } from './policy.ts'

/** A compiled filter with its parameters in their shortest form, in the definition's order. */
export interface CanonicalFilter extends CompiledFilter {
  readonly parameters: Readonly<Record<string, string | number | readonly (string | number)[]>>
}

/** The policy with every default left out; the attribute that is read most often stands on the policy. */
export function canonicalOf(
  levels: readonly (readonly CanonicalFilter[])[],
  digesters: readonly CompiledDigester[],
): PolicySpec {
  const readers = [...digesters.filter(({ definition }) => definition.attribute), ...levels.flat()]
  const attribute = mostRead(readers)
  return {
    ...(attribute === undefined ? {} : { attribute }),
    ...(digesters.length === 0 ? {} : { summary: digesters.map((one) => digesterSpec(one, attribute)) }),
    levels: levels.map((level) => level.map((filter) => filterSpec(filter, attribute))),
  }
}

/** The first of those that are read most often, as no way of writing changes which that is. */
function mostRead(readers: readonly { readonly attribute: string | undefined }[]): string | undefined {
  const counts = new Map<string, number>()
  for (const { attribute } of readers)
    if (attribute !== undefined) counts.set(attribute, (counts.get(attribute) ?? 0) + 1)
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most?.[0]
}

function digesterSpec(
  { definition, attribute }: CompiledDigester,
  common: string | undefined,
): string | DigesterSpec {
  const { name } = definition
  // A digester that needs no attribute means another thing with one: COUNT then counts values, not events.
  const implied = definition.attribute ? common : undefined
  return attribute === undefined || attribute === implied ? name : { name, attribute }
}

function filterSpec(
  { name, attribute, mode, parameters }: CanonicalFilter,
  common: string | undefined,
): FilterSpec {
  return {
    name,
    ...(attribute === undefined || attribute === common ? {} : { attribute }),
    ...(mode === 'drop' ? { mode } : {}),
    ...parameters,
  }
}
