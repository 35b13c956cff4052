// Peers that do what they should not: the node goes on serving the others.
import { randomBytes } from 'node:crypto'
import { connect as connectSocket, type Socket } from 'node:net'
import type { Stream as Libp2pStream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, onTestFinished, test } from 'vitest'
import { idOfPeer } from '../../overlay/id.ts'
import { joinFrames } from '../../overlay/libp2p/frames.ts'
import { encodeGreeting, newRun } from '../../overlay/libp2p/greeting.ts'
import { loadKey } from '../../overlay/libp2p/key.ts'
import { createTransport } from '../../overlay/libp2p/machine.ts'
import { bytes, client, node, RecordingCore, type RecordingTransport, text, until } from './recording-core.ts'

describe('a malformed frame', () => {
  for (const [what, wrong] of [
    ['that is too long', Uint8Array.of(0x81, 0x80, 0x40, 1)],
    ['with a length without an end', Uint8Array.of(0xff, 0xff, 0xff, 0xff)],
    ['that is empty', Uint8Array.of(0)],
  ] as const) {
    test(`${what} closes that peer's streams and no others`, async () => {
      const { serving, good } = await served()
      const stranger = await rawClient(serving)
      await until(() => serving.core.peers.has(stranger.id))
      stranger.data.send(wrong)
      await until(() => serving.core.events.includes(`disconnected ${stranger.id}`))
      expect(serving.counters.malformedFrames).toBe(1)
      await until(() => stranger.control.status !== 'open' && stranger.data.status !== 'open')
      await answers(serving, good)
    })
  }

  test('in place of a greeting is counted, and nobody is told', async () => {
    const { serving, good } = await served()
    const guest = await bare(serving)
    const stream = await guest.libp2p.dialProtocol(guest.libp2p.getPeers()[0]!, '/spillway/client/data/1')
    stream.send(joinFrames([bytes('no greeting at all')]))
    await until(() => serving.counters.malformedFrames === 1)
    expect(serving.core.peers.size).toBe(1)
    await answers(serving, good)
  })

  test('of random bytes never stops the node', async () => {
    const { serving, good } = await served()
    for (let i = 0; i < 20; i++) {
      const stranger = await rawClient(serving)
      for (let j = 0; j < 50 && stranger.data.status === 'open'; j++)
        stranger.data.send(randomBytes(1 + j * 40))
      stranger.control.abort(new Error('over'))
    }
    await answers(serving, good)
  })
})

describe('a stream', () => {
  test('that stays alone is closed', async () => {
    const serving = await node({ limits: { greetingMs: 200 } })
    const guest = await bare(serving)
    const stream = await guest.libp2p.dialProtocol(guest.libp2p.getPeers()[0]!, '/spillway/client/data/1')
    stream.send(joinFrames([encodeGreeting({ run: newRun(), attempt: 1 })]))
    await until(() => serving.counters.strayStreams === 1 && stream.status !== 'open')
    expect(serving.core.events).toEqual([])
  })

  test('on which frames come before the other side has answered is closed', async () => {
    const serving = await node()
    const guest = await bare(serving)
    const stream = await guest.libp2p.dialProtocol(guest.libp2p.getPeers()[0]!, '/spillway/client/data/1')
    stream.send(joinFrames([encodeGreeting({ run: newRun(), attempt: 1 }), bytes('early')]))
    await until(() => stream.status !== 'open')
    expect(serving.core.events).toEqual([])
  })
})

describe('a peer that never reads', () => {
  test('is disconnected at the limit, and the others go on', async () => {
    const { serving, good } = await served()
    const stuck = await client(serving)
    await until(() => serving.core.peers.has(stuck.id))
    const [connection] = stuck.libp2p.getConnections()
    for (const stream of connection!.streams) stream.pause()
    const frame = new Uint8Array(32_768)
    const flood = setInterval(() => {
      for (let i = 0; i < 8; i++) serving.core.surroundings.send(stuck.id, 'control', frame)
    }, 1)
    onTestFinished(() => clearInterval(flood))
    await until(() => serving.core.events.includes(`disconnected ${stuck.id}`))
    expect(serving.counters.overfullPeers).toBe(1)
    await answers(serving, good)
  })
})

describe('a peer that stops reading', () => {
  test('is disconnected when much waits for it and none of it leaves for a while', async () => {
    const serving = await node({ limits: { stalledMs: 300 } })
    const stuck = await client(serving)
    await until(() => serving.core.peers.has(stuck.id))
    for (const stream of stuck.libp2p.getConnections()[0]!.streams) stream.pause()
    for (let i = 0; i < 4_000; i++) serving.core.surroundings.send(stuck.id, 'control', new Uint8Array(1_000))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(serving.core.peers.has(stuck.id)).toBe(true)
    await until(() => serving.core.events.includes(`disconnected ${stuck.id}`))
    expect(serving.counters.overfullPeers).toBe(1)
  })
})

describe('a private overlay', () => {
  test('lets in who has the pre-shared key and nobody else', async () => {
    const psk = randomBytes(32)
    const limits = { addressDialMs: 500, dialTries: 1 }
    const serving = await node({ psk })
    const guest = await client(serving, { psk })
    await until(() => serving.core.peers.has(guest.id))
    await expect(client(serving, { psk: randomBytes(32), limits })).rejects.toThrow(/no node answers/)
    await expect(client(serving, { limits })).rejects.toThrow(/no node answers/)
    await answers(serving, guest)
  })

  test('refuses a pre-shared key of another length', async () => {
    await expect(node({ psk: randomBytes(16) })).rejects.toThrow(/32 bytes/)
  })
})

describe('an allow-list of nodes', () => {
  test('lets in the listed nodes and any client, but no other node', async () => {
    const listed = await loadKey()
    const key = await loadKey()
    const allowPeers = [listed, key].map((each) => each.publicKey.toString())
    const a = await node({ key, allowPeers })
    const b = await node({ key: listed, allowPeers, join: a.addresses })
    await b.connect(a.addresses[0]!)
    const guest = await client(a)
    const stranger = await node({ join: a.addresses })
    await stranger.joined
    await expect(stranger.connect(a.addresses[0]!)).rejects.toThrow()
    expect(a.core.events).not.toContain(`connected ${stranger.id}`)
    expect(a.counters.refusedPeers).toBeGreaterThan(0)
    await until(() => a.members().length === 2)
    expect(a.core.surroundings.closest(stranger.id, 5)).toEqual([b.id])
    await answers(a, guest)
  })

  test('lets in nobody else at all where clients are not served', async () => {
    const key = await loadKey()
    const a = await node({ key, allowPeers: [key.publicKey.toString()], clients: false })
    await expect(client(a, { limits: { dialTries: 1 } })).rejects.toThrow(/no node answers/)
    expect(a.counters.refusedPeers).toBeGreaterThan(0)
  })
})

describe('connections that nobody uses', () => {
  test('are closed when they are old', async () => {
    const serving = await node({ limits: { idleConnectionMs: 500 } })
    const guest = await client(serving)
    const idle = await bare(serving)
    await until(() => idle.libp2p.getConnections().length === 0)
    expect(serving.counters.closedIdle).toBe(1)
    await answers(serving, guest)
  })

  test('of sockets that are silent or speak nonsense keep nobody out', async () => {
    const serving = await node({ limits: { connectionsPerSecondPerHost: 1_000 } })
    const port = Number(serving.addresses[0]!.split('/')[4])
    const sockets = Array.from({ length: 200 }, () => silentSocket(port))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    await until(() => sockets.every((socket) => !socket.connecting))
    for (const [i, socket] of sockets.entries()) if (i % 2 === 0) socket.write(randomBytes(i + 1))
    const guest = await client(serving)
    await answers(serving, guest)
  })
})

/** A node with a client that behaves. */
async function served() {
  const serving = await node()
  const good = await client(serving)
  await until(() => serving.core.peers.has(good.id))
  return { serving, good }
}

/** The node still takes what the client sends, and answers. */
async function answers(serving: RecordingTransport, guest: RecordingTransport): Promise<void> {
  serving.core.isEcho = true
  guest.core.frames.length = 0
  guest.core.surroundings.send(serving.id, 'data', bytes('are you there?'))
  await until(() => guest.core.frames.length > 0)
  expect(text(guest.core.frames[0]!.frame)).toBe('are you there?')
}

/** A client's libp2p with a connection and nothing on it. */
async function bare(serving: RecordingTransport) {
  const transport = await createTransport({ kind: 'client', makeCore: (around) => new RecordingCore(around) })
  onTestFinished(() => transport.stop())
  await transport.libp2p.dial(multiaddr(serving.addresses[0]!))
  return transport
}

/** A client that greets as it should, and then has its streams in its own hands. */
async function rawClient(serving: RecordingTransport) {
  const { libp2p, id } = await bare(serving)
  const peer = libp2p.getPeers()[0]!
  const [control, data] = (await Promise.all(
    ['control', 'data'].map((stream) => libp2p.dialProtocol(peer, `/spillway/client/${stream}/1`)),
  )) as [Libp2pStream, Libp2pStream]
  const greeting = joinFrames([encodeGreeting({ run: newRun(), attempt: 1 })])
  const isGreeted = [control, data].map(
    (stream) => new Promise((resolve) => stream.addEventListener('message', resolve, { once: true })),
  )
  for (const stream of [control, data]) stream.send(greeting.subarray())
  await Promise.all(isGreeted)
  expect(idOfPeer(libp2p.peerId.toMultihash().bytes)).toBe(id)
  return { id, control, data }
}

function silentSocket(port: number): Socket {
  const socket = connectSocket(port, '127.0.0.1')
  socket.on('error', () => {})
  return socket
}
