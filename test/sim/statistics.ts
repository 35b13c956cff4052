// What a run is measured by: latencies, trees, and what the nodes count themselves.
import type { Id } from '../../overlay/id.ts'
import type { NetworkStatistics } from './network.ts'

/** A node's place in a sender's tree. */
export interface TreePlace {
  /** Undefined at the root. */
  readonly parent: Id | undefined
  readonly children: number
}

export interface TreeShape {
  readonly sender: Id
  readonly nodes: number
  /** Hops from the root to the farthest node. */
  readonly depth: number
  readonly fanOut: number
  /** One, when it is healthy. */
  readonly roots: number
  /** Nodes whose ancestors do not end at a root: a cycle, or a parent that is not in the tree. */
  readonly lost: number
}

export interface Quantiles {
  readonly count: number
  readonly median: number
  readonly p99: number
  readonly max: number
}

export interface ScenarioStatistics {
  readonly network: NetworkStatistics
  readonly published: number
  /** Over all receivers, in events. */
  readonly delivered: number
  readonly digested: number
  readonly gaps: number
  /** From publishing to the application, in milliseconds. */
  readonly latencyMs: Quantiles
  /** Before everything was healed. */
  readonly trees: readonly TreeShape[]
  /** Of each number that nodes report, the sum and the largest, before everything was healed. */
  readonly nodes: Readonly<Record<string, { readonly sum: number; readonly max: number }>>
  /** The most frames that one node received. */
  readonly maxNodeFrames: number
  /** How long after everything was healed all receipts were complete, in milliseconds. */
  readonly settledMs: number
  readonly simulatedMs: number
}

/** Steps a factor of two; an error of 4 % at most. */
const STEPS = 16
const SMALLEST = 0.01
const BUCKETS = STEPS * 36

/** Latencies in logarithmic buckets: millions cost nothing. */
export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS)
  #count = 0
  #max = 0

  add(value: number): void {
    const bucket =
      value <= SMALLEST ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(value / SMALLEST) * STEPS))
    this.#counts[bucket]!++
    this.#count++
    this.#max = Math.max(this.#max, value)
  }

  get quantiles(): Quantiles {
    return { count: this.#count, median: this.#at(0.5), p99: this.#at(0.99), max: this.#max }
  }

  #at(part: number): number {
    let below = 0
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      below += this.#counts[bucket]!
      if (below > 0 && below >= part * this.#count)
        return Math.min(this.#max, SMALLEST * 2 ** (bucket / STEPS))
    }
    return 0
  }
}

/** The shape of a tree, of the places of the nodes in it. */
export function shapeOf(sender: Id, places: ReadonlyMap<Id, TreePlace>): TreeShape {
  const depths = new Map<Id, number>()
  let depth = 0
  let fanOut = 0
  let roots = 0
  let lost = 0
  for (const [id, place] of places) {
    const own = depthOf(id, places, depths)
    if (own === LOST) lost++
    depth = Math.max(depth, own)
    fanOut = Math.max(fanOut, place.children)
    if (place.parent === undefined) roots++
  }
  return { sender, nodes: places.size, depth, fanOut, roots, lost }
}

const LOST = -1

function depthOf(id: Id, places: ReadonlyMap<Id, TreePlace>, depths: Map<Id, number>): number {
  const path: Id[] = []
  let known = depths.get(id)
  for (let at = id; known === undefined; ) {
    const place = places.get(at)
    if (place === undefined) known = LOST
    else if (place.parent === undefined) {
      depths.set(at, 0)
      known = 0
    } else {
      // Whoever comes back here goes round in circles.
      depths.set(at, LOST)
      path.push(at)
      at = place.parent
      known = depths.get(at)
    }
  }
  for (const node of path.reverse()) {
    if (known !== LOST) known++
    depths.set(node, known)
  }
  return known
}

/** Adds a node's own numbers to the sums. */
export function addNumbers(
  sums: Record<string, { sum: number; max: number }>,
  numbers: Readonly<Record<string, number>>,
): void {
  for (const [name, value] of Object.entries(numbers)) {
    const known = sums[name] ?? { sum: 0, max: Number.NEGATIVE_INFINITY }
    sums[name] = { sum: known.sum + value, max: Math.max(known.max, value) }
  }
}
