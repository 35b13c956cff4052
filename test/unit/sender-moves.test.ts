// A sender's root and its proxies when it moves faster than they hear of it.
import { expect, test } from 'vitest'
import type { ControlMessage } from '../../overlay/control.ts'
import { idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Peer } from '../../overlay/surroundings.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'

const client = peerOf(9, 'client')
const name = 'pulse'
const sid = idOfEndpoint(client.key, name)
const [a, b, c] = [peerOf(1, 'node'), peerOf(2, 'node'), peerOf(3, 'node')]

test('a root asks the proxy again that had the sender again when it was asked to finish', () => {
  const { say, told } = aNode([a, b, c])
  const register = (proxy: Peer, generation: number) =>
    say(proxy, {
      kind: 'route',
      key: sid,
      hops: 1,
      origin: proxy.id,
      message: { kind: 'register', sid, proxy: proxy.id, generation },
    })
  register(a, 1)
  register(b, 2)
  register(c, 4)
  register(a, 3)
  // It comes late, and changes nothing.
  register(b, 2)
  expect(told('finish')).toMatchObject([
    [a.id, { generation: 2 }],
    [a.id, { generation: 4 }],
    [a.id, { generation: 4 }],
  ])
  expect(told('rooted')).toMatchObject([[a.id, {}]])
  say(a, { kind: 'finished', sid, generation: 4 })
  expect(told('rooted').at(-1)).toMatchObject([c.id, {}])
})

test('a proxy that has the sender again does not say that it has finished', () => {
  const { say, told } = aNode([a, client])
  const open = (generation: number) =>
    say(client, { kind: 'open', sid, name, tags: ['v'], epoch: 1, next: 1, generation })
  open(1)
  open(3)
  say(a, { kind: 'finish', sid, generation: 2 })
  expect(told('finished')).toEqual([])
  say(a, { kind: 'finish', sid, generation: 4 })
  expect(told('finished')).toMatchObject([[a.id, { generation: 4 }]])
})

function peerOf(byte: number, kind: Peer['kind']): Peer {
  const key = new Uint8Array(34).fill(byte)
  return { id: idOfPeer(key), kind, key }
}

/** A node that knows no other root than itself, and what it tells these peers. */
function aNode(peers: readonly Peer[]) {
  const messages: [string, ControlMessage][] = []
  const node = new OverlayNode({
    self: peerOf(7, 'node'),
    now: () => 0,
    random: () => 0,
    after: () => ({ cancel() {} }),
    send: (peer, stream, frame) => {
      if (stream === 'control') messages.push([peer, decodeControl(frame.subarray())])
    },
    dial() {},
    hangUp() {},
    closest: () => [],
    forget() {},
    directory: { announce() {}, senders: () => [] },
    members: () => [],
  })
  for (const peer of peers) node.connected(peer)
  const say = (peer: Peer, message: ControlMessage) =>
    node.received(peer.id, 'control', encodeControl(message))
  const told = (kind: ControlMessage['kind']) => messages.filter(([, message]) => message.kind === kind)
  return { say, told }
}
