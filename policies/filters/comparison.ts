// Filters that compare one value with what the policy says (PACK section 2): GT GE EQ NE LT LE WITHIN MATCH.
// A missing value matches nothing, and neither does a set.
import { compareText, type Scalar, textOf, type Value } from '../event.ts'
import { defineFilter, type FilterDefinition, type Operand, type Select } from '../filter.ts'
import { compilePattern } from './pattern.ts'

export const comparisonFilters: readonly FilterDefinition[] = [
  comparison('GT', 'keeps events whose `attribute` is greater than `value`', {
    less: false,
    equal: false,
    greater: true,
  }),
  comparison('GE', 'keeps events whose `attribute` is at least `value`', {
    less: false,
    equal: true,
    greater: true,
  }),
  comparison('EQ', 'keeps events whose `attribute` is `value`', { less: false, equal: true, greater: false }),
  comparison('NE', 'keeps events whose `attribute` is something other than `value`', {
    less: true,
    equal: false,
    greater: true,
  }),
  comparison('LT', 'keeps events whose `attribute` is less than `value`', {
    less: true,
    equal: false,
    greater: false,
  }),
  comparison('LE', 'keeps events whose `attribute` is at most `value`', {
    less: true,
    equal: true,
    greater: false,
  }),
  defineFilter({
    name: 'WITHIN',
    summary: 'keeps events whose `attribute` is from `low` to `high`, both included',
    attribute: true,
    parameters: { low: { type: 'operand' }, high: { type: 'operand' } },
    check: ({ low, high }) => checkBounds(low, high),
    keep: ({ low, high }) => within(low, high, true),
    drop: ({ low, high }) => within(low, high, false),
  }),
  defineFilter({
    name: 'MATCH',
    summary: 'keeps events in whose `attribute` the regular expression `pattern` is found',
    attribute: true,
    parameters: { pattern: { type: 'text' }, flags: { type: 'text', optional: true } },
    check: ({ flags }) =>
      flags === undefined || flags === 'i' ? undefined : `flags="${flags}", expected "i" or none`,
    keep: (parameters) => matching(parameters, true),
    drop: (parameters) => matching(parameters, false),
  }),
]

/** Which outcomes of comparing an event's value with the operand match. */
interface Outcomes {
  readonly less: boolean
  readonly equal: boolean
  readonly greater: boolean
}

function comparison(name: string, summary: string, outcomes: Outcomes): FilterDefinition {
  return defineFilter({
    name,
    summary,
    attribute: true,
    parameters: { value: { type: 'operand' } },
    check: ({ value }) => (outcomes.less === outcomes.greater ? undefined : checkOrdered('value', value)),
    keep: ({ value }) =>
      outcomes.less === outcomes.greater ? equal(value, outcomes.equal) : compared(value, outcomes),
  })
}

/** EQ, or NE where `matches` is false: no need to know which of two texts comes first. */
function equal({ text, number }: Operand, matches: boolean): Select {
  return (values, input, count, output) => {
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      const value = values[position]
      if (
        typeof value === 'string'
          ? (value === text) === matches
          : isComparable(value) && equals(value) === matches
      ) {
        output[n++] = position
      }
    }
    return n
  }

  function equals(value: Scalar): boolean {
    return typeof value === 'number' && number !== undefined ? value === number : textOf(value) === text
  }
}

function compared(operand: Operand, { less, equal, greater }: Outcomes): Select {
  return (values, input, count, output) => {
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      const order = compare(values[position], operand)
      if (order === 0 ? equal : order < 0 ? less : order > 0 && greater) output[n++] = position
    }
    return n
  }
}

function within(low: Operand, high: Operand, kept: boolean): Select {
  return (values, input, count, output) => {
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      const value = values[position]
      if ((compare(value, low) >= 0 && compare(value, high) <= 0) === kept) output[n++] = position
    }
    return n
  }
}

function matching({ pattern, flags }: { pattern: string; flags: string | undefined }, kept: boolean): Select {
  const expression = compilePattern(pattern, flags === 'i')
  const select: Select = (values, input, count, output) => {
    expression.refresh()
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      const value = values[position]
      if ((isComparable(value) && expression.test(textOf(value))) === kept) output[n++] = position
    }
    return n
  }
  return Object.assign(select, { instructions: expression.instructions })
}

/** Negative, 0 or positive; NaN, which is none of them, for a value that cannot be compared. */
function compare(value: Value, operand: Operand): number {
  if (typeof value === 'number' && operand.number !== undefined) return value - operand.number
  return isComparable(value) ? compareText(textOf(value), operand.text) : Number.NaN
}

function isComparable(value: Value): value is Scalar {
  if (value === null || value === undefined || Array.isArray(value)) return false
  return typeof value !== 'number' || !Number.isNaN(value)
}

function checkBounds(low: Operand, high: Operand): string | undefined {
  const unordered = checkOrdered('low', low) ?? checkOrdered('high', high)
  if (unordered !== undefined) return unordered
  if ((low.number === undefined) !== (high.number === undefined)) {
    return `low="${low.text}" and high="${high.text}", expected two numbers or two texts`
  }
  if (compare(low.number ?? low.text, high) > 0)
    return `low="${low.text}" is above high="${high.text}", expected low <= high`
  return undefined
}

/** As a text, NaN or Infinity would be ordered by its letters, which nobody means. */
function checkOrdered(name: string, { text }: Operand): string | undefined {
  return /^[+-]?(nan|inf(inity)?)$/i.test(text)
    ? `${name}="${text}", expected a finite number or a text`
    : undefined
}
