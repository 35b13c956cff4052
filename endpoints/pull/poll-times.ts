// The best times to poll for something whose time is known as a distribution: the least of expected latency plus a
// price for every empty poll. The cost of waiting from one poll to the next is (time of the next) times (weight
// between) minus a part of each alone, so the choices are lines and their lower hull answers each in amortised
// constant time: O(n) for n points.
import { LowerHull } from './lower-hull.ts'

/** Points ascending in time, with the weight of each; the arrays have at least `length` elements. */
export interface Distribution {
  readonly length: number
  readonly times: Float64Array
  readonly weights: Float64Array
}

/**
 * For every state "it did not happen before point i" the index of the point at which to poll next, never below i. A
 * poll that finds nothing costs as much as `price` of latency; `beyond` is the weight of what comes after all points.
 */
export function pollTimes(
  { length, times, weights }: Distribution,
  price: number,
  beyond: number,
): Int32Array {
  const next = new Int32Array(length)
  const hull = new LowerHull(length)
  // Of the points behind i: their weight, their first moment, and the least cost from there on.
  let weight = beyond
  let moment = 0
  let cost = 0
  for (let i = length - 1; i >= 0; i--) {
    hull.add(times[i]!, (price - times[i]!) * weight + moment + cost, i)
    weight += weights[i]!
    moment += weights[i]! * times[i]!
    next[i] = hull.lowest(weight)
    cost = hull.valueAt(weight) - moment
  }
  return next
}
