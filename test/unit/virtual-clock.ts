// Time for whoever pulls, in tests.
import type { PullClock } from '../../endpoints/pull/poller.ts'

/** Time that passes when somebody waits for it; what else is going on has its turn first. */
export class VirtualClock implements PullClock {
  time = 0
  now() {
    return this.time
  }
  async until(at: number, signal: AbortSignal) {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    if (signal.aborted) return
    if (at === Number.POSITIVE_INFINITY)
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    this.time = Math.max(this.time, at)
  }
}
