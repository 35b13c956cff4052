// How much polls ask of a root (DPT section 6.4): the queue that would stand before a server of a given rate. Answers leave
// at once; the queue says over how long a time those who ask should spread, and when it is too much.

/** What a poll costs besides the items of its answer, in bytes: about what two control messages do. */
export const POLL_BYTES = 512
/** The longest queue is remembered, halved each hour: sources that publish once an hour have their crowd once an hour. */
const HALF_LIFE_MS = 3_600_000
/** A crowd that spreads over so many times its queue leaves the server half of its time. */
const SPREAD = 2

export class PollLoad {
  readonly #bytesPerMs: number
  #queueMs = 0
  #longestMs = 0
  #at: number

  /** A server of so many bytes a second. */
  constructor(bytesPerSecond: number, now: number) {
    this.#bytesPerMs = bytesPerSecond / 1_000
    this.#at = now
  }

  /** How long the last in the queue would wait. */
  queueMs(now: number): number {
    return Math.max(0, this.#queueMs - (now - this.#at))
  }

  /** Over how long a time those who ask should spread: twice the longest queue of late. */
  spreadMs(now: number): number {
    return SPREAD * this.#longestMs * 0.5 ** ((now - this.#at) / HALF_LIFE_MS)
  }

  /** A poll was answered with so many bytes. */
  answered(bytes: number, now: number): void {
    const queueMs = this.queueMs(now) + (POLL_BYTES + bytes) / this.#bytesPerMs
    this.#longestMs = Math.max(queueMs, this.spreadMs(now) / SPREAD)
    this.#queueMs = queueMs
    this.#at = now
  }
}
