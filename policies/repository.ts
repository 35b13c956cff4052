// The filter repository (PACK section 2): the filters and digesters that policies may name.
import type { DigesterDefinition } from './digester.ts'
import { standardDigesters } from './digesters/standard.ts'
import { SpillwayError } from './error.ts'
import type { FilterDefinition } from './filter.ts'
import { standardFilters } from './filters/standard.ts'
import { EXPECTED } from './parameters.ts'
import { FILTER_KEYS } from './policy.ts'
import { quoted } from './policy-error.ts'

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** The filters and digesters known here, by name. A new one has the built-in ones. */
export class Repository {
  readonly #filters = new Map<string, FilterDefinition>()
  readonly #digesters = new Map<string, DigesterDefinition>()

  constructor() {
    for (const definition of standardFilters) this.filter(definition)
    for (const definition of standardDigesters) this.digester(definition)
  }

  get filters(): ReadonlyMap<string, FilterDefinition> {
    return this.#filters
  }

  get digesters(): ReadonlyMap<string, DigesterDefinition> {
    return this.#digesters
  }

  /** Adds a filter. Throws NAME_TAKEN when there is one of that name, NAME_INVALID when that is no name or no type. */
  filter(definition: FilterDefinition): this {
    checkName('filter', definition.name, this.#filters)
    for (const [parameter, { type }] of Object.entries(definition.parameters)) {
      const wrong = wrongWith(parameter, type)
      if (wrong !== undefined) throw new SpillwayError('NAME_INVALID', `filter ${definition.name}: ${wrong}`)
    }
    this.#filters.set(definition.name, definition)
    return this
  }

  /** Adds a digester. Throws NAME_TAKEN when there is one of that name, NAME_INVALID when that is no name. */
  digester(definition: DigesterDefinition): this {
    checkName('digester', definition.name, this.#digesters)
    this.#digesters.set(definition.name, definition)
    return this
  }
}

/** The built-in filters and digesters. To add your own, make a `new Repository()`. */
export const standard: Readonly<Pick<Repository, 'filters' | 'digesters'>> = new Repository()

function wrongWith(parameter: string, type: string): string | undefined {
  if (!NAME.test(parameter) || FILTER_KEYS.includes(parameter))
    return `a parameter cannot be called ${quoted(parameter)}`
  if (Object.hasOwn(EXPECTED, type)) return undefined
  return `${parameter} has the type ${quoted(type)}, expected ${Object.keys(EXPECTED).join(', ')}`
}

function checkName(what: string, name: string, taken: ReadonlyMap<string, unknown>): void {
  if (!NAME.test(name))
    throw new SpillwayError(
      'NAME_INVALID',
      `a ${what} cannot be called "${name}": expected letters, digits, - and _`,
    )
  if (taken.has(name)) throw new SpillwayError('NAME_TAKEN', `there is a ${what} called ${name} already`)
}
