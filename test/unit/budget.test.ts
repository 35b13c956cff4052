import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Budget } from '../../buffers/budget.ts'
import { Link } from '../../buffers/link.ts'
import { PrivateQueue } from '../../buffers/private-queue.ts'
import { RemoteBuffer } from '../../buffers/remote-buffer.ts'
import type { Policy } from '../../policies/policy.ts'
import { noPolicy } from '../../policies/policy.ts'
import { DIGEST_BYTES, EVENT_BYTES, latest, Stream, shown, TestSurroundings } from './buffers.ts'

const bounds = { items: 10_000, bytes: 1_000_000 }

/** A queue with so many events. */
function filled(surroundings: TestSurroundings, events: number, policy: Policy = latest(10)): PrivateQueue {
  const queue = new PrivateQueue(policy, bounds, surroundings)
  queue.enqueueRun(new Stream().publish(events))
  return queue
}

describe('the budget of a node', () => {
  it('counts the bytes of all queues, what waits and what is on its way', () => {
    const surroundings = new TestSurroundings()
    const queues = [filled(surroundings, 5), filled(surroundings, 7)]
    expect(surroundings.budget.bytes).toBe(12 * EVENT_BYTES)
    queues[0]!.take(2 * EVENT_BYTES)
    expect(surroundings.budget.bytes).toBe(12 * EVENT_BYTES)
    expect(queues.every((queue) => surroundings.budget.queues.has(queue))).toBe(true)
    for (const queue of queues) queue.close()
    expect([surroundings.budget.bytes, surroundings.budget.queues.size]).toEqual([0, 0])
  })

  it('does nothing below 90 percent', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 100 * EVENT_BYTES })
    filled(surroundings, 89)
    surroundings.budget.relieve()
    expect(surroundings.packs).toEqual([])
    filled(surroundings, 1)
    surroundings.budget.relieve()
    expect(surroundings.packs.length).toBe(1)
  })

  it('packs the largest queue first, and no more than it takes', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 200 * EVENT_BYTES })
    const [small, large, middle] = [30, 90, 70].map((events) => filled(surroundings, events))
    surroundings.budget.relieve()
    expect(surroundings.packs.map(({ queue }) => queue === large)).toEqual([true])
    expect(shown(large!.items)).toMatch(/^d1-80 81 /)
    expect([small!.events, middle!.events]).toEqual([30, 70])
  })

  it('packs until 80 percent are left', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 200 * EVENT_BYTES })
    const queues = Array.from({ length: 5 }, () => filled(surroundings, 38, latest(30)))
    surroundings.budget.relieve()
    expect(surroundings.budget.bytes).toBeLessThanOrEqual(160 * EVENT_BYTES)
    // Each gains eight events less a digest: nothing; so it takes worst cases, of as few as possible.
    expect(queues.map(({ events }) => events).sort()).toEqual([0, 38, 38, 38, 38])
  })

  it('goes round again, with higher levels, when once was not enough', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 200 * EVENT_BYTES })
    const [queue] = [filled(surroundings, 190, latest(170, 100, 20))]
    surroundings.budget.relieve()
    expect(surroundings.levels).toEqual([1, 2])
    expect(queue!.events).toBe(100)
  })

  it('does not lose events of many small queues where a digest would weigh more', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 100 * EVENT_BYTES })
    const queues = Array.from({ length: 100 }, () => filled(surroundings, 1))
    surroundings.budget.relieve()
    expect(surroundings.budget.bytes).toBe(100 * EVENT_BYTES)
    expect(queues.every(({ events }) => events === 1)).toBe(true)
  })

  it('keeps many small queues near it by packing those that gain by it', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 50 * DIGEST_BYTES })
    const streams = Array.from({ length: 20 }, () => ({
      queue: filled(surroundings, 1, noPolicy),
      stream: new Stream(),
    }))
    for (let round = 0; round < 50; round++) {
      for (const { queue, stream } of streams) {
        queue.enqueueRun(stream.publish())
        surroundings.budget.relieve()
        expect(surroundings.budget.bytes).toBeLessThanOrEqual(surroundings.budget.limitBytes)
      }
    }
  })

  it('does not look through all queues at every arrival when they have nothing to give', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 1_000 * EVENT_BYTES })
    let looked = 0
    class Stubborn extends PrivateQueue {
      override relieve(): boolean {
        looked++
        return false
      }
    }
    const stream = new Stream()
    const queue = new Stubborn(noPolicy, bounds, surroundings)
    queue.enqueueRun(stream.publish(950))
    for (let i = 0; i < 100; i++) {
      queue.enqueueRun(stream.publish())
      surroundings.budget.relieve()
    }
    expect(looked).toBeGreaterThan(5)
    expect(looked).toBeLessThan(20)
  })

  it('looks again at 90 percent after it was below', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 100 * EVENT_BYTES })
    const stuck = filled(surroundings, 99)
    stuck.take(10_000)
    const taken = { items: [], events: 99, bytes: 99 * EVENT_BYTES }
    surroundings.budget.relieve()
    expect(surroundings.packs).toEqual([])
    stuck.acknowledge(taken)
    surroundings.budget.relieve()
    filled(surroundings, 90)
    surroundings.budget.relieve()
    expect(surroundings.packs.length).toBe(1)
  })

  it('does not begin again while it packs', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 100 * EVENT_BYTES })
    let depth = 0
    surroundings.packed = () => {
      expect(++depth).toBe(1)
      surroundings.budget.relieve()
      depth--
    }
    for (let i = 0; i < 4; i++) filled(surroundings, 40, latest(1))
    surroundings.budget.relieve()
    expect(surroundings.budget.bytes).toBeLessThanOrEqual(80 * EVENT_BYTES)
  })

  it('goes on relieving after a queue threw', () => {
    const budget = new Budget(100)
    let asked = 0
    class Broken extends PrivateQueue {
      override relieve(): boolean {
        asked++
        throw new Error('broken')
      }
    }
    const surroundings = { buffer: 'RPB', budget, now: () => 0, random: () => 0 }
    new Broken(noPolicy, bounds, surroundings).enqueueRun(new Stream().publish(10))
    expect(() => budget.relieve()).toThrow('broken')
    expect(() => budget.relieve()).toThrow('broken')
    expect(asked).toBe(2)
  })

  it('ends also when a queue says that it dropped something and did not', () => {
    const budget = new Budget(100)
    let asked = 0
    const surroundings = { buffer: 'RPB', budget, now: () => 0, random: () => 0 }
    class Liar extends PrivateQueue {
      override relieve(): boolean {
        return ++asked < 5
      }
    }
    const queue = new Liar(noPolicy, bounds, surroundings)
    queue.enqueueRun(new Stream().publish(10))
    budget.relieve()
    expect(asked).toBe(5)
  })
})

describe('the budget of a remote buffer', () => {
  it('is never exceeded by more than one arrival, whatever the mix of queues', () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('publish' as const),
          n: fc.integer({ min: 1, max: 9 }),
          sender: fc.nat(3),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constantFrom('suspend' as const, 'resume' as const, 'mark' as const, 'drain' as const),
          n: fc.nat(5),
          sender: fc.nat(3),
        }),
      },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        // Four senders, six receivers, three policies: at most 4 shared and 24 private queues.
        const budgetBytes = 10_000
        const surroundings = new TestSurroundings({ budgetBytes })
        const buffer = new RemoteBuffer({ items: 200, bytes: 10_000 }, surroundings)
        const link = new Link('link')
        const streams = Array.from({ length: 4 }, () => new Stream())
        const policies = [latest(9, 3), latest(2), noPolicy]
        streams.forEach((_, s) => {
          for (let r = 0; r < 6; r++) buffer.subscribe(`s${s}`, link, `r${r}`, policies[r % 3]!)
        })
        for (const { do: what, n, sender } of steps) {
          if (what === 'publish') buffer.enqueue(`s${sender}`, streams[sender]!.publish(n, 50))
          else if (what === 'mark') buffer.mark(`s${sender}`, streams[sender]!.marker())
          else if (what === 'suspend') buffer.suspend(`s${sender}`, `r${n}`)
          else if (what === 'resume') buffer.resume(`s${sender}`, `r${n}`, link)
          else {
            const batch = link.take(400)
            if (batch !== undefined) link.acknowledge(batch.number)
          }
          expect(surroundings.budget.bytes).toBeLessThanOrEqual(budgetBytes)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('counts what a suspended receiver keeps for itself at once', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 100 * EVENT_BYTES })
    const buffer = new RemoteBuffer(bounds, surroundings)
    const link = new Link('link')
    for (let r = 0; r < 10; r++) buffer.subscribe('s', link, `r${r}`, noPolicy)
    buffer.enqueue('s', new Stream().publish(40))
    for (let r = 0; r < 9; r++) {
      buffer.suspend('s', `r${r}`)
      expect(surroundings.budget.bytes).toBeLessThanOrEqual(100 * EVENT_BYTES)
    }
  })

  it('packs a large shared queue for all its policies before a small private one', () => {
    const surroundings = new TestSurroundings({ budgetBytes: 200 * EVENT_BYTES })
    const buffer = new RemoteBuffer(bounds, surroundings)
    const small = filled(surroundings, 40)
    const link = new Link('link')
    buffer.subscribe('s', link, 'one', latest(10))
    buffer.subscribe('s', link, 'two', latest(20))
    buffer.enqueue('s', new Stream().publish(140))
    expect(surroundings.packs.map(({ before, after }) => [before, after])).toEqual([
      [140, 10],
      [140, 20],
    ])
    expect(small.events).toBe(40)
  })
})
