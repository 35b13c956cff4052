// Figure 11 also runs small here, so that it does not rot.
import { afterEach, expect, test, vi } from 'vitest'
import { simulateHour } from '../../bench/locator/hour.ts'
import { run } from '../../bench/locator.ts'

afterEach(() => vi.restoreAllMocks())

test('the locator benchmark prints packs and reduction of all six levels, and the receipt', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await run({ json: true, small: true })
  const { levels, exact, gaps, packs, ...totals } = JSON.parse(log.mock.calls[0]![0])
  expect(levels.map(({ filter }: { filter: string }) => filter)).toEqual([
    'EQ',
    'INSET',
    'MATCH',
    'FIRST',
    'GUNIQ',
    'EVERY',
  ])
  for (const { runs, reduction } of levels) {
    expect(runs).toBeGreaterThan(0)
    expect(reduction[2]).toBeLessThanOrEqual(1)
  }
  expect({ exact, gaps }).toEqual({ exact: true, gaps: 0 })
  expect(packs).toBeGreaterThan(levels.length)
  expect(totals['longest s']).toBeGreaterThan(0)
})

test('the same hour has the same figures', async () => {
  const options = { minutes: 1, stations: 500, queue: 20 }
  const [first, second] = [await simulateHour(options), await simulateHour(options)]
  expect(second).toEqual(first)
})
