// One sender, very many receivers: the tree stays flat and narrow, and no node pays for receivers elsewhere.
import { expect, it } from 'vitest'
import { MAX_CHILDREN } from '../../overlay/tree.ts'
import { makeClient, makeNode } from './overlay.ts'
import { runScenario, type Scenario } from './scenario.ts'

/** On demand: `NODES=10000 RECEIVERS=100000 npx vitest run test/sim/scale.test.ts`, with 15 GB for Node. */
const NODES = Number(process.env.NODES ?? 1_000)
const RECEIVERS = Number(process.env.RECEIVERS ?? 10 * NODES)
const RECEIVERS_OF_CLIENT = 5
const EVENTS = 8

it(`${RECEIVERS} receivers on ${NODES} nodes get every event`, { timeout: 3_600_000 }, () => {
  const { violations, statistics } = runScenario(crowd(), makeNode, makeClient)
  expect(violations).toEqual([])
  expect(statistics.gaps).toBe(0)
  const [tree] = statistics.trees
  expect(tree!.fanOut).toBeLessThanOrEqual(MAX_CHILDREN)
  // A full tree of 16 children has log16 levels; joins in any order leave it at most about twice as deep.
  expect(tree!.depth).toBeLessThanOrEqual(2 * Math.ceil(Math.log(NODES) / Math.log(MAX_CHILDREN)) + 1)
  // Queues: those of its own clients and receivers, and its children's; nothing of the thousands elsewhere.
  const { max } = statistics.nodes.queues!
  expect(max).toBeLessThan(40 * (RECEIVERS / NODES) + 200)
  console.log(
    `${NODES} nodes, ${RECEIVERS} receivers: depth ${tree!.depth}, fan-out ${tree!.fanOut}, most queues of a node ${max}, ` +
      `latency median ${statistics.latencyMs.median.toFixed(0)} ms`,
  )
})

function crowd(): Scenario {
  const clients = RECEIVERS / RECEIVERS_OF_CLIENT
  return {
    seed: 11,
    nodes: NODES,
    clients: Array.from({ length: clients + 1 }, (_, i) => ({ proxies: [`n${(i * 7) % NODES}`] })),
    senders: [{ client: 0, name: 's0', everyMs: 1_000, fromMs: 10_000 }],
    receivers: Array.from({ length: RECEIVERS }, (_, i) => ({
      client: 1 + (i % clients),
      name: `r${i}`,
      sender: 0,
      fromMs: 1_000 + (i % 4_000),
    })),
    durationMs: 10_000 + EVENTS * 1_000,
    settleMs: 60_000,
    faults: [],
  }
}
