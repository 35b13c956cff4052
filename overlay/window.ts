// The window of unacknowledged bytes of a link (DESIGN section 7). Bytes inside the transport cannot be packed, so
// no more than the link takes in a moment may be there: the acknowledged rate times the smallest round trip and a
// bit. The queue stands above, where the policy reaches it.
import { Fifo } from '../buffers/fifo.ts'

/** About a packet; a window begins with it: a third of a second of a link of 50 kbit/s, with all headers. */
export const WINDOW_MIN_BYTES = 1_500
export const WINDOW_MAX_BYTES = 1_048_576
/** What may wait in the link beyond the round trip, so that it never runs dry. */
const SLACK_MS = 200
/**
 * The most that a window grows by in a round trip. A token bucket lets a burst pass at once after a pause: a packet
 * or two must not be taken for the rate of the link.
 */
const GROWTH = 1.5
/**
 * What was reached in the time of so many windows, or in the same time before, keeps the window from shrinking: a
 * pause is no slow link. After a pause it takes nearly three until the link is seen full again.
 */
const RATE_AGE_WINDOWS = 3
/** A round trip counts as the smallest for so long; then routes may have changed. */
const ROUND_TRIP_AGE_MS = 10_000
/** A frame is at most this part of the window, so that acknowledgements come before it is used up. */
const FRAME_PART = 4
/**
 * With less room than this part of a frame nothing is sent, or small frames would go round for ever. Where the round
 * trip is no longer than the slack, three quarters of a window are enough to use the link up and to let it grow: there
 * only whole frames leave, and a slow link carries fewer headers.
 */
const ROOM_PART = 2
/** A rate says something about the link when at least this part of the window was on its way. */
const BUSY_PART = 0.75

interface Flight {
  readonly number: number
  readonly bytes: number
  readonly sentAt: number
  /** How much had been acknowledged when it was sent, when that was, and when the last of that had been sent. */
  readonly ackedBytes: number
  readonly ackedAt: number
  readonly ackedSentAt: number
  /** Whether nothing else was on its way when it was sent. */
  readonly isFirst: boolean
}

/**
 * A busy link always has a queue in it. Taken for a longer way it would let the window grow, and the queue with it,
 * again and again. So once in a while nothing is sent until all is acknowledged, and then a small frame alone.
 */
type Probe = 'none' | 'draining' | 'alone'

export class Window {
  #bytes = WINDOW_MIN_BYTES
  #flights = new Fifo<Flight>()
  #unacknowledged = 0
  #ackedBytes = 0
  #ackedAt: number
  #ackedSentAt: number
  /** A round ends with the acknowledgement of what was sent when so much was acknowledged. */
  #roundBytes = 0
  /** Bytes a millisecond, since `#rateAt` and in the time before. */
  #rate = 0
  #rateBefore = 0
  #rateAt = 0
  #roundTripMs = Number.POSITIVE_INFINITY
  #roundTripAt = 0
  #probe: Probe = 'none'

  constructor(now: number) {
    this.#ackedAt = now
    this.#ackedSentAt = now
  }

  /** How many bytes may be on their way. */
  get bytes(): number {
    return this.#bytes
  }

  /** The smallest round trip of late, in milliseconds; infinite before the first. */
  get roundTripMs(): number {
    return this.#roundTripMs
  }

  /** Whether a link that waits for each acknowledgement would lose much by it: a tenth of its time and more. */
  get isWayLong(): boolean {
    return this.#roundTripMs >= SLACK_MS / 10
  }

  /** How many bytes the next frame may have; 0 when the window is used up. */
  get frameBytes(): number {
    if (this.#probe !== 'none') return this.#unacknowledged > 0 ? 0 : WINDOW_MIN_BYTES / FRAME_PART
    const room = this.#bytes - this.#unacknowledged
    const most = this.#bytes / FRAME_PART
    const least = this.#roundTripMs <= SLACK_MS ? most : most / ROOM_PART
    return room < least ? 0 : Math.min(room, most)
  }

  sent(number: number, bytes: number, now: number): void {
    const isFirst = this.#unacknowledged === 0
    if (isFirst) {
      this.#ackedAt = now
      this.#ackedSentAt = now
    }
    this.#unacknowledged += bytes
    const acked = { ackedBytes: this.#ackedBytes, ackedAt: this.#ackedAt, ackedSentAt: this.#ackedSentAt }
    this.#flights.push({ number, bytes, sentAt: now, ...acked, isFirst })
  }

  acknowledged(number: number, now: number): void {
    let last: Flight | undefined
    while (this.#flights.length > 0 && this.#flights.first!.number <= number) {
      last = this.#flights.shift()!
      this.#unacknowledged -= last.bytes
      this.#ackedBytes += last.bytes
    }
    if (last === undefined) return
    this.#ackedAt = now
    this.#ackedSentAt = last.sentAt
    const isBusy = this.#isBusy(last, now)
    this.#observeRoundTrip(last, now)
    this.#moveProbe(isBusy, now)
    if (isBusy) this.#adapt(last, now)
  }

  /** Whether the link had enough to do: about a window, or a packet that took longer than a window is meant to. */
  #isBusy({ ackedBytes, sentAt }: Flight, now: number): boolean {
    const bytes = this.#ackedBytes - ackedBytes
    if (bytes >= this.#bytes * BUSY_PART) return true
    return bytes >= WINDOW_MIN_BYTES * BUSY_PART && now - sentAt >= this.#roundTripMs + SLACK_MS
  }

  /**
   * The rate is what was acknowledged between the acknowledgement before it was sent and its own. Where those come
   * in clumps, that may have taken longer to send than to acknowledge.
   */
  #adapt({ sentAt, ackedBytes, ackedAt, ackedSentAt }: Flight, now: number): void {
    const rate = (this.#ackedBytes - ackedBytes) / Math.max(1, now - ackedAt, sentAt - ackedSentAt)
    const forMs = this.#roundTripMs + SLACK_MS
    this.#observeRate(rate, RATE_AGE_WINDOWS * forMs, now)
    const kept = Math.min(Math.max(this.#rate, this.#rateBefore) * forMs, this.#bytes)
    // What was sent before the window last grew tells nothing about how it is with this one.
    const isNewRound = ackedBytes >= this.#roundBytes
    const grown = isNewRound ? Math.min(rate * forMs, this.#bytes * GROWTH) : 0
    if (isNewRound) this.#roundBytes = this.#ackedBytes
    this.#bytes = Math.min(WINDOW_MAX_BYTES, Math.max(WINDOW_MIN_BYTES, kept, grown))
  }

  #observeRate(rate: number, keptMs: number, now: number): void {
    const ageMs = now - this.#rateAt
    if (ageMs >= keptMs) {
      this.#rateBefore = ageMs < 2 * keptMs ? this.#rate : 0
      this.#rate = 0
      this.#rateAt = now
    }
    this.#rate = Math.max(this.#rate, rate)
  }

  #observeRoundTrip({ sentAt, isFirst }: Flight, now: number): void {
    const roundTripMs = now - sentAt
    const isAlone = isFirst && this.#unacknowledged === 0
    if (roundTripMs > this.#roundTripMs && !(isAlone && this.#isRoundTripOld(now))) return
    this.#roundTripMs = roundTripMs
    this.#roundTripAt = now
  }

  #isRoundTripOld(now: number): boolean {
    return now - this.#roundTripAt >= ROUND_TRIP_AGE_MS
  }

  #moveProbe(isBusy: boolean, now: number): void {
    if (this.#probe === 'none') {
      if (isBusy && this.#isRoundTripOld(now)) this.#probe = 'draining'
    } else if (this.#unacknowledged === 0) {
      this.#probe = this.#probe === 'draining' ? 'alone' : 'none'
    }
  }
}
