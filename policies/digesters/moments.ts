// COUNT, SUM, MIN, MAX and MEAN (PACK section 2), and STDDEV. Those over an attribute read its numbers and
// skip everything else. Each `add` is one loop over the column with locals: it runs for every dropped event.
import { defineDigester } from '../digester.ts'
import { isMissing, type Value } from '../event.ts'

export const COUNT = defineDigester<[count: number]>({
  name: 'COUNT',
  // Only shown for COUNT with an attribute: without one it is the count that every digest has.
  summary: 'how many of the events have a value of `attribute`',
  attribute: false,
  create: () => [0],
  add(state, values, from, to) {
    // Without an attribute there is no column.
    state[0] += values.length === 0 ? to - from : countPresent(values, from, to)
  },
  merge(state, later) {
    state[0] += later[0]
  },
  show: ([count]) => count,
})

/**
 * Count, sum, and the rounding error of that sum (Knuth's TwoSum, as in Ogita, Rump and Oishi, "Accurate sum
 * and dot product", SIAM 2005, algorithm 4.4): it has no branch, and costs a loop of this kind up to 16 %.
 * Where that would overflow, it is the state of the numbers times SCALE, which is then its last part: a sum that
 * passes the largest number and comes back must be the same as if its parts had been merged.
 */
type SumState = [count: number, sum: number, error: number, scale?: typeof SCALE]

/** Times this, as many numbers as can be counted have a sum, and a sum of squares, that is a number. */
const SCALE = 2 ** -600

export const SUM = defineDigester<SumState>({
  name: 'SUM',
  summary: 'the sum of the numbers',
  attribute: true,
  create: () => [0, 0, 0],
  add: addSum,
  merge: mergeSum,
  show: (state) => finiteOf(total(state) / scaleOf(state)),
})

export const MEAN = defineDigester<SumState>({
  name: 'MEAN',
  summary: 'the mean of the numbers',
  attribute: true,
  create: () => [0, 0, 0],
  add: addSum,
  merge: mergeSum,
  show: (state) => (state[0] === 0 ? null : finiteOf(total(state) / state[0] / scaleOf(state))),
})

export const MIN = defineDigester<[min: number | null]>({
  name: 'MIN',
  summary: 'the smallest number',
  attribute: true,
  create: () => [null],
  add(state, values, from, to) {
    let found = state[0] !== null
    let min = state[0] ?? 0
    for (let i = from; i < to; i++) {
      const value = values[i]
      if (typeof value !== 'number' || Number.isNaN(value)) continue
      if (value < min || !found) min = value
      found = true
    }
    if (found) state[0] = min
  },
  merge(state, [min]) {
    if (min !== null && (state[0] === null || min < state[0])) state[0] = min
  },
  show: ([min]) => (min === null ? null : finiteOf(min)),
})

export const MAX = defineDigester<[max: number | null]>({
  name: 'MAX',
  summary: 'the largest number',
  attribute: true,
  create: () => [null],
  add(state, values, from, to) {
    let found = state[0] !== null
    let max = state[0] ?? 0
    for (let i = from; i < to; i++) {
      const value = values[i]
      if (typeof value !== 'number' || Number.isNaN(value)) continue
      if (value > max || !found) max = value
      found = true
    }
    if (found) state[0] = max
  },
  merge(state, [max]) {
    if (max !== null && (state[0] === null || max > state[0])) state[0] = max
  },
  show: ([max]) => (max === null ? null : finiteOf(max)),
})

/** Count, mean, and the sum of squared distances from the mean; where that would overflow, as with a sum. */
type DeviationState = [count: number, mean: number, squares: number, scale?: typeof SCALE]

export const STDDEV = defineDigester<DeviationState>({
  name: 'STDDEV',
  summary: 'the standard deviation of the numbers, as of a whole population',
  attribute: true,
  create: () => [0, 0, 0],
  add: (state, values, from, to) => mergeDeviation(state, deviationOf(values, from, to)),
  merge: mergeDeviation,
  show: (state) => (state[0] === 0 ? null : finiteOf(Math.sqrt(state[2] / state[0]) / scaleOf(state))),
})

/** A number that JSON can carry: what is too large becomes the largest number of its sign, NaN null. */
export function finiteOf(value: number): number | null {
  if (Number.isNaN(value)) return null
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value))
}

function countPresent(values: readonly Value[], from: number, to: number): number {
  let count = 0
  for (let i = from; i < to; i++) {
    if (!isMissing(values[i])) count++
  }
  return count
}

function addSum(state: SumState, values: readonly Value[], from: number, to: number): void {
  // Read by index: after destructuring V8 keeps these boxed, which makes the loop four times slower.
  let count = state[0]
  let sum = state[1]
  let error = state[2]
  const scale = scaleOf(state)
  for (let i = from; i < to; i++) {
    const value = values[i]
    if (typeof value !== 'number' || Number.isNaN(value)) continue
    const scaled = value * scale
    const next = sum + scaled
    const part = next - sum
    error += sum - (next - part) + (scaled - part)
    sum = next
    count++
  }
  if (overflowed(state, error)) {
    addSum(scaleSum(state), values, from, to)
    return
  }
  state[0] = count
  state[1] = sum
  state[2] = error
}

function mergeSum(state: SumState, later: SumState): void {
  const scale = scaleOf(state) / scaleOf(later)
  const scaled = later[1] * scale
  const sum = state[1] + scaled
  const part = sum - state[1]
  const error = state[2] + (later[2] * scale + (state[1] - (sum - part) + (scaled - part)))
  if (overflowed(state, error)) {
    mergeSum(scaleSum(state), later)
    return
  }
  state[0] += later[0]
  state[1] = sum
  state[2] = error
}

function scaleSum(state: SumState): SumState {
  return Object.assign(state, [state[0], state[1] * SCALE, state[2] * SCALE, SCALE])
}

function scaleOf(state: SumState | DeviationState): number {
  return state.length > 3 ? SCALE : 1
}

/** A result that is not finite; of numbers times SCALE it is so because they are not. */
function overflowed(state: SumState | DeviationState, result: number): boolean {
  return !Number.isFinite(result) && scaleOf(state) === 1
}

/** With an infinity the error is NaN and the sum itself says all there is to say. */
function total([, sum, error]: SumState): number {
  return Number.isFinite(error) ? sum + error : sum
}

/** Two passes over the column, which is faster and more exact than updating the mean with every number. */
function deviationOf(
  values: readonly Value[],
  from: number,
  to: number,
  part: SumState = [0, 0, 0],
): DeviationState {
  addSum(part, values, from, to)
  const count = part[0]
  if (count === 0) return [0, 0, 0]
  const scale = scaleOf(part)
  const mean = total(part) / count
  let squares = 0
  for (let i = from; i < to; i++) {
    const value = values[i]
    if (typeof value === 'number' && !Number.isNaN(value)) squares += (value * scale - mean) ** 2
  }
  if (overflowed(part, squares)) return deviationOf(values, from, to, [0, 0, 0, SCALE])
  return scale === 1 ? [count, mean, squares] : [count, mean, squares, scale]
}

/** Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm" (1979), equation 2.1. */
function mergeDeviation(state: DeviationState, later: DeviationState): void {
  if (later[0] === 0) return
  const [count, mean, squares] = state
  const scale = scaleOf(state) / scaleOf(later)
  const both = count + later[0]
  const distance = count === 0 ? 0 : later[1] * scale - mean
  const sum = squares + later[2] * scale * scale + distance * distance * ((count * later[0]) / both)
  if (overflowed(state, sum)) {
    mergeDeviation(scaleDeviation(state), later)
    return
  }
  state[0] = both
  state[1] = count === 0 ? later[1] * scale : mean + (distance * later[0]) / both
  state[2] = sum
}

function scaleDeviation(state: DeviationState): DeviationState {
  return Object.assign(state, [state[0], state[1] * SCALE, state[2] * SCALE * SCALE, SCALE])
}
