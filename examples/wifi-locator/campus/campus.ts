// The generated campus: stations that move through their day from one access point to the next, and the lines that
// access points write about them. Time and chance are handed in: the same seed and times give the same lines.
import { seeded } from '../../../index.ts'
import { Agenda } from './agenda.ts'
import { goalAt, HOUR_MS, isNight, type Kind, leavesAt, MINUTE_MS } from './day.ts'
import { ACCESS_POINTS, type AccessPoint, type Building, type Ground, groundOf, macOf } from './ground.ts'
import { type Happening, linesOf, type Subject } from './lines.ts'

export interface CampusOptions {
  readonly seed?: number
  /** When it begins, in milliseconds. */
  readonly start: number
  readonly stations?: number
  readonly accessPoints?: number
}

export interface Line {
  readonly at: number
  readonly ap: AccessPoint
  readonly text: string
}

/** Where a station is, as only the generator knows. */
export interface Whereabouts {
  readonly mac: string
  readonly ip: string
  readonly ap: string | undefined
}

interface Station extends Subject {
  readonly kind: Kind
  readonly home: Building | undefined
  ap: AccessPoint | undefined
  /** Access points it still passes on its way. */
  path: AccessPoint[]
  /** When it goes somewhere else. */
  leavesAt: number
}

type Due = { readonly at: number } & (
  | { readonly kind: 'step'; readonly station: Station }
  | { readonly kind: 'said'; readonly ap: AccessPoint; readonly happening: Happening }
)

export const STATIONS = 4_000
/** At most so many lines in one call, for a clock that jumped: what happens then is skipped, not said. */
const MAX_LINES = 200_000
const MAX_STATIONS = 60_000
const STAFF_SHARE = 0.2
/** Printers and the like, which never move. */
const FIXED_SHARE = 0.04
/** Stations that are access points themselves: bridges that reach the network through another one. */
const BRIDGES = 24
/** How often a device at rest says something: it sleeps and wakes, or another access point is stronger. */
const RESTLESS_MS = 20 * MINUTE_MS
/** While people sleep, their devices speak so much less. */
const ASLEEP_FACTOR = 4
/** How often somebody sits down elsewhere than usual. */
const NEW_SEAT_SHARE = 0.15
/** Walking from one access point to the next. */
const STRIDE_MS = 25_000
/** So many access points on the way are passed at most. */
const MAX_PASSED = 4
/** A building this close to the way is heard, in metres. */
const EARSHOT_M = 45
/** How the old access point tells that a station has gone: the rest is silence. */
const ROAMED_SHARE = 0.35
const TRAILING_SHARE = 0.35
const TRAILING_MS = 4 * MINUTE_MS
/** What relays and radios do to lines. */
const DOUBLED_SHARE = 0.03
const LOST_SHARE = 0.01
/** Access points say something about themselves so often, all together. */
const ABOUT_ITSELF_MS = 20_000

const DEVICES = ['laptop', 'phone', 'tablet', 'watch'] as const

export class Campus {
  readonly ground: Ground
  readonly #random: () => number
  readonly #stations: Station[] = []
  readonly #at = new Map<AccessPoint, Set<Station>>()
  readonly #byBuilding = new Map<Building, AccessPoint[]>()
  readonly #due = new Agenda<Due>()
  #now: number
  #number = 0
  #lines: Line[] = []

  constructor({ seed = 7, start, stations = STATIONS, accessPoints = ACCESS_POINTS }: CampusOptions) {
    this.#random = seeded(seed)
    this.#now = start
    this.ground = groundOf(this.#random, accessPoints)
    for (const ap of this.ground.accessPoints) {
      this.#at.set(ap, new Set())
      const of = this.#byBuilding.get(ap.building)
      if (of === undefined) this.#byBuilding.set(ap.building, [ap])
      else of.push(ap)
    }
    this.#settle(Math.min(stations, MAX_STATIONS))
    this.#say(
      start + ABOUT_ITSELF_MS * this.#random(),
      this.#any(this.ground.accessPoints),
      aboutItself(this.#random),
    )
  }

  /** How many there are, somewhere or at home. */
  get stations(): number {
    return this.#stations.length
  }

  /** How far it is, in milliseconds. */
  get now(): number {
    return this.#now
  }

  /** Everything that access points say until this time, in order. */
  advance(to: number): Line[] {
    this.#lines = []
    for (let due = this.#due.until(to); due !== undefined; due = this.#due.until(to)) {
      this.#now = due.at
      if (due.kind === 'step') this.#step(due.station)
      else this.#spoken(due.ap, due.happening)
    }
    this.#now = Math.max(this.#now, to)
    return this.#lines
  }

  /** What an access point answers when it is asked for its stations. */
  stationsOf(ap: AccessPoint): { mac: string; ip: string }[] {
    return Array.from(this.#at.get(ap) ?? [], ({ mac, ip }) => ({ mac, ip }))
  }

  /** Where everyone is. */
  get whereabouts(): Whereabouts[] {
    return this.#stations.map(({ mac, ip, ap }) => ({ mac, ip, ap: ap?.name }))
  }

  /** Everybody is somewhere when it begins, without a word about it: they were there before. */
  #settle(count: number): void {
    const homes = this.ground.buildings.filter(({ use }) => use === 'residence' && this.#has(use))
    for (let i = 0; i < count + BRIDGES; i++) {
      const station = i < BRIDGES ? this.#bridge(i) : this.#person(i, homes)
      this.#stations.push(station)
      const building = this.#goal(station)
      if (building !== undefined) this.#enter(station, this.#seat(station, building))
      station.leavesAt = leavesAt(this.#now, this.#random)
      this.#later(station, this.#random() * RESTLESS_MS)
    }
  }

  #person(i: number, homes: readonly Building[]): Station {
    const chance = this.#random()
    const kind = chance < FIXED_SHARE ? 'fixed' : chance < FIXED_SHARE + STAFF_SHARE ? 'staff' : 'student'
    const home = kind === 'student' && homes.length > 0 ? this.#any(homes) : undefined
    const device = kind === 'fixed' ? 'printer' : this.#any(DEVICES)
    return { ...this.#subject(i, `${device}-${i}`), kind, home, ap: undefined, path: [], leavesAt: 0 }
  }

  #bridge(i: number): Station {
    const { name } = this.ground.accessPoints[(i * 23) % this.ground.accessPoints.length]!
    return { ...this.#subject(i, name), kind: 'fixed', home: undefined, ap: undefined, path: [], leavesAt: 0 }
  }

  #subject(i: number, host: string): Subject {
    return { mac: macOf(0x02, i + 1), ip: `10.20.${(i + 1) >> 8}.${(i + 1) & 255}`, host }
  }

  #step(station: Station): void {
    const next = station.path.shift()
    if (next !== undefined) {
      this.#associate(station, next)
      this.#later(station, station.path.length > 0 ? STRIDE_MS * (0.6 + 0.8 * this.#random()) : this.#rest())
    } else if (this.#now >= station.leavesAt && station.kind !== 'fixed') this.#goElsewhere(station)
    else this.#fidget(station)
  }

  #goElsewhere(station: Station): void {
    station.leavesAt = leavesAt(this.#now, this.#random)
    const building = this.#goal(station)
    if (building === undefined) {
      if (station.ap !== undefined) this.#leave(station, this.#random() < 0.5 ? 'asked' : 'idle')
      this.#later(station, Math.max(MINUTE_MS, station.leavesAt - this.#now))
      return
    }
    if (station.ap?.building !== building) station.path = this.#way(station, building)
    this.#later(station, station.path.length > 0 ? STRIDE_MS * this.#random() : this.#rest())
  }

  /** At rest devices sleep and wake, and hear another access point of the building better. */
  #fidget(station: Station): void {
    const { ap } = station
    const chance = this.#random()
    if (ap === undefined) {
      const building = this.#goal(station)
      if (building !== undefined) this.#associate(station, this.#seat(station, building))
    } else if (station.kind === 'fixed' || chance < 0.35) this.#associate(station, ap)
    else if (chance < 0.75) this.#associate(station, this.#near(station, ap))
    else if (chance < 0.8) this.#spoken(ap, { kind: 'retries', of: station })
    else this.#sleep(station, ap)
    this.#later(station, station.kind === 'fixed' ? 2 * HOUR_MS * this.#random() : this.#rest())
  }

  /** It leaves, often told twice, and is back a moment later where it was. */
  #sleep(station: Station, ap: AccessPoint): void {
    this.#leave(station, this.#random() < 0.7 ? 'asked' : 'weak')
    station.path = [ap]
  }

  #rest(): number {
    const factor = isNight(this.#now) ? ASLEEP_FACTOR : 1
    return factor * RESTLESS_MS * (0.3 + 1.4 * this.#random())
  }

  #associate(station: Station, ap: AccessPoint): void {
    const from = station.ap
    if (this.#random() < 0.6) this.#spoken(ap, { kind: 'authenticated', of: station })
    this.#enter(station, ap)
    const kind = from === undefined || this.#random() < 0.3 ? 'associated' : 'reassociated'
    this.#spoken(ap, { kind, of: station })
    if (this.#random() < 0.5)
      this.#say(this.#now + 1_500 * this.#random(), ap, { kind: 'addressed', of: station })
    if (from !== undefined && from !== ap) this.#lose(station, from, ap)
  }

  /** The access point that a station has gone from: it may say so, now or minutes later, or never. */
  #lose(station: Station, from: AccessPoint, to: AccessPoint): void {
    const chance = this.#random()
    if (chance < ROAMED_SHARE) this.#spoken(from, { kind: 'roamed', of: station, to })
    else if (chance < ROAMED_SHARE + TRAILING_SHARE) {
      const at = this.#now + TRAILING_MS * (0.7 + 0.6 * this.#random())
      this.#say(at, from, { kind: 'left', of: station, why: 'idle' })
    }
  }

  #leave(station: Station, why: 'asked' | 'idle' | 'weak'): void {
    const { ap } = station
    if (ap === undefined) return
    this.#at.get(ap)!.delete(station)
    station.ap = undefined
    this.#spoken(ap, { kind: 'left', of: station, why })
  }

  #enter(station: Station, ap: AccessPoint): void {
    if (station.ap !== undefined) this.#at.get(station.ap)!.delete(station)
    station.ap = ap
    this.#at.get(ap)!.add(station)
  }

  /** Where a station goes now; undefined is off the campus. */
  #goal(station: Station): Building | undefined {
    if (station.kind === 'fixed') return station.ap?.building ?? this.#any([...this.#byBuilding.keys()])
    const goal = goalAt(station.kind, this.#now, this.#random)
    if (goal === 'home') return station.home
    const buildings = this.ground.buildings.filter((one) => one.use === goal && this.#byBuilding.has(one))
    // People go to few places again and again, or nobody could say where they go next.
    const liked = (hashOf(station.mac) + Math.floor(1.4 * this.#random())) % Math.max(1, buildings.length)
    return buildings[liked] ?? station.home
  }

  /** People sit where they sat before, mostly. */
  #seat({ mac }: Station, building: Building): AccessPoint {
    const inside = this.#byBuilding.get(building)!
    if (this.#random() < NEW_SEAT_SHARE) return this.#any(inside)
    return inside[hashOf(mac + building.name) % inside.length]!
  }

  #has(use: Building['use']): boolean {
    return [...this.#byBuilding.keys()].some((one) => one.use === use)
  }

  /** Past access points near the straight line, and into the building. */
  #way(station: Station, building: Building): AccessPoint[] {
    const to = this.#seat(station, building)
    const from = station.ap
    if (from === undefined) return [to]
    const passed = this.ground.accessPoints
      .filter((ap) => ap !== from && ap.building !== building && distanceToWay(ap, from, to) < EARSHOT_M)
      .map((ap) => ({ ap, along: Math.hypot(ap.x - from.x, ap.y - from.y) }))
    passed.sort((a, b) => a.along - b.along)
    const step = Math.max(1, passed.length / MAX_PASSED)
    const heard = passed.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step))
    return [...heard.map(({ ap }) => ap), to]
  }

  /** The access point beside it which this device hears second best: devices go back and forth. */
  #near({ mac }: Station, ap: AccessPoint): AccessPoint {
    const inside = this.#byBuilding.get(ap.building)!
    const at = inside.indexOf(ap)
    return inside[at % 2 === hashOf(mac) % 2 ? Math.max(0, at - 1) : Math.min(inside.length - 1, at + 1)]!
  }

  #later(station: Station, delayMs: number): void {
    this.#due.add({ kind: 'step', at: this.#now + delayMs, station })
  }

  #say(at: number, ap: AccessPoint, happening: Happening): void {
    this.#due.add({ kind: 'said', at, ap, happening })
  }

  #spoken(ap: AccessPoint, happening: Happening): void {
    if (happening.kind === 'radio' || happening.kind === 'configured') {
      const at = this.#now + 2 * ABOUT_ITSELF_MS * this.#random()
      this.#say(at, this.#any(this.ground.accessPoints), aboutItself(this.#random))
    }
    for (const text of linesOf(ap, happening, this.#now, ++this.#number)) {
      if (this.#random() < LOST_SHARE || this.#lines.length >= MAX_LINES) continue
      this.#lines.push({ at: this.#now, ap, text })
      if (this.#random() < DOUBLED_SHARE) this.#lines.push({ at: this.#now, ap, text })
    }
  }

  #any<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!
  }
}

function aboutItself(random: () => number): Happening {
  return random() < 0.3
    ? { kind: 'configured' }
    : { kind: 'radio', frequency: 2412 + 25 * Math.floor(3 * random()) }
}

function hashOf(text: string): number {
  let sum = 7
  for (let i = 0; i < text.length; i++) sum = (sum * 33 + text.charCodeAt(i)) >>> 0
  return sum
}

interface Point {
  readonly x: number
  readonly y: number
}

/** How far a point is from the line between two others, in metres. */
function distanceToWay(point: Point, from: Point, to: Point): number {
  const dx = to.x - from.x
  const dy = to.y - from.y
  const length = dx * dx + dy * dy
  const share = length === 0 ? 0 : ((point.x - from.x) * dx + (point.y - from.y) * dy) / length
  const along = Math.max(0, Math.min(1, share))
  return Math.hypot(point.x - from.x - along * dx, point.y - from.y - along * dy)
}
