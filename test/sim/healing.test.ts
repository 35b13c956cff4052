// How fast the overlay heals when a node dies: in events that receivers miss, at a known rate.
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { describe, expect, it } from 'vitest'
import { compareDistance, type Id, idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { HEARTBEAT_MS, MISSED_HEARTBEATS } from '../../overlay/peer-link.ts'
import { makeClient, makeNode } from './overlay.ts'
import { runScenario, type Scenario } from './scenario.ts'

const NODES = 40
const RECEIVERS = 60
const EVERY_MS = 50
const nodeNames = Array.from({ length: NODES }, (_, i) => `n${i}`)
const nodeIds = new Map(nodeNames.map((name) => [idOfPeer(utf8ToBytes(name)), name]))
const sid = idOfEndpoint(utf8ToBytes('c0'), 's0')

describe('when a node dies', () => {
  const [root, ...closest] = nodesBy(sid)
  it.each([
    ["the sender's root", root!, false, 1_500],
    ["the sender's root, silently", root!, true, MISSED_HEARTBEATS * HEARTBEAT_MS + 3_000],
    ['a node next to the root', closest[0]!, false, 1_500],
    ['a node next to the root, silently', closest[1]!, true, MISSED_HEARTBEATS * HEARTBEAT_MS + 3_000],
  ])('%s (%s, silent: %s), nobody misses more than %i ms', (_what, peer, silent, most) => {
    const { violations, receivers } = runScenario(scenarioWith(peer, silent), makeNode, makeClient)
    expect(violations).toEqual([])
    const gaps = receivers.map(({ epochs }) => epochs.reduce((sum, epoch) => sum + epoch.gaps, 0))
    expect(Math.max(...gaps) * EVERY_MS).toBeLessThanOrEqual(most)
  })
})

describe('when a sender has ended and left', () => {
  const [root, next] = nodesBy(sid)
  const endMs = 12_000
  // From before its last events have left the root to after its proxy has passed on the end.
  it.each([-200, -100, -50, 0, 20, 50, 100, 150, 200, 300])(
    'and its root dies %i ms after, receivers hear how much there was',
    (afterMs) => {
      const { senders, ...scenario } = scenarioWith(root!, false)
      const ended = { ...scenario, senders: senders.map((sender) => ({ ...sender, endMs })) }
      for (const peers of [[root!], [root!, next!]]) {
        const faults = peers.map((peer) => ({
          at: endMs + afterMs,
          kind: 'crash' as const,
          peer,
          silent: false,
        }))
        expect(runScenario({ ...ended, faults }, makeNode, makeClient).violations).toEqual([])
      }
    },
  )
})

describe('after a sender has left', () => {
  it('those who subscribe then, with policies nobody had, hear how much there was', () => {
    const { senders, receivers, ...scenario } = scenarioWith('n0', false)
    const late = receivers.map((receiver, i) => ({
      ...receiver,
      fromMs: 14_000,
      policy: { attribute: 'n', levels: [[{ name: 'LATEST', window: 1 + (i % 5) }]] },
    }))
    const ended = senders.map((sender) => ({ ...sender, endMs: 12_000 }))
    const result = runScenario(
      { ...scenario, senders: ended, receivers: late, faults: [] },
      makeNode,
      makeClient,
    )
    expect(result.violations).toEqual([])
    expect(result.statistics.settledMs).toBeLessThan(20_000)
  })
})

function scenarioWith(peer: string, silent: boolean): Scenario {
  const proxies = nodeNames.filter((name) => name !== peer)
  return {
    seed: 7,
    nodes: NODES,
    clients: Array.from({ length: RECEIVERS + 1 }, (_, i) => ({ proxies: [proxies[i % proxies.length]!] })),
    senders: [{ client: 0, name: 's0', everyMs: EVERY_MS, fromMs: 2_000 }],
    receivers: Array.from({ length: RECEIVERS }, (_, i) => ({
      client: i + 1,
      name: `r${i}`,
      sender: 0,
      fromMs: 3_000,
    })),
    durationMs: 30_000,
    settleMs: 60_000,
    faults: [{ at: 12_000, kind: 'crash', peer, silent }],
  }
}

/** The names of the nodes, the closest to the key first. */
function nodesBy(key: Id): string[] {
  return [...nodeIds.keys()].sort((a, b) => compareDistance(key, a, b)).map((id) => nodeIds.get(id)!)
}
