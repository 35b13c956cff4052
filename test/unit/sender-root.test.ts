// The roles of pulling at a node, on a host that only remembers what it was told to say.
import { describe, expect, it } from 'vitest'
import { Block, type Run } from '../../buffers/block.ts'
import type { Item } from '../../buffers/item.ts'
import type { ControlMessage, PollAnswer, RoutedMessage } from '../../overlay/control.ts'
import { type Host, LEASE_MS } from '../../overlay/host.ts'
import type { Id } from '../../overlay/id.ts'
import { itemsOf } from '../../overlay/poll-answer.ts'
import { MAX_POLLS_OF_CLIENT, POLL_TIMEOUT_MS, PollProxy } from '../../overlay/poll-proxy.ts'
import { RING_BYTES } from '../../overlay/ring.ts'
import { KEEP_MS, MAX_QUEUE_MS, MAX_RINGS, RINGS_BYTES, SenderRoot } from '../../overlay/sender-root.ts'
import { noPolicy } from '../../policies/policy.ts'
import { idOf } from './wire-frames.ts'

const self = idOf(1)
const client = idOf(2)
const sid = idOf(3)

class FakeHost implements Host {
  readonly id = self
  readonly said: { to: Id; message: ControlMessage }[] = []
  readonly routed: RoutedMessage[] = []
  time = 1_000_000

  now() {
    return this.time
  }
  tell(to: Id, message: ControlMessage) {
    this.said.push({ to, message })
  }
  route(_key: Id, message: RoutedMessage) {
    this.routed.push(message)
  }
  handOver(): never {
    throw new Error('no receivers here')
  }

  isAnnounced(): boolean {
    return false
  }

  isThere(): boolean {
    return true
  }

  isLeaving(): boolean {
    return false
  }

  standIn() {
    return undefined
  }

  nextHop() {
    return undefined
  }
  linkTo(): never {
    throw new Error('no links here')
  }
  compile(): never {
    throw new Error('no policies here')
  }

  /** The answers since the last call. */
  answers(): PollAnswer[] {
    return this.said.splice(0).flatMap(({ message }) => (message.kind === 'polled' ? [message.answer] : []))
  }
}

function events(from: number, to: number, bodyBytes = 8): Item {
  const block = new Block({ tags: ['v'] }, 1)
  for (let seq = from; seq <= to; seq++) block.append(seq, seq, new Uint8Array(bodyBytes))
  return { kind: 'events', block, picks: undefined, from: 0, to: to - from + 1 }
}

const poll = { kind: 'poll', request: 1, sid, owner: client, path: [] as Id[] } as const

describe('a root of senders', () => {
  const setUp = (random = 0.5) => {
    const host = new FakeHost()
    return {
      host,
      root: new SenderRoot(
        host,
        () => random,
        () => undefined,
      ),
    }
  }

  it('answers along the way that the poll came', () => {
    const { host, root } = setUp()
    root.keep(sid, undefined)
    root.deliver(sid, undefined, [events(1, 3)])
    host.time += 700
    root.poll({ ...poll, path: [idOf(7), idOf(8)] })
    const answer = {
      kind: 'items',
      index: 0,
      items: expect.any(String),
      first: { epoch: 1, seq: 3 },
      more: false,
    }
    const waits = { phaseAdjustmentMs: 700, desynchronisationMs: 1 }
    expect(host.said).toEqual([
      {
        to: idOf(8),
        message: { kind: 'polled', request: 1, path: [idOf(7)], answer: { ...answer, ...waits } },
      },
    ])
  })

  it('takes what is for everyone and what is for the class without a policy', () => {
    const { host, root } = setUp()
    root.keep(sid, undefined)
    root.deliver(sid, undefined, [events(1, 1)])
    root.deliver(sid, idOf(9), [events(2, 2)])
    root.deliver(sid, noPolicy.hash, [events(3, 3)])
    root.deliver(idOf(4), undefined, [events(1, 1)])
    root.poll(poll)
    root.poll({ ...poll, since: { epoch: 1, seq: 2 } })
    root.poll({ ...poll, sid: idOf(4) })
    expect(host.answers()).toMatchObject([
      { kind: 'items', first: { seq: 3 } },
      { kind: 'items', items: expect.any(String) },
      { kind: 'unknown' },
    ])
  })

  it('answers those whom the sender allows, as it last said', () => {
    const { host, root } = setUp()
    root.keep(sid, [idOf(5)])
    root.deliver(sid, undefined, [events(1, 1)])
    root.poll(poll)
    root.keep(sid, [client])
    root.poll(poll)
    expect(host.answers().map(({ kind }) => kind)).toEqual(['denied', 'items'])
  })

  it('is about to know when it has heard of the sender and not yet where it stands', () => {
    const { host, root } = setUp()
    root.keep(sid, undefined)
    root.poll(poll)
    expect(host.answers()).toEqual([{ kind: 'busy', retryAfterMs: 1_000 }])
  })

  it('asks for more and more room between polls, then to come again, and serves again when there was time', () => {
    const { host, root } = setUp()
    root.keep(sid, undefined)
    root.deliver(sid, undefined, [events(1, 1)])
    for (let i = 0; i < 15_000; i++) root.poll(poll)
    const answers = host.answers()
    const spreads = answers.flatMap((one) => (one.kind === 'items' ? [one.desynchronisationMs] : []))
    expect(spreads).toEqual(spreads.toSorted((a, b) => a - b))
    expect(spreads.at(-1)).toBeCloseTo(2 * MAX_QUEUE_MS, -1)
    const waits = answers.flatMap((one) => (one.kind === 'busy' ? [one.retryAfterMs] : []))
    expect(spreads.length + waits.length).toBe(15_000)
    expect(waits.length).toBeGreaterThan(4_000)
    for (const wait of waits) expect(wait / MAX_QUEUE_MS).toBeCloseTo(1.5, 2)
    host.time += MAX_QUEUE_MS
    root.poll(poll)
    expect(host.answers()).toMatchObject([{ kind: 'items' }])
  })

  it('keeps what a sender left for an hour, and only so many senders', () => {
    const { host, root } = setUp()
    for (let i = 0; i < MAX_RINGS; i++) expect(root.keep(`${i}`, undefined)).toBe(true)
    expect(root.keep('one more', undefined)).toBe(false)
    host.time += LEASE_MS
    expect(root.keep('one more', undefined)).toBe(true)
    expect(root.size).toBe(MAX_RINGS)
    host.time += KEEP_MS + 1
    root.refresh()
    expect(root.size).toBe(0)
  })

  it('shares its memory evenly when there are many', () => {
    const { host, root } = setUp()
    const oldest = () => {
      root.poll({ ...poll, since: { epoch: 1, seq: 1 } })
      const pieces = host.answers().flatMap((one) => ('items' in one ? [one.items!] : []))
      const [run] = itemsOf(sid, pieces) as [Run]
      return run.block.seq(run.from)
    }
    root.keep(sid, undefined)
    root.deliver(sid, undefined, [events(1, 500, 1_008)])
    expect(oldest()).toBe(501 - RING_BYTES / 1_024)
    for (let i = 1; i < 1_024; i++) root.keep(`${i}`, undefined)
    root.refresh()
    expect(oldest()).toBe(501 - RINGS_BYTES / 1_024 / 1_024)
  })
})

describe('a proxy of those who pull', () => {
  const setUp = (isAnnounced = false) => {
    const host = new FakeHost()
    const proxy = new PollProxy(host, () => isAnnounced)
    const ask = (request: number) => proxy.poll(client, { kind: 'poll', request, sid })
    const answer = (answer: PollAnswer, request = proxy.size) =>
      proxy.polled({ kind: 'polled', request, path: [], answer })
    return { host, proxy, ask, answer }
  }

  it('asks for the client that is connected, and tells it by its own number', () => {
    const { host, proxy, ask, answer } = setUp()
    ask(77)
    expect(host.routed).toEqual([{ kind: 'poll', request: 1, sid, owner: client, path: [] }])
    answer({ kind: 'piece', index: 0, items: 'AAAA' })
    answer({ kind: 'unknown' }, 1)
    answer({ kind: 'unknown' }, 1)
    const told = (answer: PollAnswer) => ({
      to: client,
      message: { kind: 'polled', request: 77, path: [], answer },
    })
    expect(host.said).toEqual([told({ kind: 'piece', index: 0, items: 'AAAA' }), told({ kind: 'unknown' })])
    expect(proxy.size).toBe(0)
  })

  it('knows by the directory that a root is about to know', () => {
    const { host, ask, answer } = setUp(true)
    ask(1)
    answer({ kind: 'unknown' })
    expect(host.answers()).toEqual([{ kind: 'busy', retryAfterMs: 1_000 }])
  })

  it('takes only so many at a time, forgets those without an answer, and those of a client that is gone', () => {
    const { host, proxy, ask } = setUp()
    for (let i = 0; i < MAX_POLLS_OF_CLIENT; i++) ask(i)
    expect(host.answers()).toEqual([])
    ask(99)
    expect(host.answers()).toMatchObject([{ kind: 'busy' }])
    host.time += POLL_TIMEOUT_MS + 1
    proxy.expire()
    expect(proxy.size).toBe(0)
    ask(100)
    expect([proxy.size, host.answers()]).toEqual([1, []])
    proxy.departed(client)
    expect(proxy.size).toBe(0)
  })

  it('lets a client poll two hundred times a second, and some thousand at once', () => {
    const { host, ask, answer } = setUp()
    const polls = (count: number) => {
      let asked = 0
      for (let i = 0; i < count; i++) {
        ask(i)
        answer({ kind: 'unknown' }, host.routed.length)
      }
      for (const { kind } of host.answers()) if (kind === 'unknown') asked++
      return asked
    }
    expect(polls(5_000)).toBe(1_001)
    host.time += 1_000
    expect(polls(5_000)).toBe(200)
  })
})
