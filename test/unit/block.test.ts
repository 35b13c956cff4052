import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BLOCK_BYTES,
  BLOCK_EVENTS,
  Block,
  BlockWriter,
  costOf,
  EVENT_OVERHEAD_BYTES,
  endWithin,
  type Run,
} from '../../buffers/block.ts'
import { BodyWriter } from '../../buffers/codec.ts'
import { DecodedBlocks, QueuedEvents } from '../../buffers/queued-events.ts'
import { EVENT_BYTES, Stream, schema, seqsOf } from './buffers.ts'

const bodies = new BodyWriter()

function bodyOf(v: number, textBytes = 0): Uint8Array {
  return bodies.encode(schema, { v, text: 'x'.repeat(textBytes) })
}

/** Some positions of a block, by picks. */
function picked(block: Block, ...picks: number[]): Run {
  return { kind: 'events', block, picks: Uint32Array.from(picks), from: 0, to: picks.length }
}

describe('Block', () => {
  it('keeps numbers, times and bodies while it grows', () => {
    const block = new Block(schema, 7)
    for (let i = 0; i < 1_000; i++) block.append(i * 2 + 1, i * 10, bodyOf(i, i % 50))
    expect(block.length).toBe(1_000)
    for (const i of [0, 1, 499, 999]) {
      expect([block.seq(i), block.time(i)]).toEqual([i * 2 + 1, i * 10])
      expect(block.attributes(i)).toEqual({ v: i, text: 'x'.repeat(i % 50) })
      expect(block.body(i)).toEqual(bodyOf(i, i % 50))
    }
  })

  it('costs its bodies and an overhead for each event', () => {
    const block = new Block(schema, 1)
    for (const textBytes of [0, 10, 20]) block.append(block.length + 1, 0, bodyOf(1, textBytes))
    expect(block.cost(0, 1)).toBe(EVENT_BYTES)
    expect(block.cost(1, 3)).toBe(2 * EVENT_BYTES + 30)
    expect(block.cost(2, 2)).toBe(0)
    expect(block.bytes).toBe(block.cost(0, 3) - 3 * EVENT_OVERHEAD_BYTES)
  })

  it('copies a part of another block', () => {
    const source = new Block(schema, 1)
    for (let i = 1; i <= 9; i++) source.append(i, i * 10, bodyOf(i, i))
    const copy = new Block(schema, 1)
    copy.append(1, 10, source.body(0))
    copy.appendFrom(source, 4, 8)
    expect(copy.length).toBe(5)
    expect([1, 2, 3, 4].map((i) => [copy.seq(i), copy.time(i), copy.attributes(i)])).toEqual(
      [5, 6, 7, 8].map((i) => [i, i * 10, source.attributes(i - 1)]),
    )
    expect(copy.cost(1, 5)).toBe(source.cost(4, 8))
  })
})

describe('a malformed body in a block', () => {
  it('has missing values in every column, and leaves the others as they are', () => {
    const block = new Block(schema, 1)
    block.append(1, 0, bodyOf(1))
    // A number, and then a text that ends too early.
    block.append(2, 0, Uint8Array.from([4, 2, 5, 9]))
    block.append(3, 0, bodyOf(3))
    expect(block.columns(['text', 'v'])).toEqual([
      ['', undefined, ''],
      [1, undefined, 3],
    ])
    expect(() => block.attributes(1)).toThrow(RangeError)
  })
})

describe('BlockWriter', () => {
  it('puts events behind one another until a block is full', () => {
    const writer = new BlockWriter()
    const runs = Array.from({ length: 1_000 }, (_, i) => writer.write(schema, 1, i + 1, 0, bodyOf(1, 100)))
    const blocks = new Set(runs.map(({ block }) => block))
    expect(runs.flatMap(seqsOf)).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 1))
    expect(blocks.size).toBe(Math.ceil(1_000 / Math.floor(BLOCK_BYTES / bodyOf(1, 100).length)))
    for (const block of blocks) expect(block.bytes).toBeLessThanOrEqual(BLOCK_BYTES)
  })

  it('begins a new block for another epoch and another schema', () => {
    const writer = new BlockWriter()
    const first = writer.write(schema, 1, 1, 0, bodyOf(1))
    expect(writer.write(schema, 1, 2, 0, bodyOf(1)).block).toBe(first.block)
    const restarted = writer.write(schema, 2, 1, 0, bodyOf(1))
    expect(restarted.block).not.toBe(first.block)
    expect(writer.write({ tags: ['v', 'text'] }, 2, 2, 0, bodyOf(1)).block).not.toBe(restarted.block)
  })

  it('begins a new block after many events, also when these have no bytes', () => {
    const writer = new BlockWriter()
    const empty = { tags: [] }
    const runs = Array.from({ length: 10_000 }, (_, i) => writer.write(empty, 1, i + 1, 0, new Uint8Array(0)))
    for (const { block } of runs) expect(block.length).toBeLessThanOrEqual(BLOCK_EVENTS)
    expect(runs.flatMap(seqsOf)).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 1))
  })

  it('copies a run with picks into one without', () => {
    const source = new Stream().publish(9)
    const copy = new BlockWriter().copy(picked(source.block, 1, 4, 8))
    expect(copy.picks).toBeUndefined()
    expect(seqsOf(copy)).toEqual([2, 5, 9])
    expect(copy.block).not.toBe(source.block)
    expect(copy.block.attributes(1)).toEqual(source.block.attributes(4))
  })
})

describe('endWithin', () => {
  const run = new Stream().publish(10)
  const sparse = picked(run.block, 0, 3, 5, 9)

  it.each([run, sparse])('is the whole run when events and bytes are enough', (one) => {
    expect(endWithin(one, 10, costOf(one))).toBe(one.to)
  })

  it.each([run, sparse])('stops at the last event that fits', (one) => {
    expect(endWithin(one, 2, 10_000)).toBe(one.from + 2)
    expect(endWithin(one, 10, 2 * EVENT_BYTES)).toBe(one.from + 2)
    expect(endWithin(one, 10, 2 * EVENT_BYTES - 1)).toBe(one.from + 1)
  })

  it.each([run, sparse])('is the beginning when nothing fits', (one) => {
    for (const [events, bytes] of [
      [0, 10_000],
      [-3, 10_000],
      [10, EVENT_BYTES - 1],
      [10, -1],
    ] as const)
      expect(endWithin(one, events, bytes)).toBe(one.from)
  })
})

describe('QueuedEvents', () => {
  it('reads the columns, numbers and times of runs as one list', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 9 })), (choices) => {
        const stream = new Stream()
        const runs: Run[] = []
        const expected: number[] = []
        for (const choice of choices) {
          stream.time += 10
          const { block, from } = stream.publish(choice.length)
          const picks = choice.flatMap((isPicked, i) => (isPicked ? [from + i] : []))
          if (picks.length > 0) runs.push(picked(block, ...picks))
          expected.push(...picks.map((position) => block.seq(position)))
        }
        const events = new QueuedEvents(runs, new DecodedBlocks())
        const [text, missing, v] = events.columns(['text', 'missing', 'v'])
        expect(events.length).toBe(expected.length)
        expect(v).toEqual(expected.map((seq) => seq % 64))
        expect(text).toEqual(expected.map(() => ''))
        expect(missing).toEqual(expected.map(() => undefined))
        expect(expected.map((_, i) => events.seq(i))).toEqual(expected)
        const all = Uint32Array.from(expected, (_, i) => i)
        expect(events.cost(all)).toBe(expected.length * EVENT_BYTES)
      }),
    )
  })

  it('decodes a block once for all that look at it', () => {
    const { block, ...rest } = new Stream().publish(9)
    let decodes = 0
    const columns = block.columns.bind(block)
    block.columns = (tags) => {
      decodes++
      return columns(tags)
    }
    const decoded = new DecodedBlocks()
    for (let i = 0; i < 5; i++) new QueuedEvents([{ block, ...rest }], decoded).columns(['v'])
    expect(decodes).toBe(1)
    new QueuedEvents([{ block, ...rest }], decoded).columns(['v', 'text'])
    expect(decodes).toBe(2)
  })

  it('leaves what is kept in its block when it is at least half of it', () => {
    const run = new Stream().publish(10)
    const events = new QueuedEvents([run], new DecodedBlocks())
    const [half] = events.runsOf(Uint32Array.from([0, 2, 4, 6, 8]))
    expect(half!.block).toBe(run.block)
    expect(seqsOf(half!)).toEqual([1, 3, 5, 7, 9])
    const [contiguous] = events.runsOf(Uint32Array.from([5, 6, 7, 8, 9]))
    expect(contiguous!.block).toBe(run.block)
    expect(contiguous!.picks).toBeUndefined()
  })

  it('copies what is kept out of its block when it is less than half of it', () => {
    const stream = new Stream()
    const runs = [stream.publish(10), stream.restart().publish(10)]
    const events = new QueuedEvents(runs, new DecodedBlocks())
    const kept = events.runsOf(Uint32Array.from([0, 9, 10, 19]))
    expect(kept.map(seqsOf)).toEqual([
      [1, 10],
      [1, 10],
    ])
    for (const { block } of kept) {
      expect(runs.some((run) => run.block === block)).toBe(false)
      expect(block.cost(0, block.length)).toBe(2 * EVENT_BYTES)
    }
  })

  /** Frames of which this sender has one event in ten, as a node gets them when many senders share a link. */
  function runsInFrames(frames: number): Run[] {
    const own = new Stream()
    return Array.from({ length: frames }, () => {
      const body = own.publish().block.body(own.seq - 1)
      const frame = new Uint8Array(10 * (body.length + EVENT_OVERHEAD_BYTES))
      frame.set(body, 50)
      const bytes = frame.subarray(50, 50 + body.length)
      const offsets = Uint32Array.of(0, body.length)
      const block = Block.of(schema, 1, bytes, offsets, Float64Array.of(own.seq), Float64Array.of(0))
      return { kind: 'events', block, picks: undefined, from: 0, to: 1 }
    })
  }

  it('copies what is kept out of a frame of which it is a small part, be it all of its block', () => {
    const runs = runsInFrames(3)
    const kept = new QueuedEvents(runs, new DecodedBlocks()).runsOf(Uint32Array.from([0, 2]))
    expect(kept.map(seqsOf)).toEqual([[1], [3]])
    expect(kept.map(({ block }) => block.memory)).not.toContain(runs[0]!.block.memory)
    expect(kept[0]!.block).toBe(kept[1]!.block)
  })

  it('leaves what is kept in a frame of which its blocks have half together', () => {
    const bytes = new Uint8Array(2 * (EVENT_BYTES - EVENT_OVERHEAD_BYTES))
    const body = new Stream().publish().block.body(0)
    const blocks = [0, 1].map((i) => {
      bytes.set(body, i * body.length)
      const own = bytes.subarray(i * body.length, (i + 1) * body.length)
      return Block.of(
        schema,
        1,
        own,
        Uint32Array.of(0, body.length),
        Float64Array.of(i + 1),
        Float64Array.of(0),
      )
    })
    const runs = blocks.map((block): Run => ({ kind: 'events', block, picks: undefined, from: 0, to: 1 }))
    const kept = new QueuedEvents(runs, new DecodedBlocks()).runsOf(Uint32Array.from([0, 1]))
    expect(kept).toEqual(runs)
    expect(kept.map(({ block }) => block)).toEqual(blocks)
  })

  it('counts the whole block, not only what the queue has of it', () => {
    const run = new Stream().publish(100)
    const events = new QueuedEvents([{ ...run, to: 10 }], new DecodedBlocks())
    const [kept] = events.runsOf(Uint32Array.from(Array(10).keys()))
    expect(kept!.block).not.toBe(run.block)
  })
})
