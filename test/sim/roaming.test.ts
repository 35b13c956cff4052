// Clients that move from proxy to proxy: what one proxy still has for them follows them to the next.
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import type { Fault } from './faults.ts'
import { makeClient, makeNode } from './overlay.ts'
import { runScenario, type Scenario } from './scenario.ts'

const NODES = 30
const CLIENTS = 20
const DURATION_MS = 30_000
const nodeNames = Array.from({ length: NODES }, (_, i) => `n${i}`)

describe('clients that roam', () => {
  it.each([
    ['receivers', 1_000, (i: number) => i > 1],
    ['receivers, often', 200, (i: number) => i > 1],
    ['senders', 1_000, (i: number) => i <= 1],
    ['senders and receivers', 2_000, () => true],
  ])('%s, every %i ms, lose nothing', (_who, everyMs, moves) => {
    const { violations, receivers } = runScenario(roaming(everyMs, moves), makeNode, makeClient)
    expect(violations).toEqual([])
    const gaps = receivers.map(({ receiver, epochs }) => ({
      receiver,
      gaps: epochs.reduce((sum, epoch) => sum + epoch.gaps, 0),
    }))
    expect(gaps.filter((one) => one.gaps > 0)).toEqual([])
  })
})

function roaming(everyMs: number, moves: (client: number) => boolean): Scenario {
  const random = seeded(everyMs)
  const faults: Fault[] = []
  for (let client = 0; client < CLIENTS; client++) {
    if (!moves(client)) continue
    for (let at = 5_000 + random() * everyMs; at < DURATION_MS; at += everyMs * (0.5 + random()))
      faults.push({ at, kind: 'move', peer: `c${client}`, to: nodeNames[Math.floor(random() * NODES)]! })
  }
  return {
    seed: everyMs,
    nodes: NODES,
    clients: Array.from({ length: CLIENTS }, (_, i) => ({ proxies: [nodeNames[i]!] })),
    senders: [0, 1].map((client) => ({ client, name: `s${client}`, everyMs: 20, fromMs: 2_000 })),
    receivers: Array.from({ length: CLIENTS - 2 }, (_, i) => ({
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
