// Clients that come, go and reappear elsewhere, over real connections.
import { expect, onTestFinished, test } from 'vitest'
import { type Client, connect, createNode, type Node } from '../../index.ts'
import { longTest } from './long.ts'
import { relayTo } from './relay.ts'

const MEET_MS = 2_000

/** Nodes that know one another. */
async function overlay(size: number): Promise<Node[]> {
  const nodes: Node[] = []
  for (let i = 0; i < size; i++) {
    const node = await createNode({ join: nodes.slice(0, 1).flatMap(({ addresses }) => addresses) })
    onTestFinished(() => node.close())
    await node.joined
    nodes.push(node)
  }
  // Until each has heard of all the others, roots move.
  await new Promise((resolve) => setTimeout(resolve, MEET_MS))
  return nodes
}

async function clientAt(node: Node): Promise<Client> {
  const client = await connect(node.addresses)
  onTestFinished(() => client.close())
  return client
}

test('a receiver that moves between nodes gets every event once and in order', async () => {
  const nodes = await overlay(3)
  const sender = (await clientAt(nodes[0]!)).sender('ticks', { n: 'number' })
  const client = await clientAt(nodes[1]!)
  const receiver = client.subscribe(sender.id)
  await Promise.all([sender.opened, receiver.subscribed])
  const publishing = setInterval(() => {
    for (let i = 0; i < 20; i++) sender.publish({ n: sender.published + 1 })
  }, 5)
  for (let i = 0; i < 12; i++) {
    const [address] = nodes[i % 3]!.addresses
    await client.attach(address!, { abrupt: i % 3 === 2 })
    expect(client.state).toBe('attached')
    await receiver.next()
  }
  clearInterval(publishing)
  await sender.close()
  const rest: number[] = []
  while (rest.at(-1) !== sender.published) {
    const item = await receiver.next()
    expect(item?.kind).toBe('event')
    rest.push(item?.kind === 'event' ? item.seq : 0)
  }
  const [receipt] = receiver.receipt
  expect(receipt).toMatchObject({ first: 1, last: sender.published, delivered: sender.published, gaps: 0 })
})

test('what comes while a client is detached waits for it, and what it publishes waits too', async () => {
  const [a, b] = (await overlay(2)) as [Node, Node]
  const client = await clientAt(a)
  const other = await clientAt(b)
  const mine = client.sender('mine', { n: 'number' })
  const theirs = other.sender('theirs', { n: 'number' })
  const receiver = client.subscribe(theirs.id)
  const follower = other.subscribe(mine.id)
  await Promise.all([mine.opened, theirs.opened, receiver.subscribed, follower.subscribed])
  const told: string[] = []
  for (const state of ['attached', 'detached', 'departed'] as const) client.on(state, () => told.push(state))
  client.detach()
  expect(client.state).toBe('detached')
  for (let n = 1; n <= 100; n++) {
    mine.publish({ n })
    theirs.publish({ n })
  }
  // Long enough for what is wrong to show: that something comes nevertheless.
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect([receiver.fill, follower.fill]).toEqual([0, 0])
  await client.attach()
  for (let n = 1; n <= 100; n++) {
    expect(await receiver.next()).toMatchObject({ kind: 'event', seq: n })
    expect(await follower.next()).toMatchObject({ kind: 'event', seq: n })
  }
  expect(told).toEqual(['detached', 'attached'])
})

longTest(
  'what was published while a client had departed is one gap that says so (LONG=1)',
  {
    timeout: 60_000,
  },
  async () => {
    const [node] = (await overlay(1)) as [Node]
    const sender = (await clientAt(node)).sender('ticks', { n: 'number' })
    const client = await clientAt(node)
    const receiver = client.subscribe(sender.id)
    await Promise.all([sender.opened, receiver.subscribed])
    sender.publish({ n: 1 })
    expect(await receiver.next()).toMatchObject({ kind: 'event', seq: 1 })
    const departed = new Promise<void>((resolve) => void client.on('departed', resolve))
    client.detach()
    await departed
    // Its node counts for itself, and may be a heartbeat behind.
    await new Promise((resolve) => setTimeout(resolve, MEET_MS))
    for (let n = 2; n <= 10; n++) sender.publish({ n })
    await client.attach()
    const publishing = setInterval(() => sender.publish({ n: 0 }), 50)
    onTestFinished(() => clearInterval(publishing))
    expect(await receiver.next()).toMatchObject({ kind: 'gap', from: 2, cause: 'departed' })
    expect(await receiver.next()).toMatchObject({ kind: 'event' })
  },
)

test('a client that is sent to where nobody answers stays attached where it is', async () => {
  const [node] = (await overlay(1)) as [Node]
  const client = await clientAt(node)
  const told: string[] = []
  for (const state of ['attached', 'detached', 'departed'] as const) client.on(state, () => told.push(state))
  await expect(client.attach('/ip4/127.0.0.1/tcp/9')).rejects.toThrow('no node answers')
  expect(client.state).toBe('attached')
  const sender = client.sender('ticks', { n: 'number' })
  await sender.opened
  expect(told).toEqual([])
})

test('a client on its way to a node that is silent goes on where it is, and stays there', async () => {
  const [here, there] = (await overlay(2)) as [Node, Node]
  const { relay, address } = await relayTo(there.addresses[0]!)
  const client = await clientAt(here)
  const sender = (await clientAt(here)).sender('ticks', { n: 'number' })
  const receiver = client.subscribe(sender.id)
  await Promise.all([sender.opened, receiver.subscribed])
  // The way back leaves a connection that looks as if somebody was there, once the session on it is closed.
  await client.attach(address)
  await client.attach(here.addresses[0])
  await new Promise((resolve) => setTimeout(resolve, 500))
  relay.silence()
  const told: string[] = []
  for (const state of ['attached', 'detached', 'departed'] as const) client.on(state, () => told.push(state))
  let isOver = false
  const going = client.attach(address).catch((error) => error)
  void going.then(() => {
    isOver = true
  })
  for (let n = 1; n <= 20; n++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const publishedAt = performance.now()
    sender.publish({ n })
    expect(await receiver.next()).toMatchObject({ kind: 'event', seq: n })
    expect(performance.now() - publishedAt).toBeLessThan(1_000)
  }
  expect(isOver).toBe(false)
  expect(await going).toMatchObject({ code: 'UNREACHABLE' })
  expect([client.state, told]).toEqual(['attached', []])
})
