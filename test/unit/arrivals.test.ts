// The order in which a receiver that wants the digest first is handed what arrives.
import { describe, expect, it } from 'vitest'
import type { Cursor, Item } from '../../buffers/item.ts'
import { LocalBuffer } from '../../buffers/local-buffer.ts'
import { Arrivals } from '../../endpoints/arrivals.ts'
import { Backlog, HOLD_MS } from '../../endpoints/backlog.ts'
import { type Delivered, type DeliveredEvent, Delivery } from '../../endpoints/delivery.ts'
import type { PollOutcome } from '../../overlay/client.ts'
import { noPolicy } from '../../policies/policy.ts'
import { digest, Stream, TestSurroundings } from './buffers.ts'

interface Asked {
  readonly since: Cursor | undefined
  readonly isPreview: boolean
  answer(...items: Item[]): void
  other(outcome: PollOutcome): void
}

/** A receiver that is attached again, expects 1, and can hold 20 events. */
function attached() {
  const timers: { at: number; call: () => void }[] = []
  const asked: Asked[] = []
  let now = 0
  const backlog = new Backlog({
    now: () => now,
    after: (delayMs, call) => void timers.push({ at: now + delayMs, call }),
    ask: (since, isPreview, other) =>
      void asked.push({ since, isPreview, other, answer: (...items) => other({ kind: 'backlog', items }) }),
    changed() {},
  })
  const buffer = new LocalBuffer(new TestSurroundings<'RB'>({ buffer: 'RB' }))
  const queue = buffer.subscribe('s', 'r', noPolicy, { items: 20, bytes: 1_000_000 })
  const delivery = new Delivery(noPolicy, { epoch: 1, seq: 1 })
  const arrivals = new Arrivals(delivery, queue, backlog)
  const attach = () => {
    backlog.attached()
    arrivals.attached()
  }
  attach()
  const pass = (ms: number) => {
    now += ms
    for (const timer of timers.splice(0)) timer.at <= now ? timer.call() : timers.push(timer)
  }
  /** What can be taken, at most so many items. */
  const take = (most = Number.POSITIVE_INFINITY) => {
    const items: Delivered[] = []
    do items.push(...arrivals.take())
    while (arrivals.canTake && items.length < most)
    for (const { first, last, delivered, digested, gaps } of delivery.epochs)
      expect(delivered + digested + gaps).toBe(last - first + 1)
    return items.map(inShort).join(' ')
  }
  return { asked, queue, delivery, arrivals, attach, pass, take }
}

/** `5` an event, `b5` one of the backlog, `p2-4` a preview, `d2-4` a digest, `g2-4` a gap. */
function inShort(item: Delivered): string {
  const mark = 'backlog' in item ? 'b' : ''
  if (item.kind === 'event') return `${mark}${(item as DeliveredEvent).seq}`
  const kind = 'preview' in item ? 'p' : item.kind === 'gap' ? 'g' : 'd'
  return `${mark}${kind}${item.from}-${item.to}`
}

describe('with the digest first', () => {
  it('the preview comes before what is live, and the backlog beside it', () => {
    const { asked, queue, take, delivery } = attached()
    const stream = new Stream()
    const waited = stream.publish(6)
    queue.enqueue([stream.publish(3)])
    expect(take()).toBe('')
    asked[0]!.answer(digest(1, 6))
    expect(take(1)).toBe('p1-6')
    expect(delivery.epochs).toMatchObject([{ delivered: 0, digested: 0, gaps: 0 }])
    expect(take()).toBe('7 8 9')
    expect(delivery.epochs).toMatchObject([{ delivered: 3, gaps: 6 }])
    expect(asked.at(-1)).toMatchObject({ since: undefined, isPreview: false })
    asked.at(-1)!.answer(waited)
    queue.enqueue([stream.publish(2)])
    expect(take()).toBe('b1 10 b2 11 b3 b4 b5 b6')
    expect(asked.at(-1)).toMatchObject({ since: { epoch: 1, seq: 7 }, isPreview: false })
    asked.at(-1)!.answer()
    expect(take()).toBe('')
    expect(delivery.epochs).toMatchObject([{ delivered: 11, gaps: 0 }])
  })

  it('what is in order does not wait for the preview', () => {
    const { asked, queue, take } = attached()
    const stream = new Stream()
    queue.enqueue([stream.publish(2), stream.skip(3).marker(), stream.publish(1)])
    expect(take()).toBe('1 2')
    asked[0]!.answer(digest(3, 5))
    expect(take()).toBe('p3-5 6')
  })

  it('what is live waits two seconds for it at most', () => {
    const { asked, queue, take, pass } = attached()
    const stream = new Stream()
    queue.enqueue([stream.skip(3).publish(2)])
    expect(take()).toBe('')
    pass(HOLD_MS - 1)
    expect(take()).toBe('')
    pass(1)
    expect(take()).toBe('4 5')
    asked[0]!.answer(digest(1, 3))
    expect(take()).toBe('p1-3')
  })

  it('what the backlog does not bring is told as a gap when it is over', () => {
    const { asked, queue, take, delivery } = attached()
    const stream = new Stream()
    const waited = stream.publish(3)
    queue.enqueue([stream.skip(3).publish(1)])
    asked[0]!.answer(digest(1, 6))
    expect(take()).toBe('p1-6 7')
    asked.at(-1)!.answer(waited)
    expect(take()).toBe('b1 b2 b3')
    asked.at(-1)!.other({ kind: 'unknown' })
    expect(take()).toBe('bg4-6')
    expect(delivery.epochs).toMatchObject([{ delivered: 4, gaps: 3 }])
    // Later holes are told at once.
    queue.enqueue([stream.skip(1).publish(1)])
    expect(take()).toBe('g8-8 9')
  })

  it('a digest of the backlog takes its gap back', () => {
    const { asked, queue, take, delivery } = attached()
    queue.enqueue([new Stream().skip(5).publish(1)])
    asked[0]!.answer(digest(1, 5))
    expect(take()).toBe('p1-5 6')
    asked.at(-1)!.answer(digest(1, 5))
    expect(take()).toBe('bd1-5')
    expect(delivery.epochs).toMatchObject([{ delivered: 1, digested: 5, gaps: 0 }])
  })

  it('nothing is asked for while more than half of the queue is full', () => {
    const { asked, queue, take } = attached()
    const stream = new Stream()
    queue.enqueue([stream.skip(5).publish(15)])
    asked[0]!.answer(digest(1, 5))
    expect(take(3)).toBe('p1-5 6 7')
    expect(asked).toHaveLength(1)
    take()
    expect(asked).toHaveLength(2)
  })

  it('the backlog never overtakes what is live and came before it', () => {
    const { asked, queue, take, delivery, pass } = attached()
    const stream = new Stream()
    const live = stream.publish(2)
    const waited = stream.publish(3)
    asked[0]!.answer(digest(3, 5))
    expect(take()).toBe('p3-5')
    asked.at(-1)!.answer(waited)
    expect(take()).toBe('')
    queue.enqueue([live, stream.marker()])
    expect(take()).toBe('1 2 b3 b4 b5')
    expect(delivery.epochs).toMatchObject([{ delivered: 5, gaps: 0 }])
    // Unless that is lost.
    asked.at(-1)!.answer(stream.skip(1).publish(2))
    pass(9_999)
    expect(take()).toBe('')
    pass(1)
    expect(take()).toBe('b7 b8')
    asked.at(-1)!.answer()
    expect(take()).toBe('bg6-6')
  })

  it('goes on where it was when it is attached again, and asks again when it hears nothing', () => {
    const { asked, queue, take, attach, pass } = attached()
    const stream = new Stream()
    const waited = stream.publish(4)
    queue.enqueue([stream.publish(1)])
    asked[0]!.answer(digest(1, 4))
    expect(take()).toBe('p1-4 5')
    asked.at(-1)!.answer({ ...waited, to: waited.from + 2 })
    expect(take(1)).toBe('b1')
    attach()
    expect(asked.at(-1)).toMatchObject({ since: { epoch: 1, seq: 3 }, isPreview: true })
    asked.at(-1)!.other({ kind: 'busy', retryAfterMs: 200 })
    pass(200)
    asked.at(-1)!.other({ kind: 'failed', reason: 'no node is there' })
    pass(1_000)
    expect(asked.at(-1)).toMatchObject({ since: { epoch: 1, seq: 3 }, isPreview: true })
    asked.at(-1)!.answer(digest(3, 4))
    expect(take()).toBe('p3-4 b2')
    asked.at(-1)!.answer({ ...waited, from: waited.from + 2 })
    expect(take()).toBe('b3 b4')
  })

  it('is over when nobody has answered for as long as anything is kept', () => {
    const { asked, queue, take, pass } = attached()
    queue.enqueue([new Stream().skip(1).publish(1)])
    take()
    for (let i = 0; i < 30 && asked.length > i; i++) {
      asked[i]!.other({ kind: 'failed', reason: 'no node is there' })
      pass(1_000)
    }
    expect(take()).toBe('2 bg1-1')
    expect(asked.length).toBeLessThan(25)
  })

  it('what was missing when the client departed is a gap for that', () => {
    const { asked, queue, take, arrivals } = attached()
    queue.enqueue([new Stream().skip(3).publish(1)])
    asked[0]!.answer(digest(1, 3))
    take()
    expect(arrivals.giveUp(true)).toEqual([
      { kind: 'gap', epoch: 1, from: 1, to: 3, count: 3, cause: 'departed', backlog: true },
    ])
  })
})
