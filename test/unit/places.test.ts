// The addresses that a client knows, in the order in which it tries them.
import { describe, expect, it } from 'vitest'
import { MAX_TOLD_PLACES, Places } from '../../mobility/places.ts'

const addresses = ({ all }: Places) => all.map(({ address }) => address)
const other = (id: string, ...at: string[]) => ({ id, addresses: at, load: 0 })

describe('places', () => {
  it('are those that were given before those that were told', () => {
    const places = new Places(['a', 'b'])
    places.learn([other('n1', 'c', 'd'), other('n2', 'e')])
    expect(addresses(places)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(places.all.at(-1)).toEqual({ address: 'e', node: 'n2' })
  })

  it('begin with the one that is preferred, which is not there twice', () => {
    const places = new Places(['a', 'b'])
    places.prefer({ address: 'b' })
    expect(addresses(places)).toEqual(['b', 'a'])
    places.prefer({ address: 'x' })
    expect(addresses(places)).toEqual(['x', 'a', 'b'])
  })

  it('that were given are right whoever answers there, those that were told only if it is that node', () => {
    const places = new Places(['a'])
    places.learn([other('n', 'a', 'b')])
    places.prefer({ address: 'b', node: 'n' })
    expect(places.all).toEqual([{ address: 'b', node: 'n' }, { address: 'a' }])
    places.prefer({ address: 'a', node: 'n' })
    expect(places.all).toEqual([{ address: 'a' }, { address: 'b', node: 'n' }])
  })

  it('that failed stand behind all others, the last to fail last, until they answer again', () => {
    const places = new Places(['a', 'b', 'c'])
    places.prefer({ address: 'a' })
    places.failed('a')
    places.failed('b')
    expect(addresses(places)).toEqual(['c', 'a', 'b'])
    places.failed('a')
    expect(addresses(places)).toEqual(['c', 'b', 'a'])
    places.prefer({ address: 'b' })
    expect(addresses(places)).toEqual(['b', 'c', 'a'])
  })

  it('that were told are bounded, the newest are kept, and those that were given always', () => {
    const places = new Places(['given'])
    for (let i = 0; i < 3 * MAX_TOLD_PLACES; i++) places.learn([other(`n${i}`, `t${i}`)])
    expect(places.all).toHaveLength(1 + MAX_TOLD_PLACES)
    expect(addresses(places).slice(0, 2)).toEqual(['given', `t${3 * MAX_TOLD_PLACES - 1}`])
  })

  it('forget the addresses that a node had before', () => {
    const places = new Places([])
    places.learn([other('n', 'old'), other('m', 'm')])
    places.failed('old')
    places.learn([other('n', 'new')])
    expect(addresses(places)).toEqual(['new', 'm'])
  })

  it('of the node that is about to leave are tried last', () => {
    const places = new Places(['a', 'b'])
    places.prefer({ address: 'a' })
    places.firstFails()
    expect(addresses(places)).toEqual(['b', 'a'])
  })
})
