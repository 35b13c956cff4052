// The window over links in virtual time: it lets no more stand in the link than it must, and uses the link up.
import { describe, expect, test } from 'vitest'
import { WINDOW_MAX_BYTES, WINDOW_MIN_BYTES, Window } from '../../overlay/window.ts'

const KBIT = 1 / 8
const MBIT = 1_000 * KBIT
const SLOW = 50 * KBIT
const HALF_A_SECOND_OF_SLOW = SLOW * 500

describe('on 50 kbit/s', () => {
  for (const roundTripMs of [1, 19, 20, 100, 300]) {
    test(`and ${roundTripMs} ms, at most half a second hides beyond that, and the link is used`, () => {
      const link = new VirtualLink({ rate: SLOW, roundTripMs })
      link.flood()
      link.runTo(300_000)
      expect(link.mostHidden).toBeLessThanOrEqual(HALF_A_SECOND_OF_SLOW + SLOW * roundTripMs)
      expect(link.arrivedBytes / (SLOW * 300_000)).toBeGreaterThan(0.9)
    })
  }

  test('a queue in the link is not taken for a longer way', () => {
    const link = new VirtualLink({ rate: 10 * SLOW, roundTripMs: 20 })
    link.flood()
    link.runTo(9_000)
    const before = link.window.bytes
    link.runTo(120_000)
    expect(link.window.bytes).toBeLessThan(before * 1.1)
    expect(link.window.roundTripMs).toBeLessThan(100)
  })

  test('a way that has become longer is found out, and the link is still used', () => {
    const link = new VirtualLink({ rate: 10 * SLOW, roundTripMs: 20 })
    link.flood()
    link.runTo(20_000)
    link.roundTripMs = 400
    link.runTo(35_000)
    link.runTo(45_000)
    expect(link.window.roundTripMs).toBeGreaterThan(390)
    expect(link.arrivedIn(10_000) / (10 * SLOW * 10_000)).toBeGreaterThan(0.9)
  })

  test('the packet that a token bucket lets pass at once does not open the window', () => {
    const link = new VirtualLink({ rate: SLOW, roundTripMs: 1, burstBytes: 1_600 })
    for (let at = 0; at < 60_000; at += 5_000) {
      link.runTo(at)
      link.offer(12_500)
    }
    link.runTo(70_000)
    expect(link.mostHidden).toBeLessThanOrEqual(HALF_A_SECOND_OF_SLOW)
  })

  test('single events that pass at once do not open the window', () => {
    const link = new VirtualLink({ rate: SLOW, roundTripMs: 1, burstBytes: 1_600 })
    for (let at = 0; at < 60_000; at += 100) {
      link.runTo(at)
      link.offer(250)
    }
    expect(link.window.bytes).toBe(WINDOW_MIN_BYTES)
  })
})

describe('on 1 Gbit/s', () => {
  test('and 1 ms, the whole rate is reached in a tenth of a second', () => {
    const link = new VirtualLink({ rate: 1_000 * MBIT, roundTripMs: 1 })
    link.flood()
    link.runTo(100)
    link.runTo(1_100)
    expect(link.arrivedIn(1_000) / (1_000 * MBIT * 1_000)).toBeGreaterThan(0.95)
  })

  test('and 100 ms, the largest window is reached in three seconds', () => {
    const link = new VirtualLink({ rate: 1_000 * MBIT, roundTripMs: 100 })
    link.flood()
    link.runTo(3_000)
    expect(link.window.bytes).toBe(WINDOW_MAX_BYTES)
    link.runTo(6_000)
    expect(link.arrivedIn(3_000)).toBeGreaterThan((0.85 * WINDOW_MAX_BYTES * 3_000) / 108)
  })

  test('a trickle leaves the window as it is, and what follows it goes at the whole rate', () => {
    const link = new VirtualLink({ rate: 1_000 * MBIT, roundTripMs: 1 })
    link.flood()
    link.runTo(1_000)
    link.stop()
    for (let at = 2_000; at < 62_000; at += 10) {
      link.runTo(at)
      link.offer(250)
    }
    expect(link.window.bytes).toBe(WINDOW_MAX_BYTES)
    link.runTo(62_000)
    link.flood()
    link.runTo(62_100)
    expect(link.arrivedIn(100) / (1_000 * MBIT * 100)).toBeGreaterThan(0.9)
  })

  test('a receiver that pauses does not close the window', () => {
    const link = new VirtualLink({ rate: 1_000 * MBIT, roundTripMs: 1 })
    link.flood()
    for (let at = 1_000; at < 20_000; at += 2_000) {
      link.runTo(at)
      link.pause(300)
    }
    link.runTo(20_000)
    expect(link.window.bytes).toBe(WINDOW_MAX_BYTES)
  })
})

test('10 Mbit/s and 100 ms are used up', () => {
  const link = new VirtualLink({ rate: 10 * MBIT, roundTripMs: 100 })
  link.flood()
  link.runTo(3_000)
  link.runTo(33_000)
  expect(link.arrivedIn(30_000) / (10 * MBIT * 30_000)).toBeGreaterThan(0.95)
})

for (const { before, after } of [
  { before: 500 * KBIT, after: 50 * KBIT },
  { before: 100 * MBIT, after: 10 * MBIT },
]) {
  test(`follows a link of ${before * 8} kbit/s that becomes ten times slower, and faster again`, () => {
    const link = new VirtualLink({ rate: before, roundTripMs: 20 })
    link.flood()
    link.runTo(10_000)
    link.rate = after
    link.runTo(15_000)
    link.mostHidden = 0
    link.runTo(25_000)
    expect(link.mostHidden).toBeLessThanOrEqual(after * 500)
    expect(link.arrivedIn(10_000) / (after * 10_000)).toBeGreaterThan(0.9)
    link.rate = before
    link.runTo(28_000)
    link.runTo(38_000)
    expect(link.arrivedIn(10_000) / (before * 10_000)).toBeGreaterThan(0.9)
  })
}

test('follows a link that became slower though the queue above does not use the window up', () => {
  const link = new VirtualLink({ rate: 100 * MBIT, roundTripMs: 1 })
  link.flood()
  link.runTo(2_000)
  link.stop()
  link.runTo(4_000)
  link.rate = SLOW
  link.mostAtOnce = 8_000
  link.flood()
  link.runTo(14_000)
  link.mostHidden = 0
  link.runTo(60_000)
  expect(link.mostHidden).toBeLessThanOrEqual(HALF_A_SECOND_OF_SLOW)
})

test('small frames do not go round for ever', () => {
  const link = new VirtualLink({ rate: 10 * MBIT, roundTripMs: 10 })
  for (let at = 0; at < 1_000; at++) {
    link.runTo(at)
    link.offer(250)
  }
  link.flood()
  link.runTo(3_000)
  const { frames, arrivedBytes } = link
  link.runTo(4_000)
  expect((link.arrivedBytes - arrivedBytes) / (link.frames - frames)).toBeGreaterThan(link.window.bytes / 10)
})

test('an item larger than the window goes alone', () => {
  const window = new Window(0)
  expect(window.frameBytes).toBe(WINDOW_MIN_BYTES / 4)
  window.sent(1, 100_000, 0)
  expect(window.frameBytes).toBe(0)
  window.acknowledged(1, 10)
  expect(window.frameBytes).toBeGreaterThan(0)
})

interface LinkOptions {
  /** Bytes a millisecond. */
  readonly rate: number
  readonly roundTripMs: number
  /** What passes at once after a pause. */
  readonly burstBytes?: number
}

interface Write {
  readonly frames: { readonly number: number; readonly bytes: number }[]
  bytes: number
}

const ITEM_BYTES = 250
/** What is sent in one tick is one write; more than a TLS record comes in several. */
const RECORD_BYTES = 16_384

/** A sender behind a window, a link with an endless queue, and a receiver that acknowledges at once. */
class VirtualLink {
  readonly window = new Window(0)
  rate: number
  roundTripMs: number
  /** What the queue above lets be on its way. */
  mostAtOnce = Number.POSITIVE_INFINITY
  mostHidden = 0
  frames = 0
  arrivedBytes = 0
  readonly #burstMs: number
  #now = 0
  #waiting = 0
  #hidden = 0
  #queue: Write[] = []
  #freeAt = 0
  #isServing = false
  #isAwake = false
  #isRest = false
  #pausedUntil = 0
  #timers: { at: number; call(): void }[] = []
  #arrivedBefore = 0
  #lastRunFrom = 0

  constructor({ rate, roundTripMs, burstBytes = 0 }: LinkOptions) {
    this.rate = rate
    this.roundTripMs = roundTripMs
    this.#burstMs = burstBytes / rate
  }

  /** There is always more. */
  flood(): void {
    this.offer(Number.POSITIVE_INFINITY)
  }

  offer(bytes: number): void {
    this.#waiting += bytes
    this.#wake()
  }

  stop(): void {
    this.#waiting = 0
  }

  /** The receiver does nothing for so long. */
  pause(ms: number): void {
    this.#pausedUntil = this.#now + ms
  }

  /** Bytes that arrived in the last so many milliseconds, which have to be those of the last `runTo`. */
  arrivedIn(ms: number): number {
    expect(this.#now - this.#lastRunFrom).toBeCloseTo(ms)
    return this.arrivedBytes - this.#arrivedBefore
  }

  runTo(at: number): void {
    this.#arrivedBefore = this.arrivedBytes
    this.#lastRunFrom = this.#now
    for (;;) {
      const next = this.#timers[0]
      if (next === undefined || next.at > at) break
      this.#timers.shift()
      this.#now = next.at
      next.call()
    }
    this.#now = at
  }

  /** As a peer link does: at the end of the turn a frame, and in the next turn the rest, where the way is long. */
  #wake(): void {
    if (this.#isAwake) return
    this.#isAwake = true
    this.#at(this.#now, () => {
      this.#isAwake = false
      this.#flush()
    })
  }

  #flush(): void {
    const write: Write = { frames: [], bytes: 0 }
    const isWhole = this.#isRest || !this.window.isWayLong
    this.#isRest = false
    for (;;) {
      const bytes = this.#nextBytes()
      if (bytes === 0) break
      if (!isWhole && write.bytes > 0) {
        this.#isRest = true
        this.#wake()
        break
      }
      this.#waiting -= bytes
      this.#hidden += bytes
      this.window.sent(++this.frames, bytes, this.#now)
      write.frames.push({ number: this.frames, bytes })
      write.bytes += bytes
    }
    this.mostHidden = Math.max(this.mostHidden, this.#hidden)
    this.#write(write)
  }

  #nextBytes(): number {
    const most = Math.min(this.window.frameBytes, this.#waiting, this.mostAtOnce - this.#hidden)
    return most <= 0 ? 0 : Math.max(1, Math.floor(most / ITEM_BYTES)) * ITEM_BYTES
  }

  /** A frame arrives with the record that it ends in. */
  #write({ frames }: Write): void {
    let record: Write = { frames: [], bytes: 0 }
    for (const frame of frames) {
      record.frames.push(frame)
      record.bytes += frame.bytes
      if (record.bytes < RECORD_BYTES) continue
      this.#queue.push(record)
      record = { frames: [], bytes: 0 }
    }
    if (record.bytes > 0) this.#queue.push(record)
    this.#serve()
  }

  #serve(): void {
    if (this.#isServing) return
    const write = this.#queue.shift()
    if (write === undefined) return
    this.#isServing = true
    // A token bucket that was idle is ahead of its rate.
    this.#freeAt = Math.max(this.#freeAt, this.#now - this.#burstMs) + write.bytes / this.rate
    const passesAt = Math.max(this.#now, this.#freeAt)
    this.#at(passesAt, () => {
      this.#isServing = false
      this.#at(Math.max(passesAt, this.#pausedUntil) + this.roundTripMs, () => this.#arrived(write))
      this.#serve()
    })
  }

  #arrived({ frames }: Write): void {
    for (const { bytes } of frames) {
      this.arrivedBytes += bytes
      this.#hidden -= bytes
    }
    this.window.acknowledged(frames.at(-1)!.number, this.#now)
    this.#wake()
  }

  #at(at: number, call: () => void): void {
    const behind = this.#timers.findIndex((timer) => timer.at > at)
    this.#timers.splice(behind < 0 ? this.#timers.length : behind, 0, { at, call })
  }
}
