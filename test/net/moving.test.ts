// Clients that lose their proxies, or everything for a while, in real processes: what is killed, and what is stopped.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type Client, connect, type Sender, type Subscription } from '../../index.ts'
import { exact, highestIn, jsonLines, overlay, type RunningNode, run } from './command.ts'
import { longTest } from './long.ts'

/** Who is silent is away after 5 s, and departed after 20 more; a little later nobody keeps anything for it. */
const DEPARTED_MS = 27_000
/** Until nodes have heard of each other, roots move. */
const MEET_MS = 1_000

test("a client's proxy is killed again and again, and it has everything or a gap", {
  timeout: 120_000,
}, async () => {
  const nodes = await overlay(4)
  await sleep(MEET_MS)
  const [home, ...proxies] = nodes.map(({ address }) => address)
  const sender = await aSender(home!)
  const client = await aClient(proxies)
  const receiver = client.subscribe(sender.id)
  await receiver.subscribed
  const taking = new Taking(receiver)
  const stop = publishing(sender)
  // The last one is left.
  for (const { running } of nodes.slice(1, 3)) {
    await taking.upTo(sender.published)
    running.child.kill('SIGKILL')
    await becomes(client, 'attached')
  }
  await taking.upTo(sender.published)
  stop()
  await sender.close()
  await taking.all(sender.published)
})

test("roots are killed while the receiver is away, and a sender's client moves meanwhile", {
  timeout: 120_000,
}, async () => {
  const nodes = await overlay(6)
  await sleep(MEET_MS)
  const [a, b] = nodes.map(({ address }) => address) as [string, string]
  const client = await aClient([a, b])
  const away = await aClient([b])
  const sender = client.sender('pulse', { n: 'number' })
  const receiver = away.subscribe(sender.id)
  await Promise.all([sender.opened, receiver.subscribed])
  const taking = new Taking(receiver)
  // Its own root and the sender's may be its proxies: then those stay.
  const rooted = [receiver.receiver, sender.id].map((id) => nodes.toSorted(closestTo(id))[0]!)
  const stop = publishing(sender)
  await taking.upTo(100)
  away.detach()
  for (const root of new Set(rooted)) {
    if (root.address === a || root.address === b) continue
    await client.attach(client.state === 'attached' ? b : a)
    root.running.child.kill('SIGKILL')
    await sleep(500)
  }
  await away.attach(a)
  await client.attach(a)
  await taking.upTo(sender.published)
  stop()
  await sender.close()
  await taking.all(sender.published)
})

longTest(
  'a receiver that was stopped for longer than the lease comes back and accounts for everything (LONG=1)',
  {
    timeout: 120_000,
  },
  async () => {
    const [a, b] = (await overlay(2)) as [RunningNode, RunningNode]
    await sleep(MEET_MS)
    const sender = run('pub', 'pulse', '--at', a.address, '--tags', 'n', '--rate', '200')
    const id = await sender.told('sender')
    const receiver = run('sub', id, '--at', b.address)
    await receiver.told('subscribed')
    sender.child.stdin.write(jsonLines(200 * (DEPARTED_MS / 1_000 + 3), (n) => ({ n })))
    while (highestIn(receiver.lines) < 100) await sleep(20)
    receiver.child.kill('SIGSTOP')
    await sleep(DEPARTED_MS)
    receiver.child.kill('SIGCONT')
    sender.child.stdin.end()
    expect(await sender.exit).toBe(0)
    const published = await sender.told('published')
    await receiver.interruptedAt(published)
    const receipt = exact(receiver)
    expect(receipt).toMatchObject({ first: 1, last: published, digested: 0 })
    // What came while nobody kept it any more is one gap.
    expect(receiver.lines.filter(({ gap }) => gap !== undefined)).toHaveLength(1)
    expect(receipt.gaps).toBeGreaterThan(200 * 20)
  },
)

longTest(
  'everybody moves: the clients of senders and of receivers, over five proxies (LONG=1)',
  {
    timeout: 120_000,
  },
  async () => {
    const nodes = await overlay(5)
    await sleep(MEET_MS)
    const addresses = nodes.map(({ address }) => address)
    const clients = await Promise.all(addresses.slice(0, 3).map((address) => aClient([address])))
    const senders = clients.slice(0, 2).map((client) => client.sender('ticks', { n: 'number' }))
    const receivers = clients.flatMap((client) => senders.map(({ id }) => client.subscribe(id)))
    await Promise.all([...senders.map((one) => one.opened), ...receivers.map((one) => one.subscribed)])
    for (const receiver of receivers) receiver.handle({})
    const stops = senders.map(publishing)
    for (let move = 0; move < 40; move++) {
      const client = clients[move % clients.length]!
      await client.attach(addresses[(move * 2) % addresses.length]!, { abrupt: move % 4 === 3 })
      await sleep(30)
    }
    for (const stop of stops) stop()
    await Promise.all(senders.map((sender) => sender.close()))
    for (const [i, receiver] of receivers.entries()) {
      const { published } = senders[i % senders.length]!
      await expect.poll(() => receiver.isEnded, { timeout: 30_000 }).toBe(true)
      expect(receiver.receipt).toMatchObject([{ first: 1, last: published, gaps: 0 }])
      for (const { delivered, digested } of receiver.receipt) expect(delivered + digested).toBe(published)
    }
  },
)

type Ticks = Sender<{ n: 'number' }>

async function aClient(addresses: readonly string[]): Promise<Client> {
  const client = await connect(addresses)
  onTestFinished(() => client.close())
  return client
}

async function aSender(address: string): Promise<Ticks> {
  const sender = (await aClient([address])).sender('pulse', { n: 'number' })
  await sender.opened
  return sender
}

/** A thousand a second; returns how to stop. */
function publishing(sender: Ticks): () => void {
  const timer = setInterval(() => {
    for (let i = 0; i < 10; i++) sender.publish({ n: sender.published + 1 })
  }, 10)
  onTestFinished(() => clearInterval(timer))
  return () => clearInterval(timer)
}

/** Takes what arrives, and sees that it is in order and without overlap. */
class Taking {
  readonly #receiver: Subscription
  #next = 1

  constructor(receiver: Subscription) {
    this.#receiver = receiver
  }

  /** Everything up to this number. */
  async upTo(last: number): Promise<void> {
    while (this.#next <= last) {
      const item = (await this.#receiver.next())!
      const [from, to] = item.kind === 'event' ? [item.seq, item.seq] : [item.from, item.to]
      expect(from).toBe(this.#next)
      this.#next = Number(to) + 1
    }
  }

  async all(published: number): Promise<void> {
    await this.upTo(published)
    expect(this.#receiver.receipt).toMatchObject([{ first: 1, last: published }])
    for (const { delivered, digested, gaps } of this.#receiver.receipt)
      expect(delivered + digested + gaps).toBe(published)
  }
}

async function becomes(client: Client, state: 'attached'): Promise<void> {
  await expect.poll(() => client.state, { timeout: 20_000 }).not.toBe(state)
  await expect.poll(() => client.state, { timeout: 20_000 }).toBe(state)
}

function closestTo(id: string): (one: RunningNode, other: RunningNode) => number {
  const distance = ({ id: node }: RunningNode) => BigInt(`0x${node}`) ^ BigInt(`0x${id}`)
  return (one, other) => (distance(one) < distance(other) ? -1 : 1)
}
