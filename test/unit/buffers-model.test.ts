// Random lives of a remote buffer against a naive model: what was published, and what each receiver got.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BlockWriter, positionOf, type Run } from '../../buffers/block.ts'
import { Budget } from '../../buffers/budget.ts'
import { BodyWriter } from '../../buffers/codec.ts'
import type { Cursor, Item } from '../../buffers/item.ts'
import { type Batch, Link } from '../../buffers/link.ts'
import type { QueueBounds } from '../../buffers/queue.ts'
import { DecodedBlocks, QueuedEvents } from '../../buffers/queued-events.ts'
import { Receipt } from '../../buffers/receipt.ts'
import { RemoteBuffer } from '../../buffers/remote-buffer.ts'
import { seeded } from '../../policies/chance.ts'
import { compilePolicy } from '../../policies/compile.ts'
import type { Digest } from '../../policies/digest.ts'
import { Packing } from '../../policies/pack.ts'
import { noPolicy, type Policy } from '../../policies/policy.ts'

const SENDERS = 2
const LINKS = 3
const RECEIVERS = 6
const schema = { tags: ['v'] }

const policies: readonly Policy[] = [
  noPolicy,
  compilePolicy({
    attribute: 'v',
    summary: ['SUM'],
    levels: [[{ name: 'EVERY', mode: 'drop', n: 3 }], [{ name: 'EVERY', n: 2 }]],
  }),
  compilePolicy({
    attribute: 'v',
    summary: ['SUM'],
    levels: [[{ name: 'RANDOM', fraction: 0.25 }], [{ name: 'LATEST', window: 3 }]],
  }),
]

type Operation =
  | { do: 'publish' | 'unicast'; sender: number; count: number }
  | { do: 'restart' | 'mark'; sender: number }
  | { do: 'drain'; link: number; bytes: number }
  | { do: 'deliver' | 'acknowledge' | 'break'; link: number }
  | { do: 'subscribe'; receiver: number; link: number; policy: number }
  | { do: 'suspend' | 'depart'; receiver: number }
  | { do: 'resume'; receiver: number; link: number }

const sender = fc.nat(SENDERS - 1)
const link = fc.nat(LINKS - 1)
const receiver = fc.nat(RECEIVERS - 1)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      sender,
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('unicast' as const),
      sender,
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'mark' as const), sender }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('drain' as const),
      link,
      bytes: fc.integer({ min: 1, max: 400 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('deliver' as const, 'acknowledge' as const, 'break' as const),
      link,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('subscribe' as const),
      receiver,
      link,
      policy: fc.nat(policies.length - 1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('suspend' as const, 'suspend' as const, 'depart' as const),
      receiver,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('resume' as const), receiver, link }) },
)

/** A long life needs more bytes: each restart leaves a digest and a marker that cannot merge with the next. */
const life = fc.oneof(
  fc.record({
    bounds: fc.constant({ items: 8, bytes: 2_000 }),
    operations: fc.array(operation, { maxLength: 150, size: 'max' }),
  }),
  fc.record({
    bounds: fc.constantFrom(3, 8, 20).map((items) => ({ items, bytes: 6_000 })),
    operations: fc.array(operation, { maxLength: 400, size: 'max' }),
  }),
)

/** What a receiver has seen, and where it is. */
interface Subscriber {
  readonly id: string
  readonly sender: number
  readonly policy: Policy
  readonly receipt: Receipt
  /** Counts attachments: what was sent to an earlier one does not reach it. */
  generation: number
  link: number | undefined
}

/** A batch on its way, and for each part who gets it. */
interface InTransit {
  readonly batch: Batch
  readonly to: readonly { subscriber: Subscriber; generation: number }[][]
}

interface Peer {
  readonly link: Link
  transit: InTransit[]
  delivered: number
  told: Map<string, Cursor>
}

class World {
  now = 0
  readonly bounds: QueueBounds
  readonly budget: Budget
  readonly buffer: RemoteBuffer
  readonly peers: Peer[]
  readonly subscribers = new Map<number, Subscriber>()
  /** By sender, epoch and number: the value. */
  readonly published: Map<string, number>[] = Array.from({ length: SENDERS }, () => new Map())
  readonly cursors = Array.from({ length: SENDERS }, () => ({ epoch: 1, seq: 0 }))
  readonly writers = Array.from({ length: SENDERS }, () => new BlockWriter())
  readonly body = new BodyWriter()
  packs = 0

  constructor(bounds: QueueBounds, budgetBytes: number, seed: number) {
    this.bounds = bounds
    const random = seeded(seed)
    this.budget = new Budget(budgetBytes)
    this.buffer = new RemoteBuffer(bounds, {
      buffer: 'RPB',
      budget: this.budget,
      now: () => this.now,
      random,
      packed: () => this.packs++,
    })
    this.peers = Array.from({ length: LINKS }, (_, i) => ({
      link: new Link(`link-${i}`),
      transit: [],
      delivered: 0,
      told: new Map(),
    }))
  }

  apply(operation: Operation): void {
    this.now += 7
    switch (operation.do) {
      case 'publish':
        this.#publish(operation.sender, operation.count)
        break
      case 'unicast':
        this.#unicast(operation.sender, operation.count)
        break
      case 'restart':
        this.#restart(operation.sender)
        break
      case 'mark':
        this.#mark(operation.sender, false)
        break
      case 'drain':
        this.#drain(this.peers[operation.link]!, operation.bytes)
        break
      case 'deliver':
        this.#deliver(this.peers[operation.link]!)
        break
      case 'acknowledge':
        this.peers[operation.link]!.link.acknowledge(this.peers[operation.link]!.delivered)
        break
      case 'break':
        this.#break(this.peers[operation.link]!)
        break
      case 'subscribe':
        this.#subscribe(operation.receiver, operation.link, policies[operation.policy]!)
        break
      case 'depart':
        this.#depart(operation.receiver)
        break
      case 'suspend':
        this.#suspend(operation.receiver)
        break
      case 'resume':
        this.#resume(operation.receiver, operation.link)
        break
    }
  }

  /** Everybody comes back, the senders end, and everything drains. */
  settle(): void {
    for (const number of this.subscribers.keys()) this.#resume(number, number % LINKS)
    for (let number = 0; number < SENDERS; number++) this.#mark(number, true)
    for (const peer of this.peers) {
      peer.link.acknowledge(peer.delivered)
      for (let i = 0; i < 10_000 && (!peer.link.isIdle || peer.transit.length > 0); i++) {
        this.#drain(peer, 300)
        this.#deliver(peer)
        peer.link.acknowledge(peer.delivered)
      }
      expect(peer.link.isIdle).toBe(true)
      expect(peer.link.unacknowledgedBytes).toBe(0)
    }
    for (const queue of this.budget.queues)
      expect([queue.events, queue.bytes, queue.takenBytes]).toEqual([0, 0, 0])
    expect(this.budget.bytes).toBe(0)
  }

  checkBounds(): void {
    let bytes = 0
    for (const queue of this.budget.queues) {
      expect(queue.events + queue.takenEvents).toBeLessThanOrEqual(this.bounds.items)
      expect(queue.bytes + queue.takenBytes).toBeLessThanOrEqual(this.bounds.bytes)
      bytes += queue.bytes + queue.takenBytes
    }
    expect(this.budget.bytes).toBe(bytes)
  }

  /** Everything from its first number on was delivered or digested. */
  checkReceipts(): void {
    for (const { receipt, sender } of this.subscribers.values()) {
      expect(receipt.missing).toEqual([])
      for (const { first, last, delivered, digested, gaps } of receipt.epochs) {
        expect(delivered + digested + gaps).toBe(last - first + 1)
      }
      const { epoch, seq } = this.cursors[sender]!
      if (receipt.cursor !== undefined && receipt.cursor.epoch === epoch)
        expect(receipt.cursor.seq).toBe(seq + 1)
      else expect(seq).toBe(0)
    }
  }

  #write(sender: number, count: number): Run {
    const cursor = this.cursors[sender]!
    const runs = Array.from({ length: count }, () => {
      cursor.seq++
      const value = (cursor.seq * 7 + cursor.epoch) % 23
      this.published[sender]!.set(`${cursor.epoch}:${cursor.seq}`, value)
      const body = this.body.encode(schema, { v: value })
      return this.writers[sender]!.write(schema, cursor.epoch, cursor.seq, this.now, body)
    })
    return { ...runs[0]!, to: runs.at(-1)!.to }
  }

  #publish(sender: number, count: number): void {
    this.buffer.enqueue(`s${sender}`, this.#write(sender, count))
  }

  /** Upstream is in private mode: each policy gets its own copy, events or a digest. */
  #unicast(sender: number, count: number): void {
    const run = this.#write(sender, count)
    const known = new Map(
      [...this.subscribers.values()]
        .filter((one) => one.sender === sender)
        .map((one) => [one.policy.hash, one.policy]),
    )
    for (const policy of known.values()) {
      const items: Item[] = count % 2 === 0 ? [run] : digestsOf(policy, run, this.now)
      expect(this.buffer.enqueueFor(`s${sender}`, policy.hash, items)).toBe(true)
    }
  }

  #restart(sender: number): void {
    this.#mark(sender, true)
    this.cursors[sender] = { epoch: this.cursors[sender]!.epoch + 1, seq: 0 }
  }

  #mark(sender: number, end: boolean): void {
    const { epoch, seq } = this.cursors[sender]!
    if (seq > 0) this.buffer.mark(`s${sender}`, { kind: 'marker', epoch, highest: seq, end })
  }

  #subscribe(number: number, link: number, policy: Policy): void {
    const sender = number % SENDERS
    const first = this.buffer.subscribe(`s${sender}`, this.peers[link]!.link, `r${number}`, policy)
    const { epoch, seq } = this.cursors[sender]!
    // Nothing was put here for lack of receivers: the stream begins with what comes.
    const start = first ?? { epoch, seq: seq + 1 }
    const receipt = new Receipt(start)
    this.subscribers.set(number, { id: `r${number}`, sender, policy, receipt, generation: 0, link })
  }

  #depart(number: number): void {
    this.buffer.unsubscribe(`s${number % SENDERS}`, `r${number}`)
    this.subscribers.delete(number)
  }

  #suspend(number: number): void {
    const subscriber = this.subscribers.get(number)
    if (subscriber?.link === undefined) return
    expect(this.buffer.suspend(`s${subscriber.sender}`, subscriber.id)).toBe(true)
    subscriber.link = undefined
  }

  #resume(number: number, link: number): void {
    const subscriber = this.subscribers.get(number)
    if (subscriber === undefined || subscriber.link !== undefined) return
    subscriber.generation++
    subscriber.link = link
    const { sender, id, receipt } = subscriber
    expect(this.buffer.resume(`s${sender}`, id, this.peers[link]!.link, receipt.cursor)).toBe(true)
  }

  #drain(peer: Peer, bytes: number): void {
    const batch = peer.link.take(bytes)
    if (batch === undefined) return
    expect(batch.bytes <= bytes || batch.parts.flatMap(({ taken }) => taken.items).length === 1).toBe(true)
    const to = batch.parts.map(({ slot, rid, owners }) =>
      [...this.subscribers.values()]
        .filter((one) => `s${one.sender}` === slot.sender && this.peers[one.link ?? -1] === peer)
        .filter((one) => rid === undefined || owners[0]!.receivers.has(one.id))
        .map((subscriber) => ({ subscriber, generation: subscriber.generation })),
    )
    peer.transit.push({ batch, to })
  }

  #deliver(peer: Peer): void {
    const arrived = peer.transit.shift()
    if (arrived === undefined) return
    const { batch, to } = arrived
    peer.delivered = batch.number
    batch.parts.forEach(({ slot, rid, taken }, i) => {
      for (const item of taken.items) {
        const next = behind(item)
        // The other side tells of what it put into a queue, not of what came for an attachment that is over.
        const isPut = to[i]!.some(({ subscriber, generation }) => subscriber.generation === generation)
        if (next !== undefined && isPut) peer.told.set(`${slot.sender} ${rid}`, next)
        for (const { subscriber, generation } of to[i]!) {
          if (subscriber.generation === generation) this.#receive(subscriber, item)
        }
      }
    })
  }

  #receive({ receipt, sender }: Subscriber, item: Item): void {
    const published = this.published[sender]!
    if (item.kind === 'marker') receipt.marker(item)
    else if (item.kind === 'events') {
      for (let i = item.from; i < item.to; i++) {
        const position = positionOf(item, i)
        const seq = item.block.seq(position)
        expect(item.block.attributes(position).v).toBe(published.get(`${item.block.epoch}:${seq}`))
        receipt.event(item.block.epoch, seq)
      }
    } else this.#receiveDigest(receipt, item, published)
    expect(receipt.missing).toEqual([])
  }

  #receiveDigest(receipt: Receipt, digest: Digest, published: ReadonlyMap<string, number>): void {
    const accepted = receipt.digest(digest)
    expect(accepted === undefined || !('overlaps' in accepted)).toBe(true)
    let sum = 0
    for (let seq = digest.from; seq <= digest.to; seq++) sum += published.get(`${digest.epoch}:${seq}`)!
    const counted = digest.causes.reduce((total, { count }) => total + count, 0)
    expect(counted).toBe(digest.to - digest.from + 1)
    const policy = policies.find(({ hash }) => hash === digest.policy)!
    if (policy.digesters.length > 0) expect(policy.show(digest).digest.SUM).toBe(sum)
  }

  #break(peer: Peer): void {
    peer.transit = []
    peer.link.giveBack(({ sender }, rid) => peer.told.get(`${sender} ${rid}`))
  }
}

function behind(item: Item): Cursor | undefined {
  if (item.kind === 'marker') return undefined
  if (item.kind === 'digest') return { epoch: item.epoch, seq: item.to + 1 }
  return { epoch: item.block.epoch, seq: item.block.seq(positionOf(item, item.to - 1)) + 1 }
}

function digestsOf(policy: Policy, run: Run, now: number): Item[] {
  const events = new QueuedEvents([run], new DecodedBlocks())
  const surroundings = { buffer: 'SRB', now, random: () => 0 }
  const { digests } = new Packing(policy, events, new Map(), surroundings).worstCase().finish()
  return [...digests.get(0)!]
}

describe('a remote buffer, whatever happens:', () => {
  it('loses nothing without a receipt, keeps order and bounds, and drains', () => {
    fc.assert(
      fc.property(
        life,
        fc.constantFrom(1_000_000, 3_000),
        fc.nat(),
        ({ bounds, operations }, budgetBytes, seed) => {
          const world = new World(bounds, budgetBytes, seed)
          for (let i = 0; i < 3; i++)
            world.apply({ do: 'subscribe', receiver: i, link: i % LINKS, policy: i })
          for (const one of operations) {
            world.apply(one)
            world.checkBounds()
          }
          world.settle()
          world.checkReceipts()
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 300) },
    )
  })
})
