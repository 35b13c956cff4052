// Who listens to the locations (PACK section 7, Figure 10): the page, the location bar, and the prediction of where
// stations go next. Each subscribes for itself, as it would on a machine of its own.
import type { Client, EventOf } from '../../index.ts'
import { BarServer } from './bar/bar-server.ts'
import { Places } from './bar/places.ts'
import type { GeneratedCampus } from './campus/generated.ts'
import { type Location, type locationAttributes, locationOf } from './events.ts'
import type { Locator } from './locator.ts'
import { PageServer } from './page/page-server.ts'
import { LevelCounts, receiptOf, type Status } from './page/status.ts'
import { Predictor } from './prediction/predictor.ts'
import type { World } from './world.ts'

export interface PortWish {
  readonly port: number
  /** Whether another is as good. */
  readonly isPreferred: boolean
}

export interface AudienceOptions {
  /** Of the page and of the bar; 0 takes any that is free, as does a taken one that is only preferred. */
  readonly port: PortWish
  readonly barPort: PortWish
  /** Loopback unless given: whoever reaches it sees where everybody is. */
  readonly host?: string
  /** Events that may wait for the locator. */
  readonly queue: number
  /** Undefined when only real access points speak. */
  readonly campus: GeneratedCampus | undefined
}

export interface Audience {
  readonly page: string
  readonly bar: string
  /** What the page shows beside the map. */
  status(): Status
  close(): Promise<void>
}

/** What each level of the locator's policy does, in few words. */
const LEVELS = [
  'only type Info stays',
  'what tells no place goes',
  'lines about access points go',
  'the first leave stays',
  'one of each access point stays',
  'one in three goes',
] as const

/** Resolves when the page and the bar listen, and all three are subscribed. */
export async function startAudience(world: World, options: AudienceOptions): Promise<Audience> {
  const { locator, source, audience, aps } = world
  const { campus, queue, host = '127.0.0.1', port, barPort } = options
  const places = new Places()
  const predictor = new Predictor()
  const loss = watchLoss(locator)
  const status = (): Status => ({
    clock: campus?.now ?? Date.now(),
    speed: campus?.speed ?? null,
    source: { lines: source.counts.lines, unknown: source.counts.unknown },
    queue: { fill: locator.subscription.fill, bound: queue },
    ...loss.status(),
    prediction: predictor.score,
  })
  const page = await preferring(port, (port) =>
    PageServer.listen({
      host,
      port,
      aps: new Map(aps),
      outlines: campus?.ground.buildings ?? [],
      isGenerated: campus !== undefined,
      levels: LEVELS,
      status,
      predict: (station) => predictor.predict(station),
    }),
  )
  const listenBar = (port: number) =>
    BarServer.listen({
      host,
      port,
      where: (ip) => places.where(ip),
      ...(campus === undefined ? {} : { note: 'generated campus' }),
    })
  const bar = await preferring(barPort, listenBar).catch(async (error) => {
    await page.close()
    throw error
  })
  await Promise.all([
    // What an access point's list tells has this machine's time, a line the campus's: the page has one of them.
    follow(audience, locator, 'page', (location) =>
      page.seen({ ...location, at: campus?.now ?? location.at }),
    ),
    follow(audience, locator, 'bar', (location) => places.seen(location)),
    follow(audience, locator, 'prediction', ({ station, ap, action }) => {
      if (action !== 'left') predictor.seen(station, ap)
    }),
  ])
  const close = async () => void (await Promise.all([page.close(), bar.close()]))
  return { page: page.url, bar: bar.url, status, close }
}

async function preferring<T>(
  { port, isPreferred }: PortWish,
  listen: (port: number) => Promise<T>,
): Promise<T> {
  try {
    return await listen(port)
  } catch (error) {
    if (!isPreferred || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return await listen(0)
  }
}

/** Calls this with each location, in the order in which they were published. */
async function follow(
  client: Client,
  { sender }: Locator,
  name: string,
  seen: (location: Location) => void,
): Promise<void> {
  const subscription = client.subscribe<EventOf<typeof locationAttributes>>(sender.id, { name })
  subscription.handle({ event: (event) => seen(locationOf(event)) })
  await subscription.subscribed
}

/** What the locator's policy did so far. */
function watchLoss(locator: Locator) {
  const dropped = new LevelCounts(LEVELS.length)
  const packs = new LevelCounts(LEVELS.length)
  let behindMs: number | null = null
  locator.onDropped(({ causes }) => {
    for (const { level, count } of causes) dropped.add(level, count)
  })
  locator.onPack(({ level }) => packs.add(level, 1))
  locator.onLocation((_location, { receivedAt, resolvedAt }) => {
    behindMs = resolvedAt - receivedAt
  })
  return {
    status: () => ({
      behindMs,
      receipt: receiptOf(locator.subscription.receipt),
      dropped: dropped.list,
      packs: packs.list,
    }),
  }
}
