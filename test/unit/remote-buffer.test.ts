import { describe, expect, it } from 'vitest'
import type { Item } from '../../buffers/item.ts'
import { Link } from '../../buffers/link.ts'
import type { QueueBounds } from '../../buffers/queue.ts'
import { Receipt } from '../../buffers/receipt.ts'
import { RemoteBuffer, type RemoteBufferName } from '../../buffers/remote-buffer.ts'
import { noPolicy } from '../../policies/policy.ts'
import {
  DIGEST_FRAME_BYTES,
  digest,
  drain,
  EVENT_BYTES,
  latest,
  part,
  receive,
  Stream,
  shown,
  shownParts,
  TestSurroundings,
} from './buffers.ts'

function bufferOf(bounds: Partial<QueueBounds> = {}, budgetBytes?: number) {
  const surroundings = new TestSurroundings<RemoteBufferName>({
    buffer: 'RPB',
    ...(budgetBytes && { budgetBytes }),
  })
  const buffer = new RemoteBuffer({ items: 1_000, bytes: 1_000_000, ...bounds }, surroundings)
  return { buffer, surroundings, stream: new Stream(), link: new Link('one'), other: new Link('two') }
}

/** What waits for a receiver alone. */
function waitingFor(buffer: RemoteBuffer, receiver: string): string {
  return shown(buffer.classOf('s', receiver)!.queue.items)
}

describe('subscribing', () => {
  it('before anything was published begins with what comes', () => {
    const { buffer, stream, link } = bufferOf()
    expect(buffer.subscribe('s', link, 'r', noPolicy)).toBeUndefined()
    buffer.enqueue('s', stream.publish(2))
    expect(shown(drain(link))).toBe('1 2')
  })

  it('in the middle of a stream begins behind all that was put here', () => {
    const { buffer, stream, link, other } = bufferOf()
    buffer.subscribe('s', link, 'early', noPolicy)
    buffer.enqueue('s', stream.publish(3))
    expect(buffer.subscribe('s', other, 'late', noPolicy)).toEqual({ epoch: 1, seq: 4 })
    buffer.enqueue('s', stream.publish(2))
    expect(shown(drain(other))).toBe('4 5')
    expect(shown(drain(link))).toBe('1 2 3 4 5')
  })

  it('behind a link where items wait gets none of them in its own queue', () => {
    const { buffer, stream, link } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'early', latest(1))
    buffer.enqueue('s', stream.publish(3))
    const first = buffer.subscribe('s', link, 'late', latest(2))
    buffer.enqueue('s', stream.publish(3))
    expect(waitingFor(buffer, 'early')).toBe('d1-3 4')
    expect(waitingFor(buffer, 'late')).toBe('4')
    const receipt = new Receipt(first)
    expect(receive(receipt, drain(link, latest(2).hash))).toBe('4 5 6')
  })

  it('to the class of others in the middle of a digest begins behind the digest', () => {
    const { buffer, stream, link } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'early', noPolicy)
    buffer.enqueue('s', stream.publish(3))
    const receipt = new Receipt(buffer.subscribe('s', link, 'late', noPolicy))
    buffer.enqueue('s', stream.publish(3))
    expect(receive(receipt, drain(link))).toBe('5 6')
    expect(receipt.epochs).toMatchObject([{ first: 5, last: 6, delivered: 2 }])
  })

  it('again with another policy begins behind what the first one got, also when nobody else listens', () => {
    const { buffer, surroundings, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueue('s', stream.publish(3))
    expect(buffer.subscribe('s', link, 'r', latest(2))).toEqual({ epoch: 1, seq: 4 })
    expect(buffer.classOf('s', 'r')!.policy.hash).toBe(latest(2).hash)
    buffer.enqueue('s', stream.publish(1))
    expect(shown(drain(link))).toBe('4')
    expect(surroundings.budget.queues.size).toBe(2)
  })

  it('begins behind what came for one class also when others are not as far', () => {
    const { buffer, stream, link, other } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueueFor('s', latest(1).hash, [digest(1, 7)])
    buffer.enqueue('s', stream.publish(2))
    expect(buffer.subscribe('s', other, 'late', noPolicy)).toEqual({ epoch: 1, seq: 8 })
  })

  it('counts what came for single classes as well', () => {
    const { buffer, stream, link, other } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueueFor('s', latest(1).hash, [stream.publish(2), digest(3, 7)])
    expect(buffer.subscribe('s', other, 'late', noPolicy)).toEqual({ epoch: 1, seq: 8 })
  })
})

describe('the index of a buffer', () => {
  it('knows its senders, their slots by link, and the classes of receivers', () => {
    const { buffer, link, other } = bufferOf()
    buffer.subscribe('a', link, 'r', noPolicy)
    buffer.subscribe('b', link, 'r', noPolicy)
    buffer.subscribe('b', other, 'q', latest(1))
    expect([...buffer.senders]).toEqual(['a', 'b'])
    expect([...buffer.slotsOf('b')].map((slot) => slot.link)).toEqual([link, other])
    expect([...buffer.slotsOf('nobody')]).toEqual([])
    expect(buffer.classOf('b', 'q')!.rid).toBe(latest(1).hash)
    expect(buffer.classOf('a', 'q')).toBeUndefined()
    expect(buffer.classOf('nobody', 'q')).toBeUndefined()
  })

  it('takes what nobody asked for, without a trace', () => {
    const { buffer, surroundings, stream } = bufferOf()
    buffer.enqueue('s', stream.publish(2))
    buffer.mark('s', stream.marker())
    expect(buffer.enqueueFor('s', noPolicy.hash, [stream.publish()])).toBe(false)
    expect(buffer.unsubscribe('s', 'r')).toBe(false)
    expect(buffer.suspend('s', 'r')).toBe(false)
    expect(buffer.resume('s', 'r', new Link('link'))).toBe(false)
    expect([...buffer.senders]).toEqual([])
    expect(surroundings.budget.queues.size).toBe(0)
  })

  it('keeps senders apart', () => {
    const { buffer, link, other } = bufferOf()
    buffer.subscribe('a', link, 'r', noPolicy)
    buffer.subscribe('b', other, 'r', noPolicy)
    buffer.enqueue('a', new Stream().publish(2))
    buffer.enqueue('b', new Stream().publish(1))
    expect([shown(drain(link)), shown(drain(other))]).toEqual(['1 2', '1'])
  })
})

describe('a receiver that departs', () => {
  it('leaves nothing behind, whether its queue waits, is on its way or is suspended', () => {
    const { buffer, surroundings, stream, link, other } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'waits', latest(1))
    buffer.subscribe('s', link, 'shares', latest(1))
    buffer.subscribe('s', link, 'away', latest(2))
    buffer.subscribe('s', other, 'elsewhere', noPolicy)
    buffer.enqueue('s', stream.publish(5))
    link.take(200)
    buffer.suspend('s', 'away')
    buffer.suspend('s', 'shares')
    buffer.enqueue('s', stream.publish(5))
    for (const receiver of ['waits', 'shares', 'away', 'elsewhere']) {
      expect(buffer.unsubscribe('s', receiver)).toBe(true)
      expect(buffer.unsubscribe('s', receiver)).toBe(false)
    }
    expect(surroundings.budget.queues.size).toBe(0)
    expect(surroundings.budget.bytes).toBe(0)
    expect([link.isIdle, other.isIdle]).toEqual([true, true])
    expect([...buffer.senders]).toEqual([])
    link.acknowledge(1)
    expect(surroundings.budget.bytes).toBe(0)
  })

  it('takes nothing any more while it was suspended and others go on', () => {
    const { buffer, surroundings, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'stays', latest(1))
    buffer.subscribe('s', link, 'goes', latest(2))
    buffer.suspend('s', 'goes')
    buffer.unsubscribe('s', 'goes')
    buffer.enqueue('s', stream.publish(2))
    buffer.mark('s', stream.marker())
    drain(link)
    expect(surroundings.budget.bytes).toBe(0)
    expect(surroundings.budget.queues.size).toBe(2)
  })

  it('leaves its class to the others in it', () => {
    const { buffer, stream, link } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'one', latest(1))
    buffer.subscribe('s', link, 'two', latest(1))
    buffer.enqueue('s', stream.publish(5))
    buffer.unsubscribe('s', 'one')
    expect(waitingFor(buffer, 'two')).toBe('d1-3 4')
    expect([...buffer.classOf('s', 'two')!.receivers]).toEqual(['two'])
  })
})

describe('the receivers of one policy behind one link', () => {
  it('cost one pack, however many they are', () => {
    const { buffer, surroundings, stream, link } = bufferOf({ items: 6 })
    for (let i = 0; i < 100; i++) buffer.subscribe('s', link, `r${i}`, i % 2 === 0 ? latest(1) : latest(2))
    expect(surroundings.budget.queues.size).toBe(3)
    buffer.enqueue('s', stream.publish(7))
    expect(surroundings.packs.length).toBe(2)
    expect(buffer.classOf('s', 'r0')).toBe(buffer.classOf('s', 'r98'))
    expect(shownParts(link.take(10_000))).toEqual(['> d1-5 6', '> d1-4 5 6', '7'])
  })

  it('are a class for each link', () => {
    const { buffer, surroundings, stream, link, other } = bufferOf({ items: 4 })
    for (const [i, one] of [link, other, link, other].entries())
      buffer.subscribe('s', one, `r${i}`, latest(1))
    buffer.enqueue('s', stream.publish(5))
    expect(surroundings.packs.length).toBe(2)
    for (const one of [link, other]) expect(shownParts(one.take(10_000))).toEqual(['> d1-3 4', '5'])
  })
})

describe('events that were here before', () => {
  it('are left out, a whole run or its beginning', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', noPolicy)
    const run = stream.publish(6)
    buffer.enqueue('s', part(run, 0, 3))
    buffer.enqueue('s', part(run, 0, 3))
    buffer.enqueue('s', part(run, 1, 5))
    buffer.enqueue('s', part(run, 5, 6))
    expect(shown(drain(link))).toBe('1 2 3 4 5 6')
  })

  it('are left out of older epochs', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', noPolicy)
    const old = stream.publish(6)
    buffer.enqueue('s', part(old, 0, 3))
    buffer.enqueue('s', stream.restart().publish(1))
    buffer.enqueue('s', part(old, 3, 6))
    expect(shown(drain(link))).toBe('1 2 3 2/1')
  })

  it('are left out for one class, and do not part it from the others', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    const run = stream.publish(4)
    buffer.enqueueFor('s', latest(1).hash, [part(run, 0, 2)])
    buffer.enqueueFor('s', latest(1).hash, [run])
    expect(shown(drain(link))).toBe('1 2 3 4')
    buffer.enqueue('s', stream.publish(2))
    expect(buffer.enqueueFor('s', latest(1).hash, [digest(3, 6)])).toBe(true)
    expect([...buffer.slotsOf('s')][0]!.isShared).toBe(true)
    expect(shownParts(link.take(1_000))).toEqual(['5 6'])
  })
})

describe('items for one class', () => {
  it('go wherever it has receivers, and to nobody else', () => {
    const { buffer, stream, link, other } = bufferOf()
    buffer.subscribe('s', link, 'one', latest(1))
    buffer.subscribe('s', other, 'two', latest(1))
    buffer.subscribe('s', other, 'else', latest(2))
    buffer.subscribe('s', link, 'away', latest(1))
    buffer.suspend('s', 'away')
    expect(buffer.enqueueFor('s', latest(1).hash, [digest(1, 4), stream.skip(4).publish()])).toBe(true)
    expect(buffer.enqueueFor('s', 'nobody', [digest(1, 4)])).toBe(false)
    for (const receiver of ['one', 'two', 'away']) expect(waitingFor(buffer, receiver)).toBe('d1-4 5')
    expect(waitingFor(buffer, 'else')).toBe('')
  })

  it('can be for one receiver', () => {
    const { buffer, surroundings, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'one', latest(1))
    buffer.subscribe('s', link, 'two', latest(2))
    expect(buffer.enqueueFor('s', 'two', [stream.publish()])).toBe(true)
    expect([waitingFor(buffer, 'one'), waitingFor(buffer, 'two')]).toEqual(['', '1'])
    expect(surroundings.budget.queues.size).toBe(3)
  })

  it('can be for one receiver of a class, which the others do not get', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'one', latest(1))
    buffer.subscribe('s', link, 'two', latest(1))
    buffer.enqueue('s', stream.publish(2))
    buffer.enqueueFor('s', 'two', [digest(3, 4, { policy: latest(1) }), stream.skip(2).publish()])
    expect([waitingFor(buffer, 'one'), waitingFor(buffer, 'two')]).toEqual(['1 2', '1 2 d3-4 5'])
    const parts = link.take(10_000)!.parts.map(({ rid, taken }) => [rid, shown(taken.items)])
    expect(parts).toEqual([
      [latest(1).hash, '1 2'],
      ['two', '1 2 d3-4 5'],
    ])
  })
})

describe('a suspended receiver', () => {
  it('takes events and packs, but does not drain', () => {
    const { buffer, stream, link } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueue('s', stream.publish(2))
    expect(buffer.suspend('s', 'r')).toBe(true)
    expect(buffer.suspend('s', 'r')).toBe(false)
    buffer.enqueue('s', stream.publish(4))
    buffer.mark('s', stream.marker())
    expect(link.take(1_000)).toBeUndefined()
    expect([...buffer.slotsOf('s')]).toEqual([])
    expect(waitingFor(buffer, 'r')).toBe('d1-3 4 5 6 m6')
  })

  it('gets everything once and in order when it comes back on the same link', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueue('s', stream.publish(2))
    buffer.suspend('s', 'r')
    buffer.enqueue('s', stream.publish(2))
    expect(buffer.resume('s', 'r', link)).toBe(true)
    expect(buffer.resume('s', 'r', link)).toBe(false)
    buffer.enqueue('s', stream.publish(2))
    expect(shownParts(link.take(1_000))).toEqual(['> 1 2 3 4', '5 6'])
  })

  it('moves to another link, with what it has, in order', () => {
    const { buffer, stream, link, other } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.subscribe('s', other, 'local', latest(1))
    buffer.enqueue('s', stream.publish(4))
    link.take(2 * EVENT_BYTES)
    buffer.suspend('s', 'r')
    buffer.enqueue('s', stream.publish(2))
    buffer.resume('s', 'r', other, { epoch: 1, seq: 2 })
    const parts = other.take(10_000)!.parts.map(({ rid, taken }) => `${rid}: ${shown(taken.items)}`)
    expect(parts).toEqual(['r: 2 3 4 5 6', 'undefined: 1 2 3 4 5 6'])
    expect(link.isIdle).toBe(true)
  })

  it('is sent again what was on its way, unless it has it', () => {
    for (const [cursor, expected] of [
      [undefined, '1 2 3 4'],
      [{ epoch: 1, seq: 1 }, '1 2 3 4'],
      [{ epoch: 1, seq: 3 }, '3 4'],
      [{ epoch: 1, seq: 5 }, ''],
      [{ epoch: 2, seq: 1 }, ''],
    ] as const) {
      const { buffer, surroundings, stream, link, other } = bufferOf()
      buffer.subscribe('s', link, 'r', latest(1))
      buffer.enqueue('s', stream.publish(4))
      link.take(2 * EVENT_BYTES)
      buffer.suspend('s', 'r')
      buffer.resume('s', 'r', other, cursor)
      link.acknowledge(1)
      expect(shown(drain(other))).toBe(expected)
      expect(surroundings.budget.bytes).toBe(0)
    }
  })

  it('is not sent again what was acknowledged while it was away', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueue('s', stream.publish(4))
    link.take(2 * EVENT_BYTES)
    buffer.suspend('s', 'r')
    link.acknowledge(1)
    buffer.resume('s', 'r', link)
    expect(shown(drain(link))).toBe('3 4')
  })

  it('keeps a digest that straddles what it expects', () => {
    const { buffer, stream, link } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'r', noPolicy)
    buffer.enqueue('s', stream.publish(5))
    buffer.suspend('s', 'r')
    buffer.resume('s', 'r', link, { epoch: 1, seq: 3 })
    expect(shown(drain(link))).toBe('d1-4 5')
  })

  it('leaves its class, which goes on without it', () => {
    const { buffer, stream, link } = bufferOf({ items: 8 })
    buffer.subscribe('s', link, 'stays', latest(4))
    buffer.subscribe('s', link, 'goes', latest(4))
    buffer.enqueue('s', stream.publish(9))
    link.take(DIGEST_FRAME_BYTES)
    buffer.suspend('s', 'goes')
    expect(waitingFor(buffer, 'goes')).toBe('5 6 7 8 9')
    expect(waitingFor(buffer, 'stays')).toBe('5 6 7 8')
    expect([...buffer.classOf('s', 'stays')!.receivers]).toEqual(['stays'])
    buffer.enqueue('s', stream.publish(1))
    expect(waitingFor(buffer, 'goes')).toBe('5 6 7 8 9 10')
    buffer.resume('s', 'goes', new Link('other'))
    // Also what was on its way to the class.
    expect(waitingFor(buffer, 'goes')).toBe('d1-4 5 6 7 8 9 10')
    link.acknowledge(1)
    expect(shown(drain(link))).toBe('5 6 7 8 9 10')
  })

  it('stays within its bounds when it leaves and when it comes back', () => {
    const { buffer, surroundings, stream, link, other } = bufferOf({ items: 8 })
    buffer.subscribe('s', link, 'stays', latest(7))
    buffer.subscribe('s', link, 'goes', latest(7))
    buffer.enqueue('s', stream.publish(14))
    link.take(4 * EVENT_BYTES + DIGEST_FRAME_BYTES)
    buffer.suspend('s', 'goes')
    const { queue } = buffer.classOf('s', 'goes')!
    expect(queue.isOver).toBe(false)
    buffer.enqueue('s', stream.publish(8 - queue.events))
    expect(queue.events).toBe(8)
    buffer.resume('s', 'goes', other)
    expect(queue.isOver).toBe(false)
    const receipt = new Receipt({ epoch: 1, seq: 1 })
    receive(receipt, drain(other, 'goes'))
    expect([receipt.missing, receipt.late, receipt.cursor?.seq]).toEqual([[], 0, stream.seq + 1])
    expect([...surroundings.budget.queues].some(({ isOver }) => isOver)).toBe(false)
  })

  it('remembers what its class was sent alone', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'stays', latest(1))
    buffer.subscribe('s', link, 'goes', latest(1))
    const run = stream.publish(4)
    buffer.enqueueFor('s', latest(1).hash, [run])
    buffer.suspend('s', 'goes')
    buffer.enqueueFor('s', latest(1).hash, [run])
    expect(waitingFor(buffer, 'goes')).toBe('1 2 3 4')
  })

  it('that comes back twice gets everything once', () => {
    const { buffer, stream, link, other } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.subscribe('s', link, 'else', latest(2))
    const receipt = new Receipt({ epoch: 1, seq: 1 })
    for (const where of [other, link, other]) {
      buffer.enqueue('s', stream.publish(3))
      buffer.suspend('s', 'r')
      buffer.enqueue('s', stream.publish(2))
      buffer.resume('s', 'r', where, receipt.cursor)
      const batch = where.take(4 * EVENT_BYTES)!
      receive(receipt, batch.parts.find(({ rid }) => rid === 'r')!.taken.items)
    }
    buffer.suspend('s', 'r')
    buffer.resume('s', 'r', other, receipt.cursor)
    receive(receipt, drain(other, 'r'))
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 15, delivered: 15, digested: 0, gaps: 0 }])
    expect(receipt.late).toBe(0)
  })
})

describe('a receiver that was away and has all that waited for it', () => {
  /** Receivers `stays` and `goes` with one policy; `goes` was away and is back. */
  function afterReturn(bounds?: Partial<QueueBounds>) {
    const hop = bufferOf(bounds)
    const { buffer, stream, link } = hop
    buffer.subscribe('s', link, 'stays', latest(1))
    buffer.subscribe('s', link, 'goes', latest(1))
    buffer.suspend('s', 'goes')
    buffer.enqueue('s', stream.publish(2))
    return hop
  }

  it('is of its class again with the next event', () => {
    const { buffer, surroundings, stream, link } = afterReturn()
    buffer.resume('s', 'goes', link)
    drain(link)
    expect(buffer.classOf('s', 'goes')).not.toBe(buffer.classOf('s', 'stays'))
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')).toBe(buffer.classOf('s', 'stays'))
    expect(surroundings.budget.queues.size).toBe(2)
    expect(shownParts(link.take(1_000))).toEqual(['3'])
  })

  it('is a class of its own as long as something of it waits or is on its way', () => {
    const { buffer, stream, link } = afterReturn()
    buffer.resume('s', 'goes', link)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe('goes')
    const batch = link.take(10_000)!
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe('goes')
    link.acknowledge(batch.number)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe(latest(1).hash)
  })

  it('is a class of its own as long as something waits in the slot that it already has', () => {
    const { buffer, stream, link } = afterReturn({ items: 6 })
    // It has 1 and 2 from elsewhere; they wait in the shared queue for the one that stayed.
    buffer.resume('s', 'goes', link, { epoch: 1, seq: 3 })
    const goes = new Receipt({ epoch: 1, seq: 3 })
    buffer.enqueue('s', stream.publish(5))
    expect(waitingFor(buffer, 'stays')).toBe('d1-5 6')
    receive(goes, drain(link, buffer.classOf('s', 'goes')!.rid))
    // What waits for it is less than the bounds: it has nothing to pack.
    expect(goes.epochs).toEqual([{ epoch: 1, first: 3, last: 7, delivered: 5, digested: 0, gaps: 0 }])
  })

  it('is a class of its own as long as its class has something that it has not', () => {
    const { buffer, stream, link } = afterReturn({ items: 4 })
    buffer.enqueue('s', stream.publish(3))
    expect(waitingFor(buffer, 'stays')).toBe('d1-3 4')
    buffer.resume('s', 'goes', link, { epoch: 1, seq: 6 })
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe('goes')
    drain(link)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe(latest(1).hash)
  })

  it('is a class of its own as long as something waits that its class began behind', () => {
    const { buffer, stream, link } = bufferOf({ items: 8 })
    buffer.subscribe('s', link, 'back', latest(1))
    buffer.suspend('s', 'back')
    buffer.enqueue('s', stream.publish())
    buffer.resume('s', 'back', link)
    const batch = link.take(10_000)!
    buffer.enqueue('s', stream.publish())
    buffer.subscribe('s', link, 'late', latest(1))
    link.acknowledge(batch.number)
    // Of what is shared now, 2 is for the one that is back alone. The next items make it private.
    buffer.enqueue('s', stream.publish())
    buffer.enqueueFor('s', latest(1).hash, [stream.publish()])
    expect(waitingFor(buffer, 'back')).toBe('2 3 4')
    expect(waitingFor(buffer, 'late')).toBe('3 4')
    drain(link)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'back')).toBe(buffer.classOf('s', 'late'))
  })

  it('is a class of its own as long as something is on its way to its class that it had before', () => {
    const { buffer, stream, link } = afterReturn()
    expect(shownParts(link.take(10_000))).toEqual(['1 2'])
    buffer.resume('s', 'goes', link, { epoch: 1, seq: 3 })
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe('goes')
    link.giveBack()
    const receipt = new Receipt({ epoch: 1, seq: 3 })
    receive(receipt, drain(link, 'goes'))
    expect([receipt.late, receipt.missing]).toEqual([0, []])
  })

  it('is a class of its own while its class has items of its own', () => {
    const { buffer, stream, link } = afterReturn()
    buffer.subscribe('s', link, 'else', latest(2))
    // What was shared is private now, for the one that stayed.
    buffer.enqueueFor('s', latest(2).hash, [stream.publish()])
    expect(waitingFor(buffer, 'stays')).toBe('1 2')
    buffer.resume('s', 'goes', link, { epoch: 1, seq: 4 })
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe('goes')
    drain(link)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe(latest(1).hash)
  })

  it('gets back once what was on its way to it and to its class', () => {
    const { buffer, stream, link } = afterReturn()
    buffer.resume('s', 'goes', link)
    const batch = link.take(10_000)!
    buffer.enqueue('s', stream.publish(2))
    expect(shownParts(link.take(10_000))).toEqual(['3 4'])
    link.acknowledge(batch.number)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'goes')!.rid).toBe(latest(1).hash)
    link.giveBack()
    expect(shown(drain(link))).toBe('3 4 5')
  })

  it('gets back what was on its way to everyone, through the class that it became', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.suspend('s', 'r')
    buffer.enqueue('s', stream.publish(2))
    buffer.resume('s', 'r', link)
    link.take(10_000)
    buffer.enqueue('s', stream.publish(2))
    expect(shownParts(link.take(10_000))).toEqual(['3 4'])
    link.acknowledge(1)
    buffer.enqueue('s', stream.publish())
    expect(buffer.classOf('s', 'r')!.rid).toBe(latest(1).hash)
    link.giveBack()
    expect(shown(drain(link))).toBe('3 4 5')
  })

  it('counts what came for it alone as seen by its class', () => {
    const { buffer, stream, link } = bufferOf()
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.suspend('s', 'r')
    buffer.resume('s', 'r', link)
    const run = stream.publish(2)
    buffer.enqueueFor('s', 'r', [run])
    drain(link)
    // Below, so that nothing of it is new; but it makes the class look.
    buffer.enqueue('s', stream.publish(1))
    drain(link)
    buffer.enqueueFor('s', latest(1).hash, [run])
    expect(shown(drain(link))).toBe('')
  })
})

describe('markers', () => {
  it('come behind the data, to everyone, also to suspended receivers', () => {
    const { buffer, stream, link, other } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'one', latest(1))
    buffer.subscribe('s', other, 'two', latest(2))
    buffer.subscribe('s', link, 'away', latest(1))
    buffer.suspend('s', 'away')
    buffer.enqueue('s', stream.publish(5))
    buffer.mark('s', stream.marker())
    buffer.mark('s', stream.marker(true))
    expect(shown(drain(link))).toBe('d1-3 4 5 e5')
    expect(shown(drain(other))).toBe('d1-2 3 4 5 e5')
    expect(waitingFor(buffer, 'away')).toBe('d1-3 4 5 e5')
  })

  it('stay behind the data when that turns private', () => {
    const { buffer, stream, link } = bufferOf({ items: 4 })
    buffer.subscribe('s', link, 'r', latest(1))
    buffer.enqueue('s', stream.publish(3))
    buffer.mark('s', stream.marker(true))
    buffer.enqueue('s', stream.restart().publish(2))
    expect(shown(drain(link))).toBe('d1-3 e3 2/1 2/2')
  })
})

describe('a receiver that never drains', () => {
  /** What each of a hundred receivers behind links of their own gets, next to one that is stuck, or without. */
  function received(isStuckThere: boolean): string[] {
    const { buffer, stream } = bufferOf({ items: 16 })
    const links = Array.from({ length: 100 }, (_, i) => new Link(`link-${i}`))
    links.forEach((link, i) => {
      buffer.subscribe('s', link, `r${i}`, i % 2 === 0 ? latest(3) : noPolicy)
    })
    const stuck = new Link('stuck')
    if (isStuckThere) buffer.subscribe('s', stuck, 'stuck', latest(1))
    const items: Item[][] = links.map(() => [])
    for (let round = 0; round < 100; round++) {
      buffer.enqueue('s', stream.publish(1 + (round % 7)))
      links.forEach((link, i) => {
        // Some are slow and lose some, by their own policy.
        if (round % (1 + (i % 5)) === 0) items[i]!.push(...drain(link))
      })
    }
    links.forEach((link, i) => {
      items[i]!.push(...drain(link))
    })
    if (isStuckThere) {
      const { queue } = buffer.classOf('s', 'stuck')!
      expect(queue.events).toBeLessThanOrEqual(16)
      expect(queue.isEmpty).toBe(false)
    }
    return items.map(shown)
  }

  it('changes nothing for a hundred that do: the same items in the same order', () => {
    const [alone, beside] = [received(false), received(true)]
    expect(beside).toEqual(alone)
    expect(alone.some((items) => items.includes('d'))).toBe(true)
    expect(alone.some((items) => !items.includes('d'))).toBe(true)
  })

  it('changes nothing for a hundred behind the same link when it is suspended', () => {
    const run = (isAwayThere: boolean) => {
      const { buffer, stream, link } = bufferOf({ items: 16 })
      for (let i = 0; i < 100; i++) buffer.subscribe('s', link, `r${i}`, latest(3 + (i % 4)))
      if (isAwayThere) buffer.subscribe('s', link, 'away', latest(3))
      if (isAwayThere) buffer.suspend('s', 'away')
      const parts: string[] = []
      for (let round = 0; round < 50; round++) {
        buffer.enqueue('s', stream.publish(1 + (round % 9)))
        const batch = link.take(500)
        parts.push(...shownParts(batch))
        if (batch !== undefined) link.acknowledge(batch.number)
      }
      return parts
    }
    expect(run(true)).toEqual(run(false))
  })
})
