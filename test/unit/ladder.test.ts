import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Ladder } from '../../policies/ladder.ts'

/** The levels that a ladder gives when its requests are this far apart (the first one at time 0). */
function levels(top: number, turnarounds: readonly number[]): number[] {
  const ladder = new Ladder(top)
  let now = 0
  return [
    ladder.request(now),
    ...turnarounds.map((turnaround) => {
      now += turnaround
      return ladder.request(now)
    }),
  ]
}

describe('Ladder', () => {
  it('starts at level 1', () => {
    expect(new Ladder(3).level).toBe(1)
    expect(levels(3, [])).toEqual([1])
  })

  it('only remembers the first observation at a level', () => {
    expect(levels(3, [100])).toEqual([1, 1])
    expect(levels(3, [1])).toEqual([1, 1])
  })

  it('climbs one step when the queue fills faster than before', () => {
    expect(levels(3, [100, 10])).toEqual([1, 1, 2])
  })

  it('only remembers the first observation at the level it climbed to', () => {
    // At level 2 the 1 is the first observation; the 1000 then is slower, so down again.
    expect(levels(3, [100, 10, 1, 1000])).toEqual([1, 1, 2, 2, 1])
  })

  it('moves one step at a time, however large the change', () => {
    expect(levels(9, [1e6, 1, 1e6, 1])).toEqual([1, 1, 2, 2, 3])
  })

  it('keeps a history for each level', () => {
    // Level 1: 100, then 10 (climb; t1 = 19). Level 2: 50, then 100 (down). Level 1 again: 19 is no change.
    expect(levels(3, [100, 10, 50, 100, 19])).toEqual([1, 1, 2, 2, 1, 1])
    // … while 100 would have been none without the update of t1 to 19, and is slower than 19.
    expect(levels(3, [100, 10, 50, 100, 10])).toEqual([1, 1, 2, 2, 1, 2])
  })

  it('stays where it is for a change of exactly a tenth, either way', () => {
    expect(levels(3, [100, 90])).toEqual([1, 1, 1])
    expect(levels(3, [100, 89])).toEqual([1, 1, 2])
    const atTwo = [100, 10, 100]
    expect(levels(3, [...atTwo, 110])).toEqual([1, 1, 2, 2, 2])
    expect(levels(3, [...atTwo, 111])).toEqual([1, 1, 2, 2, 1])
  })

  it('compares with the turnaround time from before the update', () => {
    // (80 - 100) / 100 = -0.2 climbs. Updating first, t = 82, would give (80 - 82) / 82 = -0.024: no step.
    expect(levels(3, [100, 80])).toEqual([1, 1, 2])
  })

  it('smooths with nine tenths of the observation', () => {
    // t: 100, then 0.9 * 95 + 0.1 * 100 = 95.5; a tenth less is 85.95.
    // With the weights swapped t would be 99.5, and 86 a change of -0.136.
    expect(levels(3, [100, 95, 86])).toEqual([1, 1, 1, 1])
    expect(levels(3, [100, 95, 85.9])).toEqual([1, 1, 1, 2])
    // Without memory t would be 95, and 85.7 a change of -0.098: no step.
    expect(levels(3, [100, 95, 85.7])).toEqual([1, 1, 1, 2])
  })

  it('stays between level 1 and the top', () => {
    expect(levels(2, [100, 10, 100, 10, 1])).toEqual([1, 1, 2, 2, 2, 2])
    expect(levels(3, [10, 100, 1000])).toEqual([1, 1, 1, 1])
    expect(levels(1, [100, 10, 1])).toEqual([1, 1, 1, 1])
  })

  it('stays at its level when the turnaround time was zero', () => {
    expect(levels(3, [0, 0])).toEqual([1, 1, 1])
    expect(levels(3, [100, 10, 0, 1000])).toEqual([1, 1, 2, 2, 2])
  })

  it('gives level 0 where the policy has no levels', () => {
    expect(levels(0, [100, 10, 1000])).toEqual([0, 0, 0, 0])
  })

  it('goes on from the level a request had to climb to', () => {
    const ladder = new Ladder(4)
    ladder.request(0)
    ladder.climbed(3)
    expect(ladder.level).toBe(3)
    expect(ladder.request(100)).toBe(3) // the first observation at level 3
    expect(ladder.request(110)).toBe(4)
    ladder.climbed(99)
    expect(ladder.level).toBe(4)
  })

  it('does as the definition says, for any sequence of requests', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 40 })),
        (top, turnarounds) => {
          const history = new Map<number, number>()
          let level = 1
          const expected = [1]
          for (const observed of turnarounds) {
            const t = history.get(level)
            const at = level
            if (t !== undefined && t !== 0) {
              const change = (observed - t) / t
              if (change > 0.1) level = Math.max(1, level - 1)
              if (change < -0.1) level = Math.min(top, level + 1)
            }
            history.set(at, t === undefined ? observed : 0.9 * observed + 0.1 * t)
            expected.push(level)
          }
          expect(levels(top, turnarounds)).toEqual(expected)
        },
      ),
    )
  })
})
