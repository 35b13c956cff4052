import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frameBytes, type Item, MARKER_BYTES } from '../../buffers/item.ts'
import { Queue, type QueueBounds, type Taken } from '../../buffers/queue.ts'
import { DIGEST_BYTES, digest, EVENT_BYTES, part, Stream, shown, TestSurroundings } from './buffers.ts'

class PlainQueue extends Queue {
  relieve(): boolean {
    return false
  }
}

function queueOf(bounds: Partial<QueueBounds> = {}, surroundings = new TestSurroundings()): PlainQueue {
  return new PlainQueue({ items: 1_000, bytes: 1_000_000, ...bounds }, surroundings)
}

/** Takes so many bytes, as a text. */
function takenFrom(queue: Queue, ...limits: Parameters<Queue['take']>): string | undefined {
  const taken = queue.take(...limits)
  return taken && shown(taken.items)
}

describe('a queue', () => {
  it('gives back what was put in, in order', () => {
    const queue = queueOf()
    const stream = new Stream()
    for (let i = 0; i < 3; i++) queue.append(stream.publish(2))
    queue.append(digest(7, 9))
    queue.append(stream.skip(3).publish())
    expect(shown(queue.items)).toBe('1 2 3 4 5 6 d7-9 10')
    expect(takenFrom(queue, 10_000)).toBe('1 2 3 4 5 6 d7-9 10')
    expect(queue.isEmpty).toBe(true)
  })

  it('keeps events of one block that follow one another as one run', () => {
    const queue = queueOf()
    const stream = new Stream()
    for (let i = 0; i < 100; i++) queue.append(stream.publish())
    expect(queue.items.length).toBe(1)
  })

  it('keeps parts of one block that do not follow one another apart', () => {
    const queue = queueOf()
    const run = new Stream().publish(6)
    queue.append(part(run, 0, 2))
    queue.append(part(run, 4, 6))
    expect(shown(queue.items)).toBe('1 2 5 6')
  })

  it('never changes a run that somebody has seen', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish(2))
    const seen = queue.items[0]!
    queue.append(stream.publish())
    queue.take(EVENT_BYTES)
    expect(shown([seen])).toBe('1 2')
    expect(shown(queue.items)).toBe('2 3')
  })

  it('does not change the run it was given', () => {
    const queue = queueOf()
    const stream = new Stream()
    const run = stream.publish(2)
    queue.append(run)
    queue.append(stream.publish(2))
    queue.take(EVENT_BYTES)
    expect(shown([run])).toBe('1 2')
  })

  it('does not change what was taken when more comes', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish(2))
    const taken = queue.take(10_000)!
    queue.append(stream.publish())
    expect(shown(taken.items)).toBe('1 2')
    expect(shown(queue.items)).toBe('3')
  })

  it('counts events as slots, and bytes of everything', () => {
    const queue = queueOf({ items: 10, bytes: 1_000 })
    const stream = new Stream()
    queue.append(stream.publish(3))
    queue.append(digest(4, 9))
    queue.append(stream.skip(6).marker())
    expect(queue.events).toBe(3)
    expect(queue.roomItems).toBe(7)
    expect(queue.bytes).toBe(3 * EVENT_BYTES + DIGEST_BYTES + MARKER_BYTES)
    expect(queue.roomBytes).toBe(1_000 - queue.bytes)
  })

  it('says how many events of a run fit, in items and in bytes', () => {
    const stream = new Stream()
    const run = stream.publish(10)
    expect(queueOf({ items: 4 }).endOfFit(run)).toBe(4)
    expect(queueOf({ bytes: 5 * EVENT_BYTES }).endOfFit(run)).toBe(5)
    const partly = queueOf({ items: 4 })
    partly.append(part(run, 0, 3))
    expect(partly.endOfFit(part(run, 3, 10))).toBe(4)
  })

  it('drains a digest at the end alone', () => {
    const queue = queueOf()
    queue.append(new Stream().publish())
    queue.append(digest(2, 5))
    expect(takenFrom(queue, EVENT_BYTES)).toBe('1')
    expect(takenFrom(queue, DIGEST_BYTES)).toBe('d2-5')
    expect(queue.isEmpty).toBe(true)
  })

  it('knows the publish time of the oldest event, also where a digest counts it or a marker comes first', () => {
    const queue = queueOf()
    const stream = new Stream()
    expect(queue.oldestTime).toBeUndefined()
    queue.append(stream.restart().marker())
    expect(queue.oldestTime).toBeUndefined()
    stream.time = 70
    queue.append(stream.restart().publish())
    expect(queue.oldestTime).toBe(70)
    queue.take(EVENT_BYTES + MARKER_BYTES)
    queue.append(digest(2, 5))
    expect(queue.oldestTime).toBe(2)
  })
})

describe('a marker in a queue', () => {
  it('replaces one of the same epoch that stands before it', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish())
    queue.append(stream.marker())
    queue.append(stream.skip().marker())
    expect(shown(queue.items)).toBe('1 m2')
    expect(queue.bytes).toBe(EVENT_BYTES + MARKER_BYTES)
  })

  it('goes when an event of its epoch follows', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish())
    queue.append(stream.marker())
    queue.append(stream.publish())
    expect(shown(queue.items)).toBe('1 2')
    expect(queue.bytes).toBe(2 * EVENT_BYTES)
  })

  it('goes when a digest of its epoch follows', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish())
    queue.append(stream.marker())
    queue.append(digest(2, 4))
    expect(shown(queue.items)).toBe('1 d2-4')
  })

  it('stays when another epoch follows', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish())
    queue.append(stream.marker(true))
    queue.append(stream.restart().publish())
    queue.append(stream.marker())
    expect(shown(queue.items)).toBe('1 e1 2/1 2/m1')
  })

  it('that was taken does not come back', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.marker())
    queue.take(1_000)
    queue.append(stream.publish())
    expect(shown(queue.items)).toBe('1')
    expect(queue.bytes).toBe(EVENT_BYTES)
  })
})

describe('taking from a queue', () => {
  it('stops at so many bytes and so many events', () => {
    const stream = new Stream()
    const queue = queueOf()
    queue.append(stream.publish(10))
    expect(takenFrom(queue, 3 * EVENT_BYTES + 1)).toBe('1 2 3')
    expect(takenFrom(queue, 10_000, 10_000, 2)).toBe('4 5')
    expect(shown(queue.items)).toBe('6 7 8 9 10')
  })

  it('gives one item that is larger, if that is not too large', () => {
    const queue = queueOf()
    queue.append(new Stream().publish(2))
    expect(queue.take(EVENT_BYTES - 1, EVENT_BYTES - 1)).toBeUndefined()
    expect(takenFrom(queue, EVENT_BYTES - 1, EVENT_BYTES)).toBe('1')
    queue.replace([digest(1, 9), digest(11, 20)])
    const bytes = frameBytes(digest(1, 9))
    expect(queue.take(1, bytes - 1)).toBeUndefined()
    expect(takenFrom(queue, 1, bytes)).toBe('d1-9')
    expect(takenFrom(queue, 1)).toBe('d11-20')
  })

  it('takes the digests in front of an event that does not fit any more', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(digest(1, 4))
    queue.append(stream.skip(4).publish(2))
    expect(takenFrom(queue, 10_000, 10_000, 0)).toBe('d1-4')
    expect(queue.take(10_000, 10_000, 0)).toBeUndefined()
    expect(takenFrom(queue, 10_000, 10_000, 1)).toBe('5')
  })

  it('keeps what was taken in the bounds and in the budget until it is acknowledged', () => {
    const surroundings = new TestSurroundings()
    const queue = queueOf({ items: 10, bytes: 1_000 }, surroundings)
    queue.append(new Stream().publish(4))
    const taken = queue.take(3 * EVENT_BYTES)!
    expect([queue.events, queue.takenEvents, queue.roomItems]).toEqual([1, 3, 6])
    expect([queue.bytes, queue.takenBytes]).toEqual([EVENT_BYTES, 3 * EVENT_BYTES])
    expect(queue.roomBytes).toBe(1_000 - 4 * EVENT_BYTES)
    expect(surroundings.budget.bytes).toBe(4 * EVENT_BYTES)
    queue.acknowledge(taken)
    expect([queue.takenEvents, queue.takenBytes, queue.roomItems]).toEqual([0, 0, 9])
    expect(surroundings.budget.bytes).toBe(EVENT_BYTES)
  })

  it.each([2, 3, 4, 5, 10])('has at most half of %i events on its way', (items) => {
    const queue = queueOf({ items })
    queue.append(new Stream().publish(items))
    while (queue.take(EVENT_BYTES) !== undefined);
    expect(queue.takenEvents).toBe(Math.floor(items / 2))
    expect(queue.canTake).toBe(false)
  })

  it('has at most half of the bytes on its way, however they are spread', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 500 }), (texts, maxBytes) => {
        const queue = queueOf({ bytes: 1_000 })
        const stream = new Stream()
        for (const textBytes of texts) queue.append(stream.publish(1, textBytes))
        while (queue.canTake) {
          const alone = queue.takenBytes === 0
          const taken = queue.take(maxBytes)
          // Whoever asks first and does not get anything would wait for ever.
          expect(taken).toBeDefined()
          expect(queue.takenBytes <= 500 || (alone && taken!.items.length === 1)).toBe(true)
        }
      }),
    )
  })

  it('goes on when what was on its way is acknowledged', () => {
    const queue = queueOf({ items: 4 })
    queue.append(new Stream().publish(4))
    const first = queue.take(10_000)!
    expect(shown(first.items)).toBe('1 2')
    expect(queue.take(10_000)).toBeUndefined()
    queue.acknowledge(first)
    expect(takenFrom(queue, 10_000)).toBe('3 4')
  })

  it('sends an item of more than half of the bounds alone', () => {
    const queue = queueOf({ items: 1, bytes: 100 })
    const stream = new Stream()
    queue.append(stream.publish(1, 60))
    queue.append(stream.publish(1, 0))
    expect(takenFrom(queue, 10_000)).toBe('1')
    expect(queue.canTake).toBe(false)
  })

  it('keeps order when what was taken goes back to the head', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish(6))
    const first = queue.take(2 * EVENT_BYTES)!
    const second = queue.take(2 * EVENT_BYTES)!
    queue.append(stream.publish())
    for (const taken of [second, first]) {
      queue.acknowledge(taken)
      queue.prepend(taken.items)
    }
    expect(shown(queue.items)).toBe('1 2 3 4 5 6 7')
    expect([queue.events, queue.bytes, queue.takenBytes]).toEqual([7, 7 * EVENT_BYTES, 0])
  })

  it('appends behind what went back, without touching it', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish(2))
    const taken = queue.take(10_000)!
    queue.acknowledge(taken)
    queue.prepend(taken.items)
    queue.append(stream.publish())
    expect(shown(taken.items)).toBe('1 2')
    expect(shown(queue.items)).toBe('1 2 3')
  })

  it('counts right and keeps order, whatever is put, taken, acknowledged and given back', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constant('digest' as const), count: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constant('take' as const), count: fc.integer({ min: 1, max: 300 }) }),
      fc.record({ do: fc.constantFrom('acknowledge' as const, 'giveBack' as const), count: fc.constant(0) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
        const surroundings = new TestSurroundings()
        const queue = queueOf({ items: 50, bytes: 2_000 }, surroundings)
        const stream = new Stream()
        let put: string[] = []
        const sent: Taken[] = []
        const show = (items: readonly Item[]) => (items.length === 0 ? [] : shown(items).split(' '))
        for (const { do: what, count } of steps) {
          if (what === 'append') {
            const run = stream.publish(count)
            put.push(...show([run]))
            queue.append(run)
          } else if (what === 'digest') {
            const one = digest(stream.seq + 1, stream.seq + count)
            stream.skip(count)
            put.push(...show([one]))
            queue.append(one)
          } else if (what === 'take') {
            const taken = queue.take(count)
            if (taken !== undefined) sent.push(taken)
          } else if (what === 'acknowledge') {
            const taken = sent.shift()
            if (taken !== undefined) {
              queue.acknowledge(taken)
              put = put.slice(show(taken.items).length)
            }
          } else {
            for (const taken of sent.splice(0).reverse()) {
              queue.acknowledge(taken)
              queue.prepend(taken.items)
            }
          }
          const onItsWay = sent.flatMap(({ items }) => items)
          expect(show([...onItsWay, ...queue.items])).toEqual(put)
          const events = put.filter((text) => !text.startsWith('d')).length
          const bytes = events * EVENT_BYTES + (put.length - events) * DIGEST_BYTES
          expect(queue.events + queue.takenEvents).toBe(events)
          expect(queue.bytes + queue.takenBytes).toBe(bytes)
          expect(surroundings.budget.bytes).toBe(bytes)
        }
      }),
      { numRuns: 50 },
    )
  })
})

describe('discarding below a cursor', () => {
  it('takes away what lies below and keeps a digest that straddles it', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish(4))
    queue.discardBelow({ epoch: 1, seq: 3 })
    expect(shown(queue.items)).toBe('3 4')
    queue.replace([digest(1, 3), digest(5, 8), ...queue.items.slice(0, 0)])
    queue.discardBelow({ epoch: 1, seq: 5 })
    expect(shown(queue.items)).toBe('d5-8')
    queue.discardBelow({ epoch: 1, seq: 8 })
    expect(shown(queue.items)).toBe('d5-8')
    queue.discardBelow({ epoch: 1, seq: 9 })
    expect(queue.isEmpty).toBe(true)
    expect(queue.bytes).toBe(0)
  })

  it('takes away everything of older epochs and nothing of newer ones', () => {
    const queue = queueOf()
    const stream = new Stream()
    queue.append(stream.publish(2))
    queue.append(stream.marker(true))
    queue.append(stream.restart().publish(2))
    queue.append(stream.marker(true))
    queue.append(stream.restart().publish(2))
    queue.discardBelow({ epoch: 2, seq: 3 })
    expect(shown(queue.items)).toBe('2/e2 3/1 3/2')
  })
})

describe('the high-water signal', () => {
  it('comes once at 80 percent and is taken back once at 50, by what waits and what is on its way', () => {
    const surroundings = new TestSurroundings()
    const queue = queueOf({ items: 10 }, surroundings)
    const stream = new Stream()
    const highs = () => surroundings.pressures.map(([, high]) => high)
    queue.append(stream.publish(7))
    expect(highs()).toEqual([])
    queue.append(stream.publish(1))
    queue.append(stream.publish(2))
    expect(highs()).toEqual([true])
    const taken = queue.take(4 * EVENT_BYTES)!
    expect(highs()).toEqual([true])
    queue.acknowledge(taken)
    expect(queue.fill).toBeCloseTo(0.6)
    queue.append(stream.publish(2))
    expect(highs()).toEqual([true])
    queue.acknowledge(queue.take(3 * EVENT_BYTES)!)
    expect(queue.fill).toBeCloseTo(0.5)
    expect(highs()).toEqual([true, false])
    queue.append(stream.publish(2))
    expect(highs()).toEqual([true, false])
    expect(surroundings.pressures.every(([one]) => one === queue)).toBe(true)
  })

  it('comes for bytes as well', () => {
    const surroundings = new TestSurroundings()
    const queue = queueOf({ bytes: 100 }, surroundings)
    queue.append(new Stream().publish(4))
    expect(queue.fill).toBeCloseTo(0.8)
    expect(surroundings.pressures.map(([, high]) => high)).toEqual([true])
  })

  it('is taken back when the queue closes', () => {
    const surroundings = new TestSurroundings()
    const queue = queueOf({ items: 10 }, surroundings)
    queue.append(new Stream().publish(10))
    queue.take(5 * EVENT_BYTES)
    queue.close()
    expect(surroundings.pressures.map(([, high]) => high)).toEqual([true, false])
  })
})

describe('a closed queue', () => {
  it('leaves nothing behind, also of what was on its way', () => {
    const surroundings = new TestSurroundings()
    const queue = queueOf({ items: 10 }, surroundings)
    queue.append(new Stream().publish(5))
    const taken = queue.take(2 * EVENT_BYTES)!
    queue.close()
    expect(surroundings.budget.bytes).toBe(0)
    expect(surroundings.budget.queues.size).toBe(0)
    queue.acknowledge(taken)
    expect(surroundings.budget.bytes).toBe(0)
    expect([queue.takenEvents, queue.takenBytes]).toEqual([0, 0])
  })
})
