// The benchmark of attaching also runs small here, so that it does not rot. It throws when events were lost.
import { afterEach, expect, test, vi } from 'vitest'
import { run } from '../../bench/attach.ts'

afterEach(() => vi.restoreAllMocks())

test('the attach benchmark prints a line for a connection that is kept, and for one dialled anew', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await run({ json: true, small: true })
  const rows = log.mock.calls.map(([line]) => JSON.parse(line))
  expect(rows).toMatchObject([
    { receivers: 3, connection: 'kept', attachments: 6, lost: 0 },
    { receivers: 3, connection: 'new', attachments: 6, lost: 0 },
  ])
  for (const { medianMs, p99Ms } of rows) {
    expect(medianMs).toBeGreaterThan(0)
    expect(p99Ms).toBeGreaterThanOrEqual(medianMs)
  }
})
