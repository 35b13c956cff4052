// The model of a sensor that publishes: two-state Markov failures and Laplace jitter. ISI-TR-660b section 5.1.
import { median } from './publication-window.ts'
import type { Chance } from './schedule.ts'

export interface PublishingModel {
  /** lambda, the period the sensor aims at. */
  readonly intervalMs: number
  /** The probability to publish after a success, and after a failure. */
  readonly pss: number
  readonly pfs: number
  /** The standard deviation of the jitter. */
  readonly jitterMs: number
}

/** A model fitted to a trace, and what it leaves out. */
export interface FittedModel extends PublishingModel {
  /** Intervals the model was fitted to. */
  readonly intervals: number
  /** Failures of more than `LONG_OUTAGE` in a row, and intervals under half a period: neither is modelled. */
  readonly outages: number
  readonly bursts: number
  /** Of the intervals: how many had 0, 1, … consecutive failures. */
  readonly failures: readonly number[]
}

/** m: more consecutive failures than this are a long-term outage, which is ignored. */
export const LONG_OUTAGE = 5

/** Fits a model to publish times; undefined for fewer than two intervals. Readings of one time are one publication. */
export function fitModel(trace: readonly number[]): FittedModel | undefined {
  const intervals = intervalsOf(trace).filter((interval) => interval > 0)
  if (intervals.length < 2) return undefined
  const intervalMs = periodOf(intervals)
  const failures = new Array<number>(LONG_OUTAGE + 1).fill(0)
  let outages = 0
  let bursts = 0
  for (const interval of intervals) {
    const count = failuresIn(interval, intervalMs)
    if (count < 0) bursts++
    else if (count > LONG_OUTAGE) outages++
    else failures[count]!++
  }
  return {
    intervalMs,
    ...markovOf(failures),
    jitterMs: Math.SQRT2 * laplaceOf(jitterOf(trace, intervalMs)).scale,
    intervals: intervals.length - outages - bursts,
    outages,
    bursts,
    failures,
  }
}

/** An interval under this share of the median is one with fewer failures than that, where so many are. */
const SHORTER = 0.75
const SHORTER_SHARE = 0.2
/** The median is so near to a multiple of the shorter ones. */
const MULTIPLE = 0.1

/**
 * lambda. Where most readings fail, the median interval has failures itself; and failures move it towards the late ones
 * among those without, whose own median it therefore is.
 */
function periodOf(intervals: readonly number[]): number {
  const middle = median(intervals)
  const shorter = intervals.filter((interval) => interval < SHORTER * middle)
  const periods = shorter.length > SHORTER_SHARE * intervals.length ? middle / median(shorter) : 1
  const isMultiple = periods > 1.5 && Math.abs(periods - Math.round(periods)) < MULTIPLE
  const period = isMultiple ? middle / periods : middle
  const single = intervals.filter((interval) => failuresIn(interval, period) === 0)
  return single.length === 0 ? period : median(single)
}

/** Publish times in milliseconds from 0 on. */
export function generateTrace(model: PublishingModel, count: number, random: Chance): number[] {
  const trace: number[] = []
  for (let at = 0; trace.length < count; at += generateInterval(model, random)) trace.push(at)
  return trace
}

/** I = (k + 1) lambda + j; never less than a millisecond, so that a trace ascends. */
function generateInterval({ intervalMs, pss, pfs, jitterMs }: PublishingModel, random: Chance): number {
  let failures = 0
  for (let isSuccess = random() < pss; !isSuccess; isSuccess = random() < pfs) failures++
  return Math.max(1, (failures + 1) * intervalMs + laplace(jitterMs / Math.SQRT2, random))
}

/** A number of the Laplace distribution around 0 with this scale, b. */
function laplace(scale: number, random: Chance): number {
  const u = random() - 0.5
  return -scale * Math.sign(u) * Math.log(1 - 2 * Math.abs(u))
}

export function intervalsOf(trace: readonly number[]): number[] {
  return trace.slice(1).map((at, i) => at - trace[i]!)
}

/** Consecutive failures before an interval ended: h for one from h + 0.5 to h + 1.5 periods. */
export function failuresIn(interval: number, period: number): number {
  return Math.ceil(interval / period - 0.5) - 1
}

/** How far the intervals without a failure lie from the period: the jitter around lambda. */
export function jitterOf(trace: readonly number[], periodMs: number): number[] {
  return intervalsOf(trace)
    .filter((interval) => failuresIn(interval, periodMs) === 0)
    .map((interval) => interval - periodMs)
}

/** pss and pfs from how many intervals had 0, 1, … failures; every interval begins with a success. */
export function markovOf(failures: readonly number[]): { readonly pss: number; readonly pfs: number } {
  const all = failures.reduce((sum, count) => sum + count, 0)
  const failed = all - failures[0]!
  const attempts = failures.reduce((sum, count, inARow) => sum + count * inARow, 0)
  return { pss: all === 0 ? 1 : failures[0]! / all, pfs: attempts === 0 ? 1 : failed / attempts }
}

export interface Location {
  readonly centre: number
  readonly scale: number
}

/** The likeliest Laplace distribution: centre and b. */
export function laplaceOf(values: readonly number[]): Location {
  if (values.length === 0) return { centre: 0, scale: 0 }
  const centre = median(values)
  return { centre, scale: values.reduce((sum, value) => sum + Math.abs(value - centre), 0) / values.length }
}
