// Replays, the publishing model, and the real traces of the shared data where they are present.
import { describe, expect, test } from 'vitest'
import { Best } from '../../endpoints/pull/best.ts'
import { Dpt } from '../../endpoints/pull/dpt.ts'
import { CrawlPlan } from '../../endpoints/pull/easicrawl.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import { failureError, jitterError } from '../../endpoints/pull/goodness-of-fit.ts'
import { FixedRounds, Mdpt } from '../../endpoints/pull/mdpt.ts'
import { mean, median } from '../../endpoints/pull/publication-window.ts'
import { fitModel, generateTrace, intervalsOf } from '../../endpoints/pull/publishing-model.ts'
import { figuresOf, replay, replayApart } from '../../endpoints/pull/replay.ts'
import { replayRounds } from '../../endpoints/pull/replay-rounds.ts'
import { seeded } from '../../policies/chance.ts'
import { sharedTraces } from './pull-traces.ts'

const model = { intervalMs: 300_000, pss: 0.95, pfs: 0.8, jitterMs: 5_000 }

describe('a replay', () => {
  test('returns one reading a poll, and pulls at once where there is more', () => {
    const polls: [number, number | undefined][] = []
    const trace = [0, 10_000, 20_000, 130_000]
    const { hits, latenciesMs } = replay(trace, new FixedInterval(60_000, 30_000, seeded(1)), (at, reading) =>
      polls.push([at, reading]),
    )
    expect(polls).toEqual([
      [30_000, 0],
      [30_000, 1],
      [30_000, 2],
      [90_000, undefined],
      [150_000, 3],
    ])
    expect(hits).toBe(4)
    expect(latenciesMs).toEqual([30_000, 20_000, 10_000, 20_000])
  })

  test('takes a reading published at the very time of the poll', () => {
    expect(replay([5, 10], new CrawlPlan([5, 10])).latenciesMs).toEqual([0, 0])
  })

  test('ends when the schedule does', () => {
    expect(replay([5, 10, 15], new CrawlPlan([10]))).toMatchObject({ published: 3, hits: 2 })
  })

  test('sets outages apart, with the polls in them and the readings that waited', () => {
    const trace = [0, 10, 20, 30, 40, 1_000, 1_010, 1_020]
    const all = figuresOf(replay(trace, new FixedInterval(15, 0, seeded(1))))
    const apart = figuresOf(replayApart(trace, new FixedInterval(15, 0, seeded(1))))
    expect(all.polls).toBeGreaterThan(70)
    expect(apart.hits).toBe(7)
    expect(apart.polls).toBeLessThan(10)
  })
})

describe('the publishing model', () => {
  test('is found again in the traces it makes', () => {
    const fitted = fitModel(generateTrace(model, 20_000, seeded(1)))!
    expect(fitted.intervalMs / model.intervalMs).toBeCloseTo(1, 2)
    expect(fitted.pss).toBeCloseTo(0.95, 2)
    expect(fitted.pfs).toBeCloseTo(0.8, 1)
    expect(fitted.jitterMs / model.jitterMs).toBeCloseTo(1, 1)
    expect(fitted.bursts).toBe(0)
  })

  test.each([0.3, 0.45, 0.6])(
    'has its period where readings are published with %d after a success',
    (pss) => {
      const trace = generateTrace({ intervalMs: 300_000, jitterMs: 9_000, pss, pfs: 0.6 }, 20_000, seeded(2))
      const fitted = fitModel(trace)!
      expect(fitted.intervalMs / 300_000).toBeCloseTo(1, 3)
      expect(fitted.pss).toBeCloseTo(pss, 1)
      expect(fitted.jitterMs / 9_000).toBeCloseTo(1, 1)
    },
  )

  test('is fitted to two intervals of any lengths', () => {
    expect(fitModel([0, 10, 1_010])).toMatchObject({ intervalMs: 505 })
  })

  test('leaves outages of more than five failures out', () => {
    const trace = [0, 10, 20, 30, 50, 60, 130, 140, 150, 160].map((s) => s * 1000)
    const fitted = fitModel(trace)!
    expect(fitted).toMatchObject({
      intervalMs: 10_000,
      outages: 1,
      failures: [7, 1, 0, 0, 0, 0],
      pss: 7 / 8,
      pfs: 1,
    })
  })

  test('fits its own traces better than a geometric one and none, and Laplace better than normal', () => {
    const correlated = { ...model, pss: 0.97, pfs: 0.5 }
    const trace = generateTrace(correlated, 20_000, seeded(3))
    const fitted = fitModel(trace)!
    const { markov, geometric, noFailure } = failureError(fitted)
    expect(markov).toBeLessThan(25)
    expect(geometric).toBeGreaterThan(10 * markov)
    expect(noFailure).toBeGreaterThan(geometric)
    const { laplace, normal } = jitterError(trace, fitted.intervalMs)
    expect(laplace).toBeLessThan(0.02)
    expect(normal).toBeGreaterThan(3 * laplace)
  })

  test('gives ascending traces and the same for one seed', () => {
    const wild = { ...model, jitterMs: 400_000 }
    const trace = generateTrace(wild, 500, seeded(9))
    for (const interval of intervalsOf(trace)) expect(interval).toBeGreaterThan(0)
    expect(generateTrace(wild, 500, seeded(9))).toEqual(trace)
    expect(fitModel([1, 2])).toBeUndefined()
  })
})

describe('on a modelled source', () => {
  const trace = generateTrace(model, 5_000, seeded(1)).map(Math.round)
  const dpt = (variant: 'aggressive' | 'normal' | 'lazy') =>
    figuresOf(replay(trace, new Dpt(variant, seeded(1))))

  test('DPT-L is the slowest and has the most hits, DPT-A the fewest', () => {
    const [a, n, l] = [dpt('aggressive'), dpt('normal'), dpt('lazy')]
    expect(n.latency.median).toBeLessThan(l.latency.median)
    expect(a.hitPercent).toBeLessThan(n.hitPercent)
    expect(n.hitPercent).toBeLessThan(l.hitPercent)
  })

  test('the best schedule has at most 0.4 of the latency of DPT-N at the hits of DPT-L', () => {
    const best = figuresOf(replay(trace, new Best(seeded(1))))
    expect(best.hitPercent).toBeGreaterThanOrEqual(dpt('lazy').hitPercent)
    expect(best.latency.mean).toBeLessThan(0.4 * dpt('normal').latency.mean)
  })

  test('the best schedule keeps the share of empty polls it is given', () => {
    for (const emptyShare of [0.1, 0.3]) {
      const { hitPercent } = figuresOf(replay(trace, new Best(seeded(1), { emptyShare })))
      expect(hitPercent).toBeGreaterThanOrEqual(100 * (1 - emptyShare))
      expect(hitPercent).toBeLessThan(100 * (1 - emptyShare) + 4)
    }
  })
})

describe('the three sources of Figure 23', () => {
  const of = (intervalS: number, phaseS: number, count: number, seed: number) =>
    generateTrace({ ...model, intervalMs: intervalS * 1000 }, count, seeded(seed)).map(
      (at) => at + phaseS * 1000,
    )
  const traces = [of(500, 0, 8_000, 1), of(3_600, 1_200, 1_000, 2), of(3_600, 2_400, 1_000, 3)]

  test('MDPT is faster than any fixed interval with as many hits', () => {
    const tracked = new Mdpt(3, seeded(1), { trigger: 2, track: () => new Best(seeded(1)) })
    const mdpt = replayRounds(traces, 2, tracked)
    const fixed = [60, 30, 15].map((minutes) =>
      replayRounds(traces, 2, new FixedRounds(3, 2, minutes * 60_000, 0)),
    )
    const quarter = fixed[2]!
    expect(mean(mdpt.latenciesMs)).toBeLessThan(120_000)
    expect(mean(quarter.latenciesMs)).toBeGreaterThan(400_000)
    expect(mdpt.republished / mdpt.rounds).toBeGreaterThan(0.8)
    expect(quarter.republished / quarter.rounds).toBeLessThan(0.55)
  })
})

describe.skipIf(sharedTraces === undefined)('on the real traces (skipped without the shared data)', () => {
  // Every third, to be done in seconds; `npm run bench -- pull` takes all.
  const devices = [...(sharedTraces?.values() ?? [])].filter((_, i) => i % 3 === 0)

  test('DPT has the figures of the first replay, median over the devices', () => {
    const figures = devices.map((trace) => {
      const intervalMs = median(intervalsOf(trace))
      const fixed = figuresOf(replay(trace, new FixedInterval(intervalMs, intervalMs * 0.4, seeded(1))))
      return (['aggressive', 'normal', 'lazy'] as const).map((variant) => {
        const { hitPercent, latency } = figuresOf(replay(trace, new Dpt(variant, seeded(1))))
        return { hitPercent, latency: latency.median / fixed.latency.median }
      })
    })
    const medians = [0, 1, 2].map((v) => ({
      hits: median(figures.map((one) => one[v]!.hitPercent)),
      latency: median(figures.map((one) => one[v]!.latency)),
    }))
    expect(medians[0]!.hits).toBeCloseTo(43, -1)
    expect(medians[1]!.hits).toBeCloseTo(70, -1)
    expect(medians[2]!.hits).toBeGreaterThan(85)
    expect(medians[0]!.latency).toBeLessThan(0.02)
    expect(medians[1]!.latency).toBeLessThan(0.02)
    expect(medians[2]!.latency).toBeLessThan(0.06)
  })

  test('the best schedule has 0.4 of the latency of DPT-N at the hits of DPT-L, outages set apart', () => {
    const ratios = devices.map((trace) => {
      const normal = figuresOf(replayApart(trace, new Dpt('normal', seeded(1))))
      const lazy = figuresOf(replayApart(trace, new Dpt('lazy', seeded(1))))
      const best = figuresOf(replayApart(trace, new Best(seeded(1))))
      expect(best.hitPercent).toBeGreaterThanOrEqual(lazy.hitPercent)
      return best.latency.mean / normal.latency.mean
    })
    expect(median(ratios)).toBeLessThan(0.4)
  })
})
