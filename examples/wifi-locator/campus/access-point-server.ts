// The access points of the generated campus as HTTP servers: one server for all of them, a path for each. They answer
// slowly, as real ones do, whatever the speed of the campus.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as timer } from 'node:timers/promises'
import { seeded } from '../../../index.ts'
import { answerDelayMs } from './answering.ts'
import type { Campus } from './campus.ts'
import type { AccessPoint } from './ground.ts'

/** Beyond it somebody asks faster than a locator may. */
const MAX_WAITING = 2_000

/** What `--aps` files say of an access point. */
export interface ApEntry {
  readonly building: string
  readonly x: number
  readonly y: number
  readonly http: string
  readonly mac: string
}

export class AccessPointServer {
  readonly #server: Server
  readonly #campus: Campus
  readonly #speed: number
  readonly #byPath = new Map<string, AccessPoint>()
  readonly #random = seeded(11)
  readonly #closing = new AbortController()
  #waiting = 0

  private constructor(campus: Campus, speed: number) {
    this.#campus = campus
    this.#speed = speed
    for (const ap of campus.ground.accessPoints) this.#byPath.set(`/${ap.name}/stations`, ap)
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  /** Resolves when they listen, on loopback; they answer `speed` times as fast as those of the paper. */
  static async listen(campus: Campus, speed = 1): Promise<AccessPointServer> {
    const one = new AccessPointServer(campus, speed)
    await new Promise<void>((resolve, reject) => {
      one.#server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return one
  }

  /** Every access point with its building, where it stands and where it is asked, as in an `--aps` file. */
  get aps(): Record<string, ApEntry> {
    const { port } = this.#server.address() as AddressInfo
    return Object.fromEntries(
      this.#campus.ground.accessPoints.map(({ name, mac, building, x, y }) => [
        name,
        { building: building.name, x, y, http: `http://127.0.0.1:${port}/${name}`, mac },
      ]),
    )
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ap = this.#byPath.get(request.url ?? '')
    if (ap === undefined || this.#waiting >= MAX_WAITING) {
      response.writeHead(ap === undefined ? 404 : 503).end()
      return
    }
    this.#waiting++
    const delayMs = answerDelayMs(this.#campus.stationsOf(ap).length, this.#random) / this.#speed
    await timer(delayMs, undefined, { signal: this.#closing.signal }).catch(() => {})
    this.#waiting--
    if (response.destroyed) return
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(this.#campus.stationsOf(ap)))
  }
}
