import { describe, expect, it } from 'vitest'
import type { Action } from '../../examples/wifi-locator/events.ts'
import { understand } from '../../examples/wifi-locator/formats/understand.ts'
import { Whereabouts } from '../../examples/wifi-locator/whereabouts.ts'
import { capturedLines, endingsOf, hasWifiData } from './wifi-data.ts'

const STATION = '00:00:5e:00:53:01'
const OTHER = '00:00:5e:00:53:02'
const MINUTE_MS = 60_000

/** Tells of a station in short, and what came of it: `joined ap1`. Each event is received a second after the one before. */
function teller(where = new Whereabouts()) {
  let now = 1_000_000
  const told = (
    action: Action,
    ap: string | null,
    more: Partial<Parameters<Whereabouts['told']>[0]> = {},
  ) => {
    now += 1_000
    const change = where.told({ station: STATION, action, ap, ip: null, host: null, at: null, ...more }, now)
    return change && `${change.action} ${change.ap}${change.ip === null ? '' : ` ${change.ip}`}`
  }
  const wait = (ms: number) => {
    now += ms
  }
  return { where, told, now: () => now, wait }
}

describe('whereabouts', () => {
  it('are told once, when a station joins, moves and leaves', () => {
    const { told } = teller()
    expect([
      told('Authenticated', 'ap1'),
      told('Associated', 'ap1'),
      told('Connected', 'ap1'),
      told('Handshake', 'ap1'),
      told('Associated', 'ap2'),
      told('Disassociated', 'ap2'),
    ]).toEqual([undefined, 'joined ap1', undefined, undefined, 'moved ap2', 'left ap2'])
  })

  it('survive a leave that the access point it came from tells minutes later', () => {
    const { told, where, wait } = teller()
    told('Associated', 'ap1')
    told('Associated', 'ap2')
    wait(5 * MINUTE_MS)
    expect(told('Disassociated', 'ap1', { ip: null })).toBeUndefined()
    expect(where.get(STATION)?.ap).toBe('ap2')
    expect(where.counts.trailing).toBe(1)
  })

  it('know one leave where disassociation and deauthentication follow each other', () => {
    const { told } = teller()
    told('Associated', 'ap1')
    expect([
      told('Disconnected', 'ap1'),
      told('Disassociated', 'ap1'),
      told('Deauthenticated', 'ap1'),
    ]).toEqual(['left ap1', undefined, undefined])
  })

  it('do with a deauthentication alone, and without any leave', () => {
    const { told } = teller()
    expect([told('Associated', 'ap1'), told('Deauthenticated', 'ap1')]).toEqual(['joined ap1', 'left ap1'])
    expect([told('Associated', 'ap1'), told('Associated', 'ap1'), told('Associated', 'ap3')]).toEqual([
      'joined ap1',
      undefined,
      'moved ap3',
    ])
  })

  it('are not ended by the copy of a leave that a relay sends after the station is back', () => {
    const { told, where } = teller()
    told('Associated', 'ap1', { at: 5_000 })
    expect(told('Disassociated', 'ap1', { at: 6_000 })).toBe('left ap1')
    told('Associated', 'ap1', { at: 6_000 })
    expect(told('Disassociated', 'ap1', { at: 6_000 })).toBeUndefined()
    expect(where.get(STATION)?.ap).toBe('ap1')
    expect(told('Disassociated', 'ap1', { at: 9_000 })).toBe('left ap1')
  })

  it('do not look at the clocks of lines, which jump', () => {
    const { told } = teller()
    expect([
      told('Associated', 'ap1', { at: Date.UTC(2026, 6, 1) }),
      told('Associated', 'ap2', { at: Date.UTC(2020, 6, 1) }),
      told('Disassociated', 'ap2', { at: null }),
    ]).toEqual(['joined ap1', 'moved ap2', 'left ap2'])
  })

  it('are the same however a roam is told', () => {
    for (const roam of [
      [
        ['Roamed', 'ap2'],
        ['Associated', 'ap2'],
        ['Disassociated', 'ap1'],
      ],
      [
        ['Associated', 'ap2'],
        ['Roamed', 'ap2'],
        ['Disassociated', 'ap1'],
      ],
      [['Reassociated', 'ap2']],
      [['Associated', 'ap2']],
    ] as const) {
      const { told } = teller()
      told('Associated', 'ap1')
      expect(roam.map(([action, ap]) => told(action, ap)).filter(Boolean)).toEqual(['moved ap2'])
    }
  })

  it('end when a controller, which knows no access points, says that the station has gone', () => {
    const { told } = teller()
    expect([told('Connected', null), told('Associated', 'ap1'), told('Disconnected', null)]).toEqual([
      undefined,
      'joined ap1',
      'left ap1',
    ])
  })

  it('begin with a handshake when the line of the association is missing', () => {
    const { told } = teller()
    expect([told('Handshake', 'ap1'), told('Disassociated', 'ap1'), told('Handshake', 'ap1')]).toEqual([
      'joined ap1',
      'left ap1',
      undefined,
    ])
  })

  it('are told again when the address becomes known or changes, and an address has one station', () => {
    const { told, where } = teller()
    told('Associated', 'ap1')
    expect(told('Addressed', 'router', { ip: '192.0.2.7' })).toBe('joined ap1 192.0.2.7')
    expect(told('Addressed', 'router', { ip: '192.0.2.7' })).toBeUndefined()
    expect(told('Associated', 'ap2')).toBe('moved ap2 192.0.2.7')
    told('Associated', 'ap1', { station: OTHER, ip: '192.0.2.7' })
    expect([where.get(STATION)?.ip, where.byIp('192.0.2.7')?.station]).toEqual([null, OTHER])
  })

  it('have a limit: who was heard of least recently is forgotten', () => {
    const where = new Whereabouts(3)
    const { told } = teller(where)
    for (const [i, station] of ['a', 'b', 'c', 'a', 'd'].entries())
      told('Associated', 'ap1', { station, ip: `192.0.2.${i}` })
    expect([where.size, where.get('b'), where.byIp('192.0.2.1'), where.counts.forgotten]).toEqual([
      3,
      undefined,
      undefined,
      1,
    ])
    expect(where.get('a')?.ap).toBe('ap1')
  })

  describe('from the list of an access point', () => {
    const list = (...macs: string[]) => macs.map((mac) => ({ mac, ip: null, host: null }))

    it('find those whose events were dropped', () => {
      const { where, told, now } = teller()
      told('Associated', 'ap1')
      expect(
        where.listed('ap2', list(STATION, OTHER), now()).map(({ action, station }) => [action, station]),
      ).toEqual([
        ['moved', STATION],
        ['joined', OTHER],
      ])
    })

    it('do not believe one that still lists who has moved on without a word', () => {
      const { where, told, now, wait } = teller()
      told('Associated', 'ap1')
      told('Associated', 'ap2')
      wait(MINUTE_MS)
      expect(where.listed('ap1', list(STATION), now())).toEqual([])
      wait(20 * MINUTE_MS)
      expect(where.listed('ap1', list(STATION), now())).toHaveLength(1)
    })

    it('are newer than events that were received before, and older than those after', () => {
      const { where, told, now, wait } = teller()
      where.listed('ap2', list(STATION), now() + MINUTE_MS)
      expect(told('Associated', 'ap1')).toBeUndefined()
      expect(told('Disassociated', 'ap2')).toBeUndefined()
      wait(MINUTE_MS)
      expect(told('Associated', 'ap1')).toBe('moved ap1')
    })
  })

  it.skipIf(!hasWifiData)('are at the end of a recorded week where the log leaves each station', () => {
    const where = new Whereabouts()
    capturedLines.forEach((line, i) => {
      const event = understand(line, 'router', 0)?.event
      if (event !== undefined) where.told(event, i)
    })
    const endings = endingsOf(capturedLines)
    expect(endings.size).toBeGreaterThan(3)
    for (const [station, { isThere, ip }] of endings) {
      const known = where.get(station)
      expect([station, known?.ap, known?.ip]).toEqual([station, isThere ? 'router' : null, ip ?? null])
    }
  })
})
