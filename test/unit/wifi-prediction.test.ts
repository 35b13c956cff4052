import { describe, expect, it } from 'vitest'
import { Predictor } from '../../examples/wifi-locator/prediction/predictor.ts'
import { seeded } from '../../index.ts'

function walk(predictor: Predictor, station: string, ...places: string[]): void {
  for (const place of places) predictor.seen(station, place)
}

describe('the predictor', () => {
  it('says where a station went before, from where it came', () => {
    const predictor = new Predictor()
    // After b it goes on: to c when it came from a, to a when it came from c.
    for (let i = 0; i < 4; i++) walk(predictor, 's', 'a', 'b', 'c', 'b')
    walk(predictor, 's', 'a', 'b')
    expect(predictor.predict('s')[0]).toEqual({ place: 'c', share: 1 })
  })

  it('falls back to what others did where the station itself was never before', () => {
    const predictor = new Predictor()
    walk(predictor, 'one', 'gate', 'hall', 'gate', 'hall')
    walk(predictor, 'new', 'gate')
    expect(predictor.predict('new')[0]?.place).toBe('hall')
    expect(predictor.predict('nobody')).toEqual([])
  })

  it('judges each move before it learns from it, and not those of which it knows nothing', () => {
    const predictor = new Predictor()
    walk(predictor, 's', 'a', 'b')
    expect(predictor.score).toEqual({ moves: 1, predicted: 0, top1: 0, top3: 0 })
    walk(predictor, 's', 'a', 'b', 'a', 'b')
    expect(predictor.score.predicted).toBe(3)
    expect(predictor.score.top1).toBe(3)
    walk(predictor, 's', 'c')
    expect(predictor.score).toMatchObject({ predicted: 4, top1: 3, top3: 3 })
  })

  it('takes the same place again for no move', () => {
    const predictor = new Predictor()
    walk(predictor, 's', 'a', 'a', 'a')
    expect(predictor.score.moves).toBe(0)
  })

  it('counts a place among three when it was the second or third guess', () => {
    const predictor = new Predictor({ order: 1 })
    walk(predictor, 's', 'a', 'b', 'a', 'b', 'a', 'c', 'a')
    const { top1, top3 } = predictor.score
    walk(predictor, 's', 'c')
    expect(predictor.score).toMatchObject({ top1, top3: top3 + 1 })
  })

  it('remembers so many contexts at most, those used last', () => {
    const predictor = new Predictor({ maxContexts: 100 })
    const random = seeded(5)
    for (let i = 0; i < 5_000; i++)
      predictor.seen(`s${Math.floor(random() * 500)}`, `p${Math.floor(random() * 400)}`)
    expect(predictor.contexts).toBe(100)
    for (let i = 0; i < 3; i++) walk(predictor, 'last', 'x', 'y')
    walk(predictor, 'last', 'x')
    expect(predictor.predict('last')[0]?.place).toBe('y')
  })
})
