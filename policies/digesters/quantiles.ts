// QUANTILES: DDSketch (Masson, Rim, Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
// relative-error guarantees", VLDB 2019), section 2, with negative numbers, zero and positive numbers in one
// space of bins so that collapsing the lowest bins (section 2.2) keeps merging exactly associative.
import { defineDigester, type Shown } from '../digester.ts'
import { placeOf } from './sorted.ts'

/** A shown quantile is within 1 % of a value that has its rank, unless it fell among collapsed bins. */
const RELATIVE_ERROR = 0.01
const GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
const LOG_GAMMA = Math.log(GAMMA)

/** Bins kept: numbers of one sign may spread over nine orders of magnitude before any collapses. */
const BIN_LIMIT = 1024

/** Makes the index of every positive number positive: the smallest has log -745. */
const INDEX_OFFSET = Math.ceil(745 / LOG_GAMMA)

const QUANTILE_POINTS = { p5: 0.05, p25: 0.25, p50: 0.5, p75: 0.75, p95: 0.95, p99: 0.99 }

/**
 * Smallest and largest number, then rising bin indices and the count of each. The lowest kept bin also counts
 * what lay below it. It is a function of the multiset of numbers alone.
 */
type QuantileState = [min: number | null, max: number | null, indices: number[], counts: number[]]

export const QUANTILES = defineDigester<QuantileState>({
  name: 'QUANTILES',
  summary: 'the 5th, 25th, 50th, 75th, 95th and 99th percentile of the numbers, within 1 %',
  attribute: true,
  create: () => [null, null, [], []],
  add(state, values, from, to) {
    for (let i = from; i < to; i++) {
      const value = values[i]
      if (typeof value === 'number' && !Number.isNaN(value)) addNumber(state, value)
    }
  },
  merge(state, later) {
    if (later[0] === null || later[1] === null) return
    widen(state, later[0], later[1])
    for (let i = 0; i < later[2].length; i++) count(state, later[2][i]!, later[3][i]!)
  },
  show(state) {
    if (state[0] === null) return null
    const shown: Record<string, Shown> = {}
    for (const [name, point] of Object.entries(QUANTILE_POINTS)) shown[name] = quantile(state, point)
    return shown
  },
})

function addNumber(state: QuantileState, value: number): void {
  const bounded = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value))
  widen(state, bounded, bounded)
  count(state, indexOf(bounded), 1)
}

function widen(state: QuantileState, min: number, max: number): void {
  if (state[0] === null || min < state[0]) state[0] = min
  if (state[1] === null || max > state[1]) state[1] = max
}

function indexOf(value: number): number {
  if (value === 0) return 0
  const index = Math.ceil(Math.log(Math.abs(value)) / LOG_GAMMA) + INDEX_OFFSET
  return value > 0 ? index : -index
}

/** The number whose relative distance to both ends of the bin is the same. */
function middleOf(index: number): number {
  if (index === 0) return 0
  const size = Math.exp((Math.abs(index) - INDEX_OFFSET) * LOG_GAMMA) * (2 / (1 + GAMMA))
  return index > 0 ? size : -size
}

function count(state: QuantileState, index: number, n: number): void {
  const [, , indices, counts] = state
  const place = placeOf(indices, index)
  if (indices[place] === index) counts[place]! += n
  else if (indices.length < BIN_LIMIT) {
    indices.splice(place, 0, index)
    counts.splice(place, 0, n)
  } else replaceLowest(indices, counts, place, index, n)
}

/** Makes a new bin before `place` and collapses what is then the lowest bin into the next. */
function replaceLowest(indices: number[], counts: number[], place: number, index: number, n: number): void {
  if (place === 0) {
    counts[0]! += n
    return
  }
  const collapsed = counts[0]!
  indices.copyWithin(0, 1, place)
  counts.copyWithin(0, 1, place)
  indices[place - 1] = index
  counts[place - 1] = n
  counts[0]! += collapsed
}

/** The number at rank floor(point (n - 1)) in rising order. */
function quantile([min, max, indices, counts]: QuantileState, point: number): number {
  const total = counts.reduce((sum, n) => sum + n, 0)
  const rank = Math.floor(point * (total - 1))
  let bin = 0
  for (let below = counts[0]!; below <= rank && bin < counts.length - 1; below += counts[bin]!) bin++
  return Math.max(min!, Math.min(max!, middleOf(indices[bin]!)))
}
