import { describe, expect, it } from 'vitest'
import { Link } from '../../buffers/link.ts'
import type { Slot } from '../../buffers/slot.ts'
import { noPolicy } from '../../policies/policy.ts'
import {
  DIGEST_FRAME_BYTES,
  digest,
  drain,
  EVENT_BYTES,
  latest,
  Stream,
  shown,
  shownParts,
  slotOf,
  TestSurroundings,
} from './buffers.ts'

/** Takes from a slot until nothing is left, acknowledging at once: who it was for, and what. */
function drained(slot: Slot, maxBytes = 10_000): string[] {
  const parts: string[] = []
  for (let sent = slot.take(maxBytes, maxBytes); sent !== undefined; sent = slot.take(maxBytes, maxBytes)) {
    const owner = slot.classes.findIndex(({ rid }) => rid === sent!.rid)
    parts.push(`${owner < 0 ? 'all' : owner}: ${shown(sent.taken.items)}`)
    sent.queue!.acknowledge(sent.taken)
  }
  return parts
}

describe('a slot', () => {
  it('has one queue for everyone until that overflows', () => {
    const surroundings = new TestSurroundings()
    const { slot } = slotOf([latest(1), latest(2)], { items: 4 }, surroundings)
    slot.enqueue(new Stream().publish(4))
    expect(slot.isShared).toBe(true)
    expect(surroundings.packs).toEqual([])
    expect(drained(slot)).toEqual(['all: 1 2', 'all: 3 4'])
  })

  it('packs the shared queue once for each policy when it overflows, and goes on with what arrives', () => {
    const surroundings = new TestSurroundings()
    const { slot, classes } = slotOf([latest(1), latest(2)], { items: 4 }, surroundings)
    slot.enqueue(new Stream().publish(5))
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['d1-3 4', 'd1-2 3 4'])
    expect(shown(slot.shared.items)).toBe('5')
    expect(surroundings.packs.map(({ queue }) => classes.findIndex((one) => one.queue === queue))).toEqual([
      0, 1,
    ])
    expect(slot.isShared).toBe(false)
  })

  it('overflows in bytes as well', () => {
    const { slot, classes } = slotOf([latest(1)], { bytes: 20 * EVENT_BYTES })
    slot.enqueue(new Stream().publish(21))
    expect(shown(classes[0]!.queue.items)).toBe('d1-19 20')
    expect(shown(slot.shared.items)).toBe('21')
  })

  it('sends what is private before what is shared, the classes in turn, and then is shared again', () => {
    const { slot } = slotOf([latest(1), latest(2)], { items: 6 })
    const stream = new Stream()
    slot.enqueue(stream.publish(7))
    expect(drained(slot, DIGEST_FRAME_BYTES)).toEqual([
      '0: d1-5',
      '1: d1-4',
      '0: 6',
      '1: 5',
      '1: 6',
      'all: 7',
    ])
    expect(slot.isShared).toBe(true)
    slot.enqueue(stream.publish(2))
    expect(drained(slot)).toEqual(['all: 8 9'])
  })

  it('gives a class its turn in the next frame when its item did not fit into this one', () => {
    const { slot, classes } = slotOf([latest(1), latest(2)], { items: 6 })
    const [large, small] = classes
    const stream = new Stream()
    slot.enqueueFor(large!, [digest(1, 9, { policy: large!.policy })])
    slot.enqueueFor(small!, [stream.publish()])
    // The small one has more in every frame; what is left is too little for the digest.
    slot.take(DIGEST_FRAME_BYTES, DIGEST_FRAME_BYTES)
    slot.enqueueFor(large!, [digest(10, 19, { policy: large!.policy })])
    for (let frame = 0; frame < 3 && large!.queue.bytes > 0; frame++) {
      slot.enqueueFor(small!, [stream.publish()])
      const first = slot.take(DIGEST_FRAME_BYTES, DIGEST_FRAME_BYTES)!
      first.queue!.acknowledge(first.taken)
      const left = DIGEST_FRAME_BYTES - first.taken.frameBytes
      slot.take(left, left)
    }
    expect(large!.queue.isEmpty).toBe(true)
  })

  it('packs the whole private queue when it and the shared one are full together', () => {
    const surroundings = new TestSurroundings()
    const { slot, classes } = slotOf([latest(2)], { items: 4 }, surroundings)
    const stream = new Stream()
    slot.enqueue(stream.publish(5))
    expect(shown(classes[0]!.queue.items)).toBe('d1-2 3 4')
    slot.enqueue(stream.publish(2))
    // LATEST looks at 3 to 6: with the new part alone 4 or 3 could have stayed.
    expect(shown(classes[0]!.queue.items)).toBe('d1-4 5 6')
    expect(shown(slot.shared.items)).toBe('7')
    expect(surroundings.packs.map(({ before, after }) => [before, after])).toEqual([
      [4, 2],
      [4, 2],
    ])
  })

  it('packs only the private queues that are full then', () => {
    const surroundings = new TestSurroundings()
    const { slot, classes } = slotOf([latest(1), latest(3)], { items: 4 }, surroundings)
    const stream = new Stream()
    slot.enqueue(stream.publish(5))
    surroundings.packs.length = 0
    slot.enqueue(stream.publish(1))
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['d1-3 4 5', 'd1-2 3 4 5'])
    expect(surroundings.packs.map(({ queue }) => queue === classes[1]!.queue)).toEqual([true])
  })

  it('has no more on its way to a class than half of its bounds, from both queues together', () => {
    const { slot, classes } = slotOf([latest(2)], { items: 6 })
    const stream = new Stream()
    slot.enqueue(stream.publish(6))
    const first = slot.take(2 * EVENT_BYTES, EVENT_BYTES)!
    slot.enqueue(stream.publish(2))
    expect(shown(classes[0]!.queue.items)).toBe('d3-4 5 6')
    const second = slot.take(10_000, 10_000)!
    expect([first, second].map(({ taken }) => shown(taken.items))).toEqual(['1 2', 'd3-4 5'])
    expect(slot.canTake).toBe(false)
    first.queue!.acknowledge(first.taken)
    expect(drained(slot)).toEqual(['0: 6', 'all: 7 8'])
  })

  it('holds the shared queue back while a private one waits for acknowledgements', () => {
    const { slot, classes } = slotOf([latest(3)], { items: 4 })
    slot.enqueue(new Stream().publish(5))
    const first = slot.take(10_000, 10_000)!
    expect(shown(first.taken.items)).toBe('d1-1 2 3')
    expect(classes[0]!.queue.canTake).toBe(false)
    expect(slot.canTake).toBe(false)
    expect(slot.take(10_000, 10_000)).toBeUndefined()
    classes[0]!.queue.acknowledge(first.taken)
    expect(drained(slot)).toEqual(['0: 4', 'all: 5'])
  })

  it('goes on when the class whose items on their way held it back has left', () => {
    const { slot, classes, link } = slotOf([latest(2), latest(1)], { items: 4 })
    slot.enqueue(new Stream().publish(5))
    expect(shownParts(link.take(10_000))).toEqual(['> d1-2 3 4', '> d1-3 4'])
    expect(link.isIdle).toBe(true)
    slot.remove(classes[0]!)
    expect(link.isIdle).toBe(false)
    expect(shownParts(link.take(10_000))).toEqual(['5'])
  })

  it('makes digests of what arrives when what is on its way leaves no room', () => {
    const { slot, classes } = slotOf([latest(1), noPolicy], { items: 1 })
    const stream = new Stream()
    slot.enqueue(stream.publish())
    const first = slot.take(10_000, 10_000)!
    slot.enqueue(stream.publish(2))
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['d2-2 d3-3', 'd2-2 d3-3'])
    expect(slot.shared.isEmpty).toBe(true)
    first.queue!.acknowledge(first.taken)
    slot.enqueue(stream.publish())
    expect(drained(slot)).toEqual(['0: d2-2 d3-3', '1: d2-2 d3-3', 'all: 4'])
  })

  it('keeps markers in front of what arrives then, and leaves out what is not for a class', () => {
    const { slot, classes } = slotOf([latest(1), noPolicy], { items: 1 })
    const stream = new Stream()
    slot.enqueue(stream.publish())
    slot.take(10_000, 10_000)
    slot.mark(stream.marker(true))
    classes[1]!.first = { epoch: 2, seq: 2 }
    slot.enqueue(stream.restart().publish(2))
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['e1 2/d1-1 2/d2-2', '2/d2-2'])
  })

  it('makes a digest for everyone of an event that is larger than the bytes of a queue, in its place', () => {
    const { slot } = slotOf([latest(1), latest(2)], { bytes: 1_000 })
    const stream = new Stream()
    slot.enqueue(stream.publish(2))
    slot.enqueue(stream.publishAlone(5_000))
    slot.enqueue(stream.publish())
    const parts = drained(slot)
    expect(parts.at(-1)).toBe('all: 4')
    expect(parts.slice(0, -1).join(' ')).toMatch(/^0: .*d\d-3 1: .*d\d-3$/)
  })

  it('does not pack for a class what lies below its first number', () => {
    const { slot, classes } = slotOf([noPolicy, latest(9)], { items: 4 })
    const stream = new Stream()
    classes[1]!.first = { epoch: 1, seq: 4 }
    slot.enqueue(stream.publish(5))
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['d1-4', '4'])
  })
})

describe('items for one class', () => {
  it('stand behind what was shared before, for every class', () => {
    const surroundings = new TestSurroundings()
    const { slot, classes } = slotOf([latest(1), latest(2)], { items: 9 }, surroundings)
    const stream = new Stream()
    slot.enqueue(stream.publish(2))
    slot.enqueueFor(classes[0]!, [digest(3, 5), stream.skip(3).publish()])
    slot.enqueue(stream.publish())
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['1 2 d3-5 6', '1 2'])
    expect(surroundings.packs).toEqual([])
    expect(drained(slot)).toEqual(['0: 1 2 d3-5 6', '1: 1 2', 'all: 7'])
  })

  it('take markers along, in order', () => {
    const { slot, classes } = slotOf([latest(1), latest(2)])
    const stream = new Stream()
    slot.enqueue(stream.publish(2))
    slot.mark(stream.marker(true))
    stream.restart()
    slot.enqueueFor(classes[0]!, [stream.publish()])
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['1 2 e2 2/1', '1 2 e2'])
  })

  it('pack only the private queues that are over their bounds then', () => {
    const surroundings = new TestSurroundings()
    const { slot, classes } = slotOf([latest(1), latest(2)], { items: 4 }, surroundings)
    const stream = new Stream()
    slot.enqueueFor(classes[0]!, [stream.publish(2)])
    slot.enqueue(stream.publish(2))
    expect(surroundings.packs).toEqual([])
    slot.enqueueFor(classes[0]!, [stream.publish(1)])
    expect(surroundings.packs.map(({ queue }) => queue === classes[0]!.queue)).toEqual([true])
    expect(classes.map(({ queue }) => shown(queue.items))).toEqual(['d1-3 4 5', '3 4'])
  })
})

describe('a marker in a slot', () => {
  it('comes behind everything and once', () => {
    const { slot, link } = slotOf([latest(1)], { items: 4 })
    const stream = new Stream()
    slot.enqueue(stream.publish(5))
    slot.mark(stream.marker())
    slot.mark(stream.marker(true))
    expect(shown(drain(link))).toBe('d1-3 4 5 e5')
  })

  it('is something to send by itself', () => {
    const { slot, link } = slotOf([latest(1)])
    slot.mark(new Stream().skip(3).marker())
    expect(link.isIdle).toBe(false)
    expect(shown(drain(link))).toBe('m3')
  })

  it('does not make the shared queue longer than its bytes', () => {
    const { slot, link } = slotOf([latest(1)], { bytes: 12 * EVENT_BYTES })
    const stream = new Stream()
    slot.enqueue(stream.publish(12))
    slot.mark(stream.marker())
    expect(slot.shared.isOver).toBe(false)
    expect(slot.classes[0]!.queue.isOver).toBe(false)
    expect(shown(drain(link))).toBe('d1-11 12 m12')
  })
})

describe('relief of a shared queue for the budget', () => {
  it('packs it for each policy and leaves the ladders alone', () => {
    /** The levels of overflows 100 ms apart; between the last two the budget packs, or not. */
    function levels(isRelieved: boolean): number[] {
      const surroundings = new TestSurroundings()
      const { slot, link } = slotOf([latest(20, 15, 10)], { items: 30 }, surroundings)
      const stream = new Stream()
      for (let i = 0; i < 3; i++) {
        surroundings.time = i * 100
        slot.enqueue(stream.publish(31))
        drain(link)
      }
      surroundings.time = 250
      slot.enqueue(stream.publish(29))
      if (isRelieved) expect(slot.shared.relieve()).toBe(true)
      if (isRelieved) expect(slot.isShared).toBe(false)
      drain(link)
      surroundings.packs.length = 0
      surroundings.time = 300
      slot.enqueue(stream.publish(31))
      return surroundings.levels
    }
    expect(levels(true)).toEqual(levels(false))
  })

  it('keeps the private queues within their bounds', () => {
    const surroundings = new TestSurroundings()
    const { slot, classes } = slotOf([latest(18, 9)], { items: 20 }, surroundings)
    const stream = new Stream()
    slot.enqueueFor(classes[0]!, [stream.publish(19)])
    slot.enqueue(stream.publish(19))
    classes[0]!.queue.take(10 * EVENT_BYTES)
    slot.shared.relieve()
    expect(classes[0]!.queue.isOver).toBe(false)
  })

  it('has nothing to drop when it is empty', () => {
    const { slot } = slotOf([latest(1)])
    expect(slot.shared.relieve()).toBe(false)
  })
})

describe('a slot that closes', () => {
  it('leaves its link and the budget', () => {
    const surroundings = new TestSurroundings()
    const link = new Link('link')
    const { slot, classes } = slotOf([latest(1)], {}, surroundings, link)
    slot.enqueue(new Stream().publish(3))
    slot.take(EVENT_BYTES, EVENT_BYTES)
    slot.remove(classes[0]!)
    slot.close()
    expect(link.isIdle).toBe(true)
    expect([...surroundings.budget.queues].map((queue) => queue === classes[0]!.queue)).toEqual([true])
    expect(surroundings.budget.bytes).toBe(0)
  })
})
