// Strangers at a real node, while others publish and subscribe at it: a thousand that say nothing, one that never reads,
// one that acknowledges what it did not get. Whoever behaves gets everything, in time.
import { connect as connectSocket, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type Client, connect, createNode, type Node } from '../../index.ts'
import type { ControlMessage } from '../../overlay/control.ts'
import { idOfEndpoint } from '../../overlay/id.ts'
import { createTransport } from '../../overlay/libp2p/machine.ts'
import type { Transport } from '../../overlay/libp2p/transport.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'
import { RecordingCore, until } from './recording-core.ts'

test('a thousand idle connections keep nobody out, and cost those who are in nothing', async () => {
  const { node, client } = await served()
  const port = Number(node.addresses[0]!.split('/')[4])
  const sockets = Array.from({ length: 1_000 }, () => idleSocket(port))
  await until(() => sockets.every((socket) => !socket.connecting))
  await servesAll(client, 'before', 2_000)
  // Whoever is hung up on comes again.
  const again = setInterval(() => {
    for (const [i, socket] of sockets.entries()) if (socket.destroyed) sockets[i] = idleSocket(port)
  }, 500)
  onTestFinished(() => {
    clearInterval(again)
    for (const socket of sockets) socket.destroy()
  })
  const late = await attached(node)
  await servesAll(late, 'late', 2_000)
  await servesAll(client, 'after', 2_000)
})

test('a peer that never reads costs the others nothing', async () => {
  const { node, client } = await served()
  const sender = client.sender('pulse', { n: 'number', text: 'string' })
  await sender.opened
  const stuck = await subscribed(node, sender.id)
  for (const stream of stuck.libp2p.getConnections()[0]!.streams) stream.pause()
  await publishesAll(client, sender, 20_000)
  await servesAll(client, 'after', 2_000)
})

test('a peer that acknowledges what it did not get is cut off before much waits for it', async () => {
  const { node, client } = await served()
  const sender = client.sender('pulse', { n: 'number', text: 'string' })
  await sender.opened
  const liar = await subscribed(node, sender.id)
  for (const stream of liar.libp2p.getConnections()[0]!.streams)
    if (stream.protocol.includes('data')) stream.pause()
  const lying = setInterval(() => {
    for (let number = 0; number < 400; number++) say(liar, { kind: 'ack', number })
    for (const number of [1e9, Number.MAX_SAFE_INTEGER]) say(liar, { kind: 'ack', number })
  }, 10)
  onTestFinished(() => clearInterval(lying))
  const before = process.memoryUsage().arrayBuffers
  await publishesAll(client, sender, 60_000)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1_048_576)
  await until(() => liar.core.events.some((event) => event.startsWith('disconnected')))
  await servesAll(client, 'after', 2_000)
})

interface Publisher {
  readonly id: string
  publish(event: { n: number; text: string }): number
  close(): Promise<void>
}

/** That a receiver at the same node gets all of it. */
async function servesAll(client: Client, name: string, count: number): Promise<void> {
  const sender = client.sender(name, { n: 'number', text: 'string' })
  await publishesAll(client, sender, count)
}

async function publishesAll(client: Client, sender: Publisher, count: number): Promise<void> {
  const receiver = client.subscribe(sender.id)
  await receiver.subscribed
  let sum = 0
  receiver.handle({
    event: ({ n }) => {
      sum += Number(n)
    },
  })
  for (let n = 1; n <= count; n++) {
    const fill = sender.publish({
      n,
      text: 'some text that takes a hundred bytes or so of every frame '.repeat(2),
    })
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    if (fill > 0.5) await client.relieved()
  }
  await sender.close()
  await until(() => receiver.isEnded)
  expect(receiver.receipt).toMatchObject([{ last: count, delivered: count, digested: 0, gaps: 0 }])
  expect(sum).toBe((count * (count + 1)) / 2)
  receiver.close()
}

async function served(): Promise<{ node: Node; client: Client }> {
  const node = await createNode()
  onTestFinished(() => node.close())
  return { node, client: await attached(node) }
}

async function attached(node: Node): Promise<Client> {
  const client = await connect(node.addresses)
  onTestFinished(() => client.close())
  return client
}

/** A socket of another host, that says nothing. */
function idleSocket(port: number): Socket {
  const socket = connectSocket({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  socket.on('error', () => {})
  return socket.resume()
}

type Stranger = Transport<RecordingCore>

/** A client in whose hands everything is, subscribed to the sender. */
async function subscribed(node: Node, sid: string): Promise<Stranger> {
  const stranger: Stranger = await createTransport({
    kind: 'client',
    join: node.addresses,
    makeCore: (surroundings) => new RecordingCore(surroundings),
  })
  onTestFinished(() => stranger.stop())
  const rid = idOfEndpoint(stranger.core.surroundings.self.key, 'mine')
  say(stranger, { kind: 'resume', cursors: [], last: true })
  say(stranger, { kind: 'subscribe', sid, rid, name: 'mine', policy: { levels: [] }, generation: 1 })
  const stands = () =>
    stranger.core.frames.some(
      ({ stream, frame }) => stream === 'control' && decodeControl(frame).kind === 'subscribed',
    )
  await until(stands)
  return stranger
}

function say({ core }: Stranger, message: ControlMessage): void {
  for (const peer of core.peers.keys()) core.surroundings.send(peer, 'control', encodeControl(message))
}
