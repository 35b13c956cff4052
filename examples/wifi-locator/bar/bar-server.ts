// The location service for browsers, over HTTP: `/where` and `/bar` for pages that ask, and a forward proxy that puts the
// bar at the top of every page (PACK section 7). Plain HTTP only: nobody can write into an encrypted page.
import { lookup } from 'node:dns'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, BlockList, isIP, type LookupFunction } from 'node:net'
import { pipeline } from 'node:stream'
import { isLoopbackHost } from '../page/host.ts'
import { barOf, takesBar } from './bar.ts'
import { BarInsertion } from './bar-insertion.ts'
import { type Place, plain } from './places.ts'

export interface BarOptions {
  readonly host?: string
  readonly port?: number
  where(ip: string): Place | undefined
  /** Stands in the bar: that the campus is generated. */
  readonly note?: string
  /** Whether pages on this machine itself may be asked for; not unless told, because the proxy may serve others. */
  readonly toThisMachine?: boolean
}

const MAX_REQUESTS = 128
const UPSTREAM_TIMEOUT_MS = 30_000
/** A browser that takes so long to send its request, or stops in the middle, is cut off. */
const REQUEST_TIMEOUT_MS = 60_000
const MAX_URL = 8_192

/** What belongs to one connection and is not passed on. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** This machine, and what only it can reach. */
const ownAddresses = new BlockList()
ownAddresses.addSubnet('127.0.0.0', 8)
ownAddresses.addSubnet('0.0.0.0', 8)
ownAddresses.addSubnet('169.254.0.0', 16)
ownAddresses.addAddress('::1', 'ipv6')
ownAddresses.addAddress('::', 'ipv6')
ownAddresses.addSubnet('fe80::', 10, 'ipv6')

export class BarServer {
  readonly #server: Server
  readonly #options: BarOptions
  #requests = 0

  private constructor(options: BarOptions) {
    this.#options = options
    this.#server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
      this.#count(request, response)
    })
    this.#server.maxConnections = 4 * MAX_REQUESTS
    this.#server.on('connect', (_request, socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    })
    this.#server.on('clientError', (_error, socket) => socket.destroy())
  }

  /** Resolves when it listens, on loopback unless told. */
  static async listen(options: BarOptions): Promise<BarServer> {
    const one = new BarServer(options)
    await new Promise<void>((resolve, reject) => {
      one.#server.once('error', reject).listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve)
    })
    return one
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return `http://${isIP(address) === 6 ? `[${address}]` : address}:${port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #count(request: IncomingMessage, response: ServerResponse): void {
    request.on('error', () => {})
    if (this.#requests >= MAX_REQUESTS || (request.url ?? '').length > MAX_URL) {
      reply(response, this.#requests >= MAX_REQUESTS ? 503 : 414, 'text/plain', 'too much\n')
      return
    }
    this.#requests++
    response.once('close', () => this.#requests--)
    const { url = '/' } = request
    if (/^http:\/\//i.test(url)) this.#forward(request, response, url)
    else this.#serve(request, response, url)
  }

  #serve(request: IncomingMessage, response: ServerResponse, path: string): void {
    if (!isLoopbackHost(request.headers.host)) {
      // A page elsewhere that lets its name point here may not read where people are.
      if (isIP(hostnameOf(request.headers.host)) === 0) {
        reply(response, 403, 'text/plain', 'not by this name\n')
        return
      }
    }
    const url = URL.parse(path, 'http://here')
    const asked = url?.searchParams.get('ip') ?? browserOf(request)
    if (url?.pathname === '/where') {
      const place = this.#options.where(asked)
      const known = place === undefined ? { ip: plain(asked), building: null, ap: null } : place
      reply(response, place === undefined ? 404 : 200, 'application/json', `${JSON.stringify(known)}\n`)
    } else if (url?.pathname === '/bar') {
      reply(response, 200, 'text/html; charset=utf-8', `<!doctype html>${this.#bar(asked)}`)
    } else
      reply(response, 404, 'text/plain', 'ask /where?ip=ADDRESS or /bar, or use this as the HTTP proxy\n')
  }

  #forward(request: IncomingMessage, response: ServerResponse, target: string): void {
    const url = URL.parse(target)
    if (url === null || url.username !== '' || url.password !== '') {
      reply(response, 400, 'text/plain', 'no address\n')
      return
    }
    const hostname = url.hostname.replace(/^\[|\]$/g, '')
    if (this.#isForbidden(hostname)) {
      this.#refuse(response)
      return
    }
    const upstream = httpRequest(
      {
        host: hostname,
        port: url.port || 80,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: { ...passedOn(request.headers), host: url.host, 'accept-encoding': 'identity' },
        timeout: UPSTREAM_TIMEOUT_MS,
        lookup: this.#lookup,
      },
      (answer) => {
        // Whatever the other side has answered, it may be nothing that Node would write.
        try {
          this.#pass(request, answer, response)
        } catch (error) {
          upstream.destroy(error as Error)
        }
      },
    )
    upstream.on('timeout', () => upstream.destroy(new Error('it did not answer in time')))
    upstream.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'FORBIDDEN') this.#refuse(response)
      else if (response.headersSent) response.destroy()
      else reply(response, 502, 'text/plain', 'the page cannot be reached\n')
    })
    response.once('close', () => upstream.destroy())
    request.pipe(upstream)
  }

  #pass(request: IncomingMessage, answer: IncomingMessage, response: ServerResponse): void {
    const { statusCode = 502 } = answer
    const headers = passedOn(answer.headers)
    const isPage = takesBar(request.method, statusCode, answer.headers)
    // It is longer than it was, and another page for another browser.
    if (isPage) {
      for (const name of ['content-length', 'content-md5', 'digest', 'etag', 'accept-ranges'])
        delete headers[name]
      headers['cache-control'] = 'private, no-store'
    }
    response.writeHead(statusCode, headers)
    const done = (error: Error | null | undefined) => error && response.destroy()
    if (!isPage) pipeline(answer, response, done)
    else pipeline(answer, new BarInsertion(this.#bar(browserOf(request))), response, done)
  }

  #bar(ip: string): string {
    return barOf(this.#options.where(ip), this.#options.note)
  }

  #refuse(response: ServerResponse): void {
    reply(response, 403, 'text/plain', 'this proxy does not lead to its own machine\n')
  }

  #isForbidden(address: string): boolean {
    const family = isIP(plain(address))
    if (this.#options.toThisMachine === true || family === 0) return false
    return ownAddresses.check(plain(address), family === 6 ? 'ipv6' : 'ipv4')
  }

  /** Whatever a name turns out to be is looked at, too. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = (addresses ?? []).filter(({ address }) => !this.#isForbidden(address))
      const forbidden = Object.assign(new Error('forbidden'), { code: 'FORBIDDEN' })
      if (error !== null || allowed.length === 0) callback(error ?? forbidden, [])
      else if (options.all === true) callback(null, allowed)
      else callback(null, allowed[0]!.address, allowed[0]!.family)
    })
  }
}

/** Whose browser it is. A proxy on this machine may stand before this one, and is believed. */
function browserOf({ socket, headers }: IncomingMessage): string {
  const peer = plain(socket.remoteAddress ?? '')
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().at(-1)?.split(',').at(-1)?.trim()
  return isLoopbackHost(peer) && forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : peer
}

function hostnameOf(host: string | undefined): string {
  return URL.parse(`http://${host ?? ''}`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
}

/** Headers without those that are only between two machines, and those that such a header names. */
function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const entries = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !HOP_BY_HOP.includes(name) && !named.includes(name),
  )
  return Object.fromEntries(entries) as Record<string, string | string[]>
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status >= 400 ? { connection: 'close' } : {}),
  })
  response.end(body)
}
