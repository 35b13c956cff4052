// What waited for a receiver that wants the digest first, at its root.
import { describe, expect, it } from 'vitest'
import { RemoteBuffer } from '../../buffers/remote-buffer.ts'
import { Backlogs, type Recall } from '../../overlay/backlogs.ts'
import type { PollAnswer } from '../../overlay/control.ts'
import type { Forest } from '../../overlay/forest.ts'
import { Mirrors } from '../../overlay/mirrors.ts'
import { itemsOf } from '../../overlay/poll-answer.ts'
import { ReceiverRoot } from '../../overlay/receiver-root.ts'
import type { Tree } from '../../overlay/tree.ts'
import { noPolicy } from '../../policies/policy.ts'
import { latest, Stream, shown, TestSurroundings } from './buffers.ts'
import { aHost as roleHost } from './role-host.ts'
import { idOf } from './wire-frames.ts'

const sid = idOf(1)
const rid = idOf(2)
const owner = idOf(3)
const proxy = idOf(4)
const root = idOf(5)
const key = sid + rid
const policy = latest(5)

function aHost() {
  const { host, messages, linkTo } = roleHost(root)
  const answers = () =>
    messages.splice(0).flatMap(([peer, message]) => {
      if (message.kind !== 'polled') return []
      expect(peer).toBe(proxy)
      return [message.answer]
    })
  return { host, told: messages, answers, linkTo }
}

function recall(more: Partial<Recall> = {}): Recall {
  return { kind: 'recall', request: 1, sid, rid, owner, path: [proxy], ...more }
}

/** The items of an answer in pieces. */
function broughtBy(answers: readonly PollAnswer[]): string {
  const last = answers.at(-1)
  expect(last?.kind).toBe('backlog')
  const pieces = answers.flatMap((one) => ('items' in one && one.items !== undefined ? [one.items] : []))
  return shown(itemsOf(sid, pieces))
}

function aBacklog(bounds = { items: 1_000, bytes: 1_000_000 }) {
  const surroundings = new TestSurroundings()
  const rpb = new RemoteBuffer(bounds, surroundings)
  const { host, answers, linkTo } = aHost()
  const backlogs = new Backlogs(host, rpb)
  rpb.subscribe(key, linkTo(proxy), rid, policy)
  const stream = new Stream()
  const away = () => rpb.suspend(key, rid)
  const back = () => {
    backlogs.keep({ sid, rid, key, policy }, undefined)
    rpb.resume(key, rid, linkTo(proxy))
  }
  const publish = (count: number, textBytes = 0) => rpb.put(key, rid, [stream.publish(count, textBytes)])
  const ask = (more: Partial<Recall> = {}) => {
    backlogs.recall(recall(more))
    return broughtBy(answers())
  }
  const waiting = () => shown(rpb.classOf(key, rid)!.queue.items)
  return { surroundings, rpb, backlogs, stream, away, back, publish, ask, waiting }
}

describe('a backlog at the root', () => {
  it('leaves the queue empty but for how far it went, and comes when it is recalled', () => {
    const { away, back, publish, ask, waiting, rpb } = aBacklog()
    away()
    publish(4)
    back()
    expect(waiting()).toBe('m4')
    publish(1)
    expect(waiting()).toBe('5')
    expect(ask()).toBe('1 2 3 4')
    expect(ask({ since: { epoch: 1, seq: 5 } })).toBe('')
    expect(rpb.size).toBe(1)
  })

  it('gives again what was not acknowledged, and goes on behind what was', () => {
    const { away, back, publish, ask, backlogs } = aBacklog()
    away()
    for (let i = 0; i < 4; i++) publish(50, 100)
    back()
    const first = ask()
    expect(first.startsWith('1 2 3')).toBe(true)
    expect(backlogs.size).toBe(1)
    expect(ask()).toBe(first)
    const seq = Number(first.split(' ').at(-1)) + 1
    expect(seq).toBeLessThan(150)
    expect(ask({ since: { epoch: 1, seq } }).startsWith(`${seq} ${seq + 1}`)).toBe(true)
  })

  it('has what waited in a second absence behind what waited in the first', () => {
    const { away, back, publish, ask } = aBacklog()
    away()
    publish(3)
    back()
    publish(2)
    away()
    publish(2)
    back()
    // The proxy never acknowledged 4 and 5.
    expect(ask()).toBe('1 2 3 4 5 6 7')
  })

  it('previews what waits without dropping any of it', () => {
    const { away, back, publish, ask, stream } = aBacklog()
    away()
    publish(3)
    stream.skip(2)
    publish(3)
    back()
    expect(ask({ preview: true })).toBe('d1-3 d6-8')
    expect(ask()).toBe('1 2 3 6 7 8')
  })

  it('is bounded and packed as the queue it came from', () => {
    const { away, back, publish, ask } = aBacklog({ items: 10, bytes: 1_000_000 })
    away()
    for (let i = 0; i < 3; i++) publish(8)
    back()
    away()
    for (let i = 0; i < 3; i++) publish(8)
    back()
    const items = ask()
    expect(items).toMatch(/^d1-/)
    expect(items.split(' ').length).toBeLessThanOrEqual(12)
  })

  it('goes with the subscription', () => {
    const { away, back, publish, backlogs, rpb, surroundings } = aBacklog()
    away()
    publish(4)
    back()
    backlogs.drop(sid, rid)
    rpb.unsubscribe(key, rid)
    expect([rpb.size, backlogs.size, surroundings.budget.queues.size, surroundings.budget.bytes]).toEqual([
      0, 0, 0, 0,
    ])
  })
})

describe("a receiver's root", () => {
  function aRoot() {
    const { host, answers } = aHost()
    const rpb = new RemoteBuffer({ items: 100, bytes: 100_000 }, new TestSurroundings())
    const sib = new RemoteBuffer(
      { items: 100, bytes: 100_000 },
      new TestSurroundings<'SIB'>({ buffer: 'SIB' }),
    )
    const tree = { sid, allow: undefined, wantLocal: () => true } as unknown as Tree
    const forest = { treeOf: () => tree, unwantLocal() {} } as unknown as Forest
    const receiverRoot = new ReceiverRoot(host, rpb, forest, new Mirrors(host, sib))
    const stream = new Stream()
    const attached = (generation: number, backlog?: 'digest-first') => {
      const order = backlog === undefined ? {} : { backlog }
      const { spec } = noPolicy
      receiverRoot.subscribe({
        kind: 'subscribe',
        sid,
        rid,
        proxy,
        owner,
        policy: spec,
        generation,
        ...order,
      })
    }
    const publish = (count: number) => receiverRoot.deliver(sid, undefined, [stream.publish(count)])
    const ask = (more: Partial<Recall> = {}) => {
      receiverRoot.recall(recall(more))
      return answers()
    }
    attached(1, 'digest-first')
    receiverRoot.granted(tree, [noPolicy.hash], { epoch: 1, seq: 1 }, false)
    return { receiverRoot, attached, publish, ask, answers }
  }

  it('answers only the client that the receiver belongs to', () => {
    const { receiverRoot, attached, publish, ask } = aRoot()
    receiverRoot.suspend(proxy, sid, rid, 1)
    publish(3)
    attached(2, 'digest-first')
    expect(ask({ owner: idOf(9) })).toEqual([{ kind: 'unknown' }])
    expect(ask({ rid: idOf(9) })).toEqual([{ kind: 'unknown' }])
    expect(broughtBy(ask())).toBe('1 2 3')
  })

  it('asks to wait while the receiver is away, or attached elsewhere than who asks', () => {
    const { receiverRoot, attached, ask } = aRoot()
    receiverRoot.suspend(proxy, sid, rid, 1)
    expect(ask()).toMatchObject([{ kind: 'busy' }])
    attached(2, 'digest-first')
    receiverRoot.recall(recall({ path: [idOf(9), proxy] }))
    expect(ask()).toEqual([
      { kind: 'busy', retryAfterMs: 200 },
      { kind: 'backlog', index: 0 },
    ])
  })

  it.each([
    ['wants it in order', 2, undefined],
    ['was away only by what its root thought', 1, 'digest-first' as const],
  ])('keeps nothing back from a receiver that %s', (_, generation, order) => {
    const { receiverRoot, attached, publish, ask } = aRoot()
    receiverRoot.suspend(proxy, sid, rid, 1)
    publish(3)
    attached(generation, order)
    expect(ask()).toEqual([{ kind: 'backlog', index: 0 }])
  })
})
