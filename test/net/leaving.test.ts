// Nodes that leave, or are crowded, send their clients on; and clients that find a better node go there by themselves.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Client, connect, createNode, type Node, type NodeOptions } from '../../index.ts'
import { exact, jsonLines, overlay, run } from './command.ts'
import { longTest } from './long.ts'
import { relayTo } from './relay.ts'

/** Until they have heard of each other. */
const MEET_MS = 3_000

async function started(options: NodeOptions = {}): Promise<Node> {
  const node = await createNode(options)
  onTestFinished(() => node.close())
  await node.joined
  return node
}

async function clientAt(address: string | readonly string[], roams = true): Promise<Client> {
  const client = await connect(address, { roams })
  onTestFinished(() => client.close())
  return client
}

/** The clients that a node has. */
function clientsOf(node: Node): Set<string> {
  const clients = new Set<string>()
  node.on('attached', (client) => clients.add(client))
  node.on('detached', (client) => clients.delete(client))
  return clients
}

test('nodes that are told to end under load end soon, and their clients go on elsewhere without a gap', {
  timeout: 90_000,
}, async () => {
  const nodes = await overlay(4)
  await sleep(MEET_MS)
  const [first, second, third] = nodes as [(typeof nodes)[0], (typeof nodes)[0], (typeof nodes)[0]]
  const sender = run('pub', 'pulse', '--at', second.address, '--tags', 'n', '--rate', '1000')
  const id = await sender.told('sender')
  const receivers = [first, second, third].map(({ address }) => run('sub', id, '--at', address))
  await Promise.all(receivers.map((receiver) => receiver.told('subscribed')))
  const count = 14_000
  sender.child.stdin.end(jsonLines(count, (n) => ({ n })))
  for (const { running } of [second, third]) {
    await sleep(2_000)
    const told = performance.now()
    running.child.kill('SIGTERM')
    expect(await running.exit).toBe(0)
    // Ten seconds is the most that a node waits, and stopping takes a moment.
    expect(performance.now() - told).toBeLessThan(12_000)
  }
  expect(await sender.exit).toBe(0)
  expect(await sender.told('published')).toBe(count)
  await Promise.all(receivers.map((receiver) => receiver.interruptedAt(count)))
  for (const receiver of receivers)
    expect(exact(receiver)).toMatchObject({ first: 1, last: count, delivered: count, gaps: 0 })
})

test('a node that is closed alone, or has nothing, does so at once', async () => {
  const alone = await started()
  const client = await clientAt(alone.addresses)
  await client.sender('ticks', { n: 'number' }).opened
  const told = performance.now()
  await alone.close()
  const [a, b] = [await started(), await started()]
  await Promise.all([a.close(), b.close()])
  expect(performance.now() - told).toBeLessThan(3_000)
})

test('a node with more clients than it wants sends those that came last to one with room, and they lose nothing', async () => {
  const crowded = await started({ maxClients: 2 })
  const roomy = await started({ join: crowded.addresses })
  await sleep(MEET_MS)
  const [at, elsewhere] = [clientsOf(crowded), clientsOf(roomy)]
  const sender = (await clientAt(crowded.addresses)).sender('ticks', { n: 'number' })
  await sender.opened
  const publishing = setInterval(() => sender.publish({ n: sender.published + 1 }), 2)
  const clients = [await clientAt(crowded.addresses)]
  for (let i = 0; i < 3; i++) clients.push(await clientAt(crowded.addresses))
  const receivers = clients.map((client) => client.subscribe(sender.id))
  await Promise.all(receivers.map(({ subscribed }) => subscribed))
  await vi.waitFor(() => expect([at.size, elsewhere.size]).toEqual([2, 3]), { timeout: 15_000 })
  await sleep(500)
  clearInterval(publishing)
  await sender.close()
  for (const receiver of receivers) {
    for await (const item of receiver) {
      expect(item.kind).toBe('event')
      if (item.kind === 'event' && item.seq === sender.published) break
    }
    const [receipt] = receiver.receipt
    expect(receipt).toMatchObject({ last: sender.published, gaps: 0, digested: 0 })
  }
})

test('a client finds another node when its own is gone that it was told of, and stays when it is told to', async () => {
  const gone = await started()
  const other = await started({ join: gone.addresses })
  await sleep(MEET_MS)
  const at = clientsOf(other)
  const [roams, stays] = [await clientAt(gone.addresses), await clientAt(gone.addresses, false)]
  await gone.close()
  await vi.waitFor(() => expect([...at]).toEqual([roams.id]), { timeout: 10_000 })
  expect(stays.state).toBe('detached')
})

longTest(
  'a client with a slow way to its node moves to a near one by itself, and loses nothing (LONG=1)',
  {
    timeout: 90_000,
  },
  async () => {
    const far = await started()
    const near = await started({ join: far.addresses })
    await sleep(MEET_MS)
    const sender = (await clientAt(far.addresses)).sender('ticks', { n: 'number' })
    await sender.opened
    const { address } = await relayTo(far.addresses[0]!, 60)
    const [client, stays] = [await clientAt(address), await clientAt(address, false)]
    const receivers = [client, stays].map((one) => one.subscribe(sender.id))
    await Promise.all(receivers.map(({ subscribed }) => subscribed))
    const publishing = setInterval(() => sender.publish({ n: sender.published + 1 }), 5)
    const at = clientsOf(near)
    await vi.waitFor(() => expect([...at]).toEqual([client.id]), { timeout: 60_000 })
    await sleep(1_000)
    clearInterval(publishing)
    await sender.close()
    for (const receiver of receivers) {
      for await (const item of receiver) if (item.kind === 'event' && item.seq === sender.published) break
      expect(receiver.receipt[0]).toMatchObject({ last: sender.published, gaps: 0, digested: 0 })
    }
    expect([...at]).toEqual([client.id])
  },
)
