import { expect, it } from 'vitest'
import { type Fault, MIXED, seededFaults } from './faults.ts'
import { type MakeClient, type MakeNode, runScenario, type Scenario } from './scenario.ts'
import { seededScenario } from './seeded-scenario.ts'
import { shapeOf } from './statistics.ts'
import { ToyClient, ToyNode } from './toy.ts'
import { Witness } from './witness.ts'

const makeNode: MakeNode = (surroundings) => new ToyNode(surroundings)
const makeClient: MakeClient = (surroundings, context) => new ToyClient(surroundings, context)

const calm: Scenario = {
  seed: 1,
  nodes: 30,
  clients: [{ proxies: ['n0', 'n1'] }, { proxies: ['n2', 'n3'] }, { proxies: ['n4'] }],
  senders: [{ client: 0, name: 'pulse', everyMs: 100, fromMs: 5_000 }],
  receivers: [
    { client: 1, name: 'fast', sender: 0 },
    { client: 2, name: 'slow', sender: 0, itemsPerSecond: 2 },
    { client: 2, name: 'stuck', sender: 0, itemsPerSecond: 0 },
  ],
  durationMs: 25_000,
  settleMs: 10_000,
  faults: [],
}

it('delivers everything when nothing happens', () => {
  const { violations, receivers, statistics } = runScenario(calm, makeNode, makeClient)
  expect(violations).toEqual([])
  expect(receivers).toHaveLength(3)
  for (const { epochs } of receivers)
    expect(epochs).toMatchObject([{ first: 1, last: statistics.published, gaps: 0 }])
  expect(statistics.published).toBeGreaterThan(190)
  expect(statistics.trees).toMatchObject([{ nodes: 1, depth: 0, fanOut: 2, roots: 1, lost: 0 }])
})

it("measures latencies to the application: a slow receiver's items are old", () => {
  const only = (at: number) => ({ ...calm, receivers: [calm.receivers[at]!] })
  const fast = runScenario(only(0), makeNode, makeClient).statistics.latencyMs
  const slow = runScenario(only(1), makeNode, makeClient).statistics.latencyMs
  expect(fast.count).toBe(slow.count)
  expect(fast.max).toBeLessThan(300)
  expect(slow.median).toBeGreaterThan(5_000)
})

it('gives the same trace and the same receipts for the same seed', () => {
  const run = (seed: number) =>
    runScenario(seededScenario(seed, { faults: MIXED, durationMs: 30_000 }), makeNode, makeClient)
  const [first, second, other] = [run(11), run(11), run(12)]
  expect(second).toEqual(first)
  expect(other!.trace).not.toBe(first!.trace)
})

it('keeps receipts exact through mixed faults, with gaps for what toys lose', () => {
  let gaps = 0
  for (let seed = 1; seed <= 12; seed++) {
    const scenario = seededScenario(seed, { faults: MIXED, crashClients: seed % 2 === 0, receivers: 20 })
    expect(scenario.faults.length).toBeGreaterThan(5)
    const { violations, statistics } = runScenario(scenario, makeNode, makeClient)
    expect({ seed, violations }).toEqual({ seed, violations: [] })
    gaps += statistics.gaps
  }
  expect(gaps).toBeGreaterThan(100)
})

it('begins a new epoch and a new receipt after clients crashed', () => {
  const faults: Fault[] = [
    { at: 10_000, kind: 'crash', peer: 'c0' },
    { at: 12_000, kind: 'restart', peer: 'c0' },
    { at: 15_000, kind: 'crash', peer: 'c1' },
    { at: 16_000, kind: 'restart', peer: 'c1' },
  ]
  const { violations, receivers } = runScenario({ ...calm, faults }, makeNode, makeClient)
  expect(violations).toEqual([])
  expect(receivers.map(({ receiver, life, epochs }) => [receiver, life, epochs.length])).toEqual([
    ['c1/fast', 1, 2],
    ['c1/fast', 2, 1],
    ['c2/slow', 1, 2],
    ['c2/stuck', 1, 2],
  ])
})

it('finds a client that loses an event in silence, delivers one twice, or changes one', () => {
  const faultOf = (change: 'lose' | 'double' | 'alter'): MakeClient => {
    return (surroundings, context) => {
      const client = new ToyClient(surroundings, context)
      const subscribe = client.subscribe.bind(client)
      client.subscribe = (subscription, available) => {
        const receiver = subscribe(subscription, available)
        let again = false
        return {
          take() {
            const taken = receiver.take()
            if (taken?.kind !== 'event' || taken.seq !== 50 || again) return taken
            again = true
            if (change === 'lose') return receiver.take()
            if (change === 'alter') return { ...taken, attributes: { n: 51 } }
            return { ...taken, seq: 49 }
          },
        }
      }
      return client
    }
  }
  const found = (change: 'lose' | 'double' | 'alter') => {
    const scenario = { ...calm, receivers: calm.receivers.slice(0, 1) }
    return runScenario(scenario, makeNode, faultOf(change)).violations.join()
  }
  expect(found('lose')).toContain('1 events lost in silence')
  expect(found('double')).toContain('doubled or out of order')
  expect(found('alter')).toContain('has n = 51, published was 50')
})

it('finds a receiver that does not get to the end', () => {
  const witness = new Witness('r', [{ epoch: 1, offset: 0, highest: 10 }], true)
  expect(witness.check(true)).toEqual(['r: never subscribed'])
  witness.take({ kind: 'subscribed', first: { epoch: 1, seq: 4 } })
  for (const seq of [4, 5, 6]) witness.take({ kind: 'event', epoch: 1, seq, time: 0 })
  expect(witness.check(false)).toEqual([])
  expect(witness.check(true)).toEqual(['r: expects 1/7 while 1/10 was published'])
  witness.take({ kind: 'gap', epoch: 1, from: 7, to: 8 })
  witness.take({ kind: 'gap', epoch: 1, from: 9, to: 11 })
  expect(witness.check(true)).toEqual(['r: epoch 1: 11 is above 10'])
})

it('makes faults that are plain data, in order, each with its end', () => {
  const nodes = Array.from({ length: 10 }, (_, i) => `n${i}`)
  const plan = {
    seed: 3,
    nodes,
    clients: ['c0'],
    fromMs: 1_000,
    untilMs: 600_000,
    everyMs: 1_000,
    lastingMs: 5_000,
  }
  const faults = seededFaults(plan)
  expect(JSON.parse(JSON.stringify(faults))).toEqual(faults)
  expect(seededFaults(plan)).toEqual(faults)
  expect(faults.map(({ at }) => at)).toEqual(faults.map(({ at }) => at).sort((a, b) => a - b))
  const count = (kind: Fault['kind']) => faults.filter((fault) => fault.kind === kind).length
  for (const kind of [
    'crash',
    'partition',
    'slow',
    'stick',
    'pause',
    'break',
    'join',
    'leave',
    'move',
  ] as const) {
    expect(count(kind)).toBeGreaterThan(5)
  }
  expect(count('crash')).toBe(count('restart'))
  expect(count('partition')).toBe(count('heal'))
  expect(count('slow')).toBe(count('fast'))
})

it('measures the shape of trees, and finds cycles', () => {
  const places = new Map([
    ['root', { parent: undefined, children: 2 }],
    ['a', { parent: 'root', children: 1 }],
    ['b', { parent: 'root', children: 0 }],
    ['c', { parent: 'a', children: 0 }],
    ['x', { parent: 'y', children: 1 }],
    ['y', { parent: 'x', children: 1 }],
    ['z', { parent: 'gone', children: 0 }],
  ])
  expect(shapeOf('s', places)).toEqual({ sender: 's', nodes: 7, depth: 2, fanOut: 2, roots: 1, lost: 3 })
})
