// EasiCrawl: expected latency, the optimal plan beside exhaustive search, greedy, budgets, replanning, learnt sleep.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CrawlProblem, solveCrawl } from '../../endpoints/pull/crawl-budget.ts'
import { greedyPlan, OptimalPlans, randomPlan } from '../../endpoints/pull/crawl-plan.ts'
import { Timeline, type Window } from '../../endpoints/pull/crawl-timeline.ts'
import { EasiCrawl } from '../../endpoints/pull/easicrawl.ts'
import { pollTimes } from '../../endpoints/pull/poll-times.ts'
import { hit, miss } from '../../endpoints/pull/schedule.ts'
import { knownSleep, LearntSleep } from '../../endpoints/pull/sleep-plan.ts'
import { seeded } from '../../policies/chance.ts'

/** Windows between 0 and the horizon. */
const windows = fc
  .array(fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 4 })
  .map((lengths) => {
    let at = 0
    return lengths.map(([asleep, awake]): Window => {
      const from = at + asleep
      at = from + awake
      return [from, at]
    })
  })

function timelineOf(awake: readonly Window[], step = 1) {
  return new Timeline(awake, { step, horizon: 100 })
}

/** All ways to choose so many of the first candidates, with the last. */
function* choices(candidates: number, crawls: number, from = 0): Generator<number[]> {
  if (crawls === 1) yield [candidates - 1]
  else
    for (let first = from; first <= candidates - crawls; first++)
      for (const rest of choices(candidates, crawls - 1, first + 1)) yield [first, ...rest]
}

test('the end of a window is a candidate once, also where a multiple of the step differs from it by rounding', () => {
  expect([...timelineOf([[0, 2.1]], 0.7).times]).toEqual([0.7, 1.4, 2.1])
})

describe('expected latency', () => {
  test('is the rate times the integral of the wait over awake time', () => {
    const timeline = timelineOf([
      [0, 40],
      [60, 100],
    ])
    const last = timeline.times.length - 1
    // 40 units wait 80 on average, 40 wait 20.
    expect(timeline.latencyOf([last])).toBe(40 * 80 + 40 * 20)
  })

  test('is what a simulated Poisson process has, where equation (5) of the paper is not', () => {
    const random = seeded(5)
    const [rate, until, runs] = [0.3, 12, 20_000]
    let sum = 0
    for (let run = 0; run < runs; run++)
      for (let at = -Math.log(1 - random()) / rate; at < until; at += -Math.log(1 - random()) / rate)
        sum += until - at
    const expected = rate * timelineOf([[0, until]]).latencyOf([timelineOf([[0, until]]).times.length - 1])
    expect(sum / runs / expected).toBeCloseTo(1, 1)
    const equation5 = (Math.exp(-until * rate) - 1 + until * rate) * until
    expect(equation5 / expected).toBeGreaterThan(1.4)
  })

  test('counts only from the last crawl on', () => {
    const timeline = new Timeline([[0, 40]], { step: 10, horizon: 100, crawledAt: 5, now: 20 })
    expect([...timeline.times]).toEqual([30, 40])
    expect(timeline.latencyOf([1])).toBe((35 * 35) / 2)
  })
})

describe('the plan of the dynamic programme', () => {
  test('is the best there is, for every number of crawls', () => {
    fc.assert(
      fc.property(windows, fc.integer({ min: 1, max: 5 }), (awake, crawls) => {
        const timeline = timelineOf(awake)
        const most = timeline.times.length
        fc.pre(crawls <= most)
        const plans = new OptimalPlans(timeline)
        let best = Number.POSITIVE_INFINITY
        for (const plan of choices(most, crawls)) best = Math.min(best, timeline.latencyOf(plan))
        expect(plans.latency(crawls)).toBeCloseTo(best, 9)
        expect(timeline.latencyOf(plans.plan(crawls))).toBeCloseTo(best, 9)
        expect(plans.plan(crawls)).toHaveLength(crawls)
      }),
      { numRuns: 300 },
    )
  })

  test('is convex in the number of crawls for any sleep plan', () => {
    fc.assert(
      fc.property(windows, (awake) => {
        const timeline = timelineOf(awake)
        const plans = new OptimalPlans(timeline)
        for (let n = 2; n < timeline.times.length; n++) {
          const [gain, before] = [1, 0].map((d) => plans.latency(n - 1 + d) - plans.latency(n + d))
          expect(gain).toBeLessThanOrEqual(before! + 1e-9)
        }
      }),
    )
  })

  test('takes under a second for 10,000 candidates and 200 crawls', () => {
    const awake = Array.from({ length: 100 }, (_, i): Window => [i * 200, i * 200 + 100])
    const timeline = new Timeline(awake, { step: 1, horizon: 20_000 })
    expect(timeline.times.length).toBeGreaterThanOrEqual(10_000)
    const began = performance.now()
    expect(new OptimalPlans(timeline).plan(200)).toHaveLength(200)
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  test('is no worse than the greedy plan, and that no worse than random ones on average', () => {
    fc.assert(
      fc.property(windows, fc.integer({ min: 2, max: 12 }), fc.nat(), (awake, crawls, seed) => {
        const timeline = timelineOf(awake)
        fc.pre(crawls <= timeline.times.length)
        const greedy = greedyPlan(timeline, crawls)
        expect(greedy.at(-1)).toBe(timeline.times.length - 1)
        expect(greedy.length).toBeLessThanOrEqual(crawls)
        const best = new OptimalPlans(timeline).latency(crawls)
        expect(timeline.latencyOf(greedy)).toBeGreaterThanOrEqual(best - 1e-9)
        const random = randomPlan(timeline, crawls, seeded(seed))
        expect(random).toHaveLength(crawls)
        expect(timeline.latencyOf(random)).toBeGreaterThanOrEqual(best - 1e-9)
      }),
    )
  })
})

/** Ten sensors with random sleep plans, as in the paper's simulations. */
function simulated(seed: number, crawlsEach: number): CrawlProblem {
  const random = seeded(seed)
  const sensors = Array.from({ length: 10 }, (_, i) => {
    const awake: Window[] = []
    for (let at = random() * 20; at < 200; ) {
      const to = Math.min(200, at + 10 + random() * 30)
      awake.push([at, to])
      at = to + 5 + random() * 30
    }
    return { id: `s${i}`, rate: random(), weight: 1, maxCrawls: 200, awake }
  })
  return { horizon: 200, step: 2, budget: 10 * crawlsEach, sensors }
}

describe('a budget', () => {
  test('is divided as exhaustive search would', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            rate: fc.integer({ min: 1, max: 9 }),
            weight: fc.integer({ min: 1, max: 3 }),
            awake: windows,
          }),
          {
            minLength: 2,
            maxLength: 3,
          },
        ),
        fc.integer({ min: 0, max: 5 }),
        (given, extra) => {
          const sensors = given.map((sensor, i) => ({ ...sensor, id: `s${i}`, maxCrawls: 3 }))
          const budget = sensors.length + extra
          const { expectedLatency } = solveCrawl({ horizon: 100, step: 1, budget, sensors }, 'dp', seeded(1))
          const plans = sensors.map(({ awake }) => new OptimalPlans(timelineOf(awake)))
          const cost = (i: number, left: number): number => {
            if (i === sensors.length) return 0
            let best = Number.POSITIVE_INFINITY
            const most = Math.min(3, plans[i]!.most, left - (sensors.length - 1 - i))
            for (let n = 1; n <= most; n++)
              best = Math.min(
                best,
                sensors[i]!.weight * sensors[i]!.rate * plans[i]!.latency(n) + cost(i + 1, left - n),
              )
            return best
          }
          expect(expectedLatency).toBeCloseTo(cost(0, budget), 6)
        },
      ),
      { numRuns: 200 },
    )
  })

  test.each([5, 10, 20])('of %i crawls a sensor: random is twice as bad at least, greedy between', (each) => {
    for (let seed = 1; seed <= 5; seed++) {
      const problem = simulated(seed, each)
      const [dp, greedy, random] = (['dp', 'greedy', 'random'] as const).map(
        (method) => solveCrawl(problem, method, seeded(seed)).expectedLatency,
      )
      expect(dp).toBeLessThanOrEqual(greedy! + 1e-9)
      expect(greedy).toBeLessThan(random!)
      expect(random! / dp!).toBeGreaterThan(2)
    }
  })

  test('keeps the caps, and is refused below one crawl for each', () => {
    const sensor = { id: 'a', rate: 1, weight: 1, maxCrawls: 2, awake: [[0, 50]] as Window[] }
    const problem = { horizon: 100, step: 1, budget: 9, sensors: [sensor, { ...sensor, id: 'b' }] }
    for (const method of ['dp', 'greedy', 'random'] as const)
      for (const { crawls } of solveCrawl(problem, method, seeded(1)).sensors) {
        expect(crawls).toHaveLength(2)
        expect(crawls.at(-1)).toBe(50)
      }
    expect(() => solveCrawl({ ...problem, budget: 1 }, 'dp', seeded(1))).toThrow('below one crawl')
    const asleep = { ...problem, sensors: [{ ...sensor, awake: [] }] }
    expect(() => solveCrawl(asleep, 'dp', seeded(1))).toThrow('never awake')
  })
})

/** Crawls sensors that publish at these times, awake in these windows; the sum of latencies, and crawls by sensor. */
function crawl(
  schedule: EasiCrawl,
  events: readonly (readonly number[])[],
  isAwake: (s: number, at: number) => boolean,
  until: number,
) {
  const fetched = events.map(() => 0)
  const crawls = events.map(() => 0)
  const answered = events.map(() => 0)
  let sum = 0
  let round = schedule.first(0)
  while (round.at < until) {
    const { at, sources } = round
    const outcomes = sources.map((s) => {
      crawls[s]!++
      if (!isAwake(s, at)) return miss('failed')
      answered[s]!++
      const fresh = events[s]!.slice(fetched[s]).filter((time) => time <= at)
      if (fresh.length === 0) return miss()
      fetched[s]! += fresh.length
      for (const time of fresh) sum += at - time
      return { ...hit(0), publishedAt: fresh }
    })
    round = schedule.next(at, outcomes)
  }
  return { sum, crawls, answered, fetched }
}

/** Poisson events while awake. */
function poisson(rate: number, until: number, isAwake: (at: number) => boolean, seed: number): number[] {
  const random = seeded(seed)
  const events: number[] = []
  for (let at = -Math.log(1 - random()) / rate; at < until; at += -Math.log(1 - random()) / rate)
    if (isAwake(at)) events.push(at)
  return events
}

describe('EasiCrawl online', () => {
  test('moves crawls to the sensor that turns out to have the events', () => {
    const options = { budget: 20, horizonMs: 1_000, stepMs: 5 }
    const sleep = () => knownSleep([[0, 100]], 200)
    const awake = (at: number) => at % 200 <= 100
    const events = [poisson(0.2, 5_000, awake, 1), poisson(0.005, 5_000, awake, 2)]
    const schedule = new EasiCrawl(
      [0, 1].map(() => ({ sleep: sleep(), rate: 0.02 })),
      options,
    )
    const { crawls, fetched } = crawl(schedule, events, (_, at) => awake(at), 5_000)
    expect(crawls[0]! + crawls[1]!).toBeLessThanOrEqual(100)
    expect(crawls[0]!).toBeGreaterThan(2 * crawls[1]!)
    expect(fetched).toEqual(events.map((list) => list.length))
  })

  test('learns when a sensor sleeps, and then hardly polls in vain', () => {
    const day = 1_440
    const isAwake = (at: number) => at % day >= 360 && at % day < 840
    const events = [poisson(0.02, 20 * day, isAwake, 3)]
    const sleep = new LearntSleep(day, 48)
    const schedule = new EasiCrawl([{ sleep, rate: 0.02 }], { budget: 24, horizonMs: day, stepMs: 10 })
    const early = crawl(schedule, events, (_, at) => isAwake(at), 4 * day)
    expect(early.answered[0]!).toBeGreaterThan(0)
    expect(sleep.probability(4 * day + 600)).toBeGreaterThan(0.6)
    expect(sleep.probability(4 * day + 60)).toBeLessThan(0.45)
  })
})

describe('the times to poll for something of a known distribution', () => {
  test('cost the least there is', () => {
    const point = fc.record({ gap: fc.integer({ min: 1, max: 9 }), weight: fc.integer({ min: 1, max: 9 }) })
    fc.assert(
      fc.property(
        fc.array(point, { minLength: 1, maxLength: 9 }),
        fc.integer({ min: 0, max: 40 }),
        (points, price) => {
          let at = 0
          const times = Float64Array.from(points, ({ gap }) => (at += gap))
          const weights = Float64Array.from(points, ({ weight }) => weight)
          const cost = (polls: readonly number[]) => {
            let sum = 0
            for (const [i, time] of times.entries()) {
              const poll = polls.findIndex((p) => p >= i)
              sum += weights[i]! * (times[polls[poll]!]! - time + price * poll)
            }
            return sum
          }
          const next = pollTimes({ length: times.length, times, weights }, price, 0)
          const polls: number[] = []
          for (let i = 0; i < times.length; i = polls.at(-1)! + 1) polls.push(next[i]!)
          let best = Number.POSITIVE_INFINITY
          for (let n = 1; n <= times.length; n++)
            for (const choice of choices(times.length, n)) best = Math.min(best, cost(choice))
          expect(cost(polls)).toBeCloseTo(best, 9)
        },
      ),
      { numRuns: 300 },
    )
  })
})
