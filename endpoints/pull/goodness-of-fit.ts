// How well the publishing model fits a trace. ISI-TR-660b section 5.2: chi-squared for failures, Kolmogorov-Smirnov for
// jitter.
import { deviation, mean } from './publication-window.ts'
import { type FittedModel, jitterOf, LONG_OUTAGE, laplaceOf, markovOf } from './publishing-model.ts'

/** Chi-squared at the 0.05 level with LONG_OUTAGE degrees of freedom. */
export const CHI_SQUARED_LIMIT = 11.07

/** Equation (5) for each model of failures; a fit is below `CHI_SQUARED_LIMIT`. */
export interface FailureError {
  readonly markov: number
  readonly geometric: number
  readonly noFailure: number
}

/** The Kolmogorov-Smirnov distances of the jitter from the likeliest distribution of each kind. */
export interface JitterError {
  readonly laplace: number
  readonly normal: number
}

export function failureError({ failures, intervals }: FittedModel): FailureError {
  const attempts = failures.reduce((sum, count, inARow) => sum + count * (inARow + 1), 0)
  const ps = attempts === 0 ? 1 : intervals / attempts
  return {
    markov: chiSquared(failures, markovShares(failures)),
    geometric: chiSquared(
      failures,
      inARow.map((k) => (1 - ps) ** k * ps),
    ),
    // The paper adds a single failure, because the model has none and the error divides by it.
    noFailure: chiSquared(
      failures,
      inARow.map((k) => (k === 0 ? 1 : 1 / intervals)),
    ),
  }
}

const inARow = Array.from({ length: LONG_OUTAGE + 1 }, (_, k) => k)

function markovShares(failures: readonly number[]): number[] {
  const { pss, pfs } = markovOf(failures)
  return inARow.map((k) => (k === 0 ? pss : (1 - pss) * (1 - pfs) ** (k - 1) * pfs))
}

function chiSquared(observed: readonly number[], shares: readonly number[]): number {
  const all = observed.reduce((sum, count) => sum + count, 0)
  return observed.reduce((sum, count, k) => {
    const expected = all * shares[k]!
    return count === 0 && expected === 0 ? sum : sum + (expected - count) ** 2 / expected
  }, 0)
}

export function jitterError(trace: readonly number[], periodMs: number): JitterError {
  const jitter = jitterOf(trace, periodMs).sort((a, b) => a - b)
  const laplace = laplaceOf(jitter)
  const centre = mean(jitter)
  const scale = deviation(jitter)
  // Without jitter each distribution is the one value that there is.
  if (laplace.scale === 0) return { laplace: 0, normal: 0 }
  return {
    laplace: distance(jitter, (x) => laplaceBelow((x - laplace.centre) / laplace.scale)),
    normal: distance(jitter, (x) => normalBelow((x - centre) / scale)),
  }
}

/** The largest distance between an empirical distribution, ascending, and another. */
function distance(sorted: readonly number[], below: (x: number) => number): number {
  return sorted.reduce((most, x, i) => {
    const share = below(x)
    return Math.max(most, share - i / sorted.length, (i + 1) / sorted.length - share)
  }, 0)
}

function laplaceBelow(x: number): number {
  return x < 0 ? Math.exp(x) / 2 : 1 - Math.exp(-x) / 2
}

/** Abramowitz and Stegun 26.2.17, good to 8 digits. */
function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x))
  const terms = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
  const sum = terms.reduceRight((rest, term) => (rest + term) * t, 0)
  const above = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * sum
  return x < 0 ? above : 1 - above
}
