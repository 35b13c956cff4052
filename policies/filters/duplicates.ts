// Filters that drop what tells nothing new (PACK section 2): UNIQ GUNIQ DELTA, and LATESTBY beyond the paper.
import { identityOf } from '../event.ts'
import { defineFilter, type FilterDefinition, type Select } from '../filter.ts'

export const duplicateFilters: readonly FilterDefinition[] = [
  defineFilter({
    name: 'UNIQ',
    summary: 'drops events whose `attribute` is the same as in the event just before',
    attribute: true,
    parameters: {},
    keep: () => uniq,
  }),
  defineFilter({
    name: 'GUNIQ',
    summary: 'keeps the first event of each value of `attribute`',
    attribute: true,
    parameters: {},
    keep: () => guniq,
  }),
  defineFilter({
    name: 'DELTA',
    summary:
      'keeps the first event and every one whose `attribute` is at least `change` away from the last kept',
    attribute: true,
    parameters: { change: { type: 'number' } },
    check: ({ change }) => (change < 0 ? `change="${change}", expected a number from 0` : undefined),
    keep: ({ change }) => delta(change),
  }),
  defineFilter({
    name: 'LATESTBY',
    summary: 'keeps the last `window` events of each value of `attribute`',
    attribute: true,
    parameters: { window: { type: 'count' } },
    keep: ({ window }) => latestBy(window),
  }),
]

const uniq: Select = (values, input, count, output) => {
  let n = 0
  // Undefined, which no identity is.
  let before: unknown
  for (let i = 0; i < count; i++) {
    const position = input[i]!
    const identity = identityOf(values[position])
    if (identity !== before) output[n++] = position
    before = identity
  }
  return n
}

const guniq: Select = (values, input, count, output) => {
  const seen = new Set<unknown>()
  let n = 0
  for (let i = 0; i < count; i++) {
    const position = input[i]!
    const identity = identityOf(values[position])
    const size = seen.size
    if (seen.add(identity).size > size) output[n++] = position
  }
  return n
}

/** What is not a number cannot be near the last kept: it is kept, and does not move the reference. */
function delta(change: number): Select {
  return (values, input, count, output) => {
    let n = 0
    let last = Number.NaN
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      const value = values[position]
      if (typeof value === 'number') {
        // An infinity less itself is NaN.
        if (value === last ? change > 0 : Math.abs(value - last) < change) continue
        if (!Number.isNaN(value)) last = value
      }
      output[n++] = position
    }
    return n
  }
}

function latestBy(window: number): Select {
  return (values, input, count, output) => {
    const kept = new Map<unknown, number>()
    let start = count
    for (let i = count - 1; i >= 0; i--) {
      const position = input[i]!
      const identity = identityOf(values[position])
      const already = kept.get(identity) ?? 0
      if (already === window) continue
      kept.set(identity, already + 1)
      output[--start] = position
    }
    output.copyWithin(0, start, count)
    return count - start
  }
}
