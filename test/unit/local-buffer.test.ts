import { describe, expect, it } from 'vitest'
import { LocalBuffer } from '../../buffers/local-buffer.ts'
import { noPolicy } from '../../policies/policy.ts'
import { digest, EVENT_BYTES, latest, Stream, shown, TestSurroundings } from './buffers.ts'

function bufferOf(budgetBytes?: number) {
  const surroundings = new TestSurroundings<'RB'>({ buffer: 'RB', ...(budgetBytes && { budgetBytes }) })
  return { buffer: new LocalBuffer(surroundings), surroundings, stream: new Stream() }
}

const bounds = { items: 4, bytes: 10_000 }

describe('the local buffer', () => {
  it('has a queue for each receiver of a sender, with its own policy and bounds', () => {
    const { buffer, stream } = bufferOf()
    const small = buffer.subscribe('s', 'small', latest(1), { items: 2, bytes: 10_000 })
    const large = buffer.subscribe('s', 'large', noPolicy, bounds)
    const other = buffer.subscribe('other', 'small', noPolicy, bounds)
    buffer.enqueue('s', stream.publish(3))
    expect([small, large, other].map(({ items }) => shown(items))).toEqual(['d1-1 2 3', '1 2 3', ''])
  })

  it('names itself as the cause of what it drops', () => {
    const { buffer, stream } = bufferOf()
    const queue = buffer.subscribe('s', 'r', noPolicy, bounds)
    buffer.enqueue('s', stream.publish(5))
    const [item] = queue.items
    expect(item?.kind === 'digest' && item.causes).toEqual([{ buffer: 'RB', level: 'worst-case', count: 4 }])
  })

  it('tells who asked of the packs of its own queue, and what each filter did', () => {
    const { buffer, surroundings, stream } = bufferOf()
    const told: unknown[] = []
    buffer.subscribe('s', 'r', latest(3, 1), bounds, (_queue, level, before, after, passes) =>
      told.push({ level, before, after, passes }),
    )
    buffer.subscribe('s', 'other', latest(1), bounds)
    buffer.enqueue('s', stream.publish(5))
    expect(told).toEqual([
      { level: 1, before: 4, after: 3, passes: [{ level: 1, filter: 1, seen: 4, kept: 3 }] },
    ])
    expect(surroundings.packs).toHaveLength(1)
  })

  it('puts items for one receiver, or for all of a policy, and says whether somebody wants them', () => {
    const { buffer, stream } = bufferOf()
    const one = buffer.subscribe('s', 'one', latest(1), bounds)
    const two = buffer.subscribe('s', 'two', latest(1), bounds)
    const three = buffer.subscribe('s', 'three', noPolicy, bounds)
    expect(buffer.enqueueFor('s', 'two', [stream.publish()])).toBe(true)
    expect(buffer.enqueueFor('s', latest(1).hash, [digest(2, 3)])).toBe(true)
    expect(buffer.enqueueFor('s', 'nobody', [digest(4, 5)])).toBe(false)
    expect(buffer.enqueueFor('nobody', 'two', [digest(4, 5)])).toBe(false)
    expect([one, two, three].map(({ items }) => shown(items))).toEqual(['d2-3', '1 d2-3', ''])
  })

  it('puts markers behind the data of everyone', () => {
    const { buffer, stream } = bufferOf()
    const queues = ['one', 'two'].map((receiver) => buffer.subscribe('s', receiver, noPolicy, bounds))
    buffer.enqueue('s', stream.publish(2))
    buffer.mark('s', stream.marker(true))
    buffer.mark('nobody', stream.marker(true))
    for (const { items } of queues) expect(shown(items)).toBe('1 2 e2')
  })

  it('frees everything of a receiver that leaves or subscribes again', () => {
    const { buffer, surroundings, stream } = bufferOf()
    const old = buffer.subscribe('s', 'r', noPolicy, bounds)
    buffer.enqueue('s', stream.publish(2))
    const fresh = buffer.subscribe('s', 'r', noPolicy, bounds)
    expect([old.isClosed, shown(fresh.items), surroundings.budget.bytes]).toEqual([true, '', 0])
    buffer.enqueue('s', stream.publish(1))
    expect(shown(fresh.items)).toBe('3')
    expect(buffer.unsubscribe('s', 'r')).toBe(true)
    expect(buffer.unsubscribe('s', 'r')).toBe(false)
    expect([surroundings.budget.bytes, surroundings.budget.queues.size]).toEqual([0, 0])
    buffer.enqueue('s', stream.publish(1))
    expect(surroundings.budget.bytes).toBe(0)
  })

  it('packs for the budget when events or items bring it near', () => {
    const bytes = 100 * EVENT_BYTES
    const { buffer, surroundings, stream } = bufferOf(bytes)
    const queue = buffer.subscribe('s', 'r', latest(10), { items: 1_000, bytes: 10 * bytes })
    buffer.enqueue('s', stream.publish(89))
    expect(surroundings.packs).toEqual([])
    buffer.enqueue('s', stream.publish(1))
    expect(shown(queue.items)).toMatch(/^d1-80 81 /)
    buffer.enqueueFor('s', 'r', [stream.publish(80)])
    expect(surroundings.packs.length).toBe(2)
  })
})
