// How fast frames go from one node to another over loopback, both in one process. The figures are printed; the
// bound is far below them, for loaded machines.
import { expect, test } from 'vitest'
import { pair, type RecordingTransport } from './recording-core.ts'

/** What the core's largest window would let be on its way. */
const WINDOW_BYTES = 1_048_576
const LEAST_FRAMES_PER_SECOND = 50

for (const { frameBytes, count } of [
  { frameBytes: 65_536, count: 2_000 },
  { frameBytes: 1_024, count: 80_000 },
  { frameBytes: 128, count: 300_000 },
]) {
  test(`carries frames of ${frameBytes} bytes`, async () => {
    const { a, b } = await pair()
    await flow(a, b, frameBytes, Math.ceil(count / 5))
    const before = process.cpuUsage()
    const seconds = await flow(a, b, frameBytes, count)
    const { user, system } = process.cpuUsage(before)
    const each = (of: number) =>
      `${((frameBytes * count) / of / 1e6).toFixed(0)} MB, ${Math.round(count / of)} frames`
    console.log(
      `${frameBytes} B: ${each(seconds)} a second; ${each((user + system) / 1e6)} a CPU second of both ends`,
    )
    expect(count / seconds).toBeGreaterThan(LEAST_FRAMES_PER_SECOND)
    expect(b.counters.malformedFrames + a.counters.overfullPeers).toBe(0)
  })
}

/** Sends so many frames, with no more than a window unacknowledged; returns the seconds it took. */
function flow(
  from: RecordingTransport,
  to: RecordingTransport,
  frameBytes: number,
  count: number,
): Promise<number> {
  const frame = new Uint8Array(frameBytes)
  const ack = Uint8Array.of(1)
  const ackEvery = Math.max(1, Math.floor(WINDOW_BYTES / 8 / frameBytes))
  const { promise, resolve } = Promise.withResolvers<number>()
  const started = performance.now()
  let sent = 0
  let acknowledged = 0
  let got = 0
  const send = () => {
    while (sent < count && (sent - acknowledged) * frameBytes < WINDOW_BYTES) {
      sent++
      from.core.surroundings.send(to.id, 'data', frame)
    }
  }
  to.core.onFrame = () => {
    got++
    if (got % ackEvery === 0) to.core.surroundings.send(from.id, 'control', ack)
    if (got === count) resolve((performance.now() - started) / 1_000)
  }
  from.core.onFrame = () => {
    acknowledged += ackEvery
    send()
  }
  send()
  return promise
}
