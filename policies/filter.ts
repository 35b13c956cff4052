// The contract of a filter (PACK section 2). The built-in filters and those of users come through the same
// door, `Repository.filter`, and pass the same contract suite.
import type { Events, Value } from './event.ts'

/** What a filter may ask while it packs; time and chance are handed in. */
export interface Surroundings {
  /** Now, in milliseconds, on the clock of the publish times. */
  readonly now: number
  /** A number in [0, 1). */
  random(): number
}

/**
 * Copies from `input` to `output` those of its first `count` positions that the filter keeps, in order, and
 * returns how many. `input` and `output` are different arrays of at least `count`; `values[position]` is the
 * filter's attribute (empty for a filter that reads none). A filter has no state between calls.
 */
export interface Select {
  (
    values: readonly Value[],
    input: Uint32Array,
    count: number,
    output: Uint32Array,
    events: Events,
    surroundings: Surroundings,
  ): number
  /** How often it may look at each character of a value; counts against `patternInstructions` of the policy. */
  readonly instructions?: number
}

/**
 * What a parameter holds. `operand`: a text that compares as a number when it reads as one. `operands`: a set
 * of one or more of those, the parameter repeated; the filter gets each once, in an order that says nothing of
 * how it was written. `number`: finite. `count`: a whole number from 1. `fraction`: from 0 to 1. `duration`:
 * milliseconds, or with a unit (`ms s m h d`). `text`: as it stands.
 */
export interface ParameterTypes {
  operand: Operand
  operands: readonly Operand[]
  number: number
  count: number
  fraction: number
  duration: number
  text: string
}

export type ParameterType = keyof ParameterTypes

/** A value written in a policy. `number` is there when the text reads as a finite decimal number. */
export interface Operand {
  readonly text: string
  readonly number: number | undefined
}

export interface Parameter<T extends ParameterType = ParameterType> {
  readonly type: T
  readonly optional?: boolean
}

export type Parameters = Readonly<Record<string, Parameter>>

/** The compiled values of a filter's parameters. */
export type Values<P extends Parameters> = {
  readonly [K in keyof P]: P[K]['optional'] extends true
    ? ParameterTypes[P[K]['type']] | undefined
    : ParameterTypes[P[K]['type']]
}

export interface FilterDefinition<P extends Parameters = Parameters> {
  /** Upper case by custom. */
  readonly name: string
  /**
   * One line for people: what the filter keeps, or drops. Parameters and `attribute` in backquotes are shown as
   * what they are in the policy; with `mode="drop"` the words keeps and drops, kept and dropped change places.
   */
  readonly summary: string
  /** Whether the filter reads an attribute, so that the policy must name one. */
  readonly attribute: boolean
  readonly parameters: P
  /** What is wrong with the parameters taken together, beginning with the name of one; says what was expected. */
  check?(parameters: Values<P>): string | undefined
  /** The filter with `mode="keep"`. */
  keep(parameters: Values<P>): Select
  /** The filter with `mode="drop"`, where it is not simply the complement of `keep`. */
  drop?(parameters: Values<P>): Select
}

/** A filter definition with its parameter types inferred. */
export function defineFilter<const P extends Parameters>(definition: FilterDefinition<P>): FilterDefinition {
  return definition as unknown as FilterDefinition
}

/** Keeps what `select` would drop. */
export function complementOf(select: Select): Select {
  return (values, input, count, output, events, surroundings) => {
    const chosen = new Uint32Array(count)
    const chosenCount = select(values, input, count, chosen, events, surroundings)
    let n = 0
    for (let i = 0, c = 0; i < count; i++) {
      const position = input[i]!
      if (c < chosenCount && chosen[c] === position) c++
      else output[n++] = position
    }
    return n
  }
}
