// The servers of the locator's page and of the location bar, as browsers and strangers use them.
import { createServer, get, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BarServer } from '../../examples/wifi-locator/bar/bar-server.ts'
import type { Place } from '../../examples/wifi-locator/bar/places.ts'
import type { Location } from '../../examples/wifi-locator/events.ts'
import { PageServer } from '../../examples/wifi-locator/page/page-server.ts'
import type { Status } from '../../examples/wifi-locator/page/status.ts'

const STATUS: Status = {
  clock: 0,
  speed: null,
  source: { lines: 1, unknown: 0 },
  queue: { fill: 0, bound: 100 },
  behindMs: null,
  receipt: { delivered: 0, digested: 0, gaps: 0, published: 0, isExact: true },
  dropped: [],
  packs: [],
  prediction: { moves: 0, predicted: 0, top1: 0, top3: 0 },
}

const LIBRARY: Place = { ip: '10.0.0.1', ap: 'ap-1', building: 'Library <b>', at: 1 }

async function pageOf(): Promise<PageServer> {
  const page = await PageServer.listen({
    aps: new Map([['ap-1', { building: 'Library', x: 1, y: 1 }]]),
    isGenerated: false,
    levels: ['one'],
    status: () => STATUS,
    predict: () => [{ place: 'ap-1', share: 1 }],
  })
  onTestFinished(() => page.close())
  return page
}

function location(change: Partial<Location>): Location {
  return {
    station: '02:00:00:00:00:01',
    ap: 'ap-1',
    building: 'Library',
    ip: '10.0.0.1',
    action: 'joined',
    at: 1,
    ...change,
  }
}

/** Answers, with a Host header of its own if one is given. */
function asked(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => void get(url, { headers }, resolve).on('error', reject))
}

interface Told {
  readonly event: string
  readonly data: { readonly devices: readonly [string, number, ...unknown[]][] }
}

/** The events of the stream, as they come. */
async function* eventsOf(url: string): AsyncGenerator<Told> {
  let rest = ''
  const answer = await asked(`${url}events`)
  for await (const chunk of answer.setEncoding('utf8')) {
    rest += chunk
    const parts = rest.split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const [event, data] = part.split('\n') as [string, string]
      yield { event: event.replace('event: ', ''), data: JSON.parse(data.replace('data: ', '')) }
    }
  }
}

describe('the page server', () => {
  test('sends the whole first, then what changed, and the whole again when the map is another', async () => {
    const page = await pageOf()
    page.seen(location({}))
    const events = eventsOf(page.url)
    const next = async (): Promise<Told> => (await events.next()).value
    const whole = await next()
    expect(whole).toMatchObject({
      event: 'whole',
      data: { isGenerated: false, devices: [['02:00:00:00:00:01', 0, '10.0.0.1', 1]] },
    })
    page.seen(location({ action: 'left', at: 2 }))
    for (;;) {
      const { event, data } = await next()
      expect(event).toBe('changes')
      if (data.devices.some(([, ap]) => ap === -1)) break
    }
    page.seen(location({ ap: 'a-router-at-home', building: null, at: 3 }))
    for (;;) {
      const { event, data } = await next()
      if (event !== 'whole') continue
      expect(data).toMatchObject({ map: { aps: [{ name: 'ap-1' }, { name: 'a-router-at-home' }] } })
      expect(data.devices).toEqual([['02:00:00:00:00:01', 1, '10.0.0.1', 3]])
      break
    }
    await events.return(undefined)
  })

  test('tells the trail of a device and where it may go, and finds devices by parts of their addresses', async () => {
    const page = await pageOf()
    page.seen(location({}))
    const device = await (await fetch(`${page.url}device?station=02:00:00:00:00:01`)).json()
    expect(device).toMatchObject({
      ap: 'ap-1',
      trail: [{ ap: 'ap-1' }],
      next: [{ place: 'ap-1', building: 'Library' }],
    })
    expect((await fetch(`${page.url}device?station=nobody`)).status).toBe(404)
    for (const [query, count] of [
      ['0.0.1', 1],
      ['00:00:01', 1],
      ['', 0],
      ['zz', 0],
    ] as const)
      expect(await (await fetch(`${page.url}find?q=${query}`)).json()).toHaveLength(count)
  })

  test('serves nothing to names that are not its own, nothing but GET, and allows no scripts of others', async () => {
    const page = await pageOf()
    expect((await asked(page.url, { host: 'evil.example' })).statusCode).toBe(403)
    expect((await asked(page.url, { host: 'localhost:1' })).statusCode).toBe(200)
    expect((await asked(page.url, { host: '192.0.2.1' })).statusCode).toBe(200)
    expect((await fetch(page.url, { method: 'POST' })).status).toBe(405)
    expect((await fetch(`${page.url}../main.ts`)).status).toBe(404)
    expect((await fetch(page.url)).headers.get('content-security-policy')).toContain("script-src 'self'")
  })

  test('has room for 32 browsers, and for others when one leaves', async () => {
    const page = await pageOf()
    const open = await Promise.all(Array.from({ length: 32 }, () => asked(`${page.url}events`)))
    expect((await asked(`${page.url}events`)).statusCode).toBe(503)
    open[0]!.destroy()
    await expect
      .poll(async () => {
        const answer = await asked(`${page.url}events`)
        answer.destroy()
        return answer.statusCode
      })
      .toBe(200)
  })

  test('keeps little for a browser that does not read, and sends it the whole when it does', async () => {
    const page = await pageOf()
    const slow = await asked(`${page.url}events`)
    const before = process.memoryUsage().rss
    for (let round = 0; round < 8; round++) {
      // Each round is some megabytes.
      for (let i = 0; i < 10_000; i++) page.seen(location({ station: `${i} ${'x'.repeat(300)}`, at: round }))
      await new Promise((resolve) => setTimeout(resolve, 450))
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1_048_576)
    let got = ''
    slow.setEncoding('utf8').on('data', (chunk) => {
      got += chunk
    })
    await expect.poll(() => got.match(/^event: whole$/gm)?.length, { timeout: 10_000 }).toBe(2)
    slow.destroy()
  }, 30_000)
})

describe('the location bar', () => {
  async function barOf(toThisMachine = true): Promise<BarServer> {
    const bar = await BarServer.listen({
      where: (ip) => (ip === '10.0.0.1' ? LIBRARY : undefined),
      toThisMachine,
      note: 'generated campus',
    })
    onTestFinished(() => bar.close())
    return bar
  }

  /** A web site; answers this. */
  async function site(headers: Record<string, string>, body: string | Buffer, status = 200): Promise<string> {
    const server = createServer((_request, response) => response.writeHead(status, headers).end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`
  }

  /** What a browser gets that has the bar for its proxy. */
  function through(bar: BarServer, url: string, method = 'GET'): Promise<IncomingMessage> {
    const { hostname, port } = new URL(bar.url)
    const headers = { host: new URL(url).host, 'x-forwarded-for': '10.0.0.1' }
    return new Promise((resolve, reject) => {
      request({ hostname, port, path: url, method, headers }, resolve).on('error', reject).end()
    })
  }

  test('tells where an address is, and where the browser is that asks', async () => {
    const bar = await barOf()
    expect(await (await fetch(`${bar.url}/where?ip=10.0.0.1`)).json()).toEqual(LIBRARY)
    const unknown = await fetch(`${bar.url}/where`)
    expect(unknown.status).toBe(404)
    expect(await unknown.json()).toEqual({ ip: '127.0.0.1', building: null, ap: null })
    const html = await text(await asked(`${bar.url}/bar`, { 'x-forwarded-for': '10.0.0.1' }))
    expect(html).toContain('Library &#60;b&#62;')
    expect(html).toContain('generated campus')
    expect((await asked(`${bar.url}/where?ip=10.0.0.1`, { host: 'evil.example' })).statusCode).toBe(403)
  })

  test('puts the bar at the top of pages, and leaves everything else as it is', async () => {
    const bar = await barOf()
    const page = '<!doctype html><html><body class="x"><p>é</p></body></html>'
    const answer = await through(
      bar,
      await site({ 'content-type': 'text/html', 'content-length': String(Buffer.byteLength(page)) }, page),
    )
    const got = await text(answer)
    expect(got).toMatch(/<body class="x"><div role="status".*Library.*<\/div><p>é<\/p>/)
    expect(answer.headers['content-length']).toBeUndefined()
    const packed = gzipSync(page)
    const zipped = await through(
      bar,
      await site({ 'content-type': 'text/html', 'content-encoding': 'gzip' }, packed),
    )
    expect(Buffer.concat(await zipped.toArray()).equals(packed)).toBe(true)
    const json = await through(bar, await site({ 'content-type': 'application/json' }, '{"a":"<body>"}'))
    expect(await text(json)).toBe('{"a":"<body>"}')
    const head = await through(
      bar,
      await site({ 'content-type': 'text/html', 'content-length': '60' }, page),
      'HEAD',
    )
    expect(head.headers['content-length']).toBe('60')
  })

  test('passes a large page on without holding it', async () => {
    const bar = await barOf()
    const page = `<body>${'x'.repeat(20_000_000)}`
    const got = await text(await through(bar, await site({ 'content-type': 'text/html' }, page)))
    expect(got.length).toBeGreaterThan(page.length)
    expect(got.endsWith('xxx')).toBe(true)
  })

  test('does not lead to this machine, by address or by name, and makes no tunnels', async () => {
    const bar = await barOf(false)
    const url = await site({ 'content-type': 'text/html' }, 'secret')
    const { port } = new URL(url)
    for (const host of [
      '127.0.0.1',
      'localhost',
      '127.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
      '2130706433',
    ])
      expect([host, (await through(bar, `http://${host}:${port}/`)).statusCode]).toEqual([host, 403])
    const { hostname, port: own } = new URL(bar.url)
    const socket = connect(Number(own), hostname)
    socket.write('CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 405/)
  })

  test('outlives sites that answer what is no HTTP', async () => {
    const bar = await barOf()
    for (const answer of [
      'HTTP/1.1 099 x\r\n\r\n',
      'SSH-2.0\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n',
      '',
    ]) {
      const server = createTcpServer((socket) => socket.on('error', () => {}).end(answer))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      expect([answer, (await through(bar, `http://127.0.0.1:${port}/`)).statusCode]).toEqual([answer, 502])
      server.close()
    }
    expect((await fetch(`${bar.url}/where?ip=10.0.0.1`)).status).toBe(200)
  })

  test('says so when a page cannot be reached', async () => {
    const bar = await barOf()
    expect((await through(bar, 'http://127.0.0.1:1/')).statusCode).toBe(502)
    expect((await through(bar, 'http://user:secret@127.0.0.1:1/')).statusCode).toBe(400)
  })
})
