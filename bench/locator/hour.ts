// An hour of the generated campus in virtual time, with the locator's own code: its source, its policy, its questions
// to access points. The same options give the same figures.
import { setImmediate as turn } from 'node:timers/promises'
import { AccessPoints } from '../../examples/wifi-locator/access-points.ts'
import { answerDelayMs } from '../../examples/wifi-locator/campus/answering.ts'
import { Campus, type Line } from '../../examples/wifi-locator/campus/campus.ts'
import { startLocator } from '../../examples/wifi-locator/locator.ts'
import { Predictor } from '../../examples/wifi-locator/prediction/predictor.ts'
import { startSource } from '../../examples/wifi-locator/source.ts'
import type { EpochReceipt, Pack } from '../../index.ts'
import { seeded } from '../../policies/chance.ts'
import { VirtualClient } from './virtual-client.ts'

export interface HourOptions {
  readonly minutes: number
  readonly stations: number
  /** Events that wait for the locator. */
  readonly queue: number
}

export interface Hour {
  readonly lines: number
  readonly published: number
  readonly packs: readonly Pack[]
  /** From when the source received the line to when its location was published, of those that had to ask. */
  readonly latenciesMs: readonly number[]
  readonly locations: number
  readonly asked: number
  readonly receipt: EpochReceipt
  readonly prediction: Predictor['score']
  /** Share of the stations that are where the locator says, at the end. */
  readonly accuracy: number
}

/** When classes begin, lunch is near, and everybody is on their way. */
const START = new Date(2026, 10, 18, 11, 0).getTime()
const STEP_MS = 100
/** Turns in which whoever was told something has done what it can without waiting for time. */
const TURNS = 3

/** Runs it, as fast as it goes. */
export async function simulateHour({ minutes, stations, queue }: HourOptions): Promise<Hour> {
  const campus = new Campus({ start: START, stations })
  const answers = new Answers(campus)
  let now = START
  const virtual = new VirtualClient(() => now)
  const source = await startSource(virtual.client, { now: () => now })
  const locator = await startLocator(virtual.client, source.sender.id, {
    aps: answers.aps,
    queue,
    now: () => now,
    fetch: (url) => answers.ask(url, now),
  })
  const packs: Pack[] = []
  const latenciesMs: number[] = []
  const predictor = new Predictor()
  locator.onPack((pack) => packs.push(pack))
  locator.onLocation(({ station, ap, action }, { receivedAt, resolvedAt, isAsked }) => {
    if (isAsked) latenciesMs.push(resolvedAt - receivedAt)
    if (action !== 'left') predictor.seen(station, ap)
  })
  let lines = 0
  let published = 0
  for (const { at, ap, text } of linesOf(campus, START + minutes * 60_000)) {
    lines++
    // What is answered before the line is answered first, as often as that leads to the next question.
    for (let due = answers.dueAt; due !== undefined && due <= at; due = answers.dueAt) {
      now = due
      answers.answer()
      await settle()
    }
    now = at
    if (source.feed(text, ap.name) !== undefined) published++
    // While the locator waits for an answer, nothing happens but that its queue fills.
    if (answers.dueAt === undefined) await settle()
  }
  const [receipt] = locator.subscription.receipt
  const there = new Map(campus.whereabouts.map(({ mac, ap }) => [mac, ap]))
  const said = [...there].flatMap(([mac, ap]) => {
    const whereabout = locator.whereabouts.get(mac)
    return whereabout === undefined ? [] : [(whereabout.ap ?? undefined) === ap]
  })
  const hour = {
    lines,
    published,
    packs,
    latenciesMs,
    locations: locator.counts.locations,
    asked: locator.lists.counts.asked,
    receipt: receipt!,
    prediction: predictor.score,
    accuracy: said.filter(Boolean).length / said.length,
  }
  answers.giveUp()
  await locator.close()
  return hour
}

/** In small steps: access points are asked meanwhile for the stations they have. */
function* linesOf(campus: Campus, until: number): Iterable<Line> {
  while (campus.now < until) yield* campus.advance(campus.now + STEP_MS)
}

async function settle(): Promise<void> {
  for (let i = 0; i < TURNS; i++) await turn()
}

interface Asked {
  readonly at: number
  answer(): void
  giveUp(): void
}

/** Access points that answer later, in virtual time. */
class Answers {
  readonly aps: AccessPoints
  readonly #campus: Campus
  readonly #random = seeded(11)
  #asked: Asked | undefined

  constructor(campus: Campus) {
    this.#campus = campus
    const entries = campus.ground.accessPoints.map(
      ({ name, mac, building, x, y }) =>
        [name, { building: building.name, x, y, mac, http: `http://${name}.invalid` }] as const,
    )
    this.aps = new AccessPoints(Object.fromEntries(entries))
  }

  /** When the question that waits is answered. The locator asks one at a time. */
  get dueAt(): number | undefined {
    return this.#asked?.at
  }

  ask(url: string, now: number): Promise<Response> {
    const name = new URL(url).hostname.replace(/\.invalid$/, '')
    const ap = this.#campus.ground.accessPoints.find((one) => one.name === name)!
    const stations = this.#campus.stationsOf(ap)
    return new Promise((resolve, reject) => {
      const body = [Buffer.from(JSON.stringify(stations))]
      this.#asked = {
        at: now + answerDelayMs(stations.length, this.#random),
        answer: () => resolve({ ok: true, body } as unknown as Response),
        giveUp: () => reject(new Error('the hour is over')),
      }
    })
  }

  answer(): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.answer()
  }

  giveUp(): void {
    this.#asked?.giveUp()
  }
}
