import { describe, expect, it } from 'vitest'
import { Early, MAX_EARLY, MAX_EARLY_BYTES } from '../../overlay/early.ts'
import { plainRun } from './wire-frames.ts'

describe('what comes by a new way', () => {
  it('waits in order', () => {
    const early = new Early()
    const parts = [1, 2, 3].map((events) => ({ rid: undefined, items: [plainRun(events, 8)] }))
    expect(parts.map((part) => early.add(part))).toEqual([true, true, true])
    expect(early.parts).toEqual(parts)
  })

  it('waits no more when there are too many parts', () => {
    const early = new Early()
    const part = { rid: undefined, items: [] }
    for (let i = 0; i < MAX_EARLY; i++) expect(early.add(part)).toBe(true)
    expect(early.add(part)).toBe(false)
  })

  it('waits no more when there are too many bytes', () => {
    const early = new Early()
    const part = { rid: undefined, items: [plainRun(64, 32_768)] }
    let parts = 1
    while (early.add(part)) parts++
    expect(parts).toBe(Math.ceil(MAX_EARLY_BYTES / (64 * 32_768)))
  })
})
