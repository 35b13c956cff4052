import { describe, expect, it } from 'vitest'
import type { Cursor, Item } from '../../buffers/item.ts'
import { Link } from '../../buffers/link.ts'
import type { QueueBounds } from '../../buffers/queue.ts'
import { Receipt } from '../../buffers/receipt.ts'
import { RemoteBuffer } from '../../buffers/remote-buffer.ts'
import type { Policy } from '../../policies/policy.ts'
import { noPolicy } from '../../policies/policy.ts'
import {
  DIGEST_FRAME_BYTES,
  drain,
  EVENT_BYTES,
  latest,
  receive,
  Stream,
  shown,
  shownParts,
  TestSurroundings,
} from './buffers.ts'

/** A buffer with one link, whose receivers are named by the sender they listen to. */
class Hop {
  readonly surroundings = new TestSurroundings()
  readonly link: Link
  readonly buffer: RemoteBuffer
  readonly streams = new Map<string, Stream>()
  woken = 0

  constructor(bounds: Partial<QueueBounds> = {}) {
    this.link = new Link('link', () => this.woken++)
    this.buffer = new RemoteBuffer({ items: 1_000, bytes: 1_000_000, ...bounds }, this.surroundings)
  }

  subscribe(sender: string, receiver = 'r', policy: Policy = noPolicy): this {
    this.buffer.subscribe(sender, this.link, receiver, policy)
    return this
  }

  publish(sender: string, count = 1, textBytes = 0): this {
    const stream = this.streamOf(sender)
    if (textBytes > 127) this.buffer.enqueue(sender, stream.publishAlone(textBytes))
    else for (let i = 0; i < count; i++) this.buffer.enqueue(sender, stream.publish(1, textBytes))
    return this
  }

  streamOf(sender: string): Stream {
    const stream = this.streams.get(sender) ?? new Stream()
    this.streams.set(sender, stream)
    return stream
  }
}

/** Bytes that each sender gets in so many frames of this size, all acknowledged at once. */
function shares(hop: Hop, frames: number, frameBytes: number, between = () => {}): Record<string, number> {
  const bytes: Record<string, number> = {}
  for (let i = 0; i < frames; i++) {
    between()
    const batch = hop.link.take(frameBytes)
    if (batch === undefined) break
    for (const { slot, taken } of batch.parts) bytes[slot.sender] = (bytes[slot.sender] ?? 0) + taken.bytes
    hop.link.acknowledge(batch.number)
  }
  return bytes
}

describe('taking from a link', () => {
  it('fills a frame with what waits, each sender in its turn', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 2).publish('b', 3)
    const batch = hop.link.take(10_000)!
    expect(batch.number).toBe(1)
    expect(batch.bytes).toBe(5 * EVENT_BYTES)
    expect(shownParts(batch)).toEqual(['1 2', '1 2 3'])
    expect(batch.parts.map(({ slot }) => slot.sender)).toEqual(['a', 'b'])
    expect(hop.link.take(10_000)).toBeUndefined()
    expect(hop.link.isIdle).toBe(true)
  })

  it('stays within the size of the frame', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 50).publish('b', 50)
    for (let batch = hop.link.take(105); batch !== undefined; batch = hop.link.take(105)) {
      expect(batch.bytes).toBeLessThanOrEqual(105)
      expect(batch.bytes).toBe(batch.parts.reduce((sum, { taken }) => sum + taken.bytes, 0))
    }
    expect(hop.link.isIdle).toBe(true)
    expect(hop.link.unacknowledgedBytes).toBe(100 * EVENT_BYTES)
  })

  it('takes one item that is larger than the frame, alone', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 1, 500).publish('b', 1)
    expect(shownParts(hop.link.take(100))).toEqual(['1'])
    expect(shownParts(hop.link.take(100))).toEqual(['1'])
    hop.publish('b', 1).publish('a', 1, 500).publish('b', 1)
    expect(shownParts(hop.link.take(100))).toEqual(['2 3'])
    expect(shownParts(hop.link.take(100))).toEqual(['2'])
  })

  it('sends first in the next frame what did not fit into this one', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 2).publish('b', 1, 100)
    hop.publish('a', 1)
    expect(hop.link.take(130)!.parts.map(({ slot }) => slot.sender)).toEqual(['a'])
    hop.publish('a', 3)
    expect(hop.link.take(200)!.parts.map(({ slot }) => slot.sender)).toEqual(['b', 'a'])
  })

  it('takes nothing while it is suspended, and everything after that', () => {
    const hop = new Hop().subscribe('a')
    hop.link.suspend()
    hop.publish('a', 3)
    expect([hop.link.take(1_000), hop.link.isSuspended, hop.woken]).toEqual([undefined, true, 0])
    hop.link.resume()
    expect([hop.link.isSuspended, hop.woken]).toEqual([false, 1])
    expect(shown(drain(hop.link))).toBe('1 2 3')
  })

  it('takes nothing more from a queue that has half of its bounds on its way', () => {
    const hop = new Hop({ items: 4 }).subscribe('a').publish('a', 4)
    expect(shownParts(hop.link.take(1_000))).toEqual(['1 2'])
    expect(hop.link.take(1_000)).toBeUndefined()
    hop.link.acknowledge(1)
    expect(shownParts(hop.link.take(1_000))).toEqual(['3 4'])
  })
})

describe('the senders of a link', () => {
  it('share it by bytes, however many of a noisy one wait', () => {
    const hop = new Hop().subscribe('noisy').subscribe('quiet').publish('noisy', 900)
    for (let i = 0; i < 40; i++) {
      hop.publish('quiet')
      const batch = hop.link.take(200)!
      hop.link.acknowledge(batch.number)
    }
    // The noisy one has its turn of 1500 bytes; the quiet one waits for no more than that.
    const waiting = [...hop.buffer.slotsOf('quiet')][0]!.shared.events
    expect(waiting).toBeLessThanOrEqual(1_500 / 200 + 1)
  })

  it('share a large frame evenly', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 300, 100).publish('b', 300, 100)
    const parts = hop.link.take(24_000)!.parts.map(({ slot, taken }) => [slot.sender, taken.bytes])
    expect(parts).toEqual([
      ['a', 12_000],
      ['b', 12_000],
    ])
  })

  it('get the same number of bytes, whatever the size of their events', () => {
    const hop = new Hop()
    for (const sender of ['small', 'middle', 'huge']) hop.subscribe(sender)
    hop.publish('small', 900)
    for (let i = 0; i < 200; i++) hop.publish('middle', 1, 100)
    for (let i = 0; i < 20; i++) hop.publish('huge', 1, 5_000)
    const { small, middle, huge } = shares(hop, 30, 1_000)
    expect(Math.abs(small! - middle!)).toBeLessThanOrEqual(3_000)
    expect(Math.abs(small! - huge!)).toBeLessThanOrEqual(5_000 + 3_000)
  })

  it('pay for a huge event also when nothing of theirs waits behind it', () => {
    const hop = new Hop().subscribe('small').subscribe('huge').publish('small', 900, 100)
    const streams = () => {
      // One huge event waits whenever there is none: it never has a second one behind it.
      if ([...hop.buffer.slotsOf('huge')][0]!.shared.isEmpty) hop.publish('huge', 1, 5_000)
    }
    const { small, huge } = shares(hop, 60, 500, streams)
    expect(huge!).toBeLessThanOrEqual(small! + 5_100 + 3_000)
  })

  it('do not save up turns while they have nothing to send', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 900, 100)
    for (let i = 0; i < 20; i++) {
      hop.publish('b')
      hop.link.acknowledge(hop.link.take(1_500)!.number)
    }
    hop.publish('b', 900, 100)
    const { a, b } = shares(hop, 10, 1_500)
    expect(Math.abs(a! - b!)).toBeLessThanOrEqual(3_000)
  })
})

describe('acknowledging', () => {
  it('frees what every batch up to that one had, in queues and budget', () => {
    const hop = new Hop().subscribe('a').publish('a', 6)
    for (let i = 0; i < 3; i++) hop.link.take(2 * EVENT_BYTES)
    expect(hop.link.unacknowledgedBytes).toBe(6 * EVENT_BYTES)
    expect(hop.link.acknowledge(2)).toBe(true)
    expect(hop.link.unacknowledgedBytes).toBe(2 * EVENT_BYTES)
    expect(hop.surroundings.budget.bytes).toBe(2 * EVENT_BYTES)
    expect(hop.link.acknowledge(3)).toBe(true)
    expect([hop.link.unacknowledgedBytes, hop.surroundings.budget.bytes]).toEqual([0, 0])
  })

  it('is refused for what was never sent and for what is long done', () => {
    const hop = new Hop().subscribe('a').publish('a', 6)
    expect(hop.link.acknowledge(1)).toBe(false)
    hop.link.take(2 * EVENT_BYTES)
    hop.link.take(2 * EVENT_BYTES)
    expect(hop.link.acknowledge(3)).toBe(false)
    expect(hop.link.acknowledge(0)).toBe(false)
    expect(hop.link.unacknowledgedBytes).toBe(4 * EVENT_BYTES)
    expect(hop.link.acknowledge(1)).toBe(true)
    expect(hop.link.acknowledge(1)).toBe(false)
    expect(hop.link.acknowledge(2)).toBe(true)
    expect(hop.link.acknowledge(2)).toBe(false)
  })

  it('is refused for a batch that was given back', () => {
    const hop = new Hop().subscribe('a').publish('a', 6)
    hop.link.take(2 * EVENT_BYTES)
    hop.link.giveBack()
    expect(hop.link.acknowledge(1)).toBe(false)
    expect(hop.link.take(EVENT_BYTES)!.number).toBe(2)
    expect(hop.link.acknowledge(1)).toBe(false)
    expect(hop.link.unacknowledgedBytes).toBe(EVENT_BYTES)
  })
})

describe('waking', () => {
  it('happens once when there is something to take after there was nothing', () => {
    const hop = new Hop().subscribe('a').subscribe('b')
    expect(hop.woken).toBe(0)
    hop.publish('a').publish('a').publish('b')
    expect(hop.woken).toBe(1)
    drain(hop.link)
    expect(hop.woken).toBe(1)
    hop.publish('b')
    expect(hop.woken).toBe(2)
  })

  it('happens when an acknowledgement lets a queue go on', () => {
    const hop = new Hop({ items: 4 }).subscribe('a').publish('a', 4)
    hop.link.take(1_000)
    expect(hop.woken).toBe(1)
    hop.link.acknowledge(1)
    expect(hop.woken).toBe(2)
  })

  it('happens once, after everything was given back, so that who takes at once gets it in order', () => {
    const resent: Item[] = []
    let woken = 0
    const link: Link = new Link('link', () => {
      if (++woken === 1) return
      for (let batch = link.take(60); batch !== undefined; batch = link.take(60)) {
        resent.push(...batch.parts.flatMap(({ taken }) => taken.items))
      }
    })
    const buffer = new RemoteBuffer({ items: 20, bytes: 10_000 }, new TestSurroundings())
    buffer.subscribe('a', link, 'r', latest(8))
    buffer.enqueue('a', new Stream().publish(21))
    for (let i = 0; i < 4; i++) link.take(60)
    link.giveBack()
    expect(shown(resent)).toBe('d1-12 13 14 15 16 17 18 19 20 21')
    expect(woken).toBe(2)
  })
})

describe('a link that breaks', () => {
  /** A told cursor for everything that goes to everyone or to a class. */
  const at =
    (seq: number, epoch = 1) =>
    (): Cursor => ({ epoch, seq })

  it('gives everything back in order when the other side did not tell what it has', () => {
    const hop = new Hop().subscribe('a').subscribe('b').publish('a', 4).publish('b', 4)
    for (let i = 0; i < 3; i++) hop.link.take(2 * EVENT_BYTES)
    hop.publish('a', 2)
    hop.link.giveBack()
    expect(hop.link.unacknowledgedBytes).toBe(0)
    const bySender: Record<string, Item[]> = { a: [], b: [] }
    for (let batch = hop.link.take(50); batch !== undefined; batch = hop.link.take(50)) {
      for (const { slot, taken } of batch.parts) bySender[slot.sender]!.push(...taken.items)
    }
    expect(shown(bySender.a!)).toBe('1 2 3 4 5 6')
    expect(shown(bySender.b!)).toBe('1 2 3 4')
  })

  it('gives back only what the other side does not have', () => {
    const hop = new Hop().subscribe('a').publish('a', 6)
    for (let i = 0; i < 3; i++) hop.link.take(2 * EVENT_BYTES)
    hop.link.acknowledge(1)
    hop.link.giveBack(at(4))
    expect(shown(drain(hop.link))).toBe('4 5 6')
    expect(hop.surroundings.budget.bytes).toBe(0)
  })

  it('asks what the other side has of every slot, and of every class', () => {
    const hop = new Hop({ items: 4 }).subscribe('a', 'r', latest(1)).subscribe('b')
    hop.publish('a', 5).publish('b', 2)
    hop.link.take(10_000)
    hop.link.take(10_000)
    const asked = new Set<string>()
    hop.link.giveBack((slot, rid) => {
      asked.add(`${slot.sender} ${rid === undefined ? 'all' : 'class'}`)
      return undefined
    })
    expect([...asked].sort()).toEqual(['a all', 'a class', 'b all'])
  })

  it('gives shared items back to the shared queue while the slot is shared', () => {
    const hop = new Hop().subscribe('a', 'one', latest(1)).subscribe('a', 'two', latest(2)).publish('a', 4)
    hop.link.take(2 * EVENT_BYTES)
    hop.link.giveBack()
    const [slot] = hop.buffer.slotsOf('a')
    expect(slot!.isShared).toBe(true)
    expect(shown(slot!.shared.items)).toBe('1 2 3 4')
  })

  it('gives shared items back to every private queue after the slot has overflowed', () => {
    const hop = new Hop({ items: 8 })
    hop.subscribe('a', 'one', latest(2)).subscribe('a', 'two', latest(3)).publish('a', 8)
    hop.link.take(4 * EVENT_BYTES)
    hop.publish('a', 1)
    const [slot] = hop.buffer.slotsOf('a')
    expect(slot!.isShared).toBe(false)
    hop.link.giveBack(at(3))
    expect(slot!.classes.map(({ queue }) => shown(queue.items))).toEqual(['3 4 d5-6 7 8', '3 4 d5-5 6 7 8'])
    expect(shown(slot!.shared.items)).toBe('9')
  })

  it('gives back private items and the shared ones behind them, in order', () => {
    const hop = new Hop({ items: 10 }).subscribe('a', 'r', latest(2)).publish('a', 12)
    const parts = shownParts(hop.link.take(10_000))
    expect(parts).toEqual(['> d1-8 9 10', '11 12'])
    hop.publish('a', 1)
    hop.link.giveBack()
    expect(shownParts(hop.link.take(10_000))).toEqual(['> d1-8 9 10', '11 12 13'])
  })

  it('gives shared items that were sent before and after private ones back in order', () => {
    const hop = new Hop({ items: 12 }).subscribe('a', 'r', latest(2)).publish('a', 12)
    expect(shownParts(hop.link.take(2 * EVENT_BYTES))).toEqual(['1 2'])
    hop.publish('a', 3)
    expect(shownParts(hop.link.take(10_000))).toEqual(['> d3-10 11 12', '13 14'])
    hop.publish('a', 1)
    hop.link.giveBack()
    expect(shown(drain(hop.link))).toBe('1 2 d3-10 11 12 13 14 15 16')
  })

  it('packs what goes back over the bounds', () => {
    const hop = new Hop({ items: 4 }).subscribe('a', 'r', latest(3)).publish('a', 4)
    hop.link.take(2 * EVENT_BYTES)
    hop.publish('a', 4)
    hop.link.giveBack()
    for (const queue of hop.surroundings.budget.queues) expect(queue.isOver).toBe(false)
    const receipt = new Receipt({ epoch: 1, seq: 1 })
    receive(receipt, drain(hop.link))
    expect(receipt.cursor).toEqual({ epoch: 1, seq: 9 })
    expect([receipt.missing, receipt.late]).toEqual([[], 0])
  })

  it('gives nothing back to a receiver that left, and everything to the one that stayed', () => {
    const hop = new Hop().subscribe('a', 'one', latest(1)).subscribe('a', 'two', latest(2)).publish('a', 4)
    hop.link.take(2 * EVENT_BYTES)
    hop.buffer.unsubscribe('a', 'one')
    hop.link.giveBack()
    expect(shown(drain(hop.link))).toBe('1 2 3 4')
    expect(hop.surroundings.budget.bytes).toBe(0)
  })

  it('gives nothing back when everyone left', () => {
    const hop = new Hop({ items: 4 }).subscribe('a', 'r', latest(1)).publish('a', 7)
    hop.link.take(DIGEST_FRAME_BYTES)
    hop.buffer.unsubscribe('a', 'r')
    hop.link.giveBack()
    expect(hop.link.isIdle).toBe(true)
    expect([hop.surroundings.budget.bytes, hop.surroundings.budget.queues.size]).toEqual([0, 0])
  })

  it('gives back to a receiver that joined meanwhile only what comes after it', () => {
    const hop = new Hop().subscribe('a', 'one', latest(1)).publish('a', 4)
    hop.link.take(2 * EVENT_BYTES)
    hop.subscribe('a', 'two', latest(2))
    hop.link.giveBack()
    expect(shown(drain(hop.link, latest(1).hash))).toBe('1 2 3 4')
    hop.publish('a', 1)
    expect(shown(drain(hop.link, latest(2).hash))).toBe('5')
  })

  it('gives back to a receiver that was suspended, which has it when it comes back', () => {
    const hop = new Hop().subscribe('a', 'one', latest(1)).subscribe('a', 'two', latest(2)).publish('a', 4)
    hop.link.take(2 * EVENT_BYTES)
    hop.buffer.suspend('a', 'one')
    hop.link.giveBack(at(2))
    expect(shown(hop.buffer.classOf('a', 'one')!.queue.items)).toBe('2 3 4')
    const other = new Link('other')
    hop.buffer.resume('a', 'one', other, { epoch: 1, seq: 3 })
    expect(shown(drain(other))).toBe('3 4')
    expect(shown(drain(hop.link))).toBe('2 3 4')
  })

  it('gives a receiver that came back nothing of what it already has', () => {
    const hop = new Hop({ items: 8 }).subscribe('a', 'stays', latest(5)).subscribe('a', 'goes', latest(6))
    hop.publish('a', 3)
    hop.buffer.suspend('a', 'goes')
    hop.buffer.resume('a', 'goes', hop.link, { epoch: 1, seq: 4 })
    hop.link.take(2 * EVENT_BYTES)
    hop.publish('a', 6)
    hop.link.giveBack()
    expect(shown(hop.buffer.classOf('a', 'stays')!.queue.items)).toBe('1 2 d3-3 4 5 6 7 8')
    expect(shown(hop.buffer.classOf('a', 'goes')!.queue.items)).toBe('4 5 6 7 8')
  })

  it('gives nothing back to a receiver that has taken it along to another link', () => {
    const hop = new Hop({ items: 8 }).subscribe('a', 'r', latest(6)).publish('a', 9)
    hop.link.take(DIGEST_FRAME_BYTES)
    hop.link.take(2 * EVENT_BYTES)
    hop.link.take(EVENT_BYTES)
    const other = new Link('other')
    hop.buffer.suspend('a', 'r')
    hop.buffer.resume('a', 'r', other)
    const { queue } = hop.buffer.classOf('a', 'r')!
    expect(shown(queue.items)).toBe('d1-2 3 4 5 6 7 8 9')
    expect([queue.takenEvents, queue.takenBytes]).toEqual([0, 0])
    hop.link.acknowledge(1)
    hop.link.giveBack()
    expect(shown(queue.items)).toBe('d1-2 3 4 5 6 7 8 9')
    expect([queue.takenEvents, queue.takenBytes]).toEqual([0, 0])
    expect(hop.surroundings.budget.bytes).toBe(queue.bytes)
  })

  it('gives back twice what is broken twice', () => {
    const hop = new Hop().subscribe('a').publish('a', 3)
    for (let i = 0; i < 3; i++) {
      hop.link.take(2 * EVENT_BYTES)
      hop.link.giveBack()
      hop.publish('a', 1)
    }
    expect(shown(drain(hop.link))).toBe('1 2 3 4 5 6')
  })

  it('sends again at once', () => {
    const hop = new Hop().subscribe('a').publish('a', 2)
    hop.link.take(10_000)
    expect(hop.link.isIdle).toBe(true)
    hop.link.giveBack()
    expect(hop.link.isIdle).toBe(false)
    expect(hop.woken).toBe(2)
  })
})
