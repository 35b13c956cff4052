// Scenarios in which clients roam: each stays for a while, is away for a while in one way or another, and comes back
// somewhere else, or where it was. Nodes crash, restart and are cut off meanwhile, or nothing happens to them.
import { seeded } from '../../policies/chance.ts'
import { type Fault, type FaultMix, type SleepKind, seededFaults } from './faults.ts'
import type { Scenario } from './scenario.ts'
import { type ScenarioLimits, seededScenario } from './seeded-scenario.ts'

export interface RoamingLimits extends Partial<ScenarioLimits> {
  /** Whether nodes have faults, and clients crash and stay away for longer than anybody waits; else nothing may be lost. */
  readonly isCalm?: boolean
  /** The mean time that a client stays. */
  readonly stayMs?: number
}

/** What happens to nodes meanwhile; clients have their own plans. */
const ROUGH: FaultMix = {
  crash: 4,
  silentCrash: 1,
  partition: 2,
  slow: 1,
  stick: 1,
  pause: 1,
  break: 2,
  join: 1,
  leave: 1,
}
/** Longer than the lease. */
const DEPARTED_MS = 25_000
/** A client is away for less than this where nothing may be lost: the lease without what finding out takes. */
const CALM_AWAY_MS = 12_000
/** Enough to be attached somewhere. */
const CALM_STAY_MS = 1_000
const STAY_MS = 4_000
const FROM_MS = 3_000

/** The scenario of a seed. */
export function roamingScenario(seed: number, given: RoamingLimits = {}): Scenario {
  const { isCalm = false, stayMs = STAY_MS, ...limits } = given
  const random = seeded(seed ^ 0x726f616d)
  const faults = isCalm ? undefined : ROUGH
  const base = seededScenario(seed, { ...limits, faults: undefined })
  const { nodes, clients, durationMs } = base
  const around = limits.faultEveryMs === undefined ? {} : { everyMs: limits.faultEveryMs }
  const happening =
    faults === undefined
      ? []
      : seededFaults({
          seed,
          nodes: Array.from({ length: nodes }, (_, i) => `n${i}`),
          clients: random() < 0.5 ? clients.map((_, i) => `c${i}`) : [],
          fromMs: FROM_MS,
          untilMs: durationMs,
          everyMs: 60_000 / nodes,
          lastingMs: 8_000,
          mix: faults,
          crashClients: random() < 0.3,
          ...around,
        })
  const roams = clients.flatMap((_, i) =>
    new Roamer(`c${i}`, nodes, durationMs, isCalm, stayMs, random).plan(),
  )
  return {
    ...base,
    faults: [...happening, ...roams].sort((a, b) => a.at - b.at),
    isLossless: isCalm,
    departs: true,
  }
}

const SLEEPS: readonly SleepKind[] = ['asked', 'cut', 'silent']

/** One client's way. */
class Roamer {
  readonly #client: string
  readonly #nodes: number
  readonly #untilMs: number
  readonly #isCalm: boolean
  readonly #stayMs: number
  readonly #random: () => number
  readonly #faults: Fault[] = []
  /** Where it was before: one comes back there more often than by chance. */
  #before = 'n0'

  constructor(
    client: string,
    nodes: number,
    untilMs: number,
    isCalm: boolean,
    stayMs: number,
    random: () => number,
  ) {
    this.#client = client
    this.#nodes = nodes
    this.#untilMs = untilMs
    this.#isCalm = isCalm
    // Some hardly ever move, some do nothing else.
    this.#stayMs = stayMs * 8 ** (random() * 2 - 1)
    this.#random = random
  }

  plan(): Fault[] {
    for (let at = FROM_MS + this.#spread(this.#stayMs); at < this.#untilMs; ) at = this.#leave(Math.round(at))
    return this.#faults
  }

  /** Leaves at this time. Returns when it leaves again. */
  #leave(at: number): number {
    const peer = this.#client
    const kind = this.#random()
    if (kind < 0.4) {
      this.#faults.push({ at, kind: 'move', peer, to: this.#next() })
      return at + this.#spread(this.#stayMs)
    }
    const back = Math.round(at + this.#awayMs())
    if (kind < 0.5) this.#faults.push({ at, kind: 'pause', peer }, { at: back, kind: 'resume', peer })
    else {
      const how = SLEEPS[Math.floor(this.#random() * SLEEPS.length)]!
      this.#faults.push({ at, kind: 'sleep', peer, how }, { at: back, kind: 'wake', peer, to: this.#next() })
    }
    // Away twice with hardly a moment between is away for longer.
    return back + Math.max(this.#isCalm ? CALM_STAY_MS : 0, this.#spread(this.#stayMs))
  }

  #awayMs(): number {
    const length = this.#random()
    if (length < 0.5) return this.#spread(300)
    if (length < 0.85 || this.#isCalm) return this.#random() * CALM_AWAY_MS
    return DEPARTED_MS * (0.6 + this.#random())
  }

  #next(): string {
    const to = this.#random() < 0.3 ? this.#before : `n${Math.floor(this.#random() * this.#nodes)}`
    this.#before = to
    return to
  }

  /** Exponential, of this mean. */
  #spread(mean: number): number {
    return -Math.log(1 - this.#random()) * mean
  }
}
