// Filters with a set of values (PACK section 2): INSET SUBSET SUPSET CONTAIN FIRST LAST.
// Membership is equality as EQ has it: numbers with numbers, everything else as text.
import { isMissing, isSet, type Scalar, textOf, type Value } from '../event.ts'
import { defineFilter, type FilterDefinition, type Operand, type Select } from '../filter.ts'

const members = { value: { type: 'operands' } } as const

export const setFilters: readonly FilterDefinition[] = [
  defineFilter({
    name: 'INSET',
    summary: 'keeps events whose `attribute` is one of `value`',
    attribute: true,
    parameters: members,
    keep: ({ value }) => inSet(new Members(value), true),
    drop: ({ value }) => inSet(new Members(value), false),
  }),
  defineFilter({
    name: 'SUBSET',
    summary: 'keeps events whose `attribute` is a set with no other members than `value`',
    attribute: true,
    parameters: members,
    keep: ({ value }) => {
      const set = new Members(value)
      return selecting((candidate) => isSet(candidate) && candidate.every((member) => set.has(member)))
    },
  }),
  defineFilter({
    name: 'SUPSET',
    summary: 'keeps events whose `attribute` is a set that has all of `value`',
    attribute: true,
    parameters: members,
    keep: ({ value }) => {
      const hasAll = hasAllOf(value)
      return selecting((candidate) => isSet(candidate) && hasAll(candidate))
    },
  }),
  defineFilter({
    name: 'CONTAIN',
    summary: 'keeps events whose `attribute` is a set that has `value`',
    attribute: true,
    parameters: { value: { type: 'operand' } },
    keep: ({ value }) => {
      const one = new Members([value])
      return selecting((candidate) => isSet(candidate) && candidate.some((member) => one.has(member)))
    },
  }),
  defineFilter({
    name: 'FIRST',
    summary:
      'keeps only the first of the events whose `attribute` is one of `value`; events with none of them pass',
    attribute: true,
    parameters: members,
    keep: ({ value }) => oneAmong(new Members(value), 'first', true),
    drop: ({ value }) => oneAmong(new Members(value), 'first', false),
  }),
  defineFilter({
    name: 'LAST',
    summary:
      'keeps only the last of the events whose `attribute` is one of `value`; events with none of them pass',
    attribute: true,
    parameters: members,
    keep: ({ value }) => oneAmong(new Members(value), 'last', true),
    drop: ({ value }) => oneAmong(new Members(value), 'last', false),
  }),
]

/** The values that a policy lists. */
class Members {
  readonly #numbers = new Set<number>()
  readonly #texts = new Set<string>()
  /** The texts again where they are few: comparing with each is faster than hashing. */
  readonly #few: readonly string[]

  constructor(operands: readonly Operand[]) {
    for (const { text, number } of operands) {
      this.#texts.add(text)
      if (number !== undefined) this.#numbers.add(number)
    }
    this.#few = this.#texts.size <= 8 ? [...this.#texts] : []
  }

  has(value: Value): boolean {
    if (typeof value === 'string') return this.#hasText(value)
    // An infinity is no operand's number, so that it compares as text.
    if (typeof value === 'number')
      return this.#numbers.has(value) || (Math.abs(value) === Infinity && this.#texts.has(String(value)))
    if (value === null || value === undefined || isSet(value)) return false
    return this.#texts.has(textOf(value))
  }

  #hasText(value: string): boolean {
    const few = this.#few
    for (let i = 0; i < few.length; i++) if (few[i] === value) return true
    return few.length === 0 && this.#texts.has(value)
  }
}

function inSet(set: Members, kept: boolean): Select {
  return (values, input, count, output) => {
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      if (set.has(values[position]) === kept) output[n++] = position
    }
    return n
  }
}

function selecting(keeps: (value: Value) => boolean): Select {
  return (values, input, count, output) => {
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      if (keeps(values[position])) output[n++] = position
    }
    return n
  }
}

/** Lets every event pass that is not a member; of the members only the chosen one, or all but it. */
function oneAmong(set: Members, which: 'first' | 'last', keepsIt: boolean): Select {
  return (values, input, count, output) => {
    const chosen = which === 'first' ? -1 : lastMember(set, values, input, count)
    let found = false
    let n = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      if (set.has(values[position])) {
        const isChosen = which === 'first' ? !found : position === chosen
        found = true
        if (isChosen !== keepsIt) continue
      }
      output[n++] = position
    }
    return n
  }
}

function lastMember(set: Members, values: readonly Value[], input: Uint32Array, count: number): number {
  for (let i = count - 1; i >= 0; i--) if (set.has(values[input[i]!])) return input[i]!
  return -1
}

/** Whether a set has a member for each operand: one pass over the set, which meets each operand at most twice. */
function hasAllOf(operands: readonly Operand[]): (set: readonly Scalar[]) => boolean {
  const wanted = wantedOf(operands)
  // The last set that had each operand, by number: nothing to clear between sets.
  const lastRounds = new Float64Array(operands.length)
  let round = 0
  return (set) => {
    round++
    let missing = operands.length
    for (let i = 0; i < set.length && missing > 0; i++) {
      const one = wanted.get(keyOf(set[i]))
      if (one === undefined || one.round === round) continue
      one.round = round
      for (const place of one.places) {
        if (lastRounds[place] !== round) missing--
        lastRounds[place] = round
      }
    }
    return missing === 0
  }
}

/** The operands that a text or a number stands for, several where one number is written in several ways. */
function wantedOf(operands: readonly Operand[]): Map<Value, { round: number; readonly places: number[] }> {
  const wanted = new Map<Value, { round: number; readonly places: number[] }>()
  operands.forEach(({ text, number }, place) => {
    for (const key of number === undefined ? [text] : [text, number]) {
      if (!wanted.has(key)) wanted.set(key, { round: 0, places: [] })
      wanted.get(key)!.places.push(place)
    }
  })
  return wanted
}

/** What a member is found by: a number by itself, an infinity and everything else by its text. */
function keyOf(member: Value): Value {
  if (typeof member === 'string' || isMissing(member) || isSet(member)) return member
  return typeof member === 'number' && Math.abs(member) !== Infinity ? member : textOf(member)
}
