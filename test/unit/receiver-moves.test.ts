// A receiver's root and its proxies when it moves faster than they hear of it.
import { expect, test } from 'vitest'
import { Budget } from '../../buffers/budget.ts'
import { Link } from '../../buffers/link.ts'
import { RemoteBuffer, type RemoteBufferName } from '../../buffers/remote-buffer.ts'
import type { ControlMessage } from '../../overlay/control.ts'
import type { Forest } from '../../overlay/forest.ts'
import type { Host } from '../../overlay/host.ts'
import { idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { Mirrors } from '../../overlay/mirrors.ts'
import { ReceiverProxy } from '../../overlay/receiver-proxy.ts'
import { ReceiverRoot } from '../../overlay/receiver-root.ts'
import type { Tree } from '../../overlay/tree.ts'
import { noPolicy } from '../../policies/policy.ts'

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

/** A host that remembers what is told, and buffers for it. */
function aHost(id: string) {
  const messages: [string, ControlMessage][] = []
  const links = new Map<string, Link>()
  const linkTo = (peer: string) => {
    const link = links.get(peer) ?? new Link(peer)
    links.set(peer, link)
    return link
  }
  const host: Host = {
    id,
    now: () => 0,
    linkTo,
    tell: (peer, message) => void messages.push([peer, message]),
    handOver() {},
    route() {},
    nextHop: () => undefined,
    standIn: () => undefined,
    isLeaving: () => false,
    isAnnounced: () => true,
    isThere: () => true,
    compile: () => noPolicy,
  }
  const buffer = (buffer: RemoteBufferName) =>
    new RemoteBuffer(
      { items: 100, bytes: 100_000 },
      { buffer, budget: new Budget(1_000_000), now: () => 0, random: () => 0 },
    )
  const told = (kind: ControlMessage['kind']) => messages.filter(([, message]) => message.kind === kind)
  return { host, told, buffer }
}
