// The DPT paper's figures that come from its publishing model: 4, 19, 20 and 23.
import { Best } from '../../endpoints/pull/best.ts'
import { Dpt } from '../../endpoints/pull/dpt.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import { FixedRounds, Mdpt, type RepublishingSchedule } from '../../endpoints/pull/mdpt.ts'
import { mean, median } from '../../endpoints/pull/publication-window.ts'
import { generateTrace } from '../../endpoints/pull/publishing-model.ts'
import { type Figures, figuresOf, replay } from '../../endpoints/pull/replay.ts'
import { replayRounds } from '../../endpoints/pull/replay-rounds.ts'
import type { Schedule } from '../../endpoints/pull/schedule.ts'
import { seeded } from '../../policies/chance.ts'
import type { Bars } from '../plot.ts'
import { fixedRuns, LEARNING } from './contenders.ts'
import { type Figure, rounded, seriesOf } from './figure.ts'

const INTERVAL_MS = 300_000
/** Of each interval; the paper does not say. Whole days are short enough that phases last. */
const JITTER_MS = 5_000

/** Figure 4: mean latency of fixed intervals, by interval and phase; with hardly any jitter, which would blur the phase. */
export function figure4(small: boolean): Figure {
  const days = small ? 1 : 20
  const traces = Array.from({ length: days }, (_, day) =>
    generateTrace({ intervalMs: INTERVAL_MS, pss: 0.95, pfs: 0.8, jitterMs: 50 }, 288, seeded(day + 1)),
  )
  const intervals = [5, 60, 120, 180, 240, 300, 360, 450, 600]
  const phases = [0.01, 0.25, 0.5, 0.75, 0.99]
  const at = (intervalS: number, phase: number) => {
    const means = traces.map((trace) => {
      const schedule = new FixedInterval(intervalS * 1000, phase * intervalS * 1000, seeded(1))
      return figuresOf(replay(trace, schedule)).latency.mean / 1000
    })
    return mean(means)
  }
  const rows = intervals.map((interval) => ({
    'interval s': interval,
    ...Object.fromEntries(phases.map((phase) => [`phase ${phase}`, rounded(at(interval, phase), 1)])),
  }))
  const points = Object.fromEntries(
    phases.map((phase) => [
      `phase ${phase}`,
      rows.map((row) => [row['interval s'], (row as never)[`phase ${phase}`]] as [number, number]),
    ]),
  )
  const panel = {
    title: 'Figure 4',
    x: 'polling interval, s',
    y: 'mean latency, s',
    series: seriesOf('line', points),
  }
  return {
    name: 'figure-4',
    title: 'Fixed intervals of a source of 300 s, by interval and phase',
    rows,
    panels: [panel],
  }
}

/** Figures 19 and 20: every schedule over a range of reliability. */
export function reliability(number: 19 | 20, pfs: number, small: boolean): Figure {
  const runs = small ? 2 : 100
  const readings = small ? 200 : 1_000
  const shares = small ? [0.8, 0.95] : [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99]
  const rows = shares.flatMap((pss) => rowsAt(pss, pfs, runs, readings))
  const names = [...new Set(rows.map(({ schedule }) => schedule))]
  const panel = (title: string, y: string, of: (row: Row) => number) => ({
    title,
    x: 'pss',
    y,
    series: seriesOf(
      'line',
      Object.fromEntries(
        names.map((name) => [
          name,
          rows.filter((row) => row.schedule === name).map((row) => [row.pss, of(row)] as const),
        ]),
      ),
    ),
  })
  return {
    name: `figure-${number}`,
    title: `Schedules by reliability, pfs = ${pfs}, ${runs} runs each`,
    rows,
    panels: [
      panel(`Figure ${number}, pfs ${pfs}`, 'mean latency, s', (row) => row.mean),
      panel('deviation', 'stddev of latency, s', (row) => row.stddev),
      panel('hits', 'hit percentage', (row) => row['hit %']),
    ],
  }
}

interface Row {
  readonly pss: number
  readonly schedule: string
  readonly median: number
  readonly mean: number
  readonly stddev: number
  readonly 'hit %': number
}

function rowsAt(pss: number, pfs: number, runs: number, readings: number): Row[] {
  const traces = Array.from({ length: runs }, (_, run) =>
    generateTrace({ intervalMs: INTERVAL_MS, pss, pfs, jitterMs: JITTER_MS }, readings, seeded(run + 1)),
  )
  const row = (schedule: string, all: readonly Figures[]): Row => ({
    pss,
    schedule,
    median: rounded(mean(all.map(({ latency }) => latency.median)) / 1000, 1),
    mean: rounded(mean(all.map(({ latency }) => latency.mean)) / 1000, 1),
    stddev: rounded(mean(all.map(({ latency }) => latency.stddev)) / 1000, 1),
    'hit %': rounded(mean(all.map(({ hitPercent }) => hitPercent)), 1),
  })
  const fixed = traces.map((trace, run) => fixedRuns(trace, INTERVAL_MS, 1, run + 1)[0]!)
  fixed.sort((a, b) => a.latency.mean - b.latency.mean)
  return [
    row('fixed best', fixed.slice(0, 1)),
    row('fixed', fixed),
    row('fixed worst', fixed.slice(-1)),
    ...Object.entries(LEARNING).map(([name, make]) =>
      row(
        name,
        traces.map((trace) => figuresOf(replay(trace, make()))),
      ),
    ),
  ]
}

/** Figure 23: three sources, of 500 s at phase 0 and of an hour at 20 and 40 minutes; two updates are needed. */
export function figure23(small: boolean): Figure {
  const hours = small ? 100 : 2_000
  const trackers: Readonly<Record<string, () => Schedule>> = {
    'MDPT (DPT-L)': () => new Dpt('lazy', seeded(1)),
    'MDPT (DPT-L of jitter)': () => new Dpt('lazy', seeded(1), { deviationOf: 'jitter' }),
    'MDPT (best)': () => new Best(seeded(1)),
  }
  const rows = [0.3, 5].flatMap((jitterS) => {
    const of = (intervalS: number, phaseS: number, seed: number) =>
      generateTrace(
        { intervalMs: intervalS * 1000, pss: 0.95, pfs: 0.8, jitterMs: jitterS * 1000 },
        Math.round((hours * 3600) / intervalS),
        seeded(seed),
      ).map((at) => at + phaseS * 1000)
    const traces = [of(500, 0, 1), of(3_600, 1_200, 2), of(3_600, 2_400, 3)]
    return [
      ...[60, 30, 15].map((minutes) => fixedRepublishing(`fixed ${minutes} min`, traces, minutes * 60_000)),
      ...Object.entries(trackers).map(([name, track]) =>
        republishing(name, traces, () => new Mdpt(3, seeded(1), { trigger: 2, track })),
      ),
    ].map((row) => ({ 'jitter s': jitterS, ...row }))
  })
  return {
    name: 'figure-23',
    title: 'Republishing from three sources, two updates needed (the paper: MDPT 48 s, 96 %)',
    rows,
    panels: [0.3, 5].flatMap((jitterS) =>
      latencyAndHits(
        `Figure 23, jitter ${jitterS} s`,
        rows.filter((row) => row['jitter s'] === jitterS),
      ),
    ),
  }
}

/** A fixed interval with each of ten phases, as one row of means. */
export function fixedRepublishing(
  schedule: string,
  traces: readonly (readonly number[])[],
  intervalMs: number,
): RepublishingRow {
  const rows = Array.from({ length: 10 }, (_, i) =>
    republishing(schedule, traces, () => new FixedRounds(3, 2, intervalMs, ((i + 0.5) / 10) * intervalMs)),
  )
  const meanOf = (of: (row: RepublishingRow) => number) => rounded(mean(rows.map(of)), 1)
  return {
    schedule,
    'mean s': meanOf((row) => row['mean s']),
    'median s': meanOf((row) => row['median s']),
    'hit %': meanOf((row) => row['hit %']),
  }
}

export interface RepublishingRow {
  readonly schedule: string
  readonly 'mean s': number
  readonly 'median s': number
  readonly 'hit %': number
}

/** Mean latency and hit percentage of a republisher of three sources that needs two. */
export function republishing(
  schedule: string,
  traces: readonly (readonly number[])[],
  make: () => RepublishingSchedule,
): RepublishingRow {
  const { latenciesMs, rounds, republished } = replayRounds(traces, 2, make())
  return {
    schedule,
    'mean s': rounded(mean(latenciesMs) / 1000, 1),
    'median s': rounded(median(latenciesMs) / 1000, 1),
    'hit %': rounded((100 * republished) / rounds, 1),
  }
}

/** Mean latency and hit percentage, a bar a schedule. */
export function latencyAndHits(title: string, rows: readonly Omit<RepublishingRow, 'median s'>[]): Bars[] {
  return [
    { title, y: 'mean latency, s', bars: rows.map((row) => [row.schedule, row['mean s']]) },
    { title: 'hits', y: 'hit percentage', bars: rows.map((row) => [row.schedule, row['hit %']]) },
  ]
}
