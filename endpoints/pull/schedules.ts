// The schedules as an application makes them: each for one pull, with the machine's chance unless another is handed in.
import { ActiveControl, type ActiveControlLevel, type ActiveControlOptions } from './active-control.ts'
import { Best, type BestOptions } from './best.ts'
import { Dpt, type DptOptions, type DptVariant } from './dpt.ts'
import { type CrawledSensor, CrawlPlan, EasiCrawl, type EasiCrawlOptions } from './easicrawl.ts'
import { FixedInterval } from './fixed-interval.ts'
import { Mdpt, type MdptOptions } from './mdpt.ts'
import type { Chance, Schedule } from './schedule.ts'

interface WithChance {
  readonly random?: Chance
}

/** Polls every `intervalMs`, the first time `phaseMs` after the start. */
export function fixedInterval(
  intervalMs: number,
  { phaseMs = 0, random = Math.random }: { readonly phaseMs?: number } & WithChance = {},
): Schedule {
  return new FixedInterval(intervalMs, phaseMs, random)
}

/** Data Publication Tracking: `aggressive` has the lowest latency, `lazy` the fewest empty polls. */
export function dpt(
  variant: DptVariant,
  { random = Math.random, ...options }: DptOptions & WithChance = {},
): Schedule {
  return new Dpt(variant, random, options)
}

/** The whole learnt distribution of intervals, and the lowest latency for a share of empty polls. */
export function best({ random = Math.random, ...options }: BestOptions & WithChance = {}): Schedule {
  return new Best(random, options)
}

/** MDPT for `pullTogether`; its sources are tracked by `best` unless told otherwise. */
export function mdpt(
  sources: number,
  { random = Math.random, track, ...options }: MdptOptions & WithChance,
): Mdpt {
  return new Mdpt(sources, random, { ...options, track: track ?? (() => new Best(random)) })
}

/** AST + RBT: how often to check whether something was missed. */
export function activeControl(
  level: ActiveControlLevel,
  { random = Math.random, ...options }: ActiveControlOptions & WithChance = {},
): Schedule {
  return new ActiveControl(level, random, options)
}

/** A plan of times, in milliseconds. */
export function crawlPlan(times: readonly number[]): Schedule {
  return new CrawlPlan(times)
}

/** EasiCrawl, planned anew after every crawl, for `pullTogether`. */
export function easiCrawl(sensors: readonly CrawledSensor[], options: EasiCrawlOptions): EasiCrawl {
  return new EasiCrawl(sensors, options)
}
