// Active control: clients that check a broker of limited capacity for what they missed, at each of the four levels.
import { ActiveControl, type ActiveControlLevel } from '../../endpoints/pull/active-control.ts'
import { hit, miss, type Outcome } from '../../endpoints/pull/schedule.ts'
import { seeded } from '../../policies/chance.ts'
import { type Figure, rounded, seriesOf } from './figure.ts'

const CLIENTS = 200
/** N_t: requests a second the broker can serve; whatever comes beyond is refused with a hint. */
const CAPACITY = 8
/** A client's updates, and the chance that one is lost, at rest and while the broker is overloaded. */
const UPDATE_EVERY_S = 30
const LOST = 0.02
const LOST_UNDER_LOAD = 0.5
/** Every so often the network loses an update of every client: what makes them all check at once. */
const BURST_EVERY_S = 900

const LEVELS: Readonly<Record<string, ActiveControlLevel>> = {
  '1 none': 'none',
  '2 basic': 'basic',
  '3 adaptive (AST)': 'adaptive',
  '4 active (AST + RBT)': 'active',
}

/** Probability of overload, losses noticed, requests spent. */
export function activeControl(small: boolean): Figure {
  const hours = small ? 0.5 : 12
  const runs = Object.entries(LEVELS).map(([level, control]) => ({
    level,
    ...simulate(control, hours * 3600),
  }))
  const rows = runs.map(({ level, overloaded, seconds, lost, noticed, delayS, requests }) => {
    const rate = requests / seconds
    return {
      level,
      'overload probability': rounded(overloaded / seconds, 4),
      'by the formula, more than N_t': rounded(atLeast(rate, CAPACITY + 1), 4),
      'by the formula, exactly N_t': rounded(exactly(rate, CAPACITY), 4),
      'losses a client-hour': rounded((lost / CLIENTS / seconds) * 3600, 2),
      'noticed %': rounded((100 * noticed) / Math.max(1, lost), 1),
      'noticed after s': rounded(delayS / Math.max(1, noticed), 1),
      'requests a client-hour': rounded((requests / CLIENTS / seconds) * 3600, 1),
    }
  })
  const lines = Object.fromEntries(
    runs.filter(({ level }) => !level.startsWith('1')).map(({ level, load }) => [level, load] as const),
  )
  const panel = {
    title: 'Active control',
    x: 'time, s',
    y: 'requests a second',
    series: seriesOf('line', lines),
  }
  return {
    name: 'active-control',
    title: `${CLIENTS} clients, a broker of ${CAPACITY} requests a second`,
    rows,
    panels: [panel],
  }
}

interface Simulated {
  readonly seconds: number
  readonly overloaded: number
  readonly lost: number
  readonly noticed: number
  readonly delayS: number
  readonly requests: number
  /** The most requests in a second, for each half minute of the first hour. */
  readonly load: readonly (readonly [number, number])[]
}

function simulate(level: ActiveControlLevel, seconds: number): Simulated {
  const random = seeded(11)
  const clients = Array.from({ length: CLIENTS }, () => new Client(level, random))
  const result = { seconds, overloaded: 0, lost: 0, noticed: 0, delayS: 0, requests: 0 }
  const load: [number, number][] = []
  let isOverloaded = false
  for (let second = 0; second < seconds; second++) {
    const isBurst = second % BURST_EVERY_S === BURST_EVERY_S - 1
    for (const client of clients)
      result.lost += client.update(second, isBurst, isOverloaded ? LOST_UNDER_LOAD : LOST)
    const asking = clients.filter((client) => client.nextAt < (second + 1) * 1000)
    result.requests += asking.length
    isOverloaded = asking.length > CAPACITY
    if (isOverloaded) result.overloaded++
    for (const [i, client] of asking.entries()) {
      const found = client.check(i < CAPACITY)
      result.noticed += found.length
      for (const at of found) result.delayS += second - at
    }
    if (second < 3600) {
      if (second % 30 === 0) load.push([second, 0])
      load.at(-1)![1] = Math.max(load.at(-1)![1], asking.length)
    }
  }
  return { ...result, load }
}

/** A receiver with its active control. */
class Client {
  readonly #control: ActiveControl
  readonly #random: () => number
  #missing: number[] = []
  nextAt: number

  constructor(level: ActiveControlLevel, random: () => number) {
    this.#random = random
    this.#control = new ActiveControl(level, random, { minMs: 2_000, maxMs: 600_000, deltaMs: 10_000 })
    this.nextAt = this.#control.first(0)
  }

  /** 1 if an update was lost in this second. */
  update(second: number, isBurst: boolean, chance: number): number {
    const isLost = isBurst || (this.#random() < 1 / UPDATE_EVERY_S && this.#random() < chance)
    if (isLost) this.#missing.push(second)
    return isLost ? 1 : 0
  }

  /** Asks; what it finds, if the broker answers. */
  check(isServed: boolean): readonly number[] {
    const now = this.nextAt
    const found = isServed ? this.#missing : []
    if (isServed) this.#missing = []
    const outcome: Outcome = !isServed ? miss('overloaded') : found.length > 0 ? hit(now) : miss()
    this.nextAt = this.#control.next(now, outcome)
    return found
  }
}

/** The paper's formula: exactly so many requests in a second of a Poisson flow. */
function exactly(rate: number, count: number): number {
  let log = -rate
  for (let i = 1; i <= count; i++) log += Math.log(rate / i)
  return rate === 0 ? 0 : Math.exp(log)
}

/** What it should be: so many or more. */
function atLeast(rate: number, count: number): number {
  let below = 0
  for (let i = 0; i < count; i++) below += i === 0 ? Math.exp(-rate) : exactly(rate, i)
  return Math.max(0, 1 - below)
}
