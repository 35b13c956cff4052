// A receiver's root and its proxies when it moves faster than they hear of it.
import { describe, expect, test } from 'vitest'
import type { Forest } from '../../overlay/forest.ts'
import type { Host } from '../../overlay/host.ts'
import { idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { Mirrors } from '../../overlay/mirrors.ts'
import { ReceiverProxy } from '../../overlay/receiver-proxy.ts'
import { ReceiverRoot } from '../../overlay/receiver-root.ts'
import type { Tree } from '../../overlay/tree.ts'
import { compilePolicy } from '../../policies/compile.ts'
import { noPolicy } from '../../policies/policy.ts'
import { aHost } from './role-host.ts'
import { plainRun } from './wire-frames.ts'

const key = new Uint8Array(34).fill(9)
const client = { id: idOfPeer(key), kind: 'client', key } as const
const name = 'pulse'
const sid = 'ab'.repeat(32)
const rid = idOfEndpoint(key, name)

test('a proxy that has the receiver again does not say that it has nothing left of it', () => {
  const { host, told, buffer } = aHost('A')
  const proxy = new ReceiverProxy(host, buffer('RCB'))
  const attach = (generation: number) =>
    proxy.subscribe(client, { kind: 'subscribe', sid, rid, name, policy: noPolicy.spec, generation })
  const collect = (generation: number) =>
    proxy.collect('R', { kind: 'collect', sid, rid, to: 'B', generation })
  attach(1)
  attach(3)
  collect(2)
  expect(told('collected')).toEqual([])
  // The root has heard of it: now what it has is where it belongs.
  collect(3)
  expect(told('collected')).toEqual([['R', { kind: 'collected', sid, rid, generation: 3 }]])
})

test('a root asks a proxy again that had the receiver again when it was asked', () => {
  const { host, told, buffer } = aHost('R')
  const tree = { sid, allow: undefined, wantLocal: () => true } as unknown as Tree
  const forest = { treeOf: () => tree, unwantLocal() {} } as unknown as Forest
  const root = new ReceiverRoot(host, buffer('RPB'), forest, new Mirrors(host, buffer('SIB')))
  const attached = (proxy: string, generation: number) =>
    root.subscribe({
      kind: 'subscribe',
      sid,
      rid,
      proxy,
      owner: client.id,
      policy: noPolicy.spec,
      generation,
    })
  attached('A', 1)
  root.granted(tree, [noPolicy.hash], { epoch: 1, seq: 1 }, false)
  attached('B', 2)
  attached('C', 4)
  expect(told('collect')).toMatchObject([['A', { to: 'B', generation: 2 }]])
  // It was there again, before C, which only now is heard of.
  attached('A', 3)
  expect(told('collect')).toMatchObject([
    ['A', { to: 'B', generation: 2 }],
    ['A', { to: 'B', generation: 4 }],
  ])
  root.collected('A', sid, rid, 2)
  expect(told('collect')).toHaveLength(2)
  root.collected('A', sid, rid, 4)
  expect(told('collect').at(-1)).toMatchObject(['B', { to: 'C', generation: 4 }])
})

describe('a receiver that is back while what it left before still leaves', () => {
  const back = () => {
    const routed: unknown[] = []
    const route: Host['route'] = (_key, message) => void routed.push(message)
    const { host, told, buffer, linkTo } = aHost('A', { route })
    const rcb = buffer('RCB')
    const proxy = new ReceiverProxy(host, rcb)
    const attach = (generation: number) =>
      proxy.subscribe(client, { kind: 'subscribe', sid, rid, name, policy: noPolicy.spec, generation })
    attach(1)
    proxy.subscribed('R', sid, rid, { epoch: 1, seq: 1 })
    proxy.deliver('R', sid + rid, rid, [plainRun(3, 8)])
    proxy.collect('R', { kind: 'collect', sid, rid, to: 'B', generation: 2 })
    routed.length = 0
    attach(3)
    return { proxy, rcb, routed, told, linkTo }
  }

  test('does not begin again when it has ended meanwhile', () => {
    const { proxy, rcb, routed, told } = back()
    proxy.unsubscribe(client.id, sid, rid)
    proxy.lost('B')
    expect(told('collected')).toHaveLength(1)
    expect([routed, proxy.size, rcb.size]).toEqual([[], 0, 0])
  })

  test('is away when it was detached meanwhile', () => {
    const { proxy, routed, linkTo } = back()
    proxy.detached(client.id, 3)
    proxy.lost('B')
    expect(routed[0]).toMatchObject({ kind: 'subscribe', generation: 3, away: true })
    proxy.subscribed('R', sid, rid, { epoch: 1, seq: 4 })
    proxy.deliver('R', sid + rid, rid, [plainRun(3, 8)])
    expect(linkTo(client.id).take(1_000)).toBeUndefined()
  })
})

test('a queue that another policy packed is not what a receiver has waiting', () => {
  const { host, told, buffer } = aHost('R')
  const tree = { sid, allow: undefined, wantLocal: () => true } as unknown as Tree
  const forest = { treeOf: () => tree, unwantLocal() {} } as unknown as Forest
  const root = new ReceiverRoot(host, buffer('RPB'), forest, new Mirrors(host, buffer('SIB')))
  const other = compilePolicy({ levels: [[{ name: 'LATEST', window: 1 }]] })
  const known = { sid, rid, proxy: 'A', owner: client.id, generation: 2 }
  root.subscribe({ kind: 'subscribe', ...known, policy: noPolicy.spec })
  const first = { epoch: 1, seq: 1 }
  root.mirror('O', { kind: 'mirror', ...known, generation: 1, policy: other.spec, first })
  expect(told('subscribed')).toEqual([])
  expect(told('unmirror')).toEqual([['O', { kind: 'unmirror', sid, rid }]])
  root.mirror('O', { kind: 'mirror', ...known, generation: 1, policy: noPolicy.spec, first })
  expect(told('subscribed')).toEqual([['A', { kind: 'subscribed', sid, rid, first }]])
})

test('a proxy that was asked for what it has sends it when the root it waited for is gone', () => {
  const { host, told, buffer } = aHost('A')
  const proxy = new ReceiverProxy(host, buffer('RCB'))
  proxy.subscribe(client, { kind: 'subscribe', sid, rid, name, policy: noPolicy.spec, generation: 1 })
  proxy.subscribed('R', sid, rid, { epoch: 1, seq: 1 })
  proxy.rooted('N', rid)
  proxy.collect('R', { kind: 'collect', sid, rid, to: 'B', generation: 2 })
  expect(told('collected')).toEqual([])
  proxy.lost('N')
  expect(told('collected')).toEqual([['R', { kind: 'collected', sid, rid, generation: 2 }]])
})
