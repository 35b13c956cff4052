// Reads feeds: JSON (a list, or an object with `items` as in JSON Feed), RSS 0.9x, 1.0 and 2.0, and Atom.
import { createHash } from 'node:crypto'
import { XMLParser } from 'fast-xml-parser'
import { SpillwayError } from '../../policies/error.ts'

/** An item of a feed. */
export interface FeedItem {
  /** The feed's own, or a hash of the content where it gives none. */
  readonly id: string
  /** Milliseconds; undefined where the feed does not say. */
  readonly publishedAt: number | undefined
  /** The item as it stands in the feed: JSON as it is, XML as fast-xml-parser reads it, attributes with `@`. */
  readonly content: unknown
}

export interface Feed {
  /** Oldest first. */
  readonly items: readonly FeedItem[]
  /** How long the feed may be kept, as it says itself. */
  readonly ttlMs: number
}

/** Feeds need no entities but the usual five, of those many. */
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  processEntities: {
    enabled: true,
    maxEntityCount: 10,
    maxTotalExpansions: 100_000,
    maxExpandedLength: 4_194_304,
  },
})

/** Reads a document; throws FRAME_INVALID for what is neither. */
export function readFeed(text: string): Feed {
  const start = text.trimStart()[0]
  try {
    if (start === '<') return readXml(parser.parse(text))
    return readJson(JSON.parse(text))
  } catch (cause) {
    if (cause instanceof SpillwayError) throw cause
    throw new SpillwayError('FRAME_INVALID', `expected JSON, RSS or Atom: ${(cause as Error).message}`, {
      cause,
    })
  }
}

type Tree = Readonly<Record<string, unknown>>

function readJson(document: unknown): Feed {
  if (Array.isArray(document)) return feedOf(document.map(jsonItem), 0, false)
  const items = isTree(document) ? document.items : undefined
  if (!Array.isArray(items))
    throw new SpillwayError('FRAME_INVALID', 'expected a JSON list, or an object with a list of items')
  return feedOf(items.map(jsonItem), 0, true)
}

function jsonItem(content: unknown): FeedItem {
  const item = isTree(content) ? content : {}
  const id = item.id ?? item.guid ?? item.url
  const time = item.date_published ?? item.publishedAt ?? item.published ?? item.time ?? item.date
  return itemOf(id, time, content)
}

function readXml(document: Tree): Feed {
  const rss = childOf(document, 'rss')
  const rdf = childOf(document, 'rdf:RDF')
  const channel = rss === undefined ? rdf : childOf(rss, 'channel')
  if (channel !== undefined) {
    const ttlMinutes = Number(textOf(channel.ttl))
    const items = listOf(channel.item).map((item) => {
      const id = textOf(item.guid) ?? textOf(item.link) ?? item['@rdf:about']
      return itemOf(id, textOf(item.pubDate) ?? textOf(item['dc:date']), item)
    })
    return feedOf(items, ttlMinutes > 0 ? ttlMinutes * 60_000 : 0, true)
  }
  const atom = childOf(document, 'feed')
  if (atom === undefined) throw new SpillwayError('FRAME_INVALID', 'expected <rss>, <rdf:RDF> or <feed>')
  const entries = listOf(atom.entry).map((entry) =>
    itemOf(textOf(entry.id), textOf(entry.published) ?? textOf(entry.updated), entry),
  )
  return feedOf(entries, 0, true)
}

/** Oldest first by time where all have one; otherwise the other way round if the newest stands first, as in feeds. */
function feedOf(items: readonly FeedItem[], ttlMs: number, isNewestFirst: boolean): Feed {
  const inOrder = isNewestFirst ? items.toReversed() : [...items]
  if (items.every(({ publishedAt }) => publishedAt !== undefined))
    inOrder.sort((a, b) => a.publishedAt! - b.publishedAt!)
  return { items: inOrder, ttlMs }
}

function itemOf(id: unknown, time: unknown, content: unknown): FeedItem {
  const publishedAt = typeof time === 'number' ? time : Date.parse(String(time ?? ''))
  const isNamed = (typeof id === 'string' && id !== '') || typeof id === 'number'
  return {
    id: isNamed ? String(id) : createHash('sha256').update(JSON.stringify(content)).digest('hex'),
    publishedAt: Number.isFinite(publishedAt) ? publishedAt : undefined,
    content,
  }
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function childOf(tree: Tree, name: string): Tree | undefined {
  const child = tree[name]
  return isTree(child) ? child : child === '' ? {} : undefined
}

/** An element that may come once or several times. */
function listOf(value: unknown): Tree[] {
  return (Array.isArray(value) ? value : [value]).filter(isTree)
}

/** The text of an element, with or without attributes. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim()
  return isTree(value) && typeof value['#text'] === 'string' ? value['#text'].trim() : undefined
}
