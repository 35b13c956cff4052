// Ladder packing (PACK section 5): which level to pack at, from how fast the queue fills again.

/** Weight of the old turnaround time in the smoothed one; the paper found it empirically. */
const ALPHA = 0.1
/** Change of the turnaround time beyond which the level moves; the paper's value. */
const THRESHOLD = 0.1

/** The filtering level of one queue: starts at 1, moves one step a request. Time is handed in. */
export class Ladder {
  readonly #top: number
  /** Smoothed turnaround time of each level, in ms; undefined until first observed. */
  readonly #turnaround: (number | undefined)[] = []
  #level = 1
  #packedAt: number | undefined

  constructor(top: number) {
    this.#top = top
  }

  /** The level of the last pack, 1 before the first; 0 where the policy has no levels. */
  get level(): number {
    return Math.min(this.#level, this.#top)
  }

  /** The level to pack at now. Compares with the history of this level from before, then updates it. */
  request(now: number): number {
    if (this.#packedAt !== undefined) this.#observe(now - this.#packedAt)
    this.#packedAt = now
    return this.level
  }

  /** Tells that the queue had to be packed at a higher level than `request` said. */
  climbed(level: number): void {
    this.#level = Math.max(1, Math.min(level, this.#top))
  }

  #observe(observedMs: number): void {
    const level = this.#level
    const before = this.#turnaround[level]
    if (before === undefined) {
      this.#turnaround[level] = observedMs
      return
    }
    this.#turnaround[level] = (1 - ALPHA) * observedMs + ALPHA * before
    if (before === 0) return
    const change = (observedMs - before) / before
    if (change > THRESHOLD) this.#level = Math.max(1, level - 1)
    else if (change < -THRESHOLD) this.#level = Math.min(Math.max(1, this.#top), level + 1)
  }
}
