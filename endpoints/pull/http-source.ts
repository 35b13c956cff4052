// A feed behind HTTP as a source: conditional requests, Retry-After, how long an answer may be kept.
import { SpillwayError } from '../../policies/error.ts'
import { type Feed, type FeedItem, readFeed } from './feed.ts'
import type { Answer, Overloaded, Source } from './source.ts'

/** What a client keeps between polls. Plain data: it can be saved, and handed to `pull` as `since`. */
export interface HttpCursor {
  readonly etag?: string
  readonly lastModified?: string
  /** What the last document said of itself; it also holds while that is not modified. */
  readonly ttlMs: number
  /** The items of the last document, by their ids. */
  readonly seen: readonly string[]
}

export interface HttpSourceOptions {
  /** Headers of every request: authorisation, say. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A document may be so large; feeds are some kilobytes. */
const DOCUMENT_LIMIT_BYTES = 4 * 1024 * 1024
const ACCEPT =
  'application/feed+json, application/json, application/atom+xml, application/rss+xml, text/xml;q=0.9'

/** A JSON, RSS or Atom feed, by its address. */
export function httpSource(
  url: string | URL,
  { headers = {} }: HttpSourceOptions = {},
): Source<FeedItem, HttpCursor> {
  return {
    async poll(since, signal) {
      const response = await fetch(url, {
        headers: { accept: ACCEPT, ...headers, ...conditionsOf(since) },
        signal,
      })
      const refused = overloadOf(response)
      // What is not read would hold its connection.
      if (refused !== undefined || !response.ok) await response.body?.cancel()
      if (refused !== undefined) return refused
      if (response.status === 304) return answerOf(response, { items: [], ttlMs: since?.ttlMs ?? 0 }, since)
      if (!response.ok)
        throw new SpillwayError('UNREACHABLE', `${url} answered ${response.status} ${response.statusText}`)
      return answerOf(response, readFeed(await textOf(response)), since)
    },
  }
}

function conditionsOf(since: HttpCursor | undefined): Record<string, string> {
  return {
    ...(since?.etag === undefined ? {} : { 'if-none-match': since.etag }),
    ...(since?.lastModified === undefined ? {} : { 'if-modified-since': since.lastModified }),
  }
}

/** 429 and 503 say "not now"; `Retry-After` how long. */
function overloadOf(response: Response): Overloaded | undefined {
  if (response.status !== 429 && response.status !== 503) return undefined
  const text = response.headers.get('retry-after')?.trim() ?? ''
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - serverTime(response)
  return { kind: 'overloaded', ...(ms > 0 ? { retryAfterMs: ms } : {}) }
}

function answerOf(
  response: Response,
  { items: all, ttlMs }: Feed,
  since: HttpCursor | undefined,
): Answer<FeedItem, HttpCursor> {
  const known = new Set(since?.seen)
  const items = all.filter(({ id }) => !known.has(id))
  const times = items.map(({ publishedAt }) => publishedAt).filter((at) => at !== undefined)
  const isTimed = items.length > 0 && times.length === items.length
  const phaseAdjustmentMs = serverTime(response) - (times.at(-1) ?? Number.NaN)
  return {
    kind: 'answer',
    items,
    next: cursorOf(response, response.status === 304 ? since : undefined, { items: all, ttlMs }),
    ...(isTimed ? { publishedAt: times, phaseAdjustmentMs: Math.max(0, phaseAdjustmentMs) } : {}),
    notBeforeMs: Math.max(ttlMs, maxAgeMs(response)),
  }
}

function cursorOf({ headers }: Response, before: HttpCursor | undefined, { items, ttlMs }: Feed): HttpCursor {
  const etag = headers.get('etag') ?? before?.etag
  const lastModified = headers.get('last-modified') ?? before?.lastModified
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
    ttlMs,
    seen: before?.seen ?? items.map(({ id }) => id),
  }
}

/** By the server's clock, so that ours need not agree; a server without one is taken to agree. */
function serverTime({ headers }: Response): number {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isFinite(date) ? date : Date.now()
}

/** How long a cache may keep the answer: until then it would only be the same. */
function maxAgeMs({ headers }: Response): number {
  const control = headers.get('cache-control') ?? ''
  const [, seconds] = /(?:^|[,\s])max-age=(\d+)/i.exec(control) ?? []
  if (seconds === undefined || /no-cache|no-store/i.test(control)) return 0
  return Math.max(0, Number(seconds) - Number(headers.get('age') ?? 0)) * 1000
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > DOCUMENT_LIMIT_BYTES)
      throw new SpillwayError('FRAME_INVALID', `a feed of more than ${DOCUMENT_LIMIT_BYTES} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
