// The HTTP source against a real server: conditional requests, Retry-After, TTL, limits.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { FeedItem } from '../../endpoints/pull/feed.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import type { HttpCursor } from '../../endpoints/pull/http-source.ts'
import { httpSource } from '../../endpoints/pull/http-source.ts'
import { pull } from '../../endpoints/pull/pull.ts'
import type { Answer } from '../../endpoints/pull/source.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** Serves with this handler, and gives the address. */
async function served(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed`
}

const never = new AbortController().signal
type FeedAnswer = Answer<FeedItem, HttpCursor>

function rss(...days: number[]): string {
  const items = days.map(
    (day) =>
      `<item><guid>${day}</guid><pubDate>${new Date(Date.UTC(2024, 0, day)).toUTCString()}</pubDate></item>`,
  )
  return `<rss version="2.0"><channel><ttl>2</ttl>${items.join('')}</channel></rss>`
}

describe('an HTTP source', () => {
  test('gives only what is new, and asks whether anything changed', async () => {
    const days = [1]
    const conditions: (string | undefined)[] = []
    const url = await served((request, response) => {
      const etag = `"${days.length}"`
      conditions.push(request.headers['if-none-match'])
      const isSame = request.headers['if-none-match'] === etag
      response.writeHead(isSame ? 304 : 200, { etag, date: new Date(Date.UTC(2024, 0, 5)).toUTCString() })
      response.end(isSame ? undefined : rss(...days.toReversed()))
    })
    const source = httpSource(url)
    const first = (await source.poll(undefined, never)) as FeedAnswer
    expect(first.items.map(({ id }) => id)).toEqual(['1'])
    expect(first.phaseAdjustmentMs).toBe(4 * 86_400_000)
    expect(first.notBeforeMs).toBe(120_000)
    const second = (await source.poll(first.next, never)) as FeedAnswer
    expect(second).toMatchObject({ items: [], notBeforeMs: 120_000 })
    days.push(2, 3)
    const third = (await source.poll(second.next, never)) as FeedAnswer
    expect(third.items.map(({ id }) => id)).toEqual(['2', '3'])
    expect(third.publishedAt).toEqual([Date.UTC(2024, 0, 2), Date.UTC(2024, 0, 3)])
    expect(conditions).toEqual([undefined, '"1"', '"1"'])
  })

  test('sends If-Modified-Since where there is no ETag', async () => {
    const modified = new Date(Date.UTC(2024, 0, 1)).toUTCString()
    const asked: unknown[] = []
    const url = await served((request, response) => {
      asked.push(request.headers['if-modified-since'])
      response.writeHead(200, { 'last-modified': modified, 'cache-control': 'public, max-age=90', age: '30' })
      response.end('[{"id":1,"time":1704067200000}]')
    })
    const source = httpSource(url, { headers: { authorization: 'Bearer x' } })
    const first = (await source.poll(undefined, never)) as FeedAnswer
    expect(first.notBeforeMs).toBe(60_000)
    await source.poll(first.next, never)
    expect(asked).toEqual([undefined, modified])
  })

  test.each([
    [429, '7', 7_000],
    [503, new Date(Date.UTC(2024, 0, 1, 0, 1)).toUTCString(), 60_000],
    [503, undefined, undefined],
  ])('an answer of %i with Retry-After %s is a wish to come later', async (status, after, retryAfterMs) => {
    const url = await served((_, response) => {
      const date = new Date(Date.UTC(2024, 0, 1)).toUTCString()
      response.writeHead(status, { date, ...(after === undefined ? {} : { 'retry-after': after }) }).end()
    })
    const answer = await httpSource(url).poll(undefined, never)
    expect(answer).toEqual({ kind: 'overloaded', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })
  })

  test.each([
    ['an error', 404, '', 'UNREACHABLE'],
    ['no feed', 200, '<html></html>', 'FRAME_INVALID'],
    ['too much', 200, `[${'"x",'.repeat(1_100_000)}"x"]`, 'FRAME_INVALID'],
  ])('%s is refused with a code', async (_, status, body, code) => {
    const url = await served((__, response) => {
      response.writeHead(status).end(body)
    })
    await expect(httpSource(url).poll(undefined, never)).rejects.toMatchObject({ code })
  })

  test('holds no connection for an answer that it does not read', async () => {
    const sockets = new Set<Socket>()
    const url = await served((request, response) => {
      sockets.add(request.socket)
      response.writeHead(sockets.size % 2 === 0 ? 503 : 404).end('x'.repeat(1_000_000))
    })
    for (let i = 0; i < 6; i++)
      await httpSource(url)
        .poll(undefined, never)
        .catch(() => {})
    const held = () => [...sockets].filter(({ destroyed }) => !destroyed).length
    await expect.poll(held, { timeout: 5_000 }).toBeLessThanOrEqual(1)
  })

  test('pulls through errors and silence', async () => {
    let polls = 0
    const url = await served((_, response) => {
      polls++
      if (polls === 1) response.writeHead(500).end()
      else if (polls === 2)
        return // Never answers.
      else response.writeHead(200).end(`[{"id":${polls}}]`)
    })
    const reasons: string[] = []
    const items = pull(httpSource(url), {
      schedule: new FixedInterval(20, 0, Math.random),
      timeoutMs: 200,
      missed: ({ error }) => reasons.push(String((error as Error).message)),
    })
    const ids: string[] = []
    for await (const { id } of items) if (ids.push(id) === 3) break
    expect(ids).toEqual(['3', '4', '5'])
    expect(reasons).toEqual([expect.stringContaining('500'), 'no answer within 200 ms'])
    expect(items.counts.troubles).toBe(2)
  })
})
