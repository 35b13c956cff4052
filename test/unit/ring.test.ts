// What a sender's root keeps for those who pull, and how much they ask of it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Block, positionOf } from '../../buffers/block.ts'
import { type Cursor, type Item, itemBytes, nextAfter } from '../../buffers/item.ts'
import { Receipt } from '../../buffers/receipt.ts'
import { itemsOf, piecesOf } from '../../overlay/poll-answer.ts'
import { PollLoad } from '../../overlay/poll-load.ts'
import { type Found, RING_BYTES, RING_EVENTS, Ring } from '../../overlay/ring.ts'
import { controlLimits } from '../../overlay/wire/limits.ts'
import type { Digest } from '../../policies/digest.ts'
import { noPolicy } from '../../policies/policy.ts'
import { idOf } from './wire-frames.ts'

const schema = { tags: ['v'] }

/** Events of these numbers, a second apart. */
function events(epoch: number, from: number, to: number, bodyBytes = 8): Item {
  const block = new Block(schema, epoch)
  for (let seq = from; seq <= to; seq++) block.append(seq, 1_000 * seq, new Uint8Array(bodyBytes))
  return { kind: 'events', block, picks: undefined, from: 0, to: to - from + 1 }
}

function digest(epoch: number, from: number, to: number): Digest {
  const causes = [{ buffer: 'SPB', level: 'worst-case' as const, count: to - from + 1 }]
  const times = { fromTime: 1_000 * from, toTime: 1_000 * to }
  return { kind: 'digest', policy: noPolicy.hash, epoch, from, to, ...times, causes, states: [] }
}

function marker(epoch: number, highest: number): Item {
  return { kind: 'marker', epoch, highest, end: false }
}

function read(ring: Ring, since?: Cursor, maxBytes = 1e9): Found {
  let found: Found | undefined
  ring.read(since, maxBytes, (told) => {
    found = told
  })
  return found!
}

/** `5/3-7` for events, with d for a digest and m for a marker. */
function shown({ items }: Found): string {
  return items.map(shownItem).join(' ')
}

function shownItem(item: Item): string {
  if (item.kind === 'marker') return `m${item.epoch}/${item.highest}`
  if (item.kind === 'digest') return `d${item.epoch}/${item.from}-${item.to}`
  const seq = (i: number) => item.block.seq(positionOf(item, i))
  return `${item.block.epoch}/${seq(item.from)}-${seq(item.to - 1)}`
}

describe('a ring', () => {
  it('has nothing at first, and begins with the newest event', () => {
    const ring = new Ring()
    expect(read(ring)).toEqual({ first: undefined, items: [], more: false, at: 0 })
    ring.put([events(5, 1, 3), marker(5, 3)], 100)
    expect(read(ring)).toMatchObject({ first: { epoch: 5, seq: 3 }, more: false, at: 100 })
    expect(shown(read(ring))).toBe('5/3-3')
  })

  it('begins behind what it knows of when it has no event', () => {
    const ring = new Ring()
    ring.put([marker(5, 3)], 100)
    expect(read(ring)).toMatchObject({ first: { epoch: 5, seq: 4 }, items: [] })
  })

  it('gives everything from a place on, across epochs, digests and markers', () => {
    const ring = new Ring()
    ring.put([events(5, 1, 3), digest(5, 4, 6), events(5, 7, 8), marker(5, 9)], 100)
    ring.put([events(6, 1, 2)], 200)
    const all = read(ring, { epoch: 5, seq: 2 })
    expect(shown(all)).toBe('5/2-3 d5/4-6 5/7-8 m5/9 6/1-2')
    expect(all).toMatchObject({ more: false, at: 200 })
    expect(shown(read(ring, { epoch: 5, seq: 9 }))).toBe('m5/9 6/1-2')
    expect(shown(read(ring, { epoch: 5, seq: 10 }))).toBe('6/1-2')
    expect(shown(read(ring, { epoch: 6, seq: 3 }))).toBe('')
    expect(shown(read(ring, { epoch: 7, seq: 1 }))).toBe('')
  })

  it('takes nothing twice, and of markers only what is new', () => {
    const ring = new Ring()
    ring.put([events(5, 1, 3), marker(5, 3), marker(5, 3)], 100)
    ring.put([events(5, 2, 4), marker(5, 6), marker(5, 8), marker(5, 7), events(4, 9, 9)], 200)
    expect(shown(read(ring, { epoch: 5, seq: 1 }))).toBe('5/1-3 5/4-4 m5/8')
    ring.put([events(5, 9, 9)], 300)
    expect(shown(read(ring, { epoch: 5, seq: 5 }))).toBe('5/9-9')
  })

  it('says how long ago the last of an answer came, by its own clock', () => {
    const ring = new Ring()
    // The sender's clock is far off; its events are a second apart.
    ring.put([events(5, 1, 10)], 7_000_000)
    const { items, more, at } = read(ring, { epoch: 5, seq: 1 }, 3 * 24)
    expect([items.length, more, at]).toEqual([1, true, 7_000_000 - 7_000])
    expect(read(ring).at).toBe(7_000_000)
  })

  it('gives at least one event or digest, and says that there is more', () => {
    const ring = new Ring()
    ring.put([digest(5, 1, 2), events(5, 3, 4, 5_000)], 1)
    expect(read(ring, { epoch: 5, seq: 1 }, 10)).toMatchObject({ items: [{ kind: 'digest' }], more: true })
    const found = read(ring, { epoch: 5, seq: 3 }, 10)
    expect([shown(found), found.more]).toEqual(['5/3-3', true])
  })

  it('is bounded in events and in bytes, and forgets the oldest', () => {
    const ring = new Ring()
    ring.put([events(5, 1, RING_EVENTS + 500)], 1)
    expect(shown(read(ring, { epoch: 5, seq: 1 }))).toBe(`5/501-${RING_EVENTS + 500}`)
    for (let seq = 2_000; seq < 2_100; seq++) ring.put([events(5, seq, seq, 10_000)], 1)
    expect(ring.bytes).toBeLessThanOrEqual(RING_BYTES)
    expect(ring.events).toBe(Math.floor(RING_BYTES / 10_016))
    ring.settle(50_000)
    expect(ring.events).toBe(4)
    ring.settle(100)
    expect([ring.events, ring.bytes]).toEqual([0, 0])
    expect(read(ring)).toMatchObject({ first: { epoch: 5, seq: 2_100 }, items: [] })
    expect(shown(read(ring, { epoch: 5, seq: 2_000 }))).toBe('m5/2099')
  })

  it('keeps what it has when it settles, in blocks of its own', () => {
    const ring = new Ring()
    const arrived = [events(5, 1, 3), digest(5, 4, 6), events(5, 7, 8), events(5, 9, 9)]
    ring.put(arrived, 1)
    const before = shown(read(ring, { epoch: 5, seq: 2 }))
    const { events: count, bytes } = ring
    ring.settle(RING_BYTES)
    expect([ring.events, ring.bytes]).toEqual([count, bytes])
    const { items } = read(ring, { epoch: 5, seq: 2 })
    expect(before).toBe('5/2-3 d5/4-6 5/7-8 5/9-9')
    expect(items.map(shownItem).join(' ')).toBe('5/2-3 d5/4-6 5/7-9')
    const blocks = (all: readonly Item[]) =>
      all.flatMap((item) => (item.kind === 'events' ? [item.block] : []))
    for (const block of blocks(items)) expect(blocks(arrived)).not.toContain(block)
    ring.put([events(5, 10, 10)], 2)
    ring.settle(3 * 24)
    expect(shown(read(ring, { epoch: 5, seq: 2 }))).toBe('5/8-10')
  })

  it('accounts for everything, whatever was put and whenever it is read', () => {
    const step = fc.record({
      kind: fc.constantFrom('events', 'digest', 'marker', 'lost', 'epoch', 'read', 'settle'),
      count: fc.integer({ min: 1, max: 400 }),
      bytes: fc.nat(400),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ring = new Ring()
        const published = new Map([[1, 0]])
        const receipt = new Receipt({ epoch: 1, seq: 1 })
        let epoch = 1
        let since: Cursor = { epoch: 1, seq: 1 }
        const pull = () => {
          for (let more = true; more; ) {
            const found = read(ring, since, 2_000)
            for (const item of found.items) {
              since = nextAfter(item) ?? {
                epoch: epochIn(item),
                seq: (item as { highest: number }).highest + 1,
              }
              count(receipt, item)
            }
            more = found.more
          }
        }
        for (const { kind, count, bytes } of steps) {
          const last = published.get(epoch)!
          if (kind === 'epoch') published.set(++epoch, 0)
          else if (kind === 'read') pull()
          else if (kind === 'settle') ring.settle(100 * bytes)
          else if (kind === 'marker') ring.put([marker(epoch, last)], 1)
          else {
            published.set(epoch, last + count)
            if (kind === 'events') ring.put([events(epoch, last + 1, last + count, bytes)], 1)
            if (kind === 'digest') ring.put([digest(epoch, last + 1, last + count)], 1)
          }
          expect(ring.events).toBeLessThanOrEqual(RING_EVENTS)
          expect(ring.bytes).toBeLessThanOrEqual(RING_BYTES)
        }
        ring.put([marker(epoch, published.get(epoch)!)], 1)
        pull()
        expect(receipt.late).toBe(0)
        const { epoch: open, seq } = receipt.cursor!
        expect([open, seq - 1]).toEqual([epoch, published.get(epoch)])
        for (const { first, last, delivered, digested, gaps } of receipt.epochs)
          expect(delivered + digested + gaps).toBe(last - first + 1)
      }),
      { numRuns: 200 },
    )
  })

  function epochIn(item: Item): number {
    return item.kind === 'events' ? item.block.epoch : item.epoch
  }

  function count(receipt: Receipt, item: Item): void {
    if (item.kind === 'marker') receipt.marker(item)
    else if (item.kind === 'digest') expect(receipt.digest(item)).toBe(item)
    else
      for (let i = item.from; i < item.to; i++)
        expect(receipt.event(item.block.epoch, item.block.seq(positionOf(item, i)))).toBe(true)
  }
})

describe('the items of an answer', () => {
  const sid = idOf(0xa1)

  it.each([
    ['nothing', []],
    ['an event', [events(5, 1, 1)]],
    ['all kinds', [events(5, 1, 3), digest(5, 4, 6), marker(5, 9)]],
    ['the largest event', [events(5, 1, 1, 65_536)]],
  ])('arrive as they were: %s', (_, items) => {
    const pieces = piecesOf(sid, items, 100)
    expect(pieces.length).toBeLessThanOrEqual(controlLimits.pieces)
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(controlLimits.piece)
    const arrived = itemsOf(sid, pieces)
    expect(arrived.map(shownItem)).toEqual(items.map(shownItem))
    expect(arrived.map(itemBytes)).toEqual(items.map(itemBytes))
  })

  it('are refused when a piece is missing, or when they are those of another sender', () => {
    const pieces = piecesOf(sid, [events(5, 1, 1, 20_000)], 100)
    expect(() => itemsOf(sid, pieces.slice(1))).toThrow('the frame')
    expect(() => itemsOf(sid, pieces.slice(0, -1))).toThrow('the frame')
    expect(() => itemsOf(idOf(0xb2), pieces)).toThrow('is no answer to what was asked')
  })
})

describe('the load of polls', () => {
  const HOUR_MS = 3_600_000

  it('is a queue that a crowd makes longer, and that empties with time', () => {
    const load = new PollLoad(1_024_000, 0)
    for (let i = 0; i < 1_000; i++) load.answered(0, 0)
    expect(load.queueMs(0)).toBeCloseTo(500)
    expect(load.queueMs(300)).toBeCloseTo(200)
    expect(load.queueMs(600)).toBe(0)
  })

  it('asks a crowd to spread over twice its queue, remembers that for the next time, and forgets it by and by', () => {
    const load = new PollLoad(1_024_000, 0)
    for (let i = 0; i < 1_000; i++) load.answered(0, 0)
    expect(load.spreadMs(0)).toBeCloseTo(1_000)
    expect(load.spreadMs(HOUR_MS)).toBeCloseTo(500)
    load.answered(0, HOUR_MS)
    expect(load.spreadMs(HOUR_MS)).toBeCloseTo(500)
    expect(load.spreadMs(11 * HOUR_MS)).toBeLessThan(1)
  })
})
