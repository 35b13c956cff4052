import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LocalBuffer } from '../../buffers/local-buffer.ts'
import type { Delivered, DeliveredEvent } from '../../endpoints/delivery.ts'
import { Subscription } from '../../endpoints/subscription.ts'
import { noPolicy } from '../../policies/policy.ts'
import { Stream, TestSurroundings } from './buffers.ts'

/** A subscription that stands, and a stream whose events are put into its queue. */
function subscribed() {
  const buffer = new LocalBuffer(new TestSurroundings<'RB'>({ buffer: 'RB' }))
  const queue = buffer.subscribe('s', 'r', noPolicy, { items: 1_000, bytes: 1_000_000 })
  const subscription = new Subscription('s', 'r', noPolicy, queue, () => void buffer.unsubscribe('s', 'r'))
  subscription.begins({ epoch: 1, seq: 1 })
  const stream = new Stream()
  const publish = (count: number) => {
    buffer.enqueue('s', stream.publish(count))
    subscription.arrived()
  }
  return { subscription, buffer, stream, publish }
}

function seqOf(item: Delivered | undefined): number | undefined {
  return item?.kind === 'event' ? (item as DeliveredEvent).seq : undefined
}

/** What is thrown and not caught, in place of the test's failure. */
function uncaught(): unknown[] {
  const errors: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => errors.push(error))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  })
  return errors
}

describe('a subscription', () => {
  it('gives each of those who wait the next item, in the order in which they asked', async () => {
    const { subscription, publish } = subscribed()
    const asked = [subscription.next(), subscription.next(), subscription.next()]
    await turn()
    publish(2)
    await turn()
    publish(1)
    expect((await Promise.all(asked)).map(seqOf)).toEqual([1, 2, 3])
  })

  it('ends all who wait when it is closed', async () => {
    const { subscription } = subscribed()
    const asked = [subscription.next(), subscription.next()]
    await turn()
    subscription.close()
    expect(await Promise.all(asked)).toEqual([undefined, undefined])
  })

  it('calls a handler that throws with the rest as well, and what it throws is uncaught', async () => {
    const errors = uncaught()
    const { subscription, publish } = subscribed()
    const seqs: number[] = []
    subscription.handle({
      event(event) {
        seqs.push(event.seq)
        if (event.seq === 2) throw new Error('of the handler')
      },
    })
    publish(5)
    await turn()
    publish(1)
    await turn()
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6])
    expect(subscription.receipt).toMatchObject([{ delivered: 6, last: 6 }])
    expect(errors).toEqual([new Error('of the handler')])
  })

  it.each(['event', 'gap'] as const)('stops when it is closed in a handler of an %s', async (kind) => {
    const { subscription, stream, publish } = subscribed()
    const taken: string[] = []
    const take = (item: Delivered) => {
      taken.push(`${item.kind} ${item.kind === 'gap' ? item.to : seqOf(item)}`)
      if (item.kind === kind && taken.length > 1) subscription.close()
    }
    subscription.handle({ event: take, gap: take })
    publish(1)
    stream.skip(1)
    publish(1)
    publish(1)
    await turn()
    await turn()
    expect(taken).toEqual(['event 1', 'gap 2', 'event 3'].slice(0, kind === 'gap' ? 2 : 3))
    const delivered = kind === 'gap' ? 1 : 2
    expect(subscription.receipt).toMatchObject([{ delivered, gaps: 1, last: delivered + 1 }])
  })
})

describe('the gap of a client that had departed', () => {
  const gapsOf = async (subscription: Subscription, items: number) => {
    const gaps: object[] = []
    for (let i = 0; i < items; i++) {
      const item = await subscription.next()
      if (item?.kind === 'gap') gaps.push(item)
    }
    return gaps
  }

  it('says so, and no other', async () => {
    const { subscription, stream, publish } = subscribed()
    publish(1)
    stream.skip(2)
    publish(1)
    // What waits when it departs still comes, with the gap before.
    subscription.departed()
    stream.skip(3)
    publish(1)
    stream.skip(4)
    publish(1)
    expect(await gapsOf(subscription, 7)).toEqual([
      { kind: 'gap', epoch: 1, from: 2, to: 3, count: 2 },
      { kind: 'gap', epoch: 1, from: 5, to: 7, count: 3, cause: 'departed' },
      { kind: 'gap', epoch: 1, from: 9, to: 12, count: 4 },
    ])
  })

  it('is none when nothing was lost, and then the next gap is another', async () => {
    const { subscription, stream, publish } = subscribed()
    publish(1)
    subscription.departed()
    publish(1)
    stream.skip(1)
    publish(1)
    expect(await gapsOf(subscription, 4)).toEqual([{ kind: 'gap', epoch: 1, from: 3, to: 3, count: 1 }])
  })

  it('begins with 1 when the sender has started anew meanwhile', async () => {
    const { subscription, buffer, publish } = subscribed()
    publish(1)
    subscription.departed()
    const again = new Stream()
    again.epoch = 2
    buffer.enqueue('s', again.skip(5).publish(1))
    subscription.arrived()
    expect(await gapsOf(subscription, 3)).toEqual([
      { kind: 'gap', epoch: 2, from: 1, to: 5, count: 5, cause: 'departed' },
    ])
  })
})
