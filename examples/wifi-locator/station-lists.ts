// Asks access points for their stations, over HTTP (PACK section 7): at most once in 30 seconds each, and the answer is
// kept for that long, because it names all stations and not only the one that was asked for.
import type { AccessPoints } from './access-points.ts'
import { macOf } from './mac.ts'
import type { Listed } from './whereabouts.ts'

export const stationListLimits = {
  /** Between two questions to one access point, the paper's value. */
  intervalMs: 30_000,
  /** For an answer, to its last byte. */
  timeoutMs: 30_000,
  answerBytes: 1_048_576,
  /** Stations of one access point. */
  stations: 2_048,
  /** Access points whose lists are kept. */
  lists: 4_096,
} as const

export type Fetch = (url: string, init: { signal: AbortSignal; redirect: 'error' }) => Promise<Response>

export interface StationList {
  readonly stations: readonly Listed[]
  /** When it was asked for, in milliseconds: it is at least as new. */
  readonly asOf: number
  /** Whether this question brought it; otherwise it was kept from an earlier one. */
  readonly isNew: boolean
}

export interface StationListCounts {
  asked: number
  answered: number
  failed: number
  /** Questions that a kept list answered, or that came too soon after one that had failed. */
  kept: number
  slowestMs: number
  /** What the last failure was. */
  lastFailure: string | null
}

interface Asked {
  readonly at: number
  readonly stations: readonly Listed[]
}

export class StationLists {
  readonly counts: StationListCounts = {
    asked: 0,
    answered: 0,
    failed: 0,
    kept: 0,
    slowestMs: 0,
    lastFailure: null,
  }
  readonly #aps: AccessPoints
  readonly #fetch: Fetch
  readonly #now: () => number
  readonly #closing = new AbortController()
  /** The last question to each, the oldest first. */
  readonly #asked = new Map<string, Asked>()

  constructor(aps: AccessPoints, fetch: Fetch, now: () => number) {
    this.#aps = aps
    this.#fetch = fetch
    this.#now = now
  }

  /** Whether it is known where this access point answers. */
  canAsk(ap: string): boolean {
    return this.#aps.get(ap)?.http !== undefined
  }

  /** The stations of an access point; undefined when it does not say, or did not less than 30 seconds ago. */
  async ask(ap: string): Promise<StationList | undefined> {
    const http = this.#aps.get(ap)?.http
    if (http === undefined) return undefined
    const before = this.#asked.get(ap)
    if (before !== undefined && this.#now() - before.at < stationListLimits.intervalMs) {
      this.counts.kept++
      return { stations: before.stations, asOf: before.at, isNew: false }
    }
    const at = this.#now()
    const stations = await this.#question(`${http.replace(/\/+$/, '')}/stations`)
    // Counted from its end: an access point that takes 30 seconds to answer is not to be asked without a pause.
    this.#keep(ap, { at: this.#now(), stations: stations ?? [] })
    return stations === undefined ? undefined : { stations, asOf: at, isNew: true }
  }

  /** Ends what is being asked. */
  close(): void {
    this.#closing.abort()
  }

  #keep(ap: string, asked: Asked): void {
    this.#asked.delete(ap)
    this.#asked.set(ap, asked)
    if (this.#asked.size > stationListLimits.lists) this.#asked.delete(this.#asked.keys().next().value!)
  }

  async #question(url: string): Promise<readonly Listed[] | undefined> {
    const startedAt = performance.now()
    this.counts.asked++
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(stationListLimits.timeoutMs), this.#closing.signal])
      const response = await this.#fetch(url, { signal, redirect: 'error' })
      if (!response.ok) throw new Error(`HTTP status ${response.status}`)
      const stations = stationsIn(await textOf(response))
      this.counts.answered++
      return stations
    } catch (error) {
      this.counts.failed++
      this.counts.lastFailure = `${url}: ${reasonOf(error)}`
      return undefined
    } finally {
      this.counts.slowestMs = Math.max(this.counts.slowestMs, performance.now() - startedAt)
    }
  }
}

/** The body, if it is not too long. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > stationListLimits.answerBytes)
      throw new Error(`an answer of more than ${stationListLimits.answerBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** What is no station is passed over: lists are made by scripts. */
function stationsIn(text: string): Listed[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new Error('an answer that is no list')
  return list.slice(0, stationListLimits.stations).flatMap((one) => {
    const { mac, ip, host } = (one ?? {}) as Record<string, unknown>
    const station = macOf(mac)
    return station === undefined ? [] : [{ mac: station, ip: textIn(ip), host: textIn(host) }]
  })
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= 256 ? value : null
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
