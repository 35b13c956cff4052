// TLS on the socket itself speaks with TLS as @libp2p/tls has it.
import { randomBytes } from 'node:crypto'
import { tcp } from '@libp2p/tcp'
import { tls } from '@libp2p/tls'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { expect, onTestFinished, test, vi } from 'vitest'
import { socketTls } from '../../overlay/libp2p/tls.ts'
import { relayTo } from './relay.ts'

type Encrypter = typeof tls

test.each([
  ['socketTls to socketTls', socketTls, socketTls],
  ['socketTls to @libp2p/tls', socketTls, tls],
  ['@libp2p/tls to socketTls', tls, socketTls],
])('%s: both know with whom they speak, and that it is yamux', async (_, dialling, listening) => {
  const dialler = await peer(dialling)
  const listener = await peer(listening)
  const connection = await dialler.dial(listener.getMultiaddrs())
  expect(connection.remotePeer).toEqual(listener.peerId)
  expect([connection.encryption, connection.multiplexer]).toEqual(['/tls/1.0.0', '/yamux/1.0.0'])
  await vi.waitUntil(() => listener.getConnections().length > 0)
  expect(listener.getConnections()[0]!.remotePeer).toEqual(dialler.peerId)
})

test.each([
  ['socketTls', socketTls],
  ['@libp2p/tls', tls],
])('a peer that is another than was dialled is refused by %s', async (_, dialling) => {
  const dialler = await peer(dialling)
  const listener = await peer(socketTls)
  const [address] = listener.getMultiaddrs()
  const wrong = address!.decapsulate('/p2p').encapsulate(`/p2p/${(await peer(tls)).peerId}`)
  await expect(dialler.dial(wrong)).rejects.toThrow()
  expect(dialler.getConnections()).toEqual([])
})

test('a record that is none closes the connection at the listening side', async () => {
  const dialler = await peer(socketTls)
  const listener = await peer(socketTls)
  const [address] = listener.getMultiaddrs()
  const { relay, address: relayed } = await relayTo(address!.toString())
  await dialler.dial(multiaddr(relayed))
  await vi.waitUntil(() => listener.getConnections().length === 1)
  relay.say(randomBytes(100))
  await vi.waitUntil(() => listener.getConnections().length === 0, 5_000)
})

async function peer(encrypter: Encrypter) {
  const libp2p = await createLibp2p({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [encrypter()],
    streamMuxers: [yamux()],
    connectionMonitor: { enabled: false },
  })
  onTestFinished(async () => await libp2p.stop())
  return libp2p
}
