// Which proxy is the better one (MHOST, PACK section 3). Pure: what was measured comes in, where to go comes out.

/** A node as a client sees it. */
export interface Way {
  readonly roundTripMs: number
  /** 0 is idle, 1 is full. */
  readonly load: number
}

/** A nearer node has less than this part of the round trip, */
const NEARER_PART = 0.5
/** and saves so much of it: less than this nobody notices, and jitter may look like it. */
export const NEARER_MS = 20
/** From here on a node is nearly full. */
export const NEARLY_FULL = 0.9
/** A node has room below this; far from nearly full, so that who moves there does not have to move on. */
const HAS_ROOM = 0.7
/** Round trips that differ by less than this part and so much are the same. */
const SAME_PART = 1.25
const SAME_MS = 5
/** A node has to be clearly better so many times one after the other. */
const TIMES = 2

/**
 * Whether it is worth moving from one to the other. Never both ways: nearer is half, and who leaves a full node for one
 * with room would go back only to one that has become empty.
 */
export function isClearlyBetter(own: Way, other: Way): boolean {
  if (other.load >= NEARLY_FULL) return false
  const isNearer =
    other.roundTripMs < own.roundTripMs * NEARER_PART && own.roundTripMs - other.roundTripMs >= NEARER_MS
  const isNoFarther = other.roundTripMs <= own.roundTripMs * SAME_PART + SAME_MS
  return isNearer || (own.load >= NEARLY_FULL && other.load < HAS_ROOM && isNoFarther)
}

/** Whether any other node could be clearly better; otherwise they need not be measured. */
export function mayBeBetter(own: Way): boolean {
  return own.roundTripMs >= NEARER_MS || own.load >= NEARLY_FULL
}

/** Remembers which node was the best of the last measurements. */
export class Choice {
  #favourite: string | undefined
  #times = 0

  /** Whom to measure again soon, whatever else there is. */
  get favourite(): string | undefined {
    return this.#favourite
  }

  /** Where to move to; nowhere unless the same node was clearly better each time of late. */
  judge(own: Way, others: ReadonlyMap<string, Way>): string | undefined {
    const better = [...others].filter(([, way]) => isClearlyBetter(own, way))
    const still = better.find(([node]) => node === this.#favourite)
    const [nearest] = better.sort(([, a], [, b]) => a.roundTripMs - b.roundTripMs)
    this.#times = still === undefined ? 1 : this.#times + 1
    this.#favourite = (still ?? nearest)?.[0]
    if (this.#favourite === undefined || this.#times < TIMES) return undefined
    const chosen = this.#favourite
    this.forget()
    return chosen
  }

  forget(): void {
    this.#favourite = undefined
    this.#times = 0
  }
}
