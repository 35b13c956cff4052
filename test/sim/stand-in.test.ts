// Receivers that are away have their queues at their roots, and a copy at the node that is root after it: when the root
// dies, what waited there has not died with it.
import { describe, expect, it } from 'vitest'
import type { Fault } from './faults.ts'
import { makeClient, makeNode } from './overlay.ts'
import { runScenario, type Scenario } from './scenario.ts'

const NODES = 12
const RECEIVERS = 8
const AWAY_MS = 10_000
const CRASH_MS = 16_000
const BACK_MS = 20_000
/** Of 200 that were published meanwhile: those until another root has taken its place, and those on their way to it. */
const LOST_EVENTS = 40

/** All receivers stand still for ten seconds, as clients without coverage do; meanwhile a node dies. */
function scenario(dies: string): Scenario {
  const clients = Array.from({ length: RECEIVERS }, (_, i) => `c${i + 1}`)
  const faults: Fault[] = [
    ...clients.map((peer) => ({ at: AWAY_MS, kind: 'pause', peer }) as const),
    { at: CRASH_MS, kind: 'crash', peer: dies },
    ...clients.map((peer) => ({ at: BACK_MS, kind: 'resume', peer }) as const),
  ]
  return {
    seed: 7,
    nodes: NODES,
    clients: Array.from({ length: RECEIVERS + 1 }, (_, i) => ({ proxies: [`n${i % 4}`, 'n2'] })),
    senders: [{ client: 0, name: 's', everyMs: 50, fromMs: 2_000 }],
    receivers: clients.map((_, i) => ({ client: i + 1, name: `r${i}`, sender: 0, fromMs: 1_000 })),
    durationMs: 26_000,
    settleMs: 60_000,
    faults,
  }
}

describe('a root that dies while receivers are away', () => {
  it('has left what waited there to the node that is root then', () => {
    for (let i = 4; i < NODES; i++) {
      const { violations, receivers } = runScenario(scenario(`n${i}`), makeNode, makeClient)
      expect(violations).toEqual([])
      for (const { epochs } of receivers)
        for (const { gaps } of epochs) expect(gaps).toBeLessThan(LOST_EVENTS)
    }
  })
})
