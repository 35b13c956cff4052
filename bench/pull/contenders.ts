// The schedules that are compared, and what a replay of each gives, in seconds.
import { Best } from '../../endpoints/pull/best.ts'
import { Dpt } from '../../endpoints/pull/dpt.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import { mean } from '../../endpoints/pull/publication-window.ts'
import { type Figures, figuresOf, replay } from '../../endpoints/pull/replay.ts'
import type { Schedule } from '../../endpoints/pull/schedule.ts'
import { seeded } from '../../policies/chance.ts'

export const DPT_VARIANTS = { 'DPT-A': 'aggressive', 'DPT-N': 'normal', 'DPT-L': 'lazy' } as const

/** Schedules that learn, by name. */
export const LEARNING: Readonly<Record<string, () => Schedule>> = {
  'DPT-A': () => new Dpt('aggressive', seeded(1)),
  'DPT-N': () => new Dpt('normal', seeded(1)),
  'DPT-L': () => new Dpt('lazy', seeded(1)),
  best: () => new Best(seeded(1)),
}

/** Fixed intervals with so many random phases; figures by mean latency, the best first. */
export function fixedRuns(trace: readonly number[], intervalMs: number, runs: number, seed = 1): Figures[] {
  const random = seeded(seed)
  return Array.from({ length: runs }, () =>
    figuresOf(replay(trace, new FixedInterval(intervalMs, random() * intervalMs, random))),
  ).sort((a, b) => a.latency.mean - b.latency.mean)
}

/** Of several runs the mean of a figure. */
export function meanOf(runs: readonly Figures[], of: (figures: Figures) => number): number {
  return mean(runs.map(of))
}
