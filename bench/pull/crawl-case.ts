// EasiCrawl's case study (section VI) with real air sensors: events are readings above a sensor's own high mark, half of
// the sensors are awake only from 18:00 to 9:00; rates are estimated from the days before.
import { solveCrawl } from '../../endpoints/pull/crawl-budget.ts'
import type { Window } from '../../endpoints/pull/crawl-timeline.ts'
import { EasiCrawl } from '../../endpoints/pull/easicrawl.ts'
import { hit, type MultiSchedule, miss } from '../../endpoints/pull/schedule.ts'
import { alwaysAwake, knownSleep, LearntSleep, type SleepPlan } from '../../endpoints/pull/sleep-plan.ts'
import { seeded } from '../../policies/chance.ts'
import { type Figure, rounded, seriesOf } from './figure.ts'
import { readRows } from './traces.ts'

const SENSORS = 12
const CRAWLS = 72
const HOUR = 3_600_000
const DAY = 24 * HOUR
const STEP = 10 * 60_000
/** In hours of a day. */
const AT_HOME: readonly Window[] = [
  [0, 9 * HOUR],
  [18 * HOUR, DAY],
]
/** An event is a reading above this share of a sensor's readings. */
const HIGH = 0.98

interface Stream {
  readonly awake: readonly Window[]
  /** Milliseconds from the first midnight on. */
  readonly events: readonly number[]
}

export function caseStudy(folder: URL): Figure {
  const streams = streamsOf(folder)
  const days = 27
  const planned = (['dp', 'greedy', 'random'] as const).map((method) => ({
    name: method,
    ...crawlInBatches(streams, days, method),
  }))
  const sleeps = (make: (stream: Stream) => SleepPlan) =>
    streams.map((stream) => ({ sleep: make(stream), rate: 1 / DAY }))
  const options = { budget: CRAWLS, horizonMs: DAY, stepMs: STEP }
  const known = new EasiCrawl(
    sleeps(({ awake }) => (awake.length === 1 ? alwaysAwake : knownSleep(awake, DAY))),
    options,
  )
  const learnt = new EasiCrawl(
    sleeps(() => new LearntSleep(DAY, 48)),
    options,
  )
  const results = [
    ...planned,
    { name: 'replanned after every crawl', ...crawlOnline(streams, days, known) },
    { name: 'replanned, sleep learnt', ...crawlOnline(streams, days, learnt) },
  ]
  const rows = results.map(({ name, byDay, crawls, unanswered }) => ({
    plan: name,
    'mean latency h': rounded(meanHours(byDay.slice(1))),
    'crawls a day': rounded(crawls / days, 1),
    'unanswered %': rounded((100 * unanswered) / crawls, 1),
  }))
  const lines = Object.fromEntries(
    results.map(({ name, byDay }) => [name, byDay.map((day, i) => [i, meanHours([day])] as const)]),
  )
  const panel = {
    title: 'EasiCrawl, section VI',
    x: 'day',
    y: 'mean latency, h',
    series: seriesOf('line', lines),
  }
  return {
    name: 'crawl-case',
    title: `EasiCrawl: ${SENSORS} air sensors, ${CRAWLS} crawls a day, rates from the days before`,
    rows,
    panels: [panel],
  }
}

interface Day {
  latencyMs: number
  events: number
}

interface Crawled {
  readonly byDay: readonly Day[]
  readonly crawls: number
  readonly unanswered: number
}

function meanHours(days: readonly Day[]): number {
  const events = days.reduce((sum, day) => sum + day.events, 0)
  return events === 0 ? 0 : days.reduce((sum, day) => sum + day.latencyMs, 0) / events / HOUR
}

/** The first sensors of the file; their events while they are awake. */
function streamsOf(folder: URL): Stream[] {
  const readings = new Map<string, [number, number][]>()
  for (const [time, sensor = '', pm10] of readRows(
    folder,
    'luftdaten-aberdeen/sds011-2019-04-22_05-19.csv.gz',
  )) {
    const list = readings.get(sensor) ?? []
    readings.set(sensor, list)
    list.push([Number(time) * 1000, Number(pm10)])
  }
  const midnight = Math.floor(Math.min(...[...readings.values()].map((list) => list[0]![0])) / DAY) * DAY
  return [...readings.values()].slice(0, SENSORS).map((list, i) => {
    const values = list.map(([, value]) => value).sort((a, b) => a - b)
    const mark = values[Math.floor(HIGH * values.length)]!
    const awake: readonly Window[] = i % 2 === 0 ? [[0, DAY]] : AT_HOME
    const events = list.filter(([, value]) => value > mark).map(([at]) => at - midnight)
    return { awake, events: events.filter((at) => isAwake(awake, at)) }
  })
}

function isAwake(awake: readonly Window[], at: number): boolean {
  return awake.some(([from, to]) => at % DAY >= from && at % DAY <= to)
}

/** The paper's way: a plan a day, made at midnight. */
function crawlInBatches(
  streams: readonly Stream[],
  days: number,
  method: 'dp' | 'greedy' | 'random',
): Crawled {
  const byDay: Day[] = []
  let crawls = 0
  for (let day = 0; day < days; day++) {
    const sensors = streams.map(({ awake, events }, i) => {
      const past = events.filter((at) => at < day * DAY).length
      const awakeMs = awake.reduce((sum, [from, to]) => sum + to - from, 0)
      return { id: `${i}`, rate: (1 + past) / ((day + 1) * awakeMs), weight: 1, maxCrawls: CRAWLS, awake }
    })
    const { sensors: plans } = solveCrawl(
      { horizon: DAY, step: STEP, budget: CRAWLS, sensors },
      method,
      seeded(day),
    )
    const today: Day = { latencyMs: 0, events: 0 }
    for (const [i, { crawls: times }] of plans.entries()) {
      crawls += times.length
      for (const at of streams[i]!.events.filter((time) => Math.floor(time / DAY) === day)) {
        today.latencyMs += day * DAY + times.find((time) => time >= at - day * DAY)! - at
        today.events++
      }
    }
    byDay.push(today)
  }
  return { byDay, crawls, unanswered: 0 }
}

function crawlOnline(streams: readonly Stream[], days: number, schedule: MultiSchedule): Crawled {
  const byDay: Day[] = Array.from({ length: days + 1 }, () => ({ latencyMs: 0, events: 0 }))
  const fetched = streams.map(() => 0)
  let crawls = 0
  let unanswered = 0
  for (let round = schedule.first(0); round.at < days * DAY; ) {
    const { at } = round
    const outcomes = round.sources.map((source) => {
      crawls++
      const { awake, events } = streams[source]!
      if (!isAwake(awake, at)) {
        unanswered++
        return miss('failed')
      }
      const fresh = events.slice(fetched[source]).filter((time) => time <= at)
      fetched[source]! += fresh.length
      for (const time of fresh) {
        const day = byDay[Math.floor(time / DAY)]!
        day.latencyMs += at - time
        day.events++
      }
      return fresh.length === 0 ? miss() : { ...hit(0), publishedAt: fresh }
    })
    round = schedule.next(at, outcomes)
  }
  return { byDay: byDay.slice(0, days), crawls, unanswered }
}
