// The overlay under mixed faults: whatever happens, every receipt is exact.
import { describe, expect, it } from 'vitest'
import { type FaultMix, MIXED } from './faults.ts'
import { makeClient, makeNode } from './overlay.ts'
import { runScenario, type ScenarioResult } from './scenario.ts'
import { seededScenario } from './seeded-scenario.ts'

/** More on demand: `SEEDS=5000 npx vitest run test/sim/overlay.test.ts`. */
const SEEDS = Number(process.env.SEEDS ?? 200)
const PER_TEST = 20

describe('without faults', () => {
  it.each([1, 2, 3, 4, 5, 6])('seed %i: everybody gets everything, or a digest of it', (seed) => {
    const result = runScenario(seededScenario(seed), makeNode, makeClient)
    expect(result.violations).toEqual([])
    expect(gapsOf(result)).toBe(0)
    expect(lateOf(result)).toBeLessThanOrEqual(result.receivers.length)
  })
})

describe('with faults that leave everybody alive', () => {
  // When nodes join, roots move. Two that move at the same time may lose what is on its way between them.
  it.each<[string, FaultMix, number]>([
    ['clients that move', { move: 1 }, 0],
    ['slow links', { slow: 1 }, 0],
    ['clients that move over slow links', { move: 3, slow: 1 }, 0],
    ['nodes that join', { join: 1 }, 20],
  ])('%s: nothing is lost', { timeout: 60_000 }, (_what, faults, most) => {
    for (let seed = 1; seed <= 8; seed++) {
      const result = runScenario(seededScenario(seed, { faults }), makeNode, makeClient)
      expect(result.violations, `seed ${seed}`).toEqual([])
      expect(gapsOf(result), `seed ${seed}`).toBeLessThanOrEqual(most)
    }
  })
})

describe('with mixed faults', () => {
  const first = Array.from({ length: Math.ceil(SEEDS / PER_TEST) }, (_, i) => 1 + i * PER_TEST)
  it.each(first)('receipts are exact from seed %i on', { timeout: 300_000 }, (from) => {
    for (let seed = from; seed < Math.min(from + PER_TEST, SEEDS + 1); seed++) {
      const { violations } = runScenario(seededScenario(seed, { faults: MIXED }), makeNode, makeClient)
      expect(violations, `npm run sim -- --seed ${seed}`).toEqual([])
    }
  })

  it('the same seed gives the same trace', () => {
    const scenario = seededScenario(3, { faults: MIXED })
    const again = runScenario(scenario, makeNode, makeClient)
    expect(runScenario(scenario, makeNode, makeClient).trace).toBe(again.trace)
  })
})

function lateOf({ receivers }: ScenarioResult): number {
  return receivers.reduce((sum, { late }) => sum + late, 0)
}

function gapsOf({ receivers }: ScenarioResult): number {
  return receivers.flatMap(({ epochs }) => epochs).reduce((sum, { gaps }) => sum + gaps, 0)
}
