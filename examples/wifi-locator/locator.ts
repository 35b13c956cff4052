// The MAC/IP locator of Figure 10: subscribes to the source with a policy of six levels, finds out the addresses that
// events do not tell, and publishes where stations are. It takes one event at a time, in order, as those want it who
// learn where stations go; so while an access point is slow to answer it falls behind, and its policy decides what is lost.
import { readFileSync } from 'node:fs'
import type {
  Cause,
  Client,
  DeliveredDigest,
  DeliveredEvent,
  EventOf,
  Pack,
  Sender,
  SubscribeOptions,
  Subscription,
} from '../../index.ts'
import { AccessPoints } from './access-points.ts'
import {
  type Action,
  arrivals,
  LOCATIONS,
  type Location,
  locationAttributes,
  type syslogAttributes,
} from './events.ts'
import { type Fetch, type StationList, StationLists } from './station-lists.ts'
import { type Change, type Told, Whereabouts } from './whereabouts.ts'

type SyslogAttributes = EventOf<typeof syslogAttributes>

export interface LocatorOptions {
  readonly aps?: AccessPoints
  /** What may be lost: `policy.xml` unless given. */
  readonly policy?: SubscribeOptions['policy']
  /** Events that wait for the locator, before its policy drops some. */
  readonly queue?: number
  readonly fetch?: Fetch
  /** Milliseconds; the clock of this machine unless given. */
  now?(): number
}

/** How a location came about. Times are in milliseconds. */
export interface Resolution {
  /** When the source received the line. */
  readonly receivedAt: number
  /** When the location was published. */
  readonly resolvedAt: number
  /** Whether an access point was asked for it. */
  readonly isAsked: boolean
}

export interface LocatorCounts {
  /** Events that were taken. */
  events: number
  locations: number
  /** Events that the policy dropped, and those that were lost by accident. */
  dropped: number
  gaps: number
  /** What the policy dropped, by buffer and level: `RB level 2`. */
  readonly causes: { [bufferAndLevel: string]: number }
  /** Packs of the locator's own queue by level: `level 1` to `level 6`, and `worst-case`. */
  readonly packs: { [level: string]: number }
}

export interface Locator {
  readonly sender: Sender<typeof locationAttributes>
  readonly subscription: Subscription<SyslogAttributes>
  readonly whereabouts: Whereabouts
  readonly lists: StationLists
  readonly counts: Readonly<LocatorCounts>
  /** The last packs, the oldest first. */
  readonly packs: readonly Pack[]
  /** Calls this with every location; returns how to call it no more. */
  onLocation(listener: (location: Location, resolution: Resolution) => void): () => void
  /** Calls this with every pack of the locator's own queue; returns how to call it no more. */
  onPack(listener: (pack: Pack) => void): () => void
  /** Calls this with every digest of what the policy dropped, wherever that was. */
  onDropped(listener: (digest: DeliveredDigest) => void): () => void
  /** Resolves when the source has ended and everything that it said was taken, or when the signal aborts. */
  finished(signal: AbortSignal): Promise<void>
  /** Takes no more, and resolves when the node has every location that was published. */
  close(): Promise<void>
}

/** Small enough to overflow as the paper's did, while an access point takes some seconds to answer. */
const DEFAULT_QUEUE = 100
const KEPT_PACKS = 1_000
const POLL_MS = 20

/** The policy of the paper. */
export const locatorPolicy = readFileSync(new URL('policy.xml', import.meta.url), 'utf8')

/** Subscribes to the sender `syslog` by its ID, and publishes locations as the sender `locations` of this client. */
export async function startLocator(
  client: Client,
  syslogId: string,
  options: LocatorOptions = {},
): Promise<Locator> {
  const sender = client.sender(LOCATIONS, locationAttributes)
  await sender.opened
  const locator = new SyslogLocator(client, syslogId, sender, options)
  await locator.subscription.subscribed
  locator.begin()
  return locator
}

class SyslogLocator implements Locator {
  readonly sender: Sender<typeof locationAttributes>
  readonly subscription: Subscription<SyslogAttributes>
  readonly whereabouts = new Whereabouts()
  readonly lists: StationLists
  readonly counts: LocatorCounts = {
    events: 0,
    locations: 0,
    dropped: 0,
    gaps: 0,
    causes: Object.create(null),
    packs: Object.create(null),
  }
  readonly packs: Pack[] = []
  readonly #aps: AccessPoints
  readonly #now: () => number
  readonly #onLocation = new Set<(location: Location, resolution: Resolution) => void>()
  readonly #onPack = new Set<(pack: Pack) => void>()
  readonly #onDropped = new Set<(digest: DeliveredDigest) => void>()
  #running: Promise<void> = Promise.resolve()

  constructor(
    client: Client,
    syslogId: string,
    sender: Sender<typeof locationAttributes>,
    {
      aps = new AccessPoints(),
      policy = locatorPolicy,
      queue = DEFAULT_QUEUE,
      fetch: asking = fetch,
      now = Date.now,
    }: LocatorOptions,
  ) {
    this.sender = sender
    this.#aps = aps
    this.#now = now
    this.lists = new StationLists(aps, asking, now)
    this.subscription = client.subscribe<SyslogAttributes>(syslogId, {
      policy,
      queue: { items: queue },
      packed: (pack) => this.#packed(pack),
    })
  }

  onLocation(listener: (location: Location, resolution: Resolution) => void): () => void {
    return listen(this.#onLocation, listener)
  }

  onPack(listener: (pack: Pack) => void): () => void {
    return listen(this.#onPack, listener)
  }

  onDropped(listener: (digest: DeliveredDigest) => void): () => void {
    return listen(this.#onDropped, listener)
  }

  /** Takes what comes from now on. */
  begin(): void {
    this.#running = this.#run()
  }

  async finished(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.subscription.isEnded)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }

  async close(): Promise<void> {
    this.subscription.close()
    this.lists.close()
    await this.#running
    await this.sender.close()
  }

  async #run(): Promise<void> {
    for await (const item of this.subscription) {
      if (item.kind === 'event') await this.#event(item as DeliveredEvent<SyslogAttributes>)
      else if (item.kind === 'digest') this.#dropped(item as DeliveredDigest)
      else this.counts.gaps += Number(item.count)
    }
  }

  async #event(event: DeliveredEvent<SyslogAttributes>): Promise<void> {
    this.counts.events++
    const told = this.#toldBy(event)
    const list = this.#isToAsk(told) ? await this.lists.ask(told.ap!) : undefined
    const listed = list?.stations.find(({ mac }) => mac === told.station)
    const known = { ...told, ip: told.ip ?? listed?.ip ?? null, host: told.host ?? listed?.host ?? null }
    const isAsked = list?.isNew === true
    const at = told.at ?? event.time
    this.#publish(this.whereabouts.told(known, event.time), at, { receivedAt: event.time, isAsked })
    if (list?.isNew) this.#found(told.ap!, list, event.time)
  }

  /** The list has the other stations of the access point too, also those whose events were dropped. */
  #found(ap: string, { stations, asOf }: StationList, receivedAt: number): void {
    for (const change of this.whereabouts.listed(ap, stations, asOf))
      this.#publish(change, asOf, { receivedAt, isAsked: true })
  }

  #toldBy({ action, station, ap, ip, host, at }: DeliveredEvent<SyslogAttributes>): Told {
    return {
      action: action as Action,
      station: station ?? null,
      ap: ap == null ? null : this.#aps.nameOf(ap),
      ip: ip ?? null,
      host: host ?? null,
      at: at ?? null,
    }
  }

  /** When a station arrives, its address is not told, and is not known from when it came here. */
  #isToAsk({ action, station, ap, ip }: Told): boolean {
    const isArrival = (arrivals as readonly string[]).includes(action)
    if (!isArrival || station === null || ap === null || ip !== null || !this.lists.canAsk(ap)) return false
    const known = this.whereabouts.get(station)
    return known === undefined || known.ap !== ap || known.ip === null
  }

  #publish(change: Change | undefined, at: number, how: Omit<Resolution, 'resolvedAt'>): void {
    if (change === undefined) return
    const { station, ap, ip, action } = change
    const location: Location = { station, ap, building: this.#aps.get(ap)?.building ?? null, ip, action, at }
    this.sender.publish(location)
    this.counts.locations++
    for (const listener of this.#onLocation) listener(location, { ...how, resolvedAt: this.#now() })
  }

  #dropped(digest: DeliveredDigest): void {
    this.counts.dropped += digest.count
    for (const { buffer, level, count } of digest.causes as readonly Cause[])
      add(this.counts.causes, `${buffer} ${levelOf(level)}`, count)
    for (const listener of this.#onDropped) listener(digest)
  }

  #packed(pack: Pack): void {
    add(this.counts.packs, levelOf(pack.level), 1)
    this.packs.push(pack)
    if (this.packs.length > KEPT_PACKS) this.packs.shift()
    for (const listener of this.#onPack) listener(pack)
  }
}

function listen<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function levelOf(level: number | 'worst-case'): string {
  return level === 'worst-case' ? level : `level ${level}`
}

function add(counts: { [key: string]: number }, key: string, count: number): void {
  counts[key] = (counts[key] ?? 0) + count
}
