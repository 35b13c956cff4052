// Scenarios from a seed: sizes, speeds, policies and faults by chance, within limits.
import { seeded } from '../../policies/chance.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import { presets } from '../../policies/presets.ts'
import { type FaultMix, seededFaults } from './faults.ts'
import type { ReceiverPlan, Scenario, SenderPlan } from './scenario.ts'

/** Each number is the most there can be, unless `exact` says that it is the number. */
export interface ScenarioLimits {
  readonly nodes: number
  readonly senders: number
  readonly receivers: number
  readonly clients: number
  readonly durationMs: number
  readonly settleMs: number
  /** How often each sender publishes; by chance, from 20 to 500 ms, when undefined. */
  readonly everyMs: number | undefined
  /** No faults when undefined. */
  readonly faults: FaultMix | undefined
  /** Mean times between faults, and that they last. */
  readonly faultEveryMs: number
  readonly faultLastingMs: number
  readonly crashClients: boolean
  readonly exact: boolean
}

export const SCENARIO_LIMITS: ScenarioLimits = {
  nodes: 40,
  senders: 3,
  receivers: 60,
  clients: 30,
  durationMs: 60_000,
  settleMs: 120_000,
  everyMs: undefined,
  faults: undefined,
  faultEveryMs: 3_000,
  faultLastingMs: 8_000,
  crashClients: false,
  exact: false,
}

/** What receivers of generated scenarios allow to be lost. */
export const POLICIES: readonly (PolicySpec | undefined)[] = [
  undefined,
  presets.telemetry('value'),
  presets.alerts('kind'),
  { levels: [[{ name: 'RANDOM', fraction: 0.25 }], [{ name: 'LATEST', window: 10 }]] },
]

/** The scenario of a seed. */
export function seededScenario(seed: number, given: Partial<ScenarioLimits> = {}): Scenario {
  const limits = { ...SCENARIO_LIMITS, ...given }
  const random = seeded(seed ^ 0x5ce7a210)
  const upTo = (most: number, least = 1) =>
    limits.exact ? most : Math.min(most, least + Math.floor(random() * (most - least + 1)))
  const pick = (length: number) => Math.floor(random() * length)
  const nodes = upTo(limits.nodes, 3)
  const clientCount = upTo(limits.clients, 2)
  const durationMs = Math.round(upTo(limits.durationMs, limits.durationMs / 3))
  const clients = Array.from({ length: clientCount }, () => {
    const proxies = Array.from({ length: 3 }, () => `n${pick(nodes)}`)
    return { proxies: [...new Set(proxies)] }
  })
  const senders: SenderPlan[] = Array.from({ length: upTo(limits.senders) }, (_, i) => {
    const chosenMs = Math.round(20 * 25 ** random())
    const everyMs = limits.everyMs ?? chosenMs
    return { client: pick(clientCount), name: `s${i}`, everyMs, fromMs: pick(2_000), padBytes: pick(200) }
  })
  const receivers: ReceiverPlan[] = Array.from({ length: upTo(limits.receivers) }, (_, i) => {
    const policy = POLICIES[pick(POLICIES.length)]
    const speed = random()
    const slow = speed < 0.05 ? { itemsPerSecond: 0 } : speed < 0.25 ? { itemsPerSecond: 1 + pick(20) } : {}
    return {
      client: pick(clientCount),
      name: `r${i}`,
      sender: pick(senders.length),
      fromMs: pick(durationMs / 2),
      queueItems: 20 + pick(200),
      ...slow,
      ...(policy === undefined ? {} : { policy }),
    }
  })
  return {
    seed,
    nodes,
    clients,
    senders,
    receivers,
    durationMs,
    settleMs: limits.settleMs,
    faults: faultsOf(seed, limits, nodes, clientCount, durationMs),
  }
}

function faultsOf(seed: number, limits: ScenarioLimits, nodes: number, clients: number, durationMs: number) {
  if (limits.faults === undefined) return []
  return seededFaults({
    seed,
    nodes: Array.from({ length: nodes }, (_, i) => `n${i}`),
    clients: Array.from({ length: clients }, (_, i) => `c${i}`),
    fromMs: Math.min(5_000, durationMs / 4),
    untilMs: durationMs,
    everyMs: limits.faultEveryMs,
    lastingMs: limits.faultLastingMs,
    mix: limits.faults,
    crashClients: limits.crashClients,
  })
}
