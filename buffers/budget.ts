// The byte budget of a node over all its queues (DESIGN section 6): when it nears, the largest pack first.
import type { Queue } from './queue.ts'

/** Share of the budget at which queues are packed for it, and the share they are packed down to. */
const NEAR = 0.9
const ENOUGH = 0.8
/** Share of the budget that must come anew before queues are asked again which could not give enough. */
const STEP = 0.01

export class Budget {
  readonly limitBytes: number
  readonly #queues = new Set<Queue>()
  #bytes = 0
  /** From how many bytes on queues are packed. */
  #threshold: number
  #isRelieving = false

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
    this.#threshold = limitBytes * NEAR
  }

  /** Of all queues together. Events in several queues count in each: no queue can rely on another's. */
  get bytes(): number {
    return this.#bytes
  }

  get queues(): ReadonlySet<Queue> {
    return this.#queues
  }

  join(queue: Queue): void {
    this.#queues.add(queue)
  }

  leave(queue: Queue): void {
    this.#queues.delete(queue)
  }

  change(bytes: number): void {
    this.#bytes += bytes
  }

  /** Packs the largest queues if the budget is near. Called after something was put into queues. */
  relieve(): void {
    const near = this.limitBytes * NEAR
    if (this.#bytes < near) this.#threshold = near
    if (this.#bytes < this.#threshold || this.#isRelieving) return
    this.#isRelieving = true
    try {
      while (this.#relieveOnce());
    } finally {
      this.#isRelieving = false
    }
    this.#threshold = Math.max(near, this.#bytes + this.limitBytes * STEP)
  }

  /** Each queue once, the largest first, until there is enough room; whether it is worth another round. */
  #relieveOnce(): boolean {
    const largestFirst = [...this.#queues].sort((a, b) => b.bytes - a.bytes)
    let dropped = false
    for (const queue of largestFirst) {
      if (this.#bytes <= this.limitBytes * ENOUGH) return false
      if (queue.relieve()) dropped = true
    }
    return dropped
  }
}
