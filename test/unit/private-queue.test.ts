import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Block } from '../../buffers/block.ts'
import { BodyWriter } from '../../buffers/codec.ts'
import type { Item } from '../../buffers/item.ts'
import { MARKER_BYTES } from '../../buffers/item.ts'
import { PrivateQueue } from '../../buffers/private-queue.ts'
import type { QueueBounds } from '../../buffers/queue.ts'
import { Receipt } from '../../buffers/receipt.ts'
import { compilePolicy } from '../../policies/compile.ts'
import { countOf } from '../../policies/digest.ts'
import { noPolicy, type Policy } from '../../policies/policy.ts'
import {
  DIGEST_BYTES,
  digest,
  EVENT_BYTES,
  every,
  latest,
  receive,
  Stream,
  schema,
  shown,
  TestSurroundings,
} from './buffers.ts'

function queueOf(policy: Policy, bounds: Partial<QueueBounds>, surroundings = new TestSurroundings()) {
  const queue = new PrivateQueue(policy, { items: 1_000, bytes: 1_000_000, ...bounds }, surroundings)
  return { queue, surroundings, stream: new Stream() }
}

describe('a private queue that overflows', () => {
  it('packs what waits and not the arriving event', () => {
    const { queue, stream } = queueOf(latest(1), { items: 3 })
    queue.enqueueRun(stream.publish(3))
    expect(shown(queue.items)).toBe('1 2 3')
    queue.enqueueRun(stream.publish())
    expect(shown(queue.items)).toBe('d1-2 3 4')
  })

  it('packs as often as a run of arriving events does not fit', () => {
    const { queue, surroundings, stream } = queueOf(latest(1), { items: 3 })
    queue.enqueueRun(stream.publish(8))
    expect(shown(queue.items)).toBe('d1-6 7 8')
    expect(surroundings.packs.map(({ before, after }) => [before, after])).toEqual([
      [3, 1],
      [3, 1],
      [3, 1],
    ])
  })

  it('says with what level it packed, how many events there were and how many are left', () => {
    const { queue, surroundings, stream } = queueOf(every(2), { items: 4 })
    queue.enqueueRun(stream.publish(5))
    expect(surroundings.packs).toMatchObject([{ level: 1, before: 4, after: 2 }])
    expect(surroundings.packs[0]!.queue).toBe(queue)
    expect(shown(queue.items)).toBe('1 d2-2 3 d4-4 5')
  })

  it('names its buffer and the level in the digest', () => {
    const surroundings = new TestSurroundings({ buffer: 'SRB' })
    const queue = new PrivateQueue(latest(1), { items: 3, bytes: 10_000 }, surroundings)
    queue.enqueueRun(new Stream().publish(4))
    const [item] = queue.items
    expect(item?.kind === 'digest' && item.causes).toEqual([{ buffer: 'SRB', level: 1, count: 2 }])
  })

  it('climbs within one request when a level makes no room in items', () => {
    const { queue, surroundings, stream } = queueOf(latest(9, 4, 2), { items: 4 })
    queue.enqueueRun(stream.publish(5))
    expect(surroundings.levels).toEqual([3])
    expect(shown(queue.items)).toBe('d1-2 3 4 5')
    expect(queue.level).toBe(3)
  })

  it('climbs within one request when a level makes no room in bytes', () => {
    const { queue, surroundings, stream } = queueOf(latest(19, 18, 2), { bytes: 20 * EVENT_BYTES })
    queue.enqueueRun(stream.publish(21))
    expect(surroundings.levels).toEqual([3])
    expect(shown(queue.items)).toBe('d1-18 19 20 21')
  })

  it('makes room for the event that arrives, however large it is', () => {
    /** The level it takes to make room for an event with a text of so many bytes. */
    function levelFor(textBytes: number): number {
      const bytes = DIGEST_BYTES + 10 * EVENT_BYTES
      const { queue, surroundings, stream } = queueOf(latest(9, 6, 2), { bytes })
      queue.enqueueRun(stream.publish(18))
      queue.enqueueRun(stream.publish(1, textBytes))
      expect(surroundings.packs.length).toBe(1)
      return surroundings.levels[0]!
    }
    expect([0, 1, 40, 80].map(levelFor)).toEqual([1, 2, 2, 3])
  })

  it('climbs on when the digests of a level weigh more than the events it dropped', () => {
    const policy = compilePolicy({ levels: [[{ name: 'EVERY', n: 2 }], [{ name: 'LATEST', window: 1 }]] })
    const { queue, surroundings, stream } = queueOf(policy, { bytes: 20 * EVENT_BYTES })
    queue.enqueueRun(stream.publish(21))
    expect(shown(queue.items)).toBe('d1-18 19 d20-20 21')
    expect(surroundings.levels).toEqual([2])
  })

  it('climbs on when the digests of a level turn out heavier than expected', () => {
    const policy = compilePolicy({
      attribute: 'text',
      summary: ['FIRST'],
      levels: [[{ name: 'LATEST', window: 18 }], [{ name: 'LATEST', window: 5 }]],
    })
    const { queue, surroundings, stream } = queueOf(policy, { bytes: 21 * 120 - 1 })
    /** The levels of the packs that it takes to make room for one more. */
    const levels = (time: number) => {
      surroundings.time = time
      surroundings.packs.length = 0
      while (surroundings.packs.length === 0) queue.enqueueRun(stream.publish(1, 100))
      return surroundings.levels
    }
    // The first value is in the digest, which is larger than an empty one by that.
    expect(levels(0)).toEqual([1, 2])
    expect(shown(queue.items)).toBe('d1-15 16 17 18 19 20 21')
    // It is slower then, which lets the ladder go down; but now the size of a digest is known.
    expect(levels(1_000)).toEqual([2])
    expect(levels(3_000)).toEqual([2])
  })

  it('counts the digests of earlier packs when it looks whether a level is enough', () => {
    const { queue, surroundings, stream } = queueOf(latest(9, 3), { bytes: 3 * DIGEST_BYTES })
    queue.enqueue([digest(1, 2, { policy: queue.policy }), stream.skip(2).publish()])
    queue.enqueue([digest(4, 5, { policy: queue.policy }), stream.skip(2).publish()])
    queue.enqueueRun(stream.publish(4))
    expect(surroundings.levels).toEqual([])
    queue.enqueueRun(stream.publish(3))
    expect(surroundings.levels).toEqual([2])
    expect(shown(queue.items)).toBe('d1-9 10 11 12 13')
  })

  it('makes one digest of everything when no level makes room', () => {
    const { queue, surroundings, stream } = queueOf(latest(9), { items: 4 })
    queue.enqueueRun(stream.publish(5))
    expect(surroundings.levels).toEqual([0])
    expect(shown(queue.items)).toBe('d1-4 5')
  })

  it('has no levels without a policy', () => {
    const { queue, surroundings, stream } = queueOf(noPolicy, { items: 4 })
    queue.enqueueRun(stream.publish(5))
    expect(surroundings.levels).toEqual([0])
    expect(queue.level).toBe(0)
    expect(shown(queue.items)).toBe('d1-4 5')
  })

  it('makes one digest for each epoch in the worst case', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 4 })
    queue.enqueueRun(stream.publish(2))
    queue.enqueueRun(stream.restart().publish(2))
    queue.enqueueRun(stream.publish())
    expect(shown(queue.items)).toBe('d1-2 2/d1-2 2/3')
  })

  it('makes one digest for each side of a hole in the worst case', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 4 })
    queue.enqueueRun(stream.publish(2))
    queue.enqueueRun(stream.skip(3).publish(2))
    queue.enqueueRun(stream.publish())
    expect(shown(queue.items)).toBe('d1-2 d6-7 8')
  })

  it('merges an earlier digest with what is dropped behind it', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 3 })
    queue.enqueueRun(stream.publish(10))
    expect(shown(queue.items)).toBe('d1-9 10')
    const [item] = queue.items
    expect(item?.kind === 'digest' && countOf(item)).toBe(9)
  })

  it('packs when a digest that arrives does not fit', () => {
    const { queue, stream } = queueOf(noPolicy, { bytes: 2 * DIGEST_BYTES })
    queue.enqueueRun(stream.publish(2))
    queue.enqueue([digest(3, 6), digest(7, 8)])
    expect(shown(queue.items)).toBe('1 2 d3-8')
  })

  it('packs whatever is over when a digest of another policy arrives, which it cannot merge', () => {
    const { queue, stream } = queueOf(noPolicy, { bytes: 3 * DIGEST_BYTES })
    queue.enqueueRun(stream.publish(10))
    queue.enqueue([digest(11, 12, { policy: latest(1) })])
    queue.enqueue([digest(13, 14, { policy: latest(2) })])
    expect(shown(queue.items)).toBe('d1-10 d11-12 d13-14')
  })

  it('leaves its ladder where it is while it is empty', () => {
    const { queue, surroundings, stream } = queueOf(latest(9, 2), { items: 4 })
    queue.enqueueRun(stream.publish(5))
    expect(surroundings.levels).toEqual([2])
    while (!queue.isEmpty) queue.acknowledge(queue.take(10_000)!)
    surroundings.time = 1_000
    queue.enqueueRun(stream.publish(5))
    expect(surroundings.levels).toEqual([2, 2])
  })
})

describe('events with malformed bodies', () => {
  it('are packed like events without values, and counted', () => {
    const policy = compilePolicy({
      attribute: 'v',
      summary: ['SUM'],
      levels: [[{ name: 'GT', value: 2 }]],
    })
    const { queue } = queueOf(policy, { items: 4 })
    const block = new Block(schema, 1)
    const bodies = new BodyWriter()
    for (let seq = 1; seq <= 5; seq++) {
      block.append(seq, 0, seq === 2 ? Uint8Array.from([99]) : bodies.encode(schema, { v: seq, text: '' }))
    }
    queue.enqueueRun({ kind: 'events', block, picks: undefined, from: 0, to: 5 })
    expect(shown(queue.items)).toBe('d1-2 3 4 5')
    const [item] = queue.items
    expect(item?.kind === 'digest' && policy.show(item).digest).toEqual({ COUNT: 2, SUM: 1 })
  })
})

describe('what is on its way', () => {
  it('is not packed', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 4 })
    queue.enqueueRun(stream.publish(4))
    const taken = queue.take(2 * EVENT_BYTES)!
    queue.enqueueRun(stream.publish())
    expect(shown(taken.items)).toBe('1 2')
    expect(shown(queue.items)).toBe('d3-4 5')
  })

  it('drops what arrives when it takes all the room', () => {
    const { queue, surroundings, stream } = queueOf(latest(1), { items: 1 })
    queue.enqueueRun(stream.publish())
    const taken = queue.take(1_000)!
    queue.enqueueRun(stream.publish(3))
    expect(shown(queue.items)).toBe('d2-3 d4-4')
    expect(queue.events + queue.takenEvents).toBe(1)
    queue.enqueueRun(stream.publish())
    expect(shown(queue.items)).toBe('d2-4 d5-5')
    queue.acknowledge(taken)
    queue.enqueueRun(stream.publish())
    expect(shown(queue.items)).toBe('d2-4 d5-5 6')
    expect(surroundings.budget.bytes).toBe(queue.bytes)
  })

  it('counts when a level is chosen', () => {
    const { queue, surroundings, stream } = queueOf(latest(4, 2), { items: 8 })
    queue.enqueueRun(stream.publish(8))
    queue.take(4 * EVENT_BYTES)
    queue.enqueueRun(stream.publish())
    expect(surroundings.levels).toEqual([2])
    expect(shown(queue.items)).toBe('d5-6 7 8 9')
  })

  it('goes back in front of digests that were made meanwhile', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 4 })
    queue.enqueueRun(stream.publish(4))
    const taken = queue.take(2 * EVENT_BYTES)!
    queue.enqueueRun(stream.publish())
    queue.acknowledge(taken)
    queue.prepend(taken.items)
    queue.packIfOver()
    expect(shown(queue.items)).toBe('1 2 d3-4 5')
  })
})

describe('an event that is larger than the byte bound', () => {
  it('becomes a digest', () => {
    const { queue, stream } = queueOf(latest(1), { bytes: 500 })
    queue.enqueueRun(stream.publishAlone(1_000))
    expect(shown(queue.items)).toBe('d1-1')
    queue.enqueueRun(stream.publish())
    expect(shown(queue.items)).toBe('d1-1 2')
  })

  it('leaves alone what waits', () => {
    const { queue, stream } = queueOf(latest(1), { bytes: 500 })
    queue.enqueueRun(stream.publish(3))
    queue.enqueueRun(stream.publishAlone(1_000))
    expect(shown(queue.items)).toBe('1 2 3 d4-4')
  })

  it('does not keep the next ones out', () => {
    const { queue, stream } = queueOf(latest(1), { bytes: 500 })
    for (let i = 0; i < 10; i++) {
      queue.enqueueRun(stream.publishAlone(1_000))
      queue.enqueueRun(stream.publish())
      expect(queue.isOver).toBe(false)
    }
    expect(shown(queue.items)).toBe('d1-17 18 d19-19 20')
  })
})

describe('markers in a private queue that packs', () => {
  it('stand behind everything of their epoch, the ends of both', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 4 })
    queue.enqueueRun(stream.publish(2))
    queue.enqueue([stream.marker(true)])
    queue.enqueueRun(stream.restart().publish(2))
    queue.enqueue([stream.marker()])
    queue.pack()
    expect(shown(queue.items)).toBe('d1-2 e2 2/d1-2 2/m2')
    expect(queue.bytes).toBe(2 * DIGEST_BYTES + 2 * MARKER_BYTES)
  })

  it('stay when some of their epoch survive', () => {
    const { queue, stream } = queueOf(latest(1), { items: 4 })
    queue.enqueueRun(stream.publish(4))
    queue.enqueue([stream.marker()])
    queue.pack()
    expect(shown(queue.items)).toBe('d1-3 4 m4')
  })

  it('are one for each epoch, also after a break put one in the middle', () => {
    const { queue, stream } = queueOf(latest(1), { items: 9 })
    queue.enqueueRun(stream.publish(2))
    queue.enqueue([stream.marker()])
    const taken = queue.take(10_000)!
    queue.enqueueRun(stream.publish(2))
    queue.enqueue([stream.marker(true)])
    queue.acknowledge(taken)
    queue.prepend(taken.items)
    queue.pack()
    expect(shown(queue.items)).toBe('d1-3 4 e4')
  })

  it('count when a level is chosen', () => {
    const bytes = 20 * EVENT_BYTES
    const { queue, surroundings, stream } = queueOf(latest(11, 5), { bytes })
    queue.enqueueRun(stream.publish(18))
    queue.enqueue([stream.marker(true)])
    queue.enqueueRun(stream.restart().publish(1))
    queue.enqueueRun(stream.publish(1))
    // Eleven survivors, a digest and the next event would be 400 bytes without the marker.
    expect(surroundings.levels).toEqual([2])
  })

  it('leave the newest one where there is room for nothing: a lost tail must become a gap', () => {
    const { queue, stream } = queueOf(noPolicy, { bytes: 3 * EVENT_BYTES })
    queue.enqueueRun(stream.publish(1, 2 * EVENT_BYTES))
    queue.take(1_000)
    queue.enqueueRun(stream.publish())
    queue.enqueue([stream.marker()])
    expect(shown(queue.items)).toBe('m2')
  })

  it('do not make the queue longer than its bytes', () => {
    const { queue, stream } = queueOf(noPolicy, { bytes: DIGEST_BYTES + 2 * EVENT_BYTES })
    queue.enqueueRun(stream.publish(10))
    queue.enqueue([stream.marker()])
    expect(shown(queue.items)).toBe('d1-10 m10')
    expect(queue.isOver).toBe(false)
  })
})

describe('a pack for the budget', () => {
  it('leaves the history of the ladder alone', () => {
    /** The levels of three overflows 100 ms apart; between the last two the budget packs, or not. */
    function levels(isRelieved: boolean): number[] {
      const { queue, surroundings, stream } = queueOf(latest(6, 4, 2), { items: 8 })
      queue.enqueueRun(stream.publish(9))
      surroundings.time = 100
      queue.enqueueRun(stream.publish(3))
      surroundings.time = 150
      if (isRelieved) expect(queue.relieve()).toBe(true)
      surroundings.packs.length = 0
      surroundings.time = 200
      queue.enqueueRun(stream.publish(8 - queue.events + 1))
      return surroundings.levels
    }
    expect(levels(true)).toEqual(levels(false))
  })

  it('climbs as far as it takes to drop something, without moving the ladder', () => {
    const { queue, surroundings, stream } = queueOf(latest(30, 20, 2), { items: 40 })
    queue.enqueueRun(stream.publish(20))
    expect(queue.relieve()).toBe(true)
    expect(surroundings.levels).toEqual([3])
    expect(shown(queue.items)).toBe('d1-18 19 20')
    expect(queue.level).toBe(1)
  })

  it('makes one digest of everything when no level drops anything', () => {
    const { queue, surroundings, stream } = queueOf(latest(30), { items: 40 })
    queue.enqueueRun(stream.publish(20))
    expect(queue.relieve()).toBe(true)
    expect(surroundings.levels).toEqual([0])
    expect(shown(queue.items)).toBe('d1-20')
  })

  it('makes one digest of everything when the digests of the level weigh too much', () => {
    const { queue, surroundings, stream } = queueOf(every(2), { items: 40 })
    queue.enqueueRun(stream.publish(20))
    expect(queue.relieve()).toBe(true)
    expect(shown(queue.items)).toBe('d1-20')
    expect(surroundings.levels.at(-1)).toBe(0)
  })

  it('drops nothing when a digest would weigh more than what it stands for', () => {
    const { queue, surroundings, stream } = queueOf(latest(1), { items: 40 })
    queue.enqueueRun(stream.publish(3))
    expect(queue.relieve()).toBe(false)
    expect(shown(queue.items)).toBe('1 2 3')
    expect(surroundings.packs).toEqual([])
  })

  it('drops nothing of an empty queue, of a digest or of what is on its way', () => {
    const { queue, surroundings, stream } = queueOf(latest(1), { items: 40 })
    expect(queue.relieve()).toBe(false)
    queue.enqueueRun(stream.publish(20))
    queue.take(10_000)
    expect(queue.relieve()).toBe(false)
    queue.enqueue([digest(21, 40, { policy: queue.policy })])
    expect(queue.relieve()).toBe(false)
    expect(shown(queue.items)).toBe('d21-40')
    expect(surroundings.packs).toEqual([])
  })
})

describe('a stream full of holes', () => {
  it('never exceeds the bytes of its queue: the oldest digests go, and the receiver sees a gap', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 10, bytes: 5 * DIGEST_BYTES })
    for (let i = 0; i < 200; i++) {
      queue.enqueueRun(stream.skip().publish())
      expect(queue.bytes).toBeLessThanOrEqual(5 * DIGEST_BYTES)
    }
    const items = [...queue.items]
    expect(items.filter(({ kind }) => kind === 'digest').length).toBeGreaterThan(1)
    const receipt = new Receipt({ epoch: 1, seq: 1 })
    receive(receipt, items)
    receipt.marker(stream.marker())
    const [{ delivered, digested, gaps, last } = expect.fail('nothing')] = receipt.epochs
    expect(delivered + digested + gaps).toBe(last)
    expect(last).toBe(400)
    expect(receipt.missing[0]!.from).toBe(1)
    expect(receipt.missing[0]!.to).toBeGreaterThan(300)
  })

  it('keeps its markers when it forgets', () => {
    const { queue, stream } = queueOf(noPolicy, { bytes: 2 * DIGEST_BYTES })
    for (let i = 0; i < 10; i++) {
      queue.enqueueRun(stream.skip().publish(10))
      queue.enqueue([stream.marker()])
      expect(queue.isOver).toBe(false)
    }
    expect(shown(queue.items).split(' ').at(-1)).toBe('m110')
  })
})

describe('a stream full of epochs', () => {
  it('never exceeds the bytes of its queue: the markers of the oldest epochs go last', () => {
    const { queue, stream } = queueOf(noPolicy, { items: 10, bytes: 2 * DIGEST_BYTES })
    for (let i = 0; i < 50; i++) {
      queue.enqueueRun(stream.publish())
      queue.enqueue([stream.marker(true)])
      expect(queue.isOver).toBe(false)
      stream.restart()
    }
    expect(shown(queue.items)).toMatch(/50\/e1$/)
    const markers = shown(queue.items).match(/e1/g)!
    expect(markers.length).toBe((2 * DIGEST_BYTES) / MARKER_BYTES)
  })
})

describe('what packing leaves behind', () => {
  it('does not pin the blocks of what it dropped', () => {
    const { queue, surroundings, stream } = queueOf(latest(10), { items: 500 })
    const blocks = new Set<unknown>()
    for (let i = 0; i < 5_000; i++) {
      const run = stream.publish(1, 100)
      blocks.add(run.block)
      queue.enqueueRun(run)
    }
    queue.pack()
    expect(surroundings.packs.length).toBeGreaterThan(5)
    expect(blocks.size).toBeGreaterThan(10)
    let held = 0
    for (const block of new Set(
      queue.items.flatMap((item) => (item.kind === 'events' ? [item.block] : [])),
    )) {
      expect(blocks.has(block)).toBe(false)
      held += block.cost(0, block.length)
    }
    expect(held).toBe(10 * (EVENT_BYTES + 100))
  })

  it('weighs at most twice of what it is, after any number of packs', () => {
    const { queue, stream } = queueOf(every(3, 7), { items: 100 })
    for (let i = 0; i < 3_000; i++) queue.enqueueRun(stream.publish(1, i % 100))
    queue.pack()
    const runs = queue.items.filter((item) => item.kind === 'events')
    let held = 0
    for (const block of new Set(runs.map(({ block }) => block))) held += block.cost(0, block.length)
    const digests = queue.items.filter((item) => item.kind === 'digest').length
    expect(held).toBeLessThanOrEqual(2 * (queue.bytes - digests * DIGEST_BYTES))
  })
})

describe('a private queue, whatever arrives', () => {
  const arrival = fc.oneof(
    fc.record({ do: fc.constant('events' as const), n: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ do: fc.constant('digest' as const), n: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ do: fc.constant('large' as const), n: fc.integer({ min: 1, max: 250 }) }),
    fc.record({ do: fc.constant('take' as const), n: fc.integer({ min: 1, max: 400 }) }),
    fc.record({
      do: fc.constantFrom('skip', 'restart', 'mark', 'acknowledge', 'relieve'),
      n: fc.constant(1),
    }),
  )
  const policies = [noPolicy, latest(9, 3, 1), every(2, 4), latest(2)]

  it('stays within its bounds, and accounts for every number once and in order', () => {
    fc.assert(
      fc.property(
        fc.array(arrival, { maxLength: 80, size: 'max' }),
        fc.constantFrom(...policies),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 600, max: 1_500 }),
        (arrivals, policy, items, bytes) => {
          const { queue, surroundings, stream } = queueOf(policy, { items, bytes })
          const receipt = new Receipt({ epoch: 1, seq: 1 })
          let published = 0
          const deliver = (taken: readonly Item[]) => {
            const before = receipt.late
            receive(receipt, taken)
            expect(receipt.late).toBe(before)
          }
          const onItsWay: NonNullable<ReturnType<typeof queue.take>>[] = []
          for (const { do: what, n } of arrivals) {
            surroundings.time += 10
            if (what === 'events') queue.enqueueRun(stream.publish(n))
            else if (what === 'large') queue.enqueueRun(stream.publishAlone(n))
            else if (what === 'digest') {
              queue.enqueue([digest(stream.seq + 1, stream.seq + n, { policy, epoch: stream.epoch })])
              stream.skip(n)
            } else if (what === 'skip') stream.skip()
            else if (what === 'mark') queue.enqueue([stream.marker()])
            else if (what === 'restart') {
              // With many epochs their markers are forgotten as well.
              if (stream.epoch === 4) continue
              queue.enqueue([stream.marker(true)])
              published += stream.seq
              stream.restart()
            } else if (what === 'relieve') queue.relieve()
            else if (what === 'acknowledge') {
              const taken = onItsWay.shift()
              if (taken !== undefined) queue.acknowledge(taken)
            } else {
              const taken = queue.take(n)
              if (taken !== undefined) {
                deliver(taken.items)
                onItsWay.push(taken)
              }
            }
            expect(queue.events + queue.takenEvents).toBeLessThanOrEqual(items)
            expect(queue.bytes + queue.takenBytes).toBeLessThanOrEqual(bytes)
            expect(surroundings.budget.bytes).toBe(queue.bytes + queue.takenBytes)
          }
          for (const taken of onItsWay) queue.acknowledge(taken)
          queue.enqueue([stream.marker(true)])
          while (!queue.isEmpty) {
            const taken = queue.take(10_000)!
            deliver(taken.items)
            queue.acknowledge(taken)
          }
          let accounted = 0
          for (const { first, last, delivered, digested, gaps } of receipt.epochs) {
            expect(delivered + digested + gaps).toBe(last - first + 1)
            accounted += last
          }
          expect(accounted).toBe(published + stream.seq)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})
