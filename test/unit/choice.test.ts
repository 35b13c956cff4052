// Which proxy is clearly the better one, and that nobody goes back and forth.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Choice, isClearlyBetter, mayBeBetter, type Way } from '../../mobility/choice.ts'

const way = (roundTripMs: number, load = 0): Way => ({ roundTripMs, load })
const aWay = fc.record({
  roundTripMs: fc.double({ min: 0, max: 1_000, noNaN: true }),
  load: fc.double({ min: 0, max: 1.5, noNaN: true }),
})

describe('a node is clearly better', () => {
  it('when it takes less than half of the round trip, and 20 ms less', () => {
    expect(isClearlyBetter(way(100), way(49))).toBe(true)
    expect(isClearlyBetter(way(100), way(51))).toBe(false)
    expect(isClearlyBetter(way(30), way(9))).toBe(true)
    expect(isClearlyBetter(way(30), way(11))).toBe(false)
    expect(isClearlyBetter(way(19), way(0))).toBe(false)
  })

  it('when its own is nearly full, and the other has room and is no farther', () => {
    expect(isClearlyBetter(way(10, 0.9), way(12, 0.6))).toBe(true)
    expect(isClearlyBetter(way(10, 0.9), way(12, 0.7))).toBe(false)
    expect(isClearlyBetter(way(10, 0.89), way(12, 0))).toBe(false)
    expect(isClearlyBetter(way(10, 1), way(30, 0))).toBe(false)
  })

  it('never when it is nearly full itself', () => {
    expect(isClearlyBetter(way(500), way(1, 0.9))).toBe(false)
    expect(isClearlyBetter(way(500), way(1, 0.89))).toBe(true)
  })

  it('never both ways, whatever was measured', () => {
    fc.assert(fc.property(aWay, aWay, (a, b) => !(isClearlyBetter(a, b) && isClearlyBetter(b, a))))
  })

  it('only where others need to be measured', () => {
    fc.assert(fc.property(aWay, aWay, (own, other) => mayBeBetter(own) || !isClearlyBetter(own, other)))
  })
})

describe('a choice', () => {
  const others = (ways: Record<string, Way>) => new Map(Object.entries(ways))

  it('is made when the same node was clearly better twice', () => {
    const choice = new Choice()
    expect(choice.judge(way(100), others({ near: way(10), nearer: way(5) }))).toBeUndefined()
    expect(choice.favourite).toBe('nearer')
    expect(choice.judge(way(100), others({ near: way(4), nearer: way(5) }))).toBe('nearer')
  })

  it('is not made of one lucky measurement', () => {
    const choice = new Choice()
    choice.judge(way(100), others({ near: way(10) }))
    expect(choice.judge(way(15), others({ near: way(10) }))).toBeUndefined()
    expect(choice.favourite).toBeUndefined()
    expect(choice.judge(way(100), others({ near: way(10) }))).toBeUndefined()
  })

  it('is not made of two nodes that were better once each', () => {
    const choice = new Choice()
    choice.judge(way(100), others({ a: way(10) }))
    expect(choice.judge(way(100), others({ b: way(10) }))).toBeUndefined()
    expect(choice.judge(way(100), others({ b: way(10) }))).toBe('b')
  })
})
