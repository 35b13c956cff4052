// What the page shows beside the map: queues, loss and its receipts, predictions, and who wrote the lines.
import type { Cause, EpochReceipt } from '../../../index.ts'

/** The dropped events of one buffer and level. */
export interface Dropped {
  readonly level: number | 'worst-case'
  readonly count: number
}

export interface Status {
  /** Milliseconds; of the campus when it is generated. */
  readonly clock: number
  /** How many times as fast as real time; null when nothing is generated. */
  readonly speed: number | null
  readonly source: { readonly lines: number; readonly unknown: number }
  readonly queue: { readonly fill: number; readonly bound: number }
  /** How old the newest location was when it was told, in milliseconds of real time; null before the first. */
  readonly behindMs: number | null
  readonly receipt: Pick<EpochReceipt, 'delivered' | 'digested' | 'gaps'> & {
    readonly published: number
    readonly isExact: boolean
  }
  readonly dropped: readonly Dropped[]
  /** How often each level packed. */
  readonly packs: readonly Dropped[]
  readonly prediction: {
    readonly moves: number
    readonly predicted: number
    readonly top1: number
    readonly top3: number
  }
}

/** Adds up what digests say, by level, over all buffers. */
export class LevelCounts {
  readonly #counts = new Map<number | 'worst-case', number>()

  constructor(levels: number) {
    for (let level = 1; level <= levels; level++) this.#counts.set(level, 0)
    this.#counts.set('worst-case', 0)
  }

  add(level: Cause['level'], count: number): void {
    this.#counts.set(level, (this.#counts.get(level) ?? 0) + count)
  }

  get list(): Dropped[] {
    return Array.from(this.#counts, ([level, count]) => ({ level, count }))
  }
}

/** All epochs of a subscription as one receipt. */
export function receiptOf(epochs: readonly EpochReceipt[]): Status['receipt'] {
  const sum = { delivered: 0, digested: 0, gaps: 0, published: 0, isExact: true }
  for (const { first, last, delivered, digested, gaps } of epochs) {
    sum.delivered += delivered
    sum.digested += digested
    sum.gaps += gaps
    sum.published += last - first + 1
  }
  sum.isExact = sum.delivered + sum.digested + sum.gaps === sum.published
  return sum
}
