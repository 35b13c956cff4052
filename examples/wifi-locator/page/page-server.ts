// The page's server: its files, and one stream of what changes to each browser (server-sent events). Loopback unless
// told; so many browsers at most; one that does not read gets no changes, and later the whole again.
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import type { Location } from '../events.ts'
import type { Prediction } from '../prediction/predictor.ts'
import { type Device, Devices } from './devices.ts'
import { isLoopbackHost } from './host.ts'
import { type CampusMap, type KnownAp, type KnownBuilding, layOut, MAX_APS } from './layout.ts'
import type { Status } from './status.ts'

export interface PageOptions {
  readonly host?: string
  readonly port?: number
  readonly aps: ReadonlyMap<string, KnownAp>
  readonly outlines?: readonly KnownBuilding[]
  readonly isGenerated: boolean
  /** What each level of the policy drops, in words. */
  readonly levels: readonly string[]
  status(): Status
  /** Where a station may go next. */
  predict(station: string): readonly Prediction[]
}

const TELL_EVERY_MS = 400
const MAX_BROWSERS = 32
/** A browser that has so much unread gets nothing more until it has read it. */
const MAX_UNREAD_BYTES = 2 * 1_048_576
/** Then it is cut off. */
const STALLED_MS = 60_000
const MAX_FOUND = 12

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
} as const

const FILES: Readonly<Record<string, string>> = {
  '/': 'index.html',
  '/page.css': 'page.css',
  '/page.js': 'page.js',
  '/map.js': 'map.js',
  '/side.js': 'side.js',
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

interface Browser {
  readonly response: ServerResponse
  /** Whether it missed changes, and needs the whole again. */
  isBehind: boolean
  readAt: number
}

export class PageServer {
  readonly #options: PageOptions
  readonly #server: Server
  readonly #devices = new Devices()
  readonly #aps: Map<string, KnownAp>
  readonly #indexes = new Map<string, number>()
  readonly #files = new Map<string, { readonly type: string; readonly body: Buffer }>()
  readonly #browsers = new Set<Browser>()
  readonly #telling: NodeJS.Timeout
  #map: CampusMap
  #isMapNew = false

  private constructor(options: PageOptions) {
    this.#options = options
    this.#aps = new Map(options.aps)
    this.#map = this.#layOut()
    for (const [path, file] of Object.entries(FILES)) {
      const body = readFileSync(new URL(`public/${file}`, import.meta.url))
      this.#files.set(path, { type: TYPES[file.split('.').at(-1) as keyof typeof TYPES], body })
    }
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.maxConnections = 8 * MAX_BROWSERS
    this.#telling = setInterval(() => this.#tell(), TELL_EVERY_MS)
  }

  /** Resolves when it listens. */
  static async listen(options: PageOptions): Promise<PageServer> {
    const one = new PageServer(options)
    await new Promise<void>((resolve, reject) => {
      one.#server.once('error', reject).listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve)
    }).catch((error) => {
      clearInterval(one.#telling)
      throw error
    })
    return one
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return `http://${isIP(address) === 6 ? `[${address}]` : address}:${port}/`
  }

  /** A location that was published. */
  seen(location: Location): void {
    if (!this.#aps.has(location.ap) && this.#aps.size < MAX_APS) {
      this.#aps.set(location.ap, { building: location.building })
      this.#isMapNew = true
    }
    this.#devices.seen(location)
  }

  async close(): Promise<void> {
    clearInterval(this.#telling)
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { host } = request.headers
    const name = URL.parse(`http://${host ?? ''}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
    // A page elsewhere that lets its name point here may not read where people are.
    if (!isLoopbackHost(host) && isIP(name) === 0) {
      reply(response, 403, 'text/plain', 'not by this name')
      return
    }
    if (request.method !== 'GET') {
      reply(response, 405, 'text/plain', 'only GET')
      return
    }
    const url = URL.parse(request.url ?? '/', 'http://here')
    const path = url?.pathname ?? ''
    const file = this.#files.get(path)
    if (file !== undefined) {
      reply(response, 200, file.type, file.body)
      return
    }
    if (path === '/events') {
      this.#join(response)
      return
    }
    if (path === '/device') {
      this.#device(response, url?.searchParams.get('station') ?? '')
      return
    }
    if (path === '/find') {
      this.#find(response, url?.searchParams.get('q') ?? '')
      return
    }
    reply(response, 404, 'text/plain', 'there is no such page')
  }

  #join(response: ServerResponse): void {
    if (this.#browsers.size >= MAX_BROWSERS) {
      reply(response, 503, 'text/plain', 'too many browsers')
      return
    }
    const browser: Browser = { response, isBehind: false, readAt: performance.now() }
    this.#browsers.add(browser)
    response.once('close', () => this.#browsers.delete(browser))
    response.on('error', () => {})
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' })
    response.write(this.#whole())
  }

  #device(response: ServerResponse, station: string): void {
    const device = this.#devices.get(station)
    if (device === undefined) {
      reply(response, 404, 'application/json', '{}')
      return
    }
    const next = this.#options
      .predict(station)
      .map((one) => ({ ...one, building: this.#aps.get(one.place)?.building ?? null }))
    reply(response, 200, 'application/json', JSON.stringify({ ...device, ap: device.ap ?? null, next }))
  }

  /** By address or IP, or a part of one. */
  #find(response: ServerResponse, query: string): void {
    const wanted = query.trim().toLowerCase().slice(0, 64)
    const found: Device[] = []
    for (const device of wanted === '' ? [] : this.#devices.values()) {
      const names = [device.station, device.ip ?? '']
      if (names.includes(wanted)) found.unshift(device)
      else if (found.length < MAX_FOUND && names.some((name) => name.includes(wanted))) found.push(device)
    }
    const shown = found.map(({ station, ip, ap = null, building }) => ({ station, ip, ap, building }))
    reply(response, 200, 'application/json', JSON.stringify(shown))
  }

  /** Nobody waits for whoever does not read. */
  #tell(): void {
    const changed = this.#devices.takeChanged()
    const isMapNew = this.#isMapNew
    if (isMapNew) this.#map = this.#layOut()
    this.#isMapNew = false
    const listening = [...this.#browsers].filter((one) => this.#mayWrite(one))
    if (listening.length === 0) return
    const devices = changed.map((station) => this.#row(this.#devices.get(station), station))
    const changes = message('changes', { devices, status: this.#options.status() })
    const whole = isMapNew || listening.some(({ isBehind }) => isBehind) ? this.#whole() : ''
    for (const browser of listening) {
      browser.response.write(isMapNew || browser.isBehind ? whole : changes)
      browser.isBehind = false
    }
  }

  #mayWrite(browser: Browser): boolean {
    const now = performance.now()
    const isReading = browser.response.writableLength < MAX_UNREAD_BYTES
    if (isReading) browser.readAt = now
    else if (now - browser.readAt > STALLED_MS) browser.response.destroy()
    if (!isReading) browser.isBehind = true
    return isReading
  }

  #whole(): string {
    const { isGenerated, levels } = this.#options
    const devices = Array.from(this.#devices.values(), (device) => this.#row(device, device.station))
    return message('whole', { isGenerated, levels, map: this.#map, devices, status: this.#options.status() })
  }

  /** The index of its access point; -1 after it left, or where the map has no more room; -2 when it was forgotten. */
  #row(device: Device | undefined, station: string): readonly [string, number, string | null, number] {
    if (device === undefined) return [station, -2, null, 0]
    return [station, this.#indexes.get(device.ap ?? '') ?? -1, device.ip, device.at]
  }

  #layOut(): CampusMap {
    const map = layOut(this.#aps, this.#options.outlines)
    map.aps.forEach(({ name }, i) => {
      this.#indexes.set(name, i)
    })
    return map
  }
}

/** One event of the stream. JSON has no line breaks of its own. */
function message(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

function reply(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { ...HEADERS, 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
