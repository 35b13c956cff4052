// A scenario is plain data: so many nodes, senders, receivers and faults for so long. Running it gives receipts and
// figures, and the same again for the same data. Nodes are named n0, n1, …, clients c0, c1, ….

import assert from 'node:assert/strict'
import type { Cursor } from '../../buffers/item.ts'
import type { EpochReceipt } from '../../buffers/receipt.ts'
import type { SenderInfo } from '../../overlay/control.ts'
import { type Id, idOfEndpoint } from '../../overlay/id.ts'
import type { Core, Surroundings } from '../../overlay/surroundings.ts'
import { seeded } from '../../policies/chance.ts'
import type { Attributes } from '../../policies/event.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import { type Fault, FaultInjector, type FaultStage, type SleepKind } from './faults.ts'
import { mix } from './hash.ts'
import { Network, type NetworkOptions } from './network.ts'
import type { SimPeer } from './peer.ts'
import { addNumbers, Histogram, type ScenarioStatistics, shapeOf, type TreePlace } from './statistics.ts'
import { type PublishedEpoch, type Taken, Witness } from './witness.ts'

export interface SenderPlan {
  /** The index of its client. */
  readonly client: number
  readonly name: string
  readonly everyMs: number
  readonly fromMs?: number
  /** What an event holds beside its small attributes, in bytes. */
  readonly padBytes?: number
  /** It ends then, and its client leaves for good as soon as its proxy has everything. */
  readonly endMs?: number
}

export interface ReceiverPlan {
  readonly client: number
  readonly name: string
  /** The index of the sender. */
  readonly sender: number
  readonly policy?: PolicySpec
  readonly fromMs?: number
  /** How many items it takes a second, until everything is healed: at once without it, none when 0. */
  readonly itemsPerSecond?: number
  /** The bound of its queue, in items. */
  readonly queueItems?: number
  /** It does not subscribe, but asks so often; without a policy. */
  readonly pullEveryMs?: number
}

export interface ClientPlan {
  /** The names of nodes it may attach to, the first choice first. */
  readonly proxies: readonly string[]
}

export interface Scenario {
  readonly seed: number
  readonly nodes: number
  readonly clients: readonly ClientPlan[]
  readonly senders: readonly SenderPlan[]
  readonly receivers: readonly ReceiverPlan[]
  /** How long senders publish and faults happen. Then everything is healed. */
  readonly durationMs: number
  /** How long receipts may take to become complete after that. */
  readonly settleMs: number
  /** Senders say that no more will come when receipts are complete, or so long after the healing. */
  readonly endAfterMs?: number
  readonly faults: readonly Fault[]
  /** Nothing of this may lose anything: no event may be in a gap. */
  readonly isLossless?: boolean
  /** In the end all clients leave for good, some without a word: then no node may have anything left of them. */
  readonly departs?: boolean
  readonly network?: Partial<Omit<NetworkOptions, 'seed' | 'log'>>
}

/** What is asked of a node's core. */
export interface SimNode extends Core {
  /** It is about to leave, and has `LEAVE_MS` to hand over what it has. */
  leave?(): void
  /** Whether it has handed over everything. */
  readonly isIdle?: boolean
  /** Its place in a sender's tree; undefined when it is not in it. */
  place?(sid: Id): TreePlace | undefined
  /** Its own figures. */
  figures?(): Readonly<Record<string, number>>
  /** What it has for clients, by kind. */
  held?(): Readonly<Record<string, number>>
}

/** What is asked of a client's core. It attaches by itself to one of its proxies. */
export interface SimClient extends Core {
  /** Whether what receivers take has gone through receipts, so that nothing is late and gaps are told. */
  readonly hasReceipts: boolean
  /** Opens a sender, in an epoch of its own. */
  open(name: string, tags: readonly string[]): void
  /** Never waits. Returns the event's number. */
  publish(name: string, event: Attributes): Cursor
  /** No more will come of this sender; `drained` is called when its proxy has everything. */
  end(name: string, drained?: () => void): void
  /** `available` is called when there may be something to take. */
  subscribe(subscription: SimSubscription, available: () => void): SimReceiver
  /** Moves to another proxy, or is back at one. */
  attach?(proxy: Id): void
  /** Asks its proxy to let go. */
  detach?(): void
  /** From now on it does not look for a node, until it attaches. */
  sleep?(): void
  figures?(): Readonly<Record<string, number>>
}

export interface SimSubscription {
  readonly sid: Id
  readonly name: string
  readonly policy?: PolicySpec
  readonly queueItems?: number
  readonly pullEveryMs?: number
}

export interface SimReceiver {
  /** The next item, or undefined when there is none now. */
  take(): Taken | undefined
}

/** Who publishes what: gossip, which everybody has heard after a while. */
export interface SimDirectory {
  announce(info: SenderInfo): void
  senders(): readonly SenderInfo[]
}

export interface NodeContext {
  readonly directory: SimDirectory
  /** 1 at first, 2 after a restart, and so on. */
  readonly life: number
}

export interface ClientContext {
  readonly proxies: readonly Id[]
  readonly life: number
}

export type MakeNode = (surroundings: Surroundings, context: NodeContext) => SimNode
export type MakeClient = (surroundings: Surroundings, context: ClientContext) => SimClient

export interface ReceiverResult {
  readonly receiver: string
  /** Which life of its client, from 1. */
  readonly life: number
  readonly epochs: readonly EpochReceipt[]
  readonly late: number
}

export interface ScenarioResult {
  /** Empty when every receipt is exact. */
  readonly violations: readonly string[]
  readonly receivers: readonly ReceiverResult[]
  readonly statistics: ScenarioStatistics
  /** The same for the same scenario. */
  readonly trace: string
}

/** A node that leaves in order is gone after so long, or before, when it has handed over everything. */
export const LEAVE_MS = 10_000
const LOOK_WHETHER_LEFT_MS = 100
/** Longer than soft state takes to be told again. */
const END_AFTER_MS = 30_000
/** What happens after the end is watched for so long. */
const WATCH_MS = 2_000
/** The lease and as much again, for what is told again by others, and a minute for those that ended. */
const DEPART_MS = 120_000
/** Its heartbeat. */
const NODE_TIMERS = 1
/** How long gossip takes to reach everybody. */
const GOSSIP_MS = 2_000
/** How often it is looked whether all receipts are complete. */
const LOOK_MS = 250
const TAGS = ['n', 'value', 'kind', 'pad']
const KINDS = ['info', 'notice', 'warning', 'error']

/** Runs a scenario to its end. Throws what a core throws. */
export function runScenario(
  scenario: Scenario,
  makeNode: MakeNode,
  makeClient: MakeClient,
  log?: (line: string) => void,
): ScenarioResult {
  return new Run(scenario, makeNode, makeClient, log).run()
}

interface Publisher {
  readonly plan: SenderPlan
  readonly sid: Id
  readonly random: () => number
  readonly epochs: PublishedEpoch[]
  count: number
  value: number
}

interface Subscriber {
  readonly plan: ReceiverPlan
  /** One for each life of its client. */
  readonly witnesses: Witness[]
  /** Takes at once what there is. */
  takeAll: () => void
}

class Run implements FaultStage {
  readonly network: Network
  readonly #scenario: Scenario
  readonly #makeNode: MakeNode
  readonly #makeClient: MakeClient
  readonly #faults: FaultInjector
  readonly #nodes = new Map<SimPeer, SimNode>()
  readonly #clients: { peer: SimPeer; core: SimClient }[] = []
  readonly #publishers: Publisher[]
  readonly #subscribers: Subscriber[]
  readonly #subscribersOf: ReadonlyMap<number, readonly Subscriber[]>
  readonly #latencies = new Histogram()
  readonly #announced = new Map<Id, { info: SenderInfo; at: number }>()
  /** Clients that have left for good, and nodes that have left in order. */
  readonly #left = new Set<SimPeer>()
  #isHealed = false

  constructor(scenario: Scenario, makeNode: MakeNode, makeClient: MakeClient, log?: (line: string) => void) {
    this.#scenario = scenario
    this.#makeNode = makeNode
    this.#makeClient = makeClient
    const logging = log === undefined ? {} : { log }
    this.network = new Network({ ...scenario.network, seed: scenario.seed, ...logging })
    this.#faults = new FaultInjector(this)
    for (const { name, fromMs = 0 } of scenario.senders) {
      assert(fromMs < scenario.durationMs, `${name} begins after the end`)
    }
    this.#publishers = scenario.senders.map((plan, i) => this.#publisherOf(plan, i))
    this.#subscribers = scenario.receivers.map((plan) => ({ plan, witnesses: [], takeAll: () => {} }))
    this.#subscribersOf = Map.groupBy(this.#subscribers, ({ plan }) => plan.client)
  }

  run(): ScenarioResult {
    const { nodes, clients, faults, durationMs } = this.#scenario
    for (let i = 0; i < nodes; i++) this.join(`n${i}`)
    clients.forEach((plan, i) => {
      this.#addClient(plan, i)
    })
    for (const fault of faults) this.network.clock.after(fault.at, () => this.#faults.apply(fault))
    this.network.runUntil(durationMs)
    const measured = this.#measure()
    this.#heal()
    const result = this.#result(measured, this.#settle())
    return this.#scenario.departs === true
      ? { ...result, violations: [...result.violations, ...this.#depart()] }
      : result
  }

  join(name: string): void {
    const known = this.network.find(name)
    if (known?.life !== undefined) return
    if (known !== undefined) {
      this.#left.delete(known)
      this.network.start(known)
    } else this.network.add(name, 'node', (surroundings, life) => this.#newNode(surroundings, life))
  }

  leave(name: string): void {
    const peer = this.network.peer(name)
    const { life } = peer
    if (life === undefined) return
    const node = this.#nodes.get(peer)
    this.network.acts(peer)
    node?.leave?.()
    const until = this.network.clock.now + LEAVE_MS
    const look = () => {
      if (!life.isAlive) return
      if (node?.isIdle !== true && this.network.clock.now < until)
        this.network.clock.after(LOOK_WHETHER_LEFT_MS, look)
      else this.#gone(peer)
    }
    look()
  }

  /** It has said goodbye by gossip. */
  #gone(peer: SimPeer): void {
    const { network } = this
    network.stop(peer)
    this.#left.add(peer)
    network.clock.after(GOSSIP_MS, () => {
      if (peer.life === undefined)
        for (const other of this.#nodes.keys()) network.tables.forget(other.id, peer.id)
    })
  }

  move(client: string, to: string): void {
    const found = this.#clients.find(({ peer }) => peer.name === client)
    const target = this.network.find(to)
    const life = found?.peer.life
    if (found === undefined || target === undefined || life === undefined) return
    this.network.whenRunning(life, () => {
      this.network.acts(found.peer)
      found.core.attach?.(target.id)
    })
  }

  sleep(client: string, how: SleepKind): void {
    const found = this.#clients.find(({ peer }) => peer.name === client)
    const life = found?.peer.life
    if (found === undefined || life === undefined) return
    if (how === 'silent') {
      this.network.isolate(found.peer)
      return
    }
    this.network.whenRunning(life, () => {
      this.network.acts(found.peer)
      if (how === 'asked') found.core.detach?.()
      else found.core.sleep?.()
    })
    if (how === 'cut')
      for (const pipe of [...life.pipes.values()]) this.network.breakLink(found.peer, pipe.to.peer)
  }

  wake(client: string, to: string): void {
    this.network.rejoin(this.network.peer(client))
    this.move(client, to)
  }

  #publisherOf(plan: SenderPlan, index: number): Publisher {
    const key = new TextEncoder().encode(`c${plan.client}`)
    const random = seeded(mix(this.#scenario.seed, index + 0x707562))
    return { plan, sid: idOfEndpoint(key, plan.name), random, epochs: [], count: 0, value: 50 }
  }

  #newNode(surroundings: Surroundings, life: number): SimNode {
    const directory: SimDirectory = {
      announce: (info) => this.#announce(info),
      senders: () => this.#senders(),
    }
    const node = this.#makeNode(surroundings, { directory, life })
    this.#nodes.set(this.network.peer(surroundings.self.id), node)
    return node
  }

  #addClient({ proxies }: ClientPlan, index: number): void {
    const ids = proxies.map((name) => this.network.peer(name).id)
    const publishers = this.#publishers.filter(({ plan }) => plan.client === index)
    const subscribers = this.#subscribersOf.get(index) ?? []
    const name = `c${index}`
    this.network.add(name, 'client', (surroundings, life) => {
      const core = this.#makeClient(surroundings, { proxies: ids, life })
      this.#clients[index] = { peer: this.network.peer(name), core }
      for (const publisher of publishers) this.#startPublisher(publisher, core, surroundings)
      for (const subscriber of subscribers) this.#startSubscriber(subscriber, core, surroundings)
      return core
    })
  }

  #startPublisher(publisher: Publisher, core: SimClient, surroundings: Surroundings): void {
    const { plan } = publisher
    const publish = () => {
      this.#publish(publisher, core)
      surroundings.after(plan.everyMs, () => {
        if (this.#isHealed) return
        if (plan.endMs === undefined || surroundings.now() < plan.endMs) publish()
        else core.end(plan.name, () => surroundings.after(0, () => this.#leave(plan.client)))
      })
    }
    surroundings.after(Math.max(0, (plan.fromMs ?? 0) - surroundings.now()), () => {
      core.open(plan.name, TAGS)
      // Also when everything was healed meanwhile: only a new epoch's first event closes the one before.
      publish()
    })
  }

  #leave(client: number): void {
    const { peer } = this.#clients[client]!
    this.#left.add(peer)
    this.network.stop(peer)
  }

  #publish(publisher: Publisher, core: SimClient): void {
    const { plan, random, epochs } = publisher
    publisher.value = Math.max(0, Math.min(100, publisher.value + (random() - 0.5) * 4))
    const n = ++publisher.count
    const value = Math.round(publisher.value * 10) / 10
    const kind = KINDS[Math.floor(random() ** 3 * KINDS.length)]!
    const pad = 'x'.repeat(plan.padBytes ?? 0)
    const { epoch, seq } = core.publish(plan.name, { n, value, kind, pad })
    const last = epochs.at(-1)
    if (last?.epoch === epoch) last.highest = seq
    else epochs.push({ epoch, offset: n - seq, highest: seq })
  }

  #startSubscriber(subscriber: Subscriber, core: SimClient, surroundings: Surroundings): void {
    const { plan, witnesses } = subscriber
    const { sid, epochs } = this.#publishers[plan.sender]!
    const witness = new Witness(`c${plan.client}/${plan.name}`, epochs, core.hasReceipts)
    witnesses.push(witness)
    const { name, policy, queueItems, pullEveryMs, fromMs = 0 } = plan
    const start = () => {
      const taker = new Taker(plan.itemsPerSecond, surroundings, () => this.#take(receiver, witness))
      const options = {
        ...(policy ? { policy } : {}),
        ...(queueItems === undefined ? {} : { queueItems }),
        ...(pullEveryMs === undefined ? {} : { pullEveryMs }),
      }
      const receiver = core.subscribe({ sid, name, ...options }, () => taker.available())
      subscriber.takeAll = () => taker.hurry()
      if (this.#isHealed) taker.hurry()
      else taker.available()
    }
    surroundings.after(Math.max(0, fromMs - surroundings.now()), start)
  }

  /** Takes one item. False when there is none. */
  #take(receiver: SimReceiver, witness: Witness): boolean {
    const taken = receiver.take()
    if (taken === undefined) return false
    if (taken.kind === 'event') this.#latencies.add(this.network.clock.now - taken.time)
    witness.take(taken)
    return true
  }

  #announce(info: SenderInfo): void {
    if (!this.#announced.has(info.sid)) this.#announced.set(info.sid, { info, at: this.network.clock.now })
  }

  #senders(): readonly SenderInfo[] {
    const before = this.network.clock.now - GOSSIP_MS
    return [...this.#announced.values()].filter(({ at }) => at <= before).map(({ info }) => info)
  }

  /** Runs until all receipts are complete, and a little longer. Returns how long that took. */
  #settle(): number {
    const { durationMs, settleMs, endAfterMs = END_AFTER_MS } = this.#scenario
    const { clock } = this.network
    this.#runUntilComplete(durationMs + Math.min(settleMs, endAfterMs))
    this.#endSenders()
    this.#runUntilComplete(durationMs + settleMs)
    const settledMs = clock.now - durationMs
    this.network.runUntil(clock.now + WATCH_MS)
    return settledMs
  }

  #runUntilComplete(until: number): void {
    const { clock } = this.network
    while (!this.#isComplete() && clock.now < until)
      this.network.runUntil(Math.min(until, clock.now + LOOK_MS))
  }

  #endSenders(): void {
    for (const { plan } of this.#publishers) {
      const { peer, core } = this.#clients[plan.client]!
      if (this.#left.has(peer)) continue
      this.network.acts(peer)
      core.end(plan.name)
    }
  }

  /** All links work, everyone is there, nobody is slow, and nobody publishes any more. */
  #heal(): void {
    this.#isHealed = true
    this.network.healAll()
    for (const peer of this.network.peers)
      if (peer.life === undefined && !this.#left.has(peer)) this.network.start(peer)
    for (const { plan, takeAll } of this.#subscribers)
      this.#clients[plan.client]!.peer.life!.after(0, takeAll)
    this.#scenario.clients.forEach(({ proxies }, i) => {
      const isUp = (name: string) => this.network.peer(name).life !== undefined
      const to = proxies.find(isUp)
      if (to !== undefined) this.wake(`c${i}`, to)
    })
  }

  /** All clients leave, every other one without a word. Returns what is left of them at nodes after a while. */
  #depart(): string[] {
    const { network } = this
    this.#clients.forEach(({ peer }, i) => {
      if (peer.life !== undefined) network.crash(peer, { silent: i % 2 === 1 })
    })
    network.runUntil(network.clock.now + DEPART_MS)
    return [...this.#nodes].flatMap(([peer, node]) => {
      if (peer.life === undefined) return []
      const held = { ...node.held?.(), timers: peer.life.timers - NODE_TIMERS }
      const left = Object.entries(held).filter(([, count]) => count !== 0)
      return left.map(([what, count]) => `${peer.name}: ${count} ${what} left of clients that have departed`)
    })
  }

  #isComplete(): boolean {
    return this.#subscribers.every(({ witnesses }) => witnesses.at(-1)!.isComplete)
  }

  /** The shape of things in the middle of the trouble. */
  #measure(): Pick<ScenarioStatistics, 'trees' | 'nodes' | 'maxNodeFrames'> {
    const live = [...this.#nodes].filter(([peer]) => peer.life !== undefined)
    const trees = this.#publishers.map(({ sid }) => {
      const places = new Map<Id, TreePlace>()
      for (const [peer, node] of live) {
        const place = node.place?.(sid)
        if (place !== undefined) places.set(peer.id, place)
      }
      return shapeOf(sid, places)
    })
    const nodes: Record<string, { sum: number; max: number }> = {}
    let maxNodeFrames = 0
    for (const [peer, node] of live) {
      addNumbers(nodes, node.figures?.() ?? {})
      addNumbers(nodes, { connections: peer.life!.pipes.size, timers: peer.life!.timers })
      maxNodeFrames = Math.max(maxNodeFrames, peer.receivedFrames)
    }
    return { trees, nodes, maxNodeFrames }
  }

  #result(
    measured: Pick<ScenarioStatistics, 'trees' | 'nodes' | 'maxNodeFrames'>,
    settledMs: number,
  ): ScenarioResult {
    const witnessed = this.#subscribers.flatMap(({ witnesses }) =>
      witnesses.map((witness, i) => ({ witness, life: i + 1, isLast: i === witnesses.length - 1 })),
    )
    const counts = { delivered: 0, digested: 0, gaps: 0 }
    for (const { witness } of witnessed) {
      for (const { delivered, digested, gaps } of witness.epochs) {
        counts.delivered += delivered
        counts.digested += digested
        counts.gaps += gaps
      }
    }
    return {
      violations: witnessed.flatMap(({ witness, isLast }) =>
        witness.check(isLast, this.#scenario.isLossless === true),
      ),
      receivers: witnessed.map(({ witness, life }) => {
        return { receiver: witness.name, life, epochs: witness.epochs, late: witness.late }
      }),
      statistics: {
        network: { ...this.network.statistics },
        published: this.#publishers.reduce((sum, { count }) => sum + count, 0),
        ...counts,
        latencyMs: this.#latencies.quantiles,
        ...measured,
        settledMs,
        simulatedMs: this.network.clock.now,
      },
      trace: this.network.trace.hash,
    }
  }
}

/** Takes a receiver's items at its speed. */
class Taker {
  readonly #surroundings: Surroundings
  readonly #take: () => boolean
  #everyMs: number
  #isWaiting = false

  constructor(itemsPerSecond: number | undefined, surroundings: Surroundings, take: () => boolean) {
    this.#everyMs = itemsPerSecond === undefined ? 0 : 1_000 / itemsPerSecond
    this.#surroundings = surroundings
    this.#take = take
  }

  /** Something may be there. It is taken in a turn of its own, never within the client's. */
  available(): void {
    if (this.#isWaiting || this.#everyMs === Number.POSITIVE_INFINITY) return
    this.#isWaiting = true
    this.#surroundings.after(this.#everyMs, () => this.#turn())
  }

  /** From now on everything is taken at once. */
  hurry(): void {
    this.#everyMs = 0
    while (this.#take());
  }

  #turn(): void {
    this.#isWaiting = false
    if (this.#everyMs === 0) while (this.#take());
    else if (this.#take()) this.available()
  }
}
