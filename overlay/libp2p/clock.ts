// The core's time, chance and timers, as the machine has them.
import type { Timer } from '../surroundings.ts'
import { afterTurn } from './waiting.ts'

export class Clock {
  readonly #timers = new Set<Timer>()

  /** Unlike the machine's own clock it never goes back. */
  now(): number {
    return performance.timeOrigin + performance.now()
  }

  random(): number {
    return Math.random()
  }

  /** With 0 at the end of the turn: when everything that has already arrived was told. */
  after(delayMs: number, call: () => void): Timer {
    const fire = () => {
      this.#timers.delete(timer)
      call()
    }
    const timer = { cancel: delayMs === 0 ? afterTurn(fire) : afterDelay(delayMs, fire) }
    this.#timers.add(timer)
    return timer
  }

  /** No timer fires any more, whoever has set it. */
  stop(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}

function afterDelay(delayMs: number, call: () => void): () => void {
  const timeout = setTimeout(call, delayMs)
  return () => clearTimeout(timeout)
}
