// Sessions over real libp2p on loopback: frames arrive in order, ties are settled, ends are told.
import { describe, expect, test } from 'vitest'
import { idOfPeer } from '../../overlay/id.ts'
import { loadKey } from '../../overlay/libp2p/key.ts'
import { bytes, client, node, pair, text, until } from './recording-core.ts'

describe('two nodes', () => {
  test('exchange frames on both streams, in order and whole', async () => {
    const { a, b } = await pair()
    a.core.isEcho = true
    const sent = Array.from({ length: 500 }, (_, i) => frameOf(i))
    for (const [i, frame] of sent.entries())
      b.core.surroundings.send(a.id, i % 3 === 0 ? 'control' : 'data', frame)
    await until(() => b.core.frames.length === sent.length)
    for (const stream of ['control', 'data']) {
      const expected = sent.filter((_, i) => (i % 3 === 0 ? 'control' : 'data') === stream)
      const got = b.core.frames.filter((received) => received.stream === stream)
      expect(got.map(({ frame }) => Buffer.from(frame).toString('hex'))).toEqual(
        expected.map((frame) => Buffer.from(frame).toString('hex')),
      )
    }
  })

  test('know each other by key and kind', async () => {
    const { a, b } = await pair()
    const seen = a.core.peers.get(b.id)!
    expect(seen.kind).toBe('node')
    expect(idOfPeer(seen.key)).toBe(b.id)
    expect(b.core.peers.get(a.id)!.kind).toBe('node')
  })

  test('that dial each other at the same moment settle on one session', async () => {
    const a = await node()
    const b = await node({ join: a.addresses })
    await b.joined
    await until(() => a.core.surroundings.closest(b.id, 1).length === 1)
    a.core.surroundings.dial(b.id)
    b.core.surroundings.dial(a.id)
    await until(() => a.core.peers.has(b.id) && b.core.peers.has(a.id))
    a.core.surroundings.send(b.id, 'data', bytes('from a'))
    b.core.surroundings.send(a.id, 'data', bytes('from b'))
    await until(() => a.core.frames.length === 1 && b.core.frames.length === 1)
    expect(text(a.core.frames[0]!.frame)).toBe('from b')
    expect(a.core.events).toEqual([`connected ${b.id}`])
    expect(b.core.events).toEqual([`connected ${a.id}`])
  })

  test('that open a connection each at the same moment keep one session and one connection', async () => {
    const rounds = Array.from({ length: 5 }, async () => {
      const limits = { directoryMs: 500 }
      const [a, b] = await Promise.all([node({ limits }), node({ limits })])
      await Promise.all([a.connect(b.addresses[0]!), b.connect(a.addresses[0]!)])
      await until(() => a.core.peers.has(b.id) && b.core.peers.has(a.id))
      a.core.surroundings.send(b.id, 'data', bytes('x'))
      b.core.surroundings.send(a.id, 'control', bytes('y'))
      await until(() => a.core.frames.length === 1 && b.core.frames.length === 1)
      await until(() => [a, b].every(({ libp2p }) => libp2p.getConnections().length === 1))
      // Gossip still goes through, though its streams may have been on the connection that went.
      a.announce({ sid: a.id, name: 'a', owner: a.id, tags: [] })
      await until(() => b.senders().length === 1)
      expect(a.core.events).toEqual([`connected ${b.id}`])
      expect(b.core.events).toEqual([`connected ${a.id}`])
      return a.counters.closedDuplicates + b.counters.closedDuplicates
    })
    const closed = await Promise.all(rounds)
    expect(Math.max(...closed)).toBeGreaterThan(0)
  })

  test('can hang up, which only the other is told, and meet again', async () => {
    const { a, b } = await pair()
    a.core.surroundings.send(b.id, 'control', bytes('goodbye'))
    a.core.surroundings.hangUp(b.id)
    await until(() => b.core.events.length === 2)
    expect(b.core.events[1]).toBe(`disconnected ${a.id}`)
    expect(b.core.frames.map(({ frame }) => text(frame))).toEqual(['goodbye'])
    expect(a.core.events).toEqual([`connected ${b.id}`])
    a.core.surroundings.dial(b.id)
    await until(() => a.core.events.length === 2 && b.core.events.length === 3)
    expect(b.core.events[2]).toBe(`connected ${a.id}`)
  })
})

describe('a client', () => {
  test('is known as one, and frames go both ways', async () => {
    const serving = await node()
    serving.core.isEcho = true
    const guest = await client(serving)
    await until(() => serving.core.peers.has(guest.id))
    expect(serving.core.peers.get(guest.id)!.kind).toBe('client')
    expect(guest.core.peers.get(serving.id)!.kind).toBe('node')
    guest.core.surroundings.send(serving.id, 'data', bytes('hello'))
    await until(() => guest.core.frames.length === 1)
    expect(text(guest.core.frames[0]!.frame)).toBe('hello')
    expect(guest.addresses).toEqual([])
    expect(serving.core.surroundings.closest(guest.id, 5)).toEqual([])
  })

  test('comes over WebSockets too', async () => {
    const serving = await node({ listen: ['/ip4/127.0.0.1/tcp/0/ws'] })
    const guest = await client(serving)
    await until(() => serving.core.peers.has(guest.id))
  })

  test('takes the first node that answers', async () => {
    const serving = await node()
    const gone = await node()
    const dead = gone.addresses[0]!
    await gone.stop()
    const guest = await client(serving, { join: [dead, ...serving.addresses] })
    expect([...guest.core.peers.keys()]).toEqual([serving.id])
  })

  test('fails to start where no node answers', async () => {
    const gone = await node()
    const { addresses } = gone
    await gone.stop()
    await expect(client(gone, { join: addresses, limits: { joinRetryMs: 10 } })).rejects.toThrow(
      /no node answers/,
    )
  })

  test('that comes again with the same key takes the place of its old self', async () => {
    const serving = await node()
    const key = await loadKey()
    const before = await client(serving, { key })
    await until(() => serving.core.events.length === 1)
    const after = await client(serving, { key })
    await until(() => serving.core.events.length === 3 && before.core.events.length === 2)
    expect(serving.core.events.map((event) => event.split(' ')[0])).toEqual([
      'connected',
      'disconnected',
      'connected',
    ])
    serving.core.surroundings.send(after.id, 'data', bytes('for the new one'))
    await until(() => after.core.frames.length === 1)
    expect(before.core.frames).toEqual([])
  })

  test('fails to start when the signal says so', async () => {
    const serving = await node()
    await expect(client(serving, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i)
  })
})

describe('a burst of control messages', () => {
  test('larger than what may wait without being read arrives whole, in both directions', async () => {
    const serving = await node()
    const guest = await client(serving)
    await until(() => serving.core.peers.has(guest.id))
    const frames = Array.from({ length: 4_096 }, (_, i) => new Uint8Array(1_700).fill(i))
    for (const [from, to] of [
      [guest, serving],
      [serving, guest],
    ] as const) {
      for (const frame of frames) from.core.surroundings.send(to.id, 'control', frame)
      await until(() => to.core.frames.length === frames.length)
      expect(to.core.frames.every(({ frame }, i) => frame[0] === i % 256 && frame.length === 1_700)).toBe(
        true,
      )
      expect(from.counters.overfullPeers).toBe(0)
    }
  })

  test('still leaves when it is followed by a hang-up', async () => {
    const { a, b } = await pair()
    for (let i = 0; i < 3_000; i++) a.core.surroundings.send(b.id, 'control', new Uint8Array(1_700))
    a.core.surroundings.hangUp(b.id)
    await until(() => b.core.events.length === 2)
    expect(b.core.frames.length).toBe(3_000)
  })
})

describe('the end of a peer', () => {
  test('is told when it stops', async () => {
    const { a, b } = await pair()
    await b.stop()
    await until(() => a.core.events.length === 2)
    expect(a.core.events[1]).toBe(`disconnected ${b.id}`)
    expect(b.core.events).toEqual([`connected ${a.id}`])
  })

  test('is the outcome of dialling one that nobody knows', async () => {
    const a = await node()
    const stranger = 'ab'.repeat(32)
    a.core.surroundings.dial(stranger)
    expect(a.core.events).toEqual([])
    await until(() => a.core.events.length === 1)
    expect(a.core.events).toEqual([`disconnected ${stranger}`])
  })
})

/** Of very different lengths, among them some that span chunks. */
function frameOf(i: number): Uint8Array {
  const length = i % 50 === 49 ? 100_000 : 1 + ((i * 131) % 5_000)
  return new Uint8Array(length).fill(i)
}
