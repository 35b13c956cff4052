// Copies of what waits at a root for a receiver that is away: both ends.
import { describe, expect, it } from 'vitest'
import type { Item } from '../../buffers/item.ts'
import { MAX_COPIES, type Mirror, Mirrors } from '../../overlay/mirrors.ts'
import { noPolicy } from '../../policies/policy.ts'
import { aHost } from './role-host.ts'
import { idOf, plainRun } from './wire-frames.ts'

const [sid, rid, proxy, owner] = [idOf(1), idOf(2), idOf(3), idOf(4)]
const key = sid + rid
const ids = { sid, rid, proxy, owner, generation: 1 }
const mirror: Mirror = { kind: 'mirror', ...ids, policy: noPolicy.spec }

/** The root of a receiver that is away, with its stand-in S unless it is changed. */
function aRoot() {
  let standIn: string | undefined = 'S'
  const { host, told, buffer, linkTo } = aHost('R', { standIn: () => standIn })
  const sib = buffer('SIB')
  const mirrors = new Mirrors(host, sib)
  const tell = (waiting: readonly Item[] = []) => mirrors.mirror({ ...ids, policy: noPolicy }, () => waiting)
  /** Events that have left for a node. */
  const sentTo = (node: string) => {
    const { parts = [] } = linkTo(node).take(100_000) ?? {}
    return parts.flatMap(({ taken }) => taken.items).reduce((all, item) => all + eventsOf(item), 0)
  }
  const moveTo = (next: string | undefined) => {
    standIn = next
  }
  return { mirrors, sib, tell, told, sentTo, moveTo }
}

function eventsOf(item: Item): number {
  return item.kind === 'events' ? item.to - item.from : 0
}

describe('a root of a receiver that is away', () => {
  it('sends what waits to its stand-in once, and then what comes', () => {
    const { mirrors, tell, told, sentTo } = aRoot()
    const run = plainRun(5, 8)
    tell([{ ...run, to: 3 }])
    expect(sentTo('S')).toBe(3)
    tell([{ ...run, to: 3 }])
    mirrors.put(key, rid, [{ ...run, from: 3 }])
    expect(sentTo('S')).toBe(2)
    expect(told('mirror')).toMatchObject([
      ['S', { rid, generation: 1 }],
      ['S', { rid, generation: 1 }],
    ])
  })

  it('sends nothing of who is not away', () => {
    const { mirrors, sib, sentTo } = aRoot()
    mirrors.put(key, rid, [plainRun(5, 8)])
    expect([sentTo('S'), sib.size, mirrors.mirrored]).toEqual([0, 0, 0])
  })

  it('sends all of it to another node when that is the stand-in', () => {
    const { mirrors, tell, told, sentTo, moveTo } = aRoot()
    tell([plainRun(5, 8)])
    moveTo('T')
    tell([plainRun(5, 8)])
    expect(told('unmirror')).toEqual([['S', { kind: 'unmirror', sid, rid }]])
    expect([sentTo('S'), sentTo('T'), mirrors.mirrored]).toEqual([0, 5, 1])
  })

  it.each(['drop', 'lost', 'ended', 'nobody'] as const)('has nothing of it any more: %s', (how) => {
    const { mirrors, sib, tell, moveTo } = aRoot()
    tell([plainRun(5, 8)])
    if (how === 'drop') mirrors.drop(sid, rid)
    else if (how === 'lost') mirrors.lost('S')
    else if (how === 'ended') expect(mirrors.ended('S', sid, rid)).toBe(true)
    else {
      moveTo(undefined)
      tell()
    }
    expect([sib.size, mirrors.mirrored, mirrors.isMirrored(key)]).toEqual([0, 0, false])
  })

  it('does not listen to a node that is not its stand-in', () => {
    const { mirrors, tell } = aRoot()
    tell()
    expect(mirrors.ended('T', sid, rid)).toBe(false)
    mirrors.lost('T')
    expect(mirrors.isMirrored(key)).toBe(true)
  })
})

describe('a stand-in', () => {
  it('takes a queue once, and again from another root', () => {
    const { mirrors } = aRoot()
    expect(mirrors.keep('A', mirror, noPolicy)).toBe(true)
    expect(mirrors.keep('A', mirror, noPolicy)).toBe(false)
    expect(mirrors.keep('B', mirror, noPolicy)).toBe(true)
    expect(mirrors.copyOf(key)?.root).toBe('B')
    mirrors.forget(key)
    expect([mirrors.copies, mirrors.copyOf(key)]).toEqual([0, undefined])
  })

  it('takes no more than it has room for', () => {
    const { mirrors } = aRoot()
    const another = (i: number) => ({ ...mirror, rid: i.toString(16).padStart(64, '0') })
    for (let i = 0; i < MAX_COPIES; i++) mirrors.keep('A', another(i), noPolicy)
    expect(mirrors.keep('A', mirror, noPolicy)).toBe(false)
    expect([mirrors.copies, mirrors.copyOf(key)]).toEqual([MAX_COPIES, undefined])
    expect(mirrors.keep('B', another(0), noPolicy)).toBe(true)
  })

  it('knows those that it has not heard of for long', () => {
    let now = 0
    const { host, buffer } = aHost('S', { now: () => now })
    const mirrors = new Mirrors(host, buffer('SIB'))
    mirrors.keep('A', mirror, noPolicy)
    now = 10
    mirrors.keep('A', { ...mirror, rid: idOf(5) }, noPolicy)
    expect(mirrors.stale(10).map(({ mirror }) => mirror.rid)).toEqual([rid])
    mirrors.keep('A', mirror, noPolicy)
    expect(mirrors.stale(10)).toEqual([])
  })
})
