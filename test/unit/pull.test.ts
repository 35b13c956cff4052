// pull(): any source, any schedule, in virtual time; errors, timeouts and refusals are misses and are reported.
import { describe, expect, test, vi } from 'vitest'
import { CrawlPlan } from '../../endpoints/pull/easicrawl.ts'
import { readFeed } from '../../endpoints/pull/feed.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import { Mdpt } from '../../endpoints/pull/mdpt.ts'
import { machineClock } from '../../endpoints/pull/poller.ts'
import { type PullTrouble, pull, pullTogether } from '../../endpoints/pull/pull.ts'
import type { Outcome, Schedule } from '../../endpoints/pull/schedule.ts'
import { type Answer, publishTimes, type Source } from '../../endpoints/pull/source.ts'
import { seeded } from '../../policies/chance.ts'
import { SpillwayError } from '../../policies/error.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Answers what was published by now, one item a poll. */
function published(clock: VirtualClock, times: readonly number[]): Source<string, number> {
  return {
    async poll(since = 0) {
      const items = times.slice(since, since + 1).filter((time) => time <= clock.now())
      const next = since + items.length
      const more = (times[next] ?? Number.POSITIVE_INFINITY) <= clock.now()
      const phaseAdjustmentMs = clock.now() - (items[0] ?? 0)
      return { kind: 'answer', items: items.map((time) => `at ${time}`), next, more, phaseAdjustmentMs }
    },
  }
}

/** A schedule that polls every second and writes down what it is told. */
class Recording implements Schedule {
  readonly told: [number, Outcome][] = []
  first(now: number) {
    return now
  }
  next(now: number, outcome: Outcome) {
    this.told.push([now, outcome])
    return now + 1_000
  }
}

async function taken<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) if (list.push(item) === count) break
  return list
}

describe('pull', () => {
  test('gives the items of a source as the schedule finds them, and where it stands', async () => {
    const clock = new VirtualClock()
    const items = pull(published(clock, [0, 400, 2_500]), {
      schedule: new FixedInterval(1_000, 500, seeded(1)),
      clock,
    })
    expect(await taken(items, 3)).toEqual(['at 0', 'at 400', 'at 2500'])
    expect(clock.time).toBe(2_500)
    expect(items.since).toBe(3)
    expect(items.counts).toEqual({ polls: 4, hits: 3, troubles: 0, items: 3 })
  })

  test('ends with REFUSED when the source throws that, since it would be refused again', async () => {
    const refusal = new SpillwayError('REFUSED', 'not you')
    const schedule = new Recording()
    const troubles: unknown[] = []
    const items = pull(
      { poll: () => Promise.reject(refusal) },
      { schedule, clock: new VirtualClock(), missed: ({ error }) => troubles.push(error) },
    )
    await expect(taken(items, 1)).rejects.toBe(refusal)
    expect(troubles).toEqual([refusal])
    expect(items.isClosed).toBe(true)
  })

  test('goes on from a cursor', async () => {
    const clock = new VirtualClock()
    const schedule = new FixedInterval(1_000, 500, seeded(1))
    expect(await taken(pull(published(clock, [0, 400, 2_500]), { schedule, clock, since: 2 }), 1)).toEqual([
      'at 2500',
    ])
  })

  test('takes errors, timeouts and refusals for misses, reports them and goes on', async () => {
    const clock = new VirtualClock()
    const troubles: PullTrouble[] = []
    const answers: (() => Promise<Answer<string, number>>)[] = [
      () => Promise.reject(new Error('no route')),
      () => new Promise(() => {}),
      () => Promise.resolve({ kind: 'overloaded', retryAfterMs: 60_000 }) as never,
      () => Promise.resolve({ kind: 'answer', items: [], next: 1 }),
      () => Promise.resolve({ kind: 'answer', items: ['there'], next: 2 }),
    ]
    const schedule = new Recording()
    const items = pull<string, number>(
      { poll: () => answers.shift()!() },
      {
        schedule,
        clock,
        timeoutMs: 5_000,
        missed: (trouble) => troubles.push(trouble),
      },
    )
    expect(await taken(items, 1)).toEqual(['there'])
    expect(
      schedule.told.map(([at, outcome]) => [at, outcome.kind === 'miss' ? outcome.reason : 'hit']),
    ).toEqual([
      [0, 'failed'],
      [1_000, 'failed'],
      [6_000, 'overloaded'],
      [66_000, 'empty'],
      [67_000, 'hit'],
    ])
    expect(schedule.told[1]![1].responseMs).toBe(5_000)
    expect(troubles.map(({ reason, error }) => [reason, (error as Error | undefined)?.message])).toEqual([
      ['failed', 'no route'],
      ['failed', 'no answer within 5000 ms'],
      ['overloaded', undefined],
    ])
    expect(items.counts).toEqual({ polls: 5, hits: 1, troubles: 3, items: 1 })
  })

  test('tells the source when its time is over', async () => {
    const clock = new VirtualClock()
    let aborted = 0
    const source: Source<string> = {
      poll: (_, signal) => {
        signal.addEventListener('abort', () => aborted++)
        return new Promise(() => {})
      },
    }
    await taken(pull(source, { schedule: new CrawlPlan([0, 10_000]), clock }), 1)
    expect(aborted).toBe(2)
  })

  test('ends with the schedule, with its signal, and with close', async () => {
    const clock = new VirtualClock()
    const source = published(clock, [0, 1, 2, 3, 4, 5])
    expect(await taken(pull(source, { schedule: new CrawlPlan([3]), clock }), 9)).toHaveLength(4)
    const cancel = new AbortController()
    const waiting = pull(published(clock, []), {
      schedule: { first: () => 1e300, next: () => 0 },
      signal: cancel.signal,
    })
    const end = taken(waiting, 1)
    cancel.abort()
    expect(await end).toEqual([])
    const closed = pull(source, { schedule: new CrawlPlan([3]), clock })
    closed.close()
    expect(await taken(closed, 1)).toEqual([])
  })

  test('polls no more while nobody takes', async () => {
    const clock = new VirtualClock()
    const items = pull(published(clock, [0, 0, 0]), { schedule: new FixedInterval(10, 0, seeded(1)), clock })
    const iterator = items[Symbol.asyncIterator]()
    await iterator.next()
    for (let turn = 0; turn < 100; turn++) await Promise.resolve()
    expect(items.counts.polls).toBe(1)
    await iterator.return()
  })
})

describe('publish times', () => {
  const answer = { kind: 'answer', items: [1, 2], next: 0 } as const

  test('are by the clock of the poller, whatever that of the source', () => {
    const given = { ...answer, publishedAt: [5_000, 8_000], phaseAdjustmentMs: 500 }
    expect(publishTimes(given, 100_000)).toEqual([96_500, 99_500])
    expect(publishTimes({ ...answer, phaseAdjustmentMs: 700 }, 100_000)).toEqual([99_300])
  })

  test('are never after the poll, and the poll itself where nothing is known', () => {
    expect(publishTimes({ ...answer, publishedAt: [5, 500] }, 100)).toEqual([5, 100])
    expect(publishTimes({ ...answer, phaseAdjustmentMs: -50 }, 100)).toEqual([100])
    expect(publishTimes(answer, 100)).toEqual([100])
  })
})

test('pullTogether polls several sources in the rounds of MDPT', async () => {
  const clock = new VirtualClock()
  const schedule = new Mdpt(2, seeded(1), { trigger: 2 })
  const sources = [published(clock, [0, 60_000, 120_000]), published(clock, [0, 90_000])]
  const rounds = await taken(pullTogether(sources, { schedule, clock }), 2)
  expect(rounds[0]).toEqual({
    at: 0,
    items: new Map([
      [0, ['at 0']],
      [1, ['at 0']],
    ]),
  })
  expect(rounds[1]!.items.get(0)).toEqual(['at 60000'])
})

test('pullTogether tells that sources are ready, also when the last look for fresher data found none', async () => {
  const clock = new VirtualClock()
  const schedule = new Mdpt(2, seeded(1), { trigger: 2, track: () => new FixedInterval(1_000, 0, seeded(1)) })
  // The first one has something at once, the second one four rounds later: by then the first might have more.
  const sources = [published(clock, [0, 9_500]), published(clock, [3_500])]
  const ready: (readonly number[])[] = []
  for await (const _ of pullTogether(sources, { schedule, clock }))
    if (ready.push(schedule.ready) === 3) break
  expect(ready).toEqual([[], [], [0, 1]])
})

test('pullTogether leaves a source alone as long as it wants, and asks the others meanwhile', async () => {
  const clock = new VirtualClock()
  const polls: [number, string][] = []
  const source = (name: string, notBeforeMs: number): Source<string, number> => ({
    async poll() {
      polls.push([clock.now(), name])
      return { kind: 'answer', items: [name], next: 0, notBeforeMs }
    },
  })
  const rounds = [[0], [1], [1], [0]].map((sources, i) => ({ at: 1_000 * i, sources }))
  const take = () => rounds.shift() ?? { at: Number.POSITIVE_INFINITY, sources: [] }
  const schedule = { first: take, next: take }
  await taken(pullTogether([source('shy', 60_000), source('other', 0)], { schedule, clock }), 4)
  expect(polls).toEqual([
    [0, 'shy'],
    [1_000, 'other'],
    [2_000, 'other'],
    [60_000, 'shy'],
  ])
})

test('the machine never sets a timer of less than nothing, however fast its clock goes', async () => {
  let now = 0
  vi.spyOn(Date, 'now').mockImplementation(() => now++)
  const timer = vi.spyOn(globalThis, 'setTimeout')
  await machineClock.until(1, new AbortController().signal)
  for (const [, delayMs] of timer.mock.calls) expect(delayMs).toBeGreaterThan(0)
  vi.restoreAllMocks()
})

describe('feeds', () => {
  test('RSS: oldest first, ids, times, how long it may be kept', () => {
    const { items, ttlMs } = readFeed(`<?xml version="1.0"?><rss version="2.0"><channel><ttl>5</ttl>
      <item><title>b &amp; c</title><guid isPermaLink="false">2</guid><pubDate>Tue, 02 Jan 2024 00:00:00 GMT</pubDate></item>
      <item><title>a</title><guid>1</guid><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item></channel></rss>`)
    expect(ttlMs).toBe(300_000)
    expect(items.map(({ id, publishedAt }) => [id, publishedAt])).toEqual([
      ['1', Date.UTC(2024, 0, 1)],
      ['2', Date.UTC(2024, 0, 2)],
    ])
    expect(items[1]!.content).toMatchObject({ title: 'b & c' })
  })

  test('Atom, RSS 1.0, JSON Feed and a JSON list', () => {
    const ids = (text: string) => readFeed(text).items.map(({ id }) => id)
    expect(ids('<feed><entry><id>z</id><updated>2024-01-02T00:00:00Z</updated></entry></feed>')).toEqual([
      'z',
    ])
    expect(
      ids('<rdf:RDF><channel/><item rdf:about="x"><dc:date>2024-01-02</dc:date></item></rdf:RDF>'),
    ).toEqual(['x'])
    expect(ids('{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"2"},{"id":"1"}]}')).toEqual([
      '1',
      '2',
    ])
    expect(ids('[{"id":1},{"id":2}]')).toEqual(['1', '2'])
    expect(new Set(ids('[{"pm10":4},{"pm10":5},"x"]')).size).toBe(3)
    expect(ids('<rss><channel></channel></rss>')).toEqual([])
  })

  test.each(['<html></html>', '{"a":1}', 'nonsense', '', '<rss>'])('%j is none', (text) => {
    expect(() => readFeed(text)).toThrow(expect.objectContaining({ code: 'FRAME_INVALID' }))
  })

  test('do not blow up', () => {
    const bomb = `<!DOCTYPE x [${Array.from({ length: 20 }, (_, i) => `<!ENTITY e${i} "&e${i + 1};&e${i + 1};">`).join('')}]><rss><channel><item><guid>&e0;</guid></item></channel></rss>`
    const began = performance.now()
    try {
      readFeed(bomb)
    } catch (error) {
      expect(error).toMatchObject({ code: 'FRAME_INVALID' })
    }
    expect(performance.now() - began).toBeLessThan(1_000)
  })
})
