// A receiver that was away and wants the digest first, over real connections.
import { expect, onTestFinished, test } from 'vitest'
import { type Client, connect, createNode, type Delivered, type Node } from '../../index.ts'

const AWAY = 3_000

async function aNode(...join: Node[]): Promise<Node> {
  const node = await createNode({ join: join.flatMap(({ addresses }) => addresses) })
  onTestFinished(() => node.close())
  await node.joined
  return node
}

async function clientAt(node: Node): Promise<Client> {
  const client = await connect(node.addresses)
  onTestFinished(() => client.close())
  return client
}

/** A sender whose first event has arrived, and which has published more while the receiver was away. */
async function back() {
  const first = await aNode()
  const second = await aNode(first)
  const sender = (await clientAt(first)).sender('ticks', { n: 'number' })
  const client = await clientAt(second)
  const receiver = client.subscribe(sender.id, { backlog: 'digest-first' })
  await Promise.all([sender.opened, receiver.subscribed])
  sender.publish({ n: 1 })
  expect(await receiver.next()).toMatchObject({ kind: 'event', seq: 1 })
  client.detach()
  // Long enough for its root to hear of it.
  await new Promise((resolve) => setTimeout(resolve, 300))
  for (let n = 2; n <= AWAY; n++) sender.publish({ n })
  await new Promise((resolve) => setTimeout(resolve, 500))
  await client.attach()
  return { sender, receiver }
}

test('a preview comes first, then what is live, and beside it what waited, and the receipt is exact', {
  timeout: 30_000,
}, async () => {
  const { sender, receiver } = await back()
  expect(await receiver.next()).toMatchObject({ kind: 'digest', preview: true, from: 2, to: AWAY })
  sender.publish({ n: AWAY + 1 })
  const items: Delivered[] = []
  while (items.length < AWAY) {
    items.push((await receiver.next())!)
    for (const { first, last, delivered, digested, gaps } of receiver.receipt)
      expect(delivered + digested + gaps).toBe(last - first + 1)
  }
  const seqs = items.map((item) => (item.kind === 'event' ? item.seq : 0))
  const isLate = items.map((item) => 'backlog' in item)
  expect(seqs.filter((_, i) => isLate[i])).toEqual(Array.from({ length: AWAY - 1 }, (_, i) => i + 2))
  expect(seqs.filter((_, i) => !isLate[i])).toEqual([AWAY + 1])
  // It came before the last of what waited.
  expect(isLate.at(-1)).toBe(true)
  expect(receiver.receipt).toMatchObject([{ first: 1, last: AWAY + 1, delivered: AWAY + 1, gaps: 0 }])
})

test('who has seen the preview and wants no more gets a gap', { timeout: 30_000 }, async () => {
  const { sender, receiver } = await back()
  expect(await receiver.next()).toMatchObject({ kind: 'digest', preview: true, count: AWAY - 1 })
  sender.publish({ n: AWAY + 1 })
  const live = await receiver.next()
  receiver.forgo()
  const rest = [live!]
  while (!rest.some((item) => item.kind === 'gap')) rest.push((await receiver.next())!)
  expect(rest.at(-1)).toMatchObject({ kind: 'gap', to: AWAY, backlog: true })
  const [{ delivered, gaps, last } = { delivered: 0, gaps: 0, last: 0 }] = receiver.receipt
  expect(delivered + gaps).toBe(last)
})
