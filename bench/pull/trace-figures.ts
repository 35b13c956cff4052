// The DPT paper's figures that come from real traces: 14 to 18, 21, 22 and 24, and how the best schedule does on them.
import { Best } from '../../endpoints/pull/best.ts'
import { Dpt } from '../../endpoints/pull/dpt.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import { Mdpt } from '../../endpoints/pull/mdpt.ts'
import { median } from '../../endpoints/pull/publication-window.ts'
import { fitModel, generateTrace, intervalsOf } from '../../endpoints/pull/publishing-model.ts'
import { type Figures, figuresOf, replay, replayApart } from '../../endpoints/pull/replay.ts'
import type { Schedule } from '../../endpoints/pull/schedule.ts'
import { seeded } from '../../policies/chance.ts'
import type { Bars, Panel } from '../plot.ts'
import { DPT_VARIANTS, fixedRuns, LEARNING, meanOf } from './contenders.ts'
import { cumulative, type Figure, rounded, seriesOf } from './figure.ts'
import { fixedRepublishing, latencyAndHits, republishing } from './model-figures.ts'

export type Traces = ReadonlyMap<string, readonly number[]>

/** Figures 14 and 15: the use latency of all readings of one sensor. */
export function figure14(number: 14 | 15, device: string, traces: Traces): Figure {
  const trace = traces.get(device)!
  const intervalMs = median(intervalsOf(trace))
  const replays = {
    fixed: replay(trace, new FixedInterval(intervalMs, 0.5 * intervalMs, seeded(1))),
    ...Object.fromEntries(Object.entries(LEARNING).map(([name, make]) => [name, replay(trace, make())])),
  }
  const rows = Object.entries(replays).map(([schedule, one]) => ({ schedule, ...inSeconds(figuresOf(one)) }))
  const most = 2 * intervalMs
  const points = Object.fromEntries(
    Object.entries(replays).map(([name, { latenciesMs }]) => [
      name,
      cumulative(latenciesMs.map((latency) => Math.min(latency, most) / 1000)),
    ]),
  )
  const panel = {
    title: `Figure ${number}: ${device}`,
    x: 'use latency, s (cut at two periods)',
    y: 'share of readings',
    series: seriesOf('line', points),
  }
  return {
    name: `figure-${number}`,
    title: `Use latency of all readings of ${device}`,
    rows,
    panels: [panel],
  }
}

/** Figures 16 to 18: latency and hit percentage of every device. */
export function devices(name: string, title: string, names: readonly string[], traces: Traces): Figure {
  const rows = names.map((device) => {
    const trace = traces.get(device)!
    const intervalMs = median(intervalsOf(trace))
    const fixed = fixedRuns(trace, intervalMs, 5)
    const all = Object.entries(LEARNING).map(
      ([schedule, make]) => [schedule, figuresOf(replay(trace, make()))] as const,
    )
    return {
      device,
      'period s': rounded(intervalMs / 1000, 0),
      'fixed median s': rounded(meanOf(fixed, ({ latency }) => latency.median) / 1000, 1),
      'fixed hit %': rounded(
        meanOf(fixed, ({ hitPercent }) => hitPercent),
        1,
      ),
      ...Object.fromEntries(
        all.flatMap(([schedule, { latency, hitPercent }]) => [
          [`${schedule} median s`, rounded(latency.median / 1000)],
          [`${schedule} hit %`, rounded(hitPercent, 1)],
        ]),
      ),
    }
  })
  const schedules = ['fixed', ...Object.keys(LEARNING)]
  const valuesOf = (schedule: string, what: string) =>
    rows.map((row) => (row as never as Record<string, number>)[`${schedule} ${what}`]!)
  /** A line of one device would be a point. */
  const single = (what: string, y: string): Bars => ({
    title: `${title}: ${y}`,
    y,
    bars: schedules.map((schedule) => [schedule, valuesOf(schedule, what)[0]!]),
  })
  const ranked = (what: string, y: string): Panel => ({
    title: `${title}: ${y}`,
    x: 'devices, each by its rank',
    y,
    series: seriesOf(
      'line',
      Object.fromEntries(
        schedules.map((schedule) => {
          const values = valuesOf(schedule, what).sort((a, b) => a - b)
          return [schedule, values.map((value, i) => [i + 1, value] as const)]
        }),
      ),
    ),
  })
  const panel = rows.length === 1 ? single : ranked
  return {
    name,
    title,
    rows,
    panels: [panel('median s', 'median latency, s'), panel('hit %', 'hit percentage')],
  }
}

/** Medians over all devices, against fixed intervals; with `next_delay_bias` as intended and as printed. */
export function overDevices(traces: Traces): Figure {
  const fixed = [...traces.values()].map((trace) =>
    meanOf(fixedRuns(trace, median(intervalsOf(trace)), 5), ({ latency }) => latency.median),
  )
  const row = (schedule: string, make: () => Schedule) => {
    const all = [...traces.values()].map((trace) => figuresOf(replay(trace, make())))
    return {
      schedule,
      'median latency, of fixed': rounded(median(all.map(({ latency }, i) => latency.median / fixed[i]!)), 3),
      'mean latency s': rounded(median(all.map(({ latency }) => latency.mean)) / 1000, 1),
      'hit %': rounded(median(all.map(({ hitPercent }) => hitPercent)), 1),
    }
  }
  const rows = [
    ...Object.entries(DPT_VARIANTS).flatMap(([name, variant]) => [
      row(name, () => new Dpt(variant, seeded(1))),
      row(`${name} as printed`, () => new Dpt(variant, seeded(1), { nextDelayBias: 'printed' })),
    ]),
    row('best', () => new Best(seeded(1))),
  ]
  return {
    name: 'devices',
    title: 'Median over the devices, retries as intended and as printed',
    rows,
    panels: latencyAndHits(
      'Median over the devices',
      rows.map((one) => ({ schedule: one.schedule, 'mean s': one['mean latency s'], 'hit %': one['hit %'] })),
    ),
  }
}

/** The best schedule beside DPT-N and DPT-L, outages over ten periods set apart. */
export function bestBesideDpt(traces: Traces): Figure {
  const rows = [...traces].map(([device, trace]) => {
    const normal = figuresOf(replayApart(trace, new Dpt('normal', seeded(1))))
    const lazy = figuresOf(replayApart(trace, new Dpt('lazy', seeded(1))))
    const best = figuresOf(replayApart(trace, new Best(seeded(1))))
    const [allNormal, allBest] = [new Dpt('normal', seeded(1)), new Best(seeded(1))].map((one) =>
      figuresOf(replay(trace, one)),
    )
    return {
      device,
      'DPT-N mean s': rounded(normal.latency.mean / 1000, 1),
      'best mean s': rounded(best.latency.mean / 1000, 1),
      ratio: rounded(best.latency.mean / normal.latency.mean),
      'DPT-L hit %': rounded(lazy.hitPercent, 1),
      'best hit %': rounded(best.hitPercent, 1),
      'with outages, DPT-N mean s': rounded(allNormal!.latency.mean / 1000, 0),
      'with outages, best mean s': rounded(allBest!.latency.mean / 1000, 0),
    }
  })
  const ratios = rows.map(({ ratio }) => ratio).sort((a, b) => a - b)
  const summary = {
    device: 'median',
    'DPT-N mean s': rounded(median(rows.map((row) => row['DPT-N mean s'])), 1),
    'best mean s': median(rows.map((row) => row['best mean s'])),
    ratio: median(ratios),
    'DPT-L hit %': median(rows.map((row) => row['DPT-L hit %'])),
    'best hit %': median(rows.map((row) => row['best hit %'])),
    'with outages, DPT-N mean s': median(rows.map((row) => row['with outages, DPT-N mean s'])),
    'with outages, best mean s': median(rows.map((row) => row['with outages, best mean s'])),
  }
  const points = {
    'best, of DPT-N': ratios.map((ratio, i) => [i + 1, ratio] as const),
    aim: ratios.map((_, i) => [i + 1, 0.4] as const),
  }
  const panel = {
    title: 'Mean latency at the hits of DPT-L',
    x: 'devices by rank',
    y: 'of DPT-N',
    series: seriesOf('line', points),
  }
  return {
    name: 'best',
    title: 'The best schedule, outages over ten periods set apart',
    rows: [...rows, summary],
    panels: [panel],
  }
}

/** Figure 21: the trace of one sensor beside a model fitted to it. */
export function figure21(device: string, traces: Traces): Figure {
  const trace = traces.get(device)!
  const model = fitModel(trace)!
  const simulated = generateTrace(model, trace.length, seeded(1))
  const rows = Object.entries(LEARNING).flatMap(([schedule, make]) =>
    [['trace', trace] as const, ['model', simulated] as const].map(([from, times]) => ({
      schedule,
      from,
      ...inSeconds(figuresOf(replay(times, make()))),
    })),
  )
  const bars = rows.map((row) => ({ ...row, schedule: `${row.schedule} ${row.from}` }))
  return {
    name: 'figure-21',
    title: `Trace playback and simulation of ${device}`,
    rows,
    panels: [
      ...latencyAndHits(`Figure 21: ${device}`, bars),
      {
        title: 'deviation',
        y: 'stddev of latency, s',
        bars: bars.map((row) => [row.schedule, row['stddev s']]),
      },
    ],
  }
}

const DAY_MS = 86_400_000
/** At night readings are published at once; those of the day wait for it. */
const NIGHT = { fromH: 22, toH: 6 }

/** A real trace as a source that batches by day would publish it. */
export function dayBatched(trace: readonly number[]): number[] {
  return trace
    .map((at) => {
      const hour = (at % DAY_MS) / 3_600_000
      const isNight = hour >= NIGHT.fromH || hour < NIGHT.toH
      return isNight ? at : at - (at % DAY_MS) + NIGHT.fromH * 3_600_000
    })
    .sort((a, b) => a - b)
}

/** Figure 22: bimodal operation on a day-batched source. */
export function figure22(device: string, traces: Traces): Figure {
  const trace = dayBatched(traces.get(device)!)
  const schedules: Readonly<Record<string, Schedule>> = {
    'fixed 1 day': new FixedInterval(DAY_MS, DAY_MS / 2, seeded(1)),
    'fixed 1 hour': new FixedInterval(3_600_000, 1_800_000, seeded(1)),
    'DPT-L': new Dpt('lazy', seeded(1)),
    'bimodal DPT-L': new Dpt('lazy', seeded(1), { bimodal: true }),
    best: new Best(seeded(1)),
  }
  const rows = Object.entries(schedules).map(([schedule, one]) => ({
    schedule,
    ...inSeconds(figuresOf(replay(trace, one))),
  }))
  return {
    name: 'figure-22',
    title: `Two periods: ${device} by night, its days in batches`,
    rows,
    panels: latencyAndHits(`Figure 22: ${device}, batched by day`, rows),
  }
}

/** Figure 24: three real sensors of nearly one period; two updates are needed. */
export function figure24(names: readonly string[], traces: Traces): Figure {
  const three = names.map((name) => traces.get(name)!)
  const period = median(intervalsOf(three[0]!))
  const rows = [
    ...[2, 1, 0.6].map((periods) => fixedRepublishing(`fixed ${periods} periods`, three, periods * period)),
    republishing('MDPT (DPT-L)', three, () => new Mdpt(3, seeded(1), { trigger: 2 })),
    republishing(
      'MDPT (best)',
      three,
      () => new Mdpt(3, seeded(1), { trigger: 2, track: () => new Best(seeded(1)) }),
    ),
    republishing(
      'MDPT (best), 3 candidates',
      three,
      () => new Mdpt(3, seeded(1), { trigger: 2, candidates: 3, track: () => new Best(seeded(1)) }),
    ),
  ]
  return {
    name: 'figure-24',
    title: `Republishing from ${names.join(', ')}, two updates needed`,
    rows,
    panels: latencyAndHits('Figure 24', rows),
  }
}

function inSeconds({ hitPercent, latency }: Figures) {
  return {
    'median s': rounded(latency.median / 1000),
    'mean s': rounded(latency.mean / 1000, 1),
    'stddev s': rounded(latency.stddev / 1000, 1),
    'hit %': rounded(hitPercent, 1),
  }
}
