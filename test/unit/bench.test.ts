// Every benchmark also runs small here, so that none rots.
import { afterEach, expect, test, vi } from 'vitest'
import { run } from '../../bench/policies.ts'

afterEach(() => vi.restoreAllMocks())

// It throws when packing and the loop by hand differ.
test('the policies benchmark packs what the loop by hand packs, and prints a line for each', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  run({ json: true, small: true })
  const rows = log.mock.calls.map(([line]) => JSON.parse(line))
  expect(rows.map(({ policy, events }) => [policy, events])).toEqual([
    ['ward', 1000],
    ['locator', 1000],
  ])
  for (const { packNs, byHandNs, ratio } of rows) {
    expect(packNs).toBeGreaterThan(0)
    expect(byHandNs).toBeGreaterThan(0)
    expect(ratio).toBeCloseTo(packNs / byHandNs, 1)
  }
})

test('the policies benchmark prints a table for people', () => {
  const table = vi.spyOn(console, 'table').mockImplementation(() => {})
  run({ json: false, small: true })
  expect(table.mock.calls[0]![0]).toHaveLength(2)
})
