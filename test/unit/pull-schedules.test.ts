// Every schedule passes the contract; then what each promises by itself.
import { describe, expect, test } from 'vitest'
import { ActiveControl } from '../../endpoints/pull/active-control.ts'
import { Best } from '../../endpoints/pull/best.ts'
import { Dpt, type DptOptions, type DptVariant } from '../../endpoints/pull/dpt.ts'
import { CrawlPlan, EasiCrawl } from '../../endpoints/pull/easicrawl.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import { Mdpt } from '../../endpoints/pull/mdpt.ts'
import { replay } from '../../endpoints/pull/replay.ts'
import { alone, type Chance, hit, miss, type Schedule } from '../../endpoints/pull/schedule.ts'
import { alwaysAwake, LearntSleep } from '../../endpoints/pull/sleep-plan.ts'
import { seeded } from '../../policies/chance.ts'
import { scheduleContract } from './pull-schedule-contract.ts'

const CRAWL = { budget: 12, horizonMs: 3_600_000, stepMs: 60_000 }
const START = 1_700_000_000_000

scheduleContract({ name: 'fixed interval', make: (random) => new FixedInterval(60_000, 7, random) })
for (const variant of ['aggressive', 'normal', 'lazy'] as const) {
  scheduleContract({ name: `DPT, ${variant}`, make: (random) => new Dpt(variant, random) })
  scheduleContract({
    name: `DPT, ${variant}, as printed`,
    make: (random) => new Dpt(variant, random, { nextDelayBias: 'printed' }),
  })
  scheduleContract({
    name: `bimodal DPT, ${variant}`,
    make: (random) => new Dpt(variant, random, { bimodal: true }),
  })
}
scheduleContract({
  name: 'bimodal DPT as printed, of jitter',
  make: (random) =>
    new Dpt('lazy', random, { bimodal: true, nextDelayBias: 'printed', deviationOf: 'jitter' }),
})
scheduleContract({ name: 'best', make: (random) => new Best(random) })
scheduleContract({ name: 'best, by share', make: (random) => new Best(random, { emptyShare: 0.1 }) })
scheduleContract({ name: 'MDPT of one', make: (random) => alone(new Mdpt(1, random, { trigger: 1 })) })
scheduleContract({
  name: 'MDPT of one, tracked by best',
  make: (random) => alone(new Mdpt(1, random, { trigger: 1, track: () => new Best(random) })),
})
scheduleContract({
  name: 'no active control',
  make: (random) => new ActiveControl('none', random),
  canEnd: true,
})
for (const level of ['basic', 'adaptive', 'active'] as const)
  scheduleContract({ name: `active control, ${level}`, make: (random) => new ActiveControl(level, random) })
scheduleContract({
  name: 'a crawl plan',
  make: () => new CrawlPlan([0, 60, 180, 300].map((s) => START + 1000 * s)),
  canEnd: true,
})
scheduleContract({
  name: 'EasiCrawl',
  make: () => alone(new EasiCrawl([{ sleep: alwaysAwake, rate: 1e-5 }], CRAWL)),
})
scheduleContract({
  name: 'EasiCrawl, learning when the sensor sleeps',
  make: () => alone(new EasiCrawl([{ sleep: new LearntSleep(3_600_000, 60), rate: 1e-5 }], CRAWL)),
})

test.each([
  ['DPT-A', (random: Chance) => new Dpt('aggressive', random)],
  ['DPT-N', (random: Chance) => new Dpt('normal', random)],
  ['DPT-L', (random: Chance) => new Dpt('lazy', random)],
  ['best', (random: Chance) => new Best(random)],
])('%s polls a source that publishes all the time every few seconds', (_, make) => {
  const trace = Array.from({ length: 20_000 }, (_, i) => START + 20 * i)
  const { latenciesMs } = replay(trace, make(seeded(1)))
  // It takes the first period, a minute or two, to know it.
  expect(Math.max(...latenciesMs.slice(10_000))).toBeLessThan(5_000)
})

test('best begins with the period it is told', () => {
  const best = new Best(seeded(1), { firstPeriodMs: 1_000 })
  best.first(START)
  const polls = [best.next(START, hit(START))]
  for (let i = 0; i < 3; i++) polls.push(best.next(polls.at(-1)!, miss()))
  expect(polls[0]).toBe(START + 1_000)
  expect(polls[3]! - START).toBeLessThan(60_000)
})

/** A DPT that has seen a reading every 100 s, with a deviation of 10 s, the last at 0; and when it polls then. */
function learnt(variant: DptVariant, options: DptOptions = {}, desynchronisationMs = 0) {
  const dpt = new Dpt(variant, seeded(1), options)
  let at = -2_000_000
  let next = dpt.first(at)
  for (let i = 0; i < 20; i++) {
    next = dpt.next(at, hit(at))
    at += i % 2 === 0 ? 90_000 : 110_000
  }
  next = dpt.next(0, hit(0, false, desynchronisationMs))
  return { dpt, next }
}

/** The times of the polls that follow, in seconds, when none finds anything. */
function misses(dpt: Schedule, first: number, count: number): number[] {
  const polls = [first]
  for (let i = 0; i < count; i++) polls.push(dpt.next(polls.at(-1)!, miss()))
  return polls.map((at) => Math.round(at / 1000))
}

describe('DPT', () => {
  test.each([
    ['aggressive', [90, 100, 110, 190, 390, 790]],
    ['normal', [100, 110, 200, 400, 800, 1600]],
    ['lazy', [110, 210, 410, 810, 1610, 3210]],
  ] as const)(
    '%s polls around the period, then on the learnt grid, twice as far each time',
    (variant, polls) => {
      const { dpt, next } = learnt(variant)
      expect(misses(dpt, next, 5)).toEqual(polls)
    },
  )

  test('as printed delays a period retry past the period it aims at', () => {
    const { dpt, next } = learnt('lazy', { nextDelayBias: 'printed' })
    // 110 + median 100 + the 110 since the last success.
    expect(misses(dpt, next, 3)).toEqual([110, 320, 520, 920])
  })

  test('never waits longer than two days, on the grid', () => {
    const { dpt, next } = learnt('normal')
    const polls = misses(dpt, next, 30)
    const gaps = polls.slice(1).map((at, i) => at - polls[i]!)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * 86_400)
    expect(Math.max(...gaps)).toBeGreaterThan(1.9 * 86_400)
    for (const at of polls.slice(2)) expect(at % 100).toBe(0)
  })

  test('rebases on the publish time, not on the poll', () => {
    const { dpt } = learnt('normal')
    // The median of ten 110, nine 90 and this 104 is 107.
    expect(dpt.next(150_000, hit(104_000))).toBe(211_000)
  })

  test('spreads the next poll over the interval the source asks for', () => {
    const { next } = learnt('normal', {}, 60_000)
    expect(next).toBeGreaterThan(100_000)
    expect(next).toBeLessThan(160_000)
  })

  test('is not misled by a burst', () => {
    const { dpt } = learnt('normal')
    for (let i = 0; i < 40; i++) dpt.next(100_500, hit(100_000 + i * 10, true))
    const next = dpt.next(100_500, hit(100_400))
    expect(next).toBeGreaterThan(200_000)
    expect(next).toBeLessThan(206_000)
  })

  test('bimodal waits for the other period after seven period retries, and learns only that from it', () => {
    const { dpt, next } = learnt('lazy', { bimodal: true })
    let polls = misses(dpt, next, 8)
    expect(polls.slice(-2)).toEqual([12_810, 25_610])
    const day = 86_400_000
    dpt.next(day, hit(day))
    // The period is as it was.
    let at = dpt.next(day, hit(day))
    expect(at).toBe(day + 110_000)
    polls = misses(dpt, at, 9)
    expect(polls.slice(-2)).toEqual([2 * 86_400, 3 * 86_400].map((s) => expect.closeTo(s, -1)))
    at = 2 * day
    expect(dpt.next(at, hit(at))).toBe(at + 110_000)
  })
})

describe('the best schedule', () => {
  test('learns whole seconds, modes and misses', () => {
    const best = new Best(seeded(1), { emptyShare: 0.3 })
    const random = seeded(2)
    let published = START
    best.first(published)
    for (let i = 0; i < 600; i++) {
      const polled = best.next(published, hit(published)) - published
      if (i > 50) expect([60_000, 180_000]).toContain(polled)
      if (polled === 60_000 && i > 50) expect(best.next(published + polled, miss()) - published).toBe(180_000)
      published += random() < 0.5 ? 60_000 : 180_000
    }
  })

  test('takes a share of empty polls or none at all', () => {
    expect(() => new Best(seeded(1), { emptyShare: 1 })).toThrow(RangeError)
    expect(() => new Best(seeded(1), { emptyShare: 0 })).toThrow(RangeError)
  })
})

describe('MDPT', () => {
  test('polls when enough sources are expected, and fetches fresher data before it republishes', () => {
    const mdpt = new Mdpt(3, seeded(1), { trigger: 2 })
    expect(mdpt.first(0)).toEqual({ at: 0, sources: [0, 1, 2] })
    const refresh = mdpt.next(0, [hit(0, true), hit(0), miss()])
    expect(refresh).toEqual({ at: 0, sources: [0] })
    expect([mdpt.isRefreshing, mdpt.ready]).toEqual([true, []])
    const round = mdpt.next(0, [hit(0)])
    expect([mdpt.isRefreshing, mdpt.ready]).toEqual([false, [0, 1]])
    expect(round.at).toBe(61_000)
    expect(round.sources).toEqual([0, 1])
  })

  test('a source that missed is expected later, and the others are waited for', () => {
    const mdpt = new Mdpt(3, seeded(1), { trigger: 2 })
    mdpt.first(0)
    const round = mdpt.next(0, [hit(0), miss(), miss()])
    expect(round.at).toBeGreaterThan(0)
    expect(round.sources).toEqual([1, 2])
    expect(mdpt.ready).toEqual([])
  })

  test('waits for more candidates than it needs, when told so', () => {
    const mdpt = new Mdpt(3, seeded(1), { trigger: 1, candidates: 3 })
    mdpt.first(0)
    mdpt.next(0, [hit(0), hit(0), hit(0)])
    expect(mdpt.ready).toEqual([0, 1, 2])
    expect(() => new Mdpt(2, seeded(1), { trigger: 3 })).toThrow(RangeError)
  })
})

describe('active control', () => {
  const options = { timeoutMs: 64_000, minMs: 1_000, maxMs: 600_000, deltaMs: 10_000, backoffMs: 1_000 }

  test('halves its timeout when something was lost, and adds a little when not', () => {
    const control = new ActiveControl('adaptive', seeded(1), options)
    expect(control.first(0)).toBe(64_000)
    expect(control.next(0, hit(0))).toBe(32_000)
    expect(control.next(0, miss())).toBe(42_000)
    for (let i = 0; i < 9; i++) control.next(0, hit(0))
    expect(control.next(0, hit(0))).toBe(1_000)
  })

  test('backs off at random when the broker is loaded, and returns', () => {
    const timeouts = (outcome: 'overloaded' | 'empty', count: number) => {
      const control = new ActiveControl('active', seeded(4), { ...options, deltaMs: 0 })
      control.first(0)
      for (let i = 1; i < count; i++) control.next(0, miss(outcome))
      return Array.from({ length: 50 }, () => control.next(0, miss(outcome)) - 64_000)
    }
    expect(Math.max(...timeouts('empty', 3))).toBeLessThan(5_000)
    const loaded = timeouts('overloaded', 9)
    expect(loaded.reduce((a, b) => a + b) / 50).toBeGreaterThan(200_000)
    expect(new Set(loaded).size).toBeGreaterThan(40)
  })

  test('takes a response much slower than the average for a collision', () => {
    const control = new ActiveControl('active', seeded(4), { ...options, deltaMs: 0, backoffMs: 1_000 })
    const answer = (responseMs: number) => control.next(0, { ...miss(), responseMs })
    for (let i = 0; i < 20; i++) answer(100)
    const usual = answer(100)
    for (let i = 0; i < 6; i++) answer(100_000 * 10 ** i)
    expect(answer(1e14)).toBeGreaterThan(usual + 30_000)
  })

  test('without control it never asks', () => {
    expect(new ActiveControl('none', seeded(1)).first(0)).toBe(Number.POSITIVE_INFINITY)
  })
})
