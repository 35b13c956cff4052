import { describe, expect, it } from 'vitest'
import type { Location } from '../../examples/wifi-locator/events.ts'
import { Devices, MAX_DEVICES } from '../../examples/wifi-locator/page/devices.ts'
import { type KnownAp, layOut, MAX_APS } from '../../examples/wifi-locator/page/layout.ts'
import { LevelCounts, receiptOf } from '../../examples/wifi-locator/page/status.ts'

function aps(...known: [string, KnownAp][]): Map<string, KnownAp> {
  return new Map(known)
}

describe('the map', () => {
  it('puts access points where the file says, in a building around them', () => {
    const { aps: placed, buildings } = layOut(
      aps(['a', { building: 'Library', x: 10, y: 10 }], ['b', { building: 'Library', x: 110, y: 60 }]),
    )
    expect(buildings).toHaveLength(1)
    expect(placed[1]!.x - placed[0]!.x).toBe(100)
    expect(placed[1]!.y - placed[0]!.y).toBe(50)
    const { x, y, width, height } = buildings[0]!
    for (const ap of placed) {
      expect(ap.x).toBeGreaterThan(x)
      expect(ap.x).toBeLessThan(x + width)
      expect(ap.y).toBeGreaterThan(y)
      expect(ap.y).toBeLessThan(y + height)
    }
  })

  it('has a place for those of which nothing is known, below the others', () => {
    const {
      aps: placed,
      buildings,
      height,
    } = layOut(aps(['a', { building: 'Library', x: 0, y: 0 }], ['router', {}], ['b', { building: 'Attic' }]))
    expect(buildings.map(({ name }) => name)).toEqual(['Library', 'Building not known', 'Attic'])
    expect(placed.map(({ name, building }) => [name, buildings[building]!.name])).toEqual([
      ['a', 'Library'],
      ['router', 'Building not known'],
      ['b', 'Attic'],
    ])
    expect(buildings[1]!.y).toBeGreaterThan(buildings[0]!.y + buildings[0]!.height)
    for (const one of buildings) expect(one.y + one.height).toBeLessThan(height)
  })

  it('has room for so many access points at most', () => {
    const many = Array.from({ length: MAX_APS + 50 }, (_, i): [string, KnownAp] => [`ap-${i}`, {}])
    expect(layOut(aps(...many)).aps).toHaveLength(MAX_APS)
  })

  it('is there without any access point', () => {
    expect(layOut(aps())).toMatchObject({ buildings: [], aps: [] })
  })
})

describe('devices', () => {
  const location = (change: Partial<Location>): Location => ({
    station: 's',
    ap: 'a',
    building: 'Library',
    ip: null,
    action: 'joined',
    at: 1,
    ...change,
  })

  it('have a trail of where they were, and an address once it was told', () => {
    const devices = new Devices()
    devices.seen(location({ ip: '10.0.0.1' }))
    devices.seen(location({ ap: 'b', action: 'moved', at: 2 }))
    devices.seen(location({ ap: 'b', action: 'left', at: 3 }))
    const device = devices.get('s')
    expect(device).toMatchObject({ ap: undefined, ip: '10.0.0.1' })
    expect(device?.trail.map(({ ap, action }) => [ap, action])).toEqual([
      ['a', 'joined'],
      ['b', 'moved'],
      ['b', 'left'],
    ])
  })

  it('have no step in the trail for an address that became known', () => {
    const devices = new Devices()
    devices.seen(location({}))
    devices.seen(location({ ip: '10.0.0.1', at: 2 }))
    expect(devices.get('s')).toMatchObject({ ip: '10.0.0.1', trail: [{ at: 1 }] })
  })

  it('tell once who changed, and who was forgotten to make room', () => {
    const devices = new Devices()
    for (let i = 0; i <= MAX_DEVICES; i++) devices.seen(location({ station: `s${i}` }))
    expect(devices.count).toBe(MAX_DEVICES)
    expect(devices.takeChanged()).toContain('s0')
    expect(devices.get('s0')).toBeUndefined()
    expect(devices.takeChanged()).toEqual([])
  })
})

describe('the status', () => {
  it('adds up the receipts of all epochs, and says when they are not exact', () => {
    const epoch = { epoch: 1, first: 5, last: 14, delivered: 4, digested: 5, gaps: 1, late: 0 }
    expect(receiptOf([epoch, { ...epoch, epoch: 2 }])).toEqual({
      delivered: 8,
      digested: 10,
      gaps: 2,
      published: 20,
      isExact: true,
    })
    expect(receiptOf([{ ...epoch, digested: 4 }]).isExact).toBe(false)
  })

  it('counts by level, those that dropped nothing too', () => {
    const counts = new LevelCounts(2)
    counts.add(2, 3)
    counts.add(2, 4)
    expect(counts.list).toEqual([
      { level: 1, count: 0 },
      { level: 2, count: 7 },
      { level: 'worst-case', count: 0 },
    ])
  })
})
