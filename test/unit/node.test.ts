// A node's core by itself: what goes wrong inside is not the fault of whoever speaks with it.
import { describe, expect, it } from 'vitest'
import type { ControlMessage, SenderInfo } from '../../overlay/control.ts'
import { idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Peer } from '../../overlay/surroundings.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'
import { MAX_FRAME_BYTES } from '../../overlay/wire/limits.ts'

function peerOf(byte: number, kind: Peer['kind']): Peer {
  const key = new Uint8Array(34).fill(byte)
  return { id: idOfPeer(key), kind, key }
}

/** A node alone, with a client that says things and remembers what it is told. */
function served(senders: () => readonly SenderInfo[]) {
  const told: ControlMessage[] = []
  const hungUp: string[] = []
  const node = new OverlayNode({
    self: peerOf(1, 'node'),
    now: () => 0,
    random: () => 0,
    after: () => ({ cancel() {} }),
    send: (_peer, stream, frame) => stream === 'control' && told.push(decodeControl(frame.subarray())),
    dial() {},
    hangUp: (peer) => hungUp.push(peer),
    closest: () => [],
    forget() {},
    directory: { announce() {}, senders },
    members: () => [],
  })
  const client = peerOf(2, 'client')
  node.connected(client)
  told.length = 0
  const say = (message: ControlMessage) => node.received(client.id, 'control', encodeControl(message))
  const open = () => {
    const sid = idOfEndpoint(client.key, 'pulse')
    say({ kind: 'open', sid, name: 'pulse', tags: ['v'], epoch: 1, next: 1, generation: 1 })
    return sid
  }
  return { node, told, hungUp, say, open }
}

describe('a node', () => {
  it('does not hang up on who asked for what no frame can hold', () => {
    const long = { sid: 'ab'.repeat(32), name: 'x'.repeat(MAX_FRAME_BYTES), owner: 'cd'.repeat(32), tags: [] }
    const { node, told, hungUp, say } = served(() => [long])
    say({ kind: 'list', request: 1 })
    say({ kind: 'ping', at: 5 })
    expect(hungUp).toEqual([])
    expect(node.malformed).toBe(0)
    expect(told).toEqual([{ kind: 'pong', at: 5 }])
  })

  it('goes on with its work after something in it has thrown', () => {
    const { told, say, open } = served(() => {
      throw new Error('broken')
    })
    expect(() => say({ kind: 'list', request: 1 })).toThrow('broken')
    const sid = open()
    expect(told).toContainEqual({ kind: 'opened', sid })
  })
})
