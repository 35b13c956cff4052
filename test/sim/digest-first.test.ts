// Receivers that were away and want the digest first: a preview, then what is live, and the backlog beside it. Everything is
// accounted for once, whatever happens in the middle.
import { describe, expect, it } from 'vitest'
import type { PrivateQueue } from '../../buffers/private-queue.ts'
import { Arrivals } from '../../endpoints/arrivals.ts'
import { ANSWER_MS, Backlog } from '../../endpoints/backlog.ts'
import { type Delivered, type DeliveredEvent, Delivery } from '../../endpoints/delivery.ts'
import { ClientCore, type PollOutcome } from '../../overlay/client.ts'
import { type Id, idOfEndpoint } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Surroundings } from '../../overlay/surroundings.ts'
import { seeded } from '../../policies/chance.ts'
import { compilePolicy } from '../../policies/compile.ts'
import type { Policy } from '../../policies/policy.ts'
import { Network } from './network.ts'

const NODES = 8
const BOUNDS = { items: 1_000, bytes: 1_000_000 }
const latest = compilePolicy({
  attribute: 'n',
  summary: ['MEAN'],
  levels: [[{ name: 'LATEST', window: 100 }]],
})

/** A receiver whose application takes what there is, at most so many items a turn. */
class Receiver {
  readonly core: ClientCore
  readonly taken: Delivered[] = []
  readonly rid: Id
  readonly #surroundings: Surroundings
  readonly #sid: Id
  readonly #backlog: Backlog
  readonly #queue: PrivateQueue
  readonly #policy: Policy
  readonly #answers = new Map<number, (outcome: PollOutcome) => void>()
  #delivery: Delivery<Record<string, never>> | undefined
  #arrivals: Arrivals<Record<string, never>> | undefined
  #requests = 0
  isReading = true

  constructor(surroundings: Surroundings, sid: Id, proxy: Id, policy: Policy) {
    this.#surroundings = surroundings
    this.#sid = sid
    this.#policy = policy
    this.core = new ClientCore(surroundings, {
      subscribed: (_sid, _rid, first) => {
        if (this.#delivery !== undefined) return
        this.#delivery = new Delivery(this.#policy, first)
        this.#arrivals = new Arrivals(this.#delivery, this.#queue, this.#backlog)
        this.take()
      },
      items: () => this.take(),
      attached: () => {
        this.#backlog.attached()
        this.#arrivals?.attached()
      },
      polled: (request, outcome) => this.#answered(request, outcome),
    })
    this.#backlog = new Backlog({
      now: () => surroundings.now(),
      after: (delayMs, call) => void surroundings.after(delayMs, call),
      ask: (since, isPreview, answered) => this.#ask(since, isPreview, answered),
      changed: () => this.take(),
    })
    const { rid, queue } = this.core.subscribe(sid, 'r', policy, BOUNDS, { backlog: 'digest-first' })
    this.rid = rid
    this.#queue = queue
    this.core.attach(proxy)
  }

  get receipt() {
    return this.#delivery!.epochs
  }

  take(): void {
    if (!this.isReading) return
    do {
      const items = this.#arrivals?.take() ?? []
      this.taken.push(...items)
      for (const { first, last, delivered, digested, gaps } of this.#delivery?.epochs ?? [])
        expect(delivered + digested + gaps).toBe(last - first + 1)
    } while (this.#arrivals?.canTake)
  }

  #ask(
    since: Parameters<ClientCore['recall']>[3],
    isPreview: boolean,
    answered: (outcome: PollOutcome) => void,
  ): void {
    const request = ++this.#requests
    this.#answers.set(request, answered)
    this.#surroundings.after(ANSWER_MS, () => {
      this.core.forget(request)
      this.#answered(request, { kind: 'failed', reason: 'no answer' })
    })
    this.core.recall(request, this.#sid, this.rid, since, isPreview)
  }

  #answered(request: number, outcome: PollOutcome): void {
    const answered = this.#answers.get(request)
    this.#answers.delete(request)
    answered?.(outcome)
  }
}

class World {
  readonly network: Network
  readonly sid = idOfEndpoint(new TextEncoder().encode('sender'), 'pulse')
  sender!: ClientCore
  receiver!: Receiver

  constructor(seed: number, policy: Policy) {
    this.network = new Network({ seed })
    for (let i = 0; i < NODES; i++)
      this.network.add(`n${i}`, 'node', (surroundings) => {
        const directory = { announce() {}, senders: () => [] }
        return new OverlayNode(Object.assign(surroundings, { directory, members: () => [] }))
      })
    this.network.add('sender', 'client', (surroundings) => {
      this.sender = new ClientCore(surroundings, {})
      this.sender.attach(this.id(3))
      this.sender.open('pulse', { tags: ['n'], epoch: 1 })
      return this.sender
    })
    this.network.add('receiver', 'client', (surroundings) => {
      this.receiver = new Receiver(surroundings, this.sid, this.id(1), policy)
      return this.receiver.core
    })
    this.run(8_000)
  }

  id(node: number): Id {
    return this.network.peer(`n${node}`).id
  }

  run(ms: number): void {
    this.network.runUntil(this.network.clock.now + ms)
  }

  publish(count: number, everyMs = 5): void {
    for (let i = 0; i < count; i++) {
      this.sender.publish(this.sid, { n: this.published + 1 })
      this.run(everyMs)
    }
  }

  get published(): number {
    return this.sender.published(this.sid)
  }

  /** The node that keeps what comes for the receiver while it is away. */
  get root(): number {
    const { rid } = this.receiver
    const distance = (i: number) => BigInt(`0x${this.id(i)}`) ^ BigInt(`0x${rid}`)
    return Array.from({ length: NODES }, (_, i) => i).reduce((a, b) => (distance(b) < distance(a) ? b : a))
  }

  /** The receiver is away while so many are published. */
  away(count: number, back: number): void {
    this.receiver.core.detach()
    this.run(500)
    this.publish(count)
    this.receiver.core.attach(this.id(back))
  }
}

const isPreview = (item: Delivered) => 'preview' in item
const isBacklog = (item: Delivered) => 'backlog' in item
const isLive = (item: Delivered) => !isPreview(item) && !isBacklog(item)

function spanOf(item: Delivered): [number, number] {
  if (item.kind !== 'event') return [Number(item.from), Number(item.to)]
  const { seq } = item as DeliveredEvent
  return [seq, seq]
}

/** Every number is in one of the items, and in one only; what is live is in order, and so is the backlog. */
function expectExact({ receiver, published }: World): void {
  const counted = receiver.taken.filter((item) => !isPreview(item)).map(spanOf)
  let next = 1
  for (const [from, to] of counted.toSorted(([a], [b]) => a - b)) {
    expect(from).toBe(next)
    next = to + 1
  }
  expect(next).toBe(published + 1)
  for (const isKind of [isLive, isBacklog]) {
    const starts = receiver.taken
      .filter((item) => isKind(item) && item.kind !== 'gap')
      .map((item) => spanOf(item)[0])
    expect(starts).toEqual(starts.toSorted((a, b) => a - b))
  }
  expect(receiver.receipt).toMatchObject([{ first: 1, last: published }])
}

describe('a receiver that wants the digest first', () => {
  it('has a preview, what is live, and the backlog marked', () => {
    const world = new World(1, latest)
    const { receiver } = world
    world.publish(50)
    world.run(1_000)
    world.away(600, 2)
    world.publish(200)
    world.run(10_000)
    expectExact(world)
    const { taken } = receiver
    // What comes while its queue is still on its way waits as well.
    const [from, to] = spanOf(taken[50]!)
    expect(from).toBe(51)
    expect(to).toBeGreaterThanOrEqual(650)
    expect(taken[50]).toMatchObject({ kind: 'digest', preview: true, count: to - 50, MEAN: (51 + to) / 2 })
    expect(taken.filter(isPreview)).toHaveLength(1)
    const waited = taken.filter(isBacklog).map((item) => spanOf(item)[0])
    expect(waited).toEqual(Array.from({ length: to - 50 }, (_, i) => 51 + i))
    // What is live does not wait for the backlog.
    expect(taken.findIndex((item) => spanOf(item)[0] === to + 1)).toBeLessThan(taken.findLastIndex(isBacklog))
    expect(receiver.receipt).toEqual([
      { epoch: 1, first: 1, last: 850, delivered: 850, digested: 0, gaps: 0 },
    ])
  })

  it('has what its policy left of it, and the digests in their place', () => {
    const world = new World(2, latest)
    world.publish(50)
    // Its queue has room for 10,000.
    world.receiver.core.detach()
    world.run(500)
    world.publish(10_500, 1)
    world.receiver.core.attach(world.id(3))
    world.publish(50)
    world.run(60_000)
    expectExact(world)
    const digests = world.receiver.taken.filter((item) => item.kind === 'digest' && isBacklog(item))
    expect(digests.length).toBeGreaterThan(0)
    expect(world.receiver.receipt[0]!.digested).toBeGreaterThan(5_000)
    expect(world.receiver.receipt[0]!.gaps).toBe(0)
  })

  it('has everything when it was away twice, and moved in the middle of the backlog', () => {
    for (let seed = 10; seed < 20; seed++) {
      const world = new World(seed, latest)
      world.publish(50)
      world.away(2_000, seed % NODES)
      world.publish(1 + (seed % 7) * 3)
      world.away(1_500, (seed + 3) % NODES)
      world.publish(1 + (seed % 5) * 4)
      world.receiver.core.attach(world.id((seed + 5) % NODES))
      world.publish(100)
      world.run(20_000)
      expectExact(world)
      expect(world.receiver.receipt).toMatchObject([{ delivered: world.published, gaps: 0 }])
    }
  })

  it('is told what is missing when its root dies in the middle', () => {
    const world = new World(3, latest)
    const { receiver, root } = world
    // Neither of the clients is attached there.
    expect([1, 2, 3]).not.toContain(root)
    world.publish(50)
    world.away(2_500, 2)
    for (let i = 0; i < 1_000 && !receiver.taken.some(isBacklog); i++) world.run(5)
    world.network.crash(world.network.peer(`n${root}`))
    world.publish(200, 20)
    world.run(30_000)
    expectExact(world)
    const late = (kind: string) => receiver.taken.filter((item) => item.kind === kind && isBacklog(item))
    expect(late('gap').length).toBeGreaterThan(0)
    expect(late('event').length).toBeGreaterThan(0)
  })

  it.each([21, 22, 23, 24, 25, 26])(
    'has everything once when it roams by chance and nobody crashes: seed %d',
    (seed) => {
      const world = new World(seed, latest)
      const random = seeded(seed)
      const below = (n: number) => Math.floor(random() * n)
      world.publish(20)
      for (let i = 0; i < 12; i++) {
        const to = world.id(below(NODES))
        if (random() < 0.6) world.receiver.core.detach()
        world.receiver.isReading = random() < 0.8
        world.publish(below(300), below(8))
        world.receiver.core.attach(to)
        world.publish(below(60), below(20))
      }
      world.receiver.isReading = true
      world.run(100)
      world.publish(10)
      world.run(30_000)
      expectExact(world)
      expect(world.receiver.receipt[0]!.gaps).toBe(0)
    },
  )

  it('leaves nothing at any node when it departs with a backlog', () => {
    const world = new World(4, latest)
    world.publish(50)
    world.receiver.isReading = false
    world.away(2_000, 2)
    world.publish(50)
    const held = () =>
      world.network.peers.flatMap(({ life }) => (life?.core instanceof OverlayNode ? [life.core.counts] : []))
    expect(held().reduce((sum, { queuedBytes }) => sum + queuedBytes, 0)).toBeGreaterThan(10_000)
    for (const name of ['receiver', 'sender']) world.network.crash(world.network.peer(name))
    world.run(60_000)
    for (const { rings: _, ...counts } of held()) expect(new Set(Object.values(counts))).toEqual(new Set([0]))
  })
})
