// Where each station is, from what access points say about it: late, twice, incompletely, and by clocks that jump. So no
// line's clock decides anything here; what counts is the order in which things were told, and when they were received.
import { arrivals, departures, type Location, type SyslogEvent } from './events.ts'

export const whereaboutsLimits = {
  /** Stations that are remembered; who was heard of least recently is forgotten. */
  stations: 100_000,
  /** Access points that a station was at before, which may not have noticed that it is gone. */
  formerAps: 4,
} as const

/** For so long an access point may list a station that has gone elsewhere without a word; hostapd asks after 5 minutes. */
const STALE_LIST_MS = 600_000

/** What changed. The building is the locator's business. */
export type Change = Pick<Location, 'station' | 'ap' | 'ip' | 'action'>

/** Of an event, what matters here. */
export type Told = Pick<SyslogEvent, 'action' | 'station' | 'ap' | 'ip' | 'host' | 'at'>

/** A station in the list of an access point. */
export interface Listed {
  readonly mac: string
  readonly ip: string | null
  readonly host: string | null
}

export interface Whereabout {
  readonly station: string
  /** Where it is; null when it has left. */
  readonly ap: string | null
  readonly ip: string | null
  readonly host: string | null
}

export interface WhereaboutsCounts {
  /** Leaves from where the station was not any more. */
  trailing: number
  /** Arrivals and leaves that said nothing new. */
  repeated: number
  /** Events that are older than what an access point's list has said since. */
  outdated: number
  /** Stations that were forgotten to make room. */
  forgotten: number
}

interface Known {
  ap: string | null
  ip: string | null
  host: string | null
  /** Until then, events are older than the list by which it was found here; 0 when an event placed it. */
  listedAt: number
  /** Where it was before and, as far as that access point says, still is; the last one last, and when it left. */
  former: { ap: string; until: number }[]
  /** The last leave, so that its copy does not end what has begun since. */
  lastLeave: string
}

export class Whereabouts {
  readonly counts: WhereaboutsCounts = { trailing: 0, repeated: 0, outdated: 0, forgotten: 0 }
  readonly #limit: number
  /** In the order in which they were last heard of. */
  readonly #known = new Map<string, Known>()
  /** Who has an address: it belongs to the last one who was said to have it. */
  readonly #stationOf = new Map<string, string>()

  constructor(limit: number = whereaboutsLimits.stations) {
    this.#limit = limit
  }

  /** How many stations are somewhere or remembered. */
  get size(): number {
    return this.#known.size
  }

  get(station: string): Whereabout | undefined {
    const known = this.#known.get(station)
    return known === undefined ? undefined : { station, ap: known.ap, ip: known.ip, host: known.host }
  }

  /** The station that has the address. */
  byIp(ip: string): Whereabout | undefined {
    const station = this.#stationOf.get(ip)
    return station === undefined ? undefined : this.get(station)
  }

  /** Takes an event, received at this time in milliseconds; what it changes, if anything. */
  told(event: Told, receivedAt: number): Change | undefined {
    const { station, action, ap, ip, host } = event
    if (station === null) return undefined
    if (isIn(arrivals, action))
      return ap === null ? undefined : this.#arrived({ station, ap, ip, host }, receivedAt)
    if (isIn(departures, action)) return this.#left(station, event, receivedAt)
    if (action === 'Handshake' && ap !== null && this.#isLost(station))
      return this.#arrived({ station, ap, ip, host }, receivedAt)
    return ip === null ? undefined : this.#addressed(station, ip, host)
  }

  /** Takes the list of an access point, as of this time; what it changes. */
  listed(ap: string, stations: readonly Listed[], asOf: number): Change[] {
    return stations.flatMap((one) => this.#found(ap, one, asOf) ?? [])
  }

  /** An association was announced by nobody, and yet keys are exchanged: its line is missing. */
  #isLost(station: string): boolean {
    return !this.#known.has(station)
  }

  #arrived(
    to: { station: string; ap: string; ip: string | null; host: string | null },
    at: number,
  ): Change | undefined {
    const { station, ap } = to
    const known = this.#touch(station)
    if (at < known.listedAt) {
      this.counts.outdated++
      return undefined
    }
    const isNewIp = this.#learn(station, known, to)
    const before = known.ap
    if (before === ap) {
      if (isNewIp) return { station, ap, ip: known.ip, action: 'joined' }
      this.counts.repeated++
      return undefined
    }
    this.#move(known, ap, at)
    known.listedAt = 0
    return { station, ap, ip: known.ip, action: before === null ? 'joined' : 'moved' }
  }

  #left(station: string, { ap, action, at }: Told, receivedAt: number): Change | undefined {
    const known = this.#touch(station)
    const leave = `${action} ${ap} ${at}`
    const isCopy = at !== null && leave === known.lastLeave
    known.lastLeave = leave
    if (known.ap === null || isCopy) this.counts.repeated++
    else if (ap !== null && known.ap !== ap) {
      this.counts.trailing++
      known.former = known.former.filter((former) => former.ap !== ap)
    } else if (receivedAt < known.listedAt) this.counts.outdated++
    else {
      const from = known.ap
      known.ap = null
      return { station, ap: from, ip: known.ip, action: 'left' }
    }
    return undefined
  }

  #addressed(station: string, ip: string, host: string | null): Change | undefined {
    const known = this.#touch(station)
    if (!this.#learn(station, known, { ip, host }) || known.ap === null) return undefined
    return { station, ap: known.ap, ip, action: 'joined' }
  }

  /** The list is newer than what is known, but may still have those who left without a word. */
  #found(ap: string, { mac: station, ip, host }: Listed, asOf: number): Change | undefined {
    const known = this.#touch(station)
    const before = known.ap
    if (before === ap) {
      const isNewIp = this.#learn(station, known, { ip, host })
      return isNewIp ? { station, ap, ip: known.ip, action: 'joined' } : undefined
    }
    if (known.former.some((former) => former.ap === ap && asOf - former.until < STALE_LIST_MS))
      return undefined
    this.#learn(station, known, { ip, host })
    this.#move(known, ap, asOf)
    known.listedAt = asOf
    return { station, ap, ip: known.ip, action: before === null ? 'joined' : 'moved' }
  }

  #move(known: Known, ap: string, at: number): void {
    const former = known.former.filter((one) => one.ap !== ap && one.ap !== known.ap)
    if (known.ap !== null) former.push({ ap: known.ap, until: at })
    known.former = former.slice(-whereaboutsLimits.formerAps)
    known.ap = ap
  }

  /** Whether it has an address that it did not have. */
  #learn(station: string, known: Known, { ip, host }: { ip: string | null; host: string | null }): boolean {
    known.host = host ?? known.host
    if (ip === null || ip === known.ip) return false
    const owner = this.#known.get(this.#stationOf.get(ip) ?? '')
    if (owner !== undefined) owner.ip = null
    if (known.ip !== null) this.#stationOf.delete(known.ip)
    known.ip = ip
    this.#stationOf.set(ip, station)
    return true
  }

  #touch(station: string): Known {
    const known = this.#known.get(station) ?? {
      ap: null,
      ip: null,
      host: null,
      listedAt: 0,
      former: [],
      lastLeave: '',
    }
    this.#known.delete(station)
    this.#known.set(station, known)
    if (this.#known.size > this.#limit) this.#forgetOldest()
    return known
  }

  #forgetOldest(): void {
    const [station, { ip }] = this.#known.entries().next().value!
    this.#known.delete(station)
    if (ip !== null) this.#stationOf.delete(ip)
    this.counts.forgotten++
  }
}

function isIn(list: readonly string[], action: string): boolean {
  return list.includes(action)
}
