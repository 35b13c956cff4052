// The figures of pull also run small here, so that they do not rot.
import { afterEach, expect, test, vi } from 'vitest'
import { run } from '../../bench/pull.ts'

afterEach(() => vi.restoreAllMocks())

test('the pull benchmark prints a line for each figure that needs no data', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  run({ json: true, small: true })
  const figures = log.mock.calls.map(([line]) => JSON.parse(line))
  expect(figures.map(({ figure }) => figure)).toEqual([
    ...['figure-4', 'figure-19', 'figure-20', 'figure-23'],
    ...['crawl-4', 'crawl-5', 'crawl-6', 'crawl-7', 'crawl-8', 'crawl-9', 'crawl-speed', 'active-control'],
  ])
  for (const { rows } of figures) expect(rows.length).toBeGreaterThan(0)
})

test('checks with random back-off overload the broker less than adaptive ones alone', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  run({ json: true, small: true })
  const { rows } = JSON.parse(log.mock.calls.at(-1)![0])
  const [none, , adaptive, active] = rows
  expect(active['overload probability']).toBeLessThan(adaptive['overload probability'])
  expect(active['requests a client-hour']).toBeLessThan(adaptive['requests a client-hour'])
  expect(active['noticed %']).toBeGreaterThan(50)
  expect(none['noticed %']).toBe(0)
})
