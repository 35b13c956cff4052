// Nodes that leave in order: what they are to others, others become, and nothing is lost.
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import type { Fault } from './faults.ts'
import { makeClient, makeNode } from './overlay.ts'
import { runScenario, type Scenario } from './scenario.ts'

const NODES = 24
const CLIENTS = 16
const DURATION_MS = 40_000

/** Nine of the nodes leave, one after the other. */
function leaving(seed: number): Scenario {
  const random = seeded(seed)
  const pick = () => `n${Math.floor(random() * NODES)}`
  const faults: Fault[] = Array.from({ length: 9 }, (_, i) => ({
    at: 5_000 + 3_000 * i,
    kind: 'leave',
    peer: `n${i}`,
  }))
  return {
    seed,
    nodes: NODES,
    clients: Array.from({ length: CLIENTS }, () => ({ proxies: [pick(), pick(), pick()] })),
    senders: [0, 1].map((client) => ({ client, name: `s${client}`, everyMs: 25, fromMs: 2_000 })),
    receivers: Array.from({ length: 14 }, (_, i) => ({
      client: i + 2,
      name: `r${i}`,
      sender: i % 2,
      fromMs: 1_000,
    })),
    durationMs: DURATION_MS,
    settleMs: 60_000,
    faults,
  }
}

describe('nodes that leave in order', () => {
  it.each(Array.from({ length: 6 }, (_, i) => i + 1))('lose nothing, seed %i', (seed) => {
    const { violations, statistics } = runScenario(leaving(seed), makeNode, makeClient)
    expect(violations).toEqual([])
    expect(statistics.gaps).toBe(0)
  })
})
