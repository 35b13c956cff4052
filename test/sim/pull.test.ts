// Pulling from senders' roots: whatever happens, receipts are exact, a root that dies costs a gap at most, schedules learn
// from what roots say of time, and a crowd spreads out.
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { describe, expect, it } from 'vitest'
import { Dpt } from '../../endpoints/pull/dpt.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import type { Schedule } from '../../endpoints/pull/schedule.ts'
import { ClientCore } from '../../overlay/client.ts'
import { compareDistance, type Id, idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import { MAX_POLLS_OF_CLIENT } from '../../overlay/poll-proxy.ts'
import { RING_EVENTS } from '../../overlay/ring.ts'
import { KEEP_MS } from '../../overlay/sender-root.ts'
import { seeded } from '../../policies/chance.ts'
import { MIXED } from './faults.ts'
import { Network } from './network.ts'
import { Client, makeClient, makeNode } from './overlay.ts'
import type { Puller } from './puller.ts'
import { type ReceiverResult, runScenario, type Scenario } from './scenario.ts'
import { seededScenario } from './seeded-scenario.ts'
import type { Taken } from './witness.ts'

/** More on demand: `SEEDS=1000 npx vitest run test/sim/pull.test.ts`. */
const SEEDS = Number(process.env.SEEDS ?? 100)
const PER_TEST = 20

describe('receivers that pull', () => {
  it.each([1, 2, 3, 4, 5, 6])('seed %i: miss nothing without faults', (seed) => {
    const { violations, receivers, statistics } = runScenario(pulling(seed), makeNode, makeClient)
    expect(violations).toEqual([])
    expect(gapsOf(receivers)).toBe(0)
    expect(statistics.delivered).toBeGreaterThan(0)
  })

  const first = Array.from({ length: Math.ceil(SEEDS / PER_TEST) }, (_, i) => 1 + i * PER_TEST)
  it.each(first)('have exact receipts under mixed faults from seed %i on', { timeout: 300_000 }, (from) => {
    for (let seed = from; seed < Math.min(from + PER_TEST, SEEDS + 1); seed++) {
      const { violations, receivers } = runScenario(pulling(seed, true), makeNode, makeClient)
      expect(violations, `seed ${seed}`).toEqual([])
      const late = receivers.filter(({ receiver }) => receiver.includes('/p')).map((one) => one.late)
      expect(Math.max(0, ...late), `seed ${seed}: nothing comes twice`).toBe(0)
    }
  })

  /** The scenario of a seed with most receivers pulling. */
  function pulling(seed: number, hasFaults = false): Scenario {
    const faults = hasFaults ? { faults: MIXED, crashClients: seed % 2 === 0 } : {}
    const scenario = seededScenario(seed, { receivers: 20, ...faults })
    const receivers = scenario.receivers.map(({ client, sender, ...rest }, i) => {
      const pull = { client, sender, name: `p${i}`, pullEveryMs: 300 + 700 * (i % 5) }
      return i % 4 === 3 ? { client, sender, ...rest } : pull
    })
    return { ...scenario, receivers }
  }
})

describe('what the root does not have any more', () => {
  const NODES = 20
  const nodeNames = Array.from({ length: NODES }, (_, i) => `n${i}`)
  const [root, ...others] = nodesBy(nodeNames, idOfEndpoint(utf8ToBytes('c0'), 's0'))
  const scenario: Scenario = {
    seed: 3,
    nodes: NODES,
    clients: [{ proxies: [others[0]!] }, { proxies: [others[1]!] }, { proxies: [others[2]!] }],
    senders: [{ client: 0, name: 's0', everyMs: 50, fromMs: 1_000 }],
    receivers: [{ client: 1, name: 'p', sender: 0, fromMs: 3_000, pullEveryMs: 1_000 }],
    durationMs: 60_000,
    settleMs: 30_000,
    faults: [],
  }

  it.each([false, true])('because it died (silently: %s) is a gap, and the next root goes on', (silent) => {
    const faults = [{ at: 20_400, kind: 'crash', peer: root!, silent } as const]
    const { violations, receivers } = runScenario({ ...scenario, faults }, makeNode, makeClient)
    expect(violations).toEqual([])
    // At most what came between two polls, and until the root was missed.
    expect(gapsOf(receivers)).toBeGreaterThan(0)
    expect(gapsOf(receivers)).toBeLessThanOrEqual((silent ? 8_000 : 2_500) / 50)
  })

  it('because the ring went round is a gap', () => {
    const receivers = [{ client: 1, name: 'p', sender: 0, fromMs: 3_000, pullEveryMs: 55_000 }]
    const seldom = {
      ...scenario,
      settleMs: 120_000,
      senders: [{ ...scenario.senders[0]!, everyMs: 20 }],
      receivers,
    }
    const result = runScenario(seldom, makeNode, makeClient)
    expect(result.violations).toEqual([])
    const [{ delivered, gaps, first, last }] = result.receivers[0]!.epochs as [ReceiverResult['epochs'][0]]
    expect(delivered + gaps).toBe(last - first + 1)
    expect(gaps).toBeGreaterThan(1_000)
    expect(delivered).toBeGreaterThanOrEqual(RING_EVENTS)
  })

  it('because it overflowed before the root is a digest', () => {
    const scene = new Scene()
    const puller = scene.client('sink', 'n1').pull(scene.sid, every(500))
    scene.run(2_000)
    for (let n = 1; n <= 10_400; n++) scene.owner.publish(scene.sid, { n })
    scene.run(20_000)
    let next = 1
    const counted = { event: 0, digest: 0 }
    for (const one of allOf(puller)) {
      if (one.kind === 'event') {
        expect(one.seq).toBe(next++)
        counted.event++
      } else if (one.kind === 'digest') {
        expect(one.from).toBe(next)
        next = one.to + 1
        counted.digest += one.to - one.from + 1
      }
    }
    expect(counted.event + counted.digest).toBe(10_400)
    expect(counted.digest).toBeGreaterThan(9_000)
  })

  it('of a sender that starts anew is a new epoch', () => {
    const faults = [
      { at: 20_000, kind: 'crash', peer: 'c0' } as const,
      { at: 25_000, kind: 'restart', peer: 'c0' } as const,
    ]
    const { violations, receivers } = runScenario({ ...scenario, faults }, makeNode, makeClient)
    expect(violations).toEqual([])
    expect(receivers[0]!.epochs.map(({ epoch }) => epoch)).toEqual([1, 2])
    expect(receivers[0]!.epochs[1]).toMatchObject({ first: 1, gaps: 0 })
  })
})

describe('a schedule', () => {
  it('learns when a sender publishes, with a clock that is hours off', () => {
    const scene = new Scene({ senderOffsetMs: 10 * 3_600_000 })
    const puller = scene.client('sink', 'n1').pull(scene.sid, new Dpt('normal', seeded(1)))
    scene.publish(30_000, 60)
    const last = puller.latenciesMs.slice(-30).map((ms) => ms + 10 * 3_600_000)
    expect(last).toHaveLength(30)
    // It has to poll again when the event has not come yet: a second later at the earliest.
    expect(median(last)).toBeLessThan(1_500)
    expect(puller.counts.hits / puller.counts.polls).toBeGreaterThan(0.45)
    expect(accounted(puller)).toEqual({ events: 60, gaps: 0 })
  })
})

describe('a crowd', () => {
  const CROWD = 3_000
  const EVERY_MS = 20_000

  it('is asked to spread, so that fewer ask at once, and gets everything', { timeout: 120_000 }, () => {
    const scene = new Scene()
    const schedules = (i: number): Schedule => new Dpt('lazy', seeded(i), { firstPeriodMs: EVERY_MS })
    const pullers = scene.crowd(CROWD, schedules)
    scene.publish(EVERY_MS, 10)
    const busiest = (round: number) => busiestSecond(pullers, scene.firstAt + round * EVERY_MS, EVERY_MS)
    expect(busiest(0)).toBe(CROWD)
    // From the second time on they ask over twice the time that they would queue.
    for (const round of [3, 5, 7, 9]) expect(busiest(round)).toBeLessThan(CROWD / 2)
    expect(median(pullers.map(({ spreadsMs }) => spreadsMs.at(-1)!))).toBeGreaterThan(2_000)
    for (const puller of pullers) expect(accounted(puller)).toEqual({ events: 10, gaps: 0 })
  })
})

describe('a root', () => {
  it('answers whom the sender allows, and nobody else', () => {
    const scene = new Scene({ allow: ['friend'] })
    const [friend, stranger] = ['friend', 'stranger'].map((name) =>
      scene.client(name, 'n1').pull(scene.sid, every(1_000)),
    )
    scene.run(2_000)
    scene.publish(1_000, 5)
    scene.run(2_000)
    expect(accounted(friend!)).toEqual({ events: 5, gaps: 0 })
    expect(allOf(stranger!).map(({ kind }) => kind)).toEqual(['refused'])
    expect(stranger!.counts.polls - stranger!.counts.failed).toBe(1)
  })

  it('keeps what a sender that is gone has left, for a while', () => {
    const scene = new Scene()
    scene.publish(1_000, 5)
    scene.owner.end(scene.sid)
    scene.run(1_000)
    scene.network.crash(scene.network.peer('owner'))
    scene.run(60_000)
    const late = scene.client('late', 'n1').pull(scene.sid, every(1_000))
    scene.run(5_000)
    expect(allOf(late)).toMatchObject([
      { kind: 'subscribed', first: { epoch: 1, seq: 5 } },
      { kind: 'event', seq: 5 },
    ])
    // Its proxy tells of it for a minute more.
    scene.run(KEEP_MS + 60_000)
    const later = scene.client('later', 'n1').pull(scene.sid, every(1_000))
    scene.run(5_000)
    expect(allOf(later)).toEqual([{ kind: 'subscribed', first: undefined }])
  })

  it('gives a sender that began after its pullers from its first event on', () => {
    const scene = new Scene({ opens: false })
    const puller = scene.client('sink', 'n1').pull(scene.sid, every(5_000))
    scene.run(7_000)
    expect(allOf(puller)).toEqual([{ kind: 'subscribed', first: undefined }])
    scene.open()
    scene.publish(100, 20)
    scene.run(10_000)
    expect(allOf(puller)).toMatchObject(Array.from({ length: 20 }, (_, i) => ({ kind: 'event', seq: i + 1 })))
  })

  it('tells a client that asks too much to come again', () => {
    const scene = new Scene()
    const client = scene.client('eager', 'n1')
    scene.run(1_000)
    const pullers = Array.from({ length: MAX_POLLS_OF_CLIENT + 10 }, () =>
      client.pull(scene.sid, every(60_000)),
    )
    scene.run(500)
    expect(pullers.filter(({ counts }) => counts.busy === 1)).toHaveLength(10)
  })
})

interface SceneOptions {
  /** Clients that may have the sender's events. */
  readonly allow?: readonly string[]
  /** How much the sender's clock is ahead. */
  readonly senderOffsetMs?: number
  readonly opens?: boolean
}

/** Some nodes, a sender, and whoever pulls from it. */
class Scene {
  readonly network = new Network({ seed: 5 })
  readonly sid: Id
  readonly #options: SceneOptions
  owner!: ClientCore
  firstAt = 0

  constructor(options: SceneOptions = {}) {
    this.#options = options
    const directory = { announce() {}, senders: () => [] }
    for (let i = 0; i < 8; i++) {
      this.network.add(`n${i}`, 'node', (surroundings) => {
        return new OverlayNode(Object.assign(surroundings, { directory, members: () => [] }))
      })
    }
    const proxy = this.network.peer('n0').id
    const offsetMs = options.senderOffsetMs ?? 0
    this.network.add('owner', 'client', (surroundings) => {
      const now = () => this.network.clock.now + offsetMs
      this.owner = new ClientCore(Object.assign(surroundings, { now }), {})
      this.owner.attach(proxy)
      return this.owner
    })
    this.sid = idOfEndpoint(utf8ToBytes('owner'), 'pulse')
    this.run(2_000)
    if (options.opens !== false) this.open()
  }

  open(): void {
    const { allow } = this.#options
    const limited = allow === undefined ? {} : { allow: allow.map((name) => idOfPeer(utf8ToBytes(name))) }
    this.owner.open('pulse', { tags: ['n'], epoch: 1, ...limited })
    this.run(1_000)
  }

  run(ms: number): void {
    this.network.runUntil(this.network.clock.now + ms)
  }

  /** Publishes so many events, so long apart, and waits as long again. */
  publish(everyMs: number, count: number): void {
    this.firstAt = this.network.clock.now
    for (let n = 1; n <= count; n++) {
      this.owner.publish(this.sid, { n })
      this.run(everyMs)
    }
  }

  client(name: string, ...nodes: string[]): Client {
    const proxies = nodes.map((node) => this.network.peer(node).id)
    let client!: Client
    this.network.add(name, 'client', (surroundings) => {
      client = new Client(surroundings, { proxies, life: 1 })
      return client
    })
    this.run(0)
    return client
  }

  /** Clients with one puller each, all at once. */
  crowd(size: number, scheduleOf: (i: number) => Schedule): Puller[] {
    const clients = Array.from({ length: size }, (_, i) => this.client(`crowd ${i}`, `n${i % 8}`))
    this.run(2_000)
    return clients.map((client, i) => client.pull(this.sid, scheduleOf(i)))
  }
}

function every(ms: number): Schedule {
  return new FixedInterval(ms, 0, () => 0)
}

/** Everything that was taken since the last call. */
function allOf(puller: Puller): Taken[] {
  const all: Taken[] = []
  for (let one = puller.take(); one !== undefined; one = puller.take()) all.push(one)
  return all
}

/** How many events came, in order, and how many numbers are missing between them. */
function accounted(puller: Puller): { events: number; gaps: number } {
  const seqs = allOf(puller).flatMap((one) => (one.kind === 'event' ? [one.seq] : []))
  const gaps = seqs.slice(1).reduce((sum, seq, i) => sum + seq - seqs[i]! - 1, 0)
  return { events: seqs.length, gaps }
}

/** The most polls in a second, within a time. */
function busiestSecond(pullers: readonly Puller[], from: number, forMs: number): number {
  const seconds = new Map<number, number>()
  for (const at of pullers.flatMap(({ polledAt }) => polledAt)) {
    const second = Math.floor((at - from) / 1_000)
    if (at >= from && at < from + forMs) seconds.set(second, (seconds.get(second) ?? 0) + 1)
  }
  return Math.max(0, ...seconds.values())
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function gapsOf(receivers: readonly ReceiverResult[]): number {
  return receivers.flatMap(({ epochs }) => epochs).reduce((sum, { gaps }) => sum + gaps, 0)
}

/** The names of the nodes, the closest to the key first. */
function nodesBy(names: readonly string[], key: Id): string[] {
  const id = (name: string) => idOfPeer(utf8ToBytes(name))
  return names.toSorted((a, b) => compareDistance(key, id(a), id(b)))
}
