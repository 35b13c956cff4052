import { describe, expect, it } from 'vitest'
import { answerDelayMs } from '../../examples/wifi-locator/campus/answering.ts'
import { Campus } from '../../examples/wifi-locator/campus/campus.ts'
import { HOUR_MS } from '../../examples/wifi-locator/campus/day.ts'
import { understand } from '../../examples/wifi-locator/formats/understand.ts'
import { seeded } from '../../index.ts'

const NOON = new Date(2026, 10, 18, 11, 30).getTime()
const NIGHT = new Date(2026, 10, 18, 3, 0).getTime()
const MINUTE_MS = 60_000

function campusAt(start: number, stations = 600): Campus {
  return new Campus({ start, stations })
}

/** What the lines of some minutes say, by action. */
function actionsOf(campus: Campus, minutes: number): Map<string, number> {
  const actions = new Map<string, number>()
  for (const { text, ap, at } of campus.advance(campus.now + minutes * MINUTE_MS)) {
    const action = understand(text, ap.name, at)?.event.action ?? 'unknown'
    actions.set(action, (actions.get(action) ?? 0) + 1)
  }
  return actions
}

describe('the generated campus', () => {
  it('has 550 access points in some tens of buildings, each inside its own', () => {
    const { ground } = campusAt(NOON)
    expect(ground.accessPoints).toHaveLength(550)
    expect(new Set(ground.accessPoints.map(({ name }) => name)).size).toBe(550)
    expect(ground.buildings.length).toBeGreaterThan(30)
    for (const { x, y, building } of ground.accessPoints) {
      expect(x).toBeGreaterThanOrEqual(building.x)
      expect(x).toBeLessThanOrEqual(building.x + building.width)
      expect(y).toBeGreaterThanOrEqual(building.y)
      expect(y).toBeLessThanOrEqual(building.y + building.height)
    }
  })

  it('writes the same lines from the same seed, in however many steps it is advanced', () => {
    const atOnce = campusAt(NOON).advance(NOON + 10 * MINUTE_MS)
    const inSteps = campusAt(NOON)
    const lines = Array.from({ length: 600 }, (_, i) => inSteps.advance(NOON + (i + 1) * 1_000)).flat()
    expect(lines.map(({ text }) => text)).toEqual(atOnce.map(({ text }) => text))
    const other = new Campus({ start: NOON, stations: 600, seed: 8 }).advance(NOON + 10 * MINUTE_MS)
    expect(other[0]!.text).not.toBe(atOnce[0]!.text)
  })

  it('writes lines in the order of time, with types and actions of all kinds, some that nobody understands', () => {
    const campus = campusAt(NOON, 2_000)
    const times = campus.advance(NOON + 5 * MINUTE_MS).map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const actions = actionsOf(campus, 30)
    const known = ['Authenticated', 'Associated', 'Reassociated', 'Roamed', 'Disassociated', 'Disconnected']
    const kinds = [...known, 'Addressed', 'Handshake', 'Other', 'unknown']
    expect([...actions.keys()]).toEqual(expect.arrayContaining(kinds))
  })

  it('tells some leaves minutes after the station is elsewhere, and some lines twice', () => {
    const campus = campusAt(NOON)
    const lines = campus.advance(NOON + 30 * MINUTE_MS)
    const at = new Map<string, string>()
    let trailing = 0
    let doubled = 0
    lines.forEach(({ text, ap, at: time }, i) => {
      const event = understand(text, ap.name, time)?.event
      if (text === lines[i - 1]?.text) doubled++
      if (event?.station == null || event.ap === null) return
      if (event.action.endsWith('ssociated') && event.action !== 'Disassociated')
        at.set(event.station, event.ap)
      if (event.action === 'Disassociated' && (at.get(event.station) ?? event.ap) !== event.ap) trailing++
    })
    expect(trailing).toBeGreaterThan(20)
    expect(doubled / lines.length).toBeGreaterThan(0.015)
    expect(doubled / lines.length).toBeLessThan(0.05)
  })

  it('is busy by day and sleeps at night', () => {
    const byDay = campusAt(NOON).advance(NOON + HOUR_MS).length
    const atNight = campusAt(NIGHT).advance(NIGHT + HOUR_MS).length
    expect(byDay).toBeGreaterThan(3 * atNight)
  })

  it('fills where people eat at lunch', () => {
    const campus = campusAt(NOON - HOUR_MS, 1_500)
    const eating = () => {
      const uses = new Map(campus.ground.accessPoints.map(({ name, building }) => [name, building.use]))
      return campus.whereabouts.filter(({ ap }) => ap !== undefined && uses.get(ap) === 'dining').length
    }
    const before = eating()
    campus.advance(NOON + 1.5 * HOUR_MS)
    expect(eating()).toBeGreaterThan(2 * before)
  })

  it('has a station in the list of the access point where it is, and in no other', () => {
    const campus = campusAt(NOON)
    campus.advance(NOON + 20 * MINUTE_MS)
    const listed = campus.ground.accessPoints.flatMap((ap) =>
      campus.stationsOf(ap).map(({ mac }) => [mac, ap.name]),
    )
    const present = campus.whereabouts.filter(({ ap }) => ap !== undefined).map(({ mac, ap }) => [mac, ap])
    expect(new Map(listed as [string, string][])).toEqual(new Map(present as [string, string][]))
    expect(listed).toHaveLength(present.length)
  })
})

describe('an access point', () => {
  it('takes from hundreds of milliseconds to 30 s to answer, longer in a crowd', () => {
    const random = seeded(1)
    const delays = (stations: number) =>
      Array.from({ length: 5_000 }, () => answerDelayMs(stations, random)).sort((a, b) => a - b)
    const few = delays(2)
    const many = delays(60)
    expect(few[0]).toBeGreaterThanOrEqual(100)
    expect(few.at(-1)).toBeLessThanOrEqual(30_000)
    expect(few[4_950]).toBeGreaterThan(5_000)
    expect(many[2_500]).toBeGreaterThan(2 * few[2_500]!)
    expect(many.at(-1)).toBe(30_000)
  })
})
