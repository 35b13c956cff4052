// Clients that move from proxy to proxy: what one proxy still has for them follows them to the next.
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import type { Fault } from './faults.ts'
import { makeClient, makeNode } from './overlay.ts'
import { roamingScenario } from './roaming.ts'
import { runScenario, type Scenario } from './scenario.ts'

/** More on demand: `ROAMING_SEEDS=500 npx vitest run test/sim/roaming.test.ts`, or `npm run sim -- --roam --seeds 500`. */
const SEEDS = Number(process.env.ROAMING_SEEDS ?? 24)
const SMALL = { clients: 16, receivers: 24, durationMs: 45_000 }

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

describe('clients that are away now and then, and come back elsewhere', () => {
  const seeds = Array.from({ length: SEEDS }, (_, i) => 1 + i)

  it('lose nothing as long as nobody crashes, and leave nothing when they depart', {
    timeout: 600_000,
  }, () => {
    for (const seed of seeds) {
      const scenario = roamingScenario(seed, { ...SMALL, isCalm: true })
      const { violations, statistics } = runScenario(scenario, makeNode, makeClient)
      expect(violations, `seed ${seed}`).toEqual([])
      expect(statistics.gaps, `seed ${seed}`).toBe(0)
    }
  })

  it('have exact receipts among nodes that crash, restart and are cut off', { timeout: 600_000 }, () => {
    for (const seed of seeds) {
      const { violations } = runScenario(roamingScenario(seed, SMALL), makeNode, makeClient)
      expect(violations, `seed ${seed}`).toEqual([])
    }
  })

  it('and so have they among up to 200 nodes', { timeout: 600_000 }, () => {
    const limits = { nodes: 200, clients: 60, receivers: 100, exact: true, durationMs: 30_000, everyMs: 200 }
    const { violations, statistics } = runScenario(roamingScenario(1, limits), makeNode, makeClient)
    expect(violations).toEqual([])
    expect(statistics.gaps).toBeGreaterThan(0)
  })

  it('are told from clients that lose something: the witness sees it', () => {
    const scenario = { ...roamingScenario(2, SMALL), isLossless: true }
    const { violations } = runScenario(scenario, makeNode, makeClient)
    expect(violations.join()).toContain('where nothing may be lost')
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
