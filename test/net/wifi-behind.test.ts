// The campus at twenty times real time, with access points that take up to 30 s to answer: the locator falls behind, and
// its policy decides what is lost.
import { expect, test } from 'vitest'
import { GeneratedCampus } from '../../examples/wifi-locator/campus/generated.ts'
import { startWorld } from '../../examples/wifi-locator/world.ts'

const SPEED = 20
const SECONDS = 25
const LEVELS = [1, 2, 3, 4, 5, 6]
/** Beyond what is there after a few seconds: code that becomes warm, queues that are full. */
const FLAT_BYTES = 48 * 1_048_576

test('the locator falls behind, all six levels run, its receipt is exact, and memory stays flat', async () => {
  const campus = await GeneratedCampus.open({ speed: SPEED })
  const world = await startWorld({ aps: campus.aps, queue: 100, signal: new AbortController().signal })
  const { locator, source } = world
  const heap: number[] = []
  try {
    campus.begin(source)
    for (let second = 0; second < SECONDS; second++) {
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      heap.push(process.memoryUsage().heapUsed + process.memoryUsage().external)
    }
    campus.stop()
    const { counts, packs, lists } = locator
    const ran = new Set(packs.flatMap(({ passes }) => passes.map(({ level }) => level)))
    expect([...ran].sort()).toEqual(LEVELS)
    expect(Object.keys(counts.packs)).not.toContain('worst-case')
    expect(counts.dropped).toBeGreaterThan(counts.events)
    expect(lists.counts.asked).toBeGreaterThan(3)
    expect(locator.subscription.fill).toBeGreaterThan(0.1)
    expect(least(heap.slice(-8)) - least(heap.slice(4, 12))).toBeLessThan(FLAT_BYTES)
    // To the last one published: what waits still counts as nothing, so it is taken without asking.
    lists.close()
    await source.close()
    await locator.finished(AbortSignal.timeout(30_000))
    const [receipt] = locator.subscription.receipt
    const { first = 0, last = 0, delivered = 0, digested = 0, gaps = 0 } = receipt ?? {}
    expect({ first, last, gaps }).toEqual({ first: 1, last: source.counts.understood, gaps: 0 })
    expect(delivered + digested).toBe(last)
  } finally {
    await world.close()
    await campus.close()
  }
}, 120_000)

function least(values: readonly number[]): number {
  return Math.min(...values)
}
