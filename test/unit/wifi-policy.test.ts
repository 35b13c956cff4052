import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { actions, arrivals, departures, type SyslogEvent } from '../../examples/wifi-locator/events.ts'
import { pack, parsePolicy } from '../../index.ts'

const policy = parsePolicy(
  readFileSync(new URL('../../examples/wifi-locator/policy.xml', import.meta.url), 'utf8'),
)

type Short = readonly [action: SyslogEvent['action'], ap: string, more?: Partial<SyslogEvent>]

/** What is left of these events at a level: their places, from 0. */
function left(level: number, events: readonly Short[]): number[] {
  const entries = events.map(([action, ap, more], i) => ({
    epoch: 1,
    seq: i + 1,
    time: i,
    event: { type: 'Info', action, ap, station: `00:00:5e:00:53:0${i % 10}`, ...more },
  }))
  return pack(policy, entries, { level }).flatMap((item) => ('event' in item ? [item.seq - 1] : []))
}

describe("the locator's policy", () => {
  it('has the six levels of the paper, each with one filter', () => {
    const filters = policy.spec.levels.map(([filter]) => `${filter!.mode ?? 'keep'} ${filter!.name}`)
    expect(filters).toEqual(['keep EQ', 'drop INSET', 'drop MATCH', 'keep FIRST', 'keep GUNIQ', 'drop EVERY'])
  })

  it('keeps only what is of the type Info, from level 1 on', () => {
    const more = { type: 'Notice' } as const
    expect(
      left(1, [
        ['Connected', 'ap1', more],
        ['Other', 'ap1'],
        ['Associated', 'ap1'],
      ]),
    ).toEqual([1, 2])
  })

  it('keeps nothing from level 2 on that tells neither a place nor an address nor the state of an access point', () => {
    const kept = left(
      2,
      actions.map((action) => [action, 'ap1'] as const),
    ).map((i) => actions[i])
    expect(kept).toEqual(
      actions.filter(
        (action) =>
          [...arrivals, ...departures, 'Addressed', 'Status'].includes(action as never) &&
          action !== 'Roamed',
      ),
    )
  })

  it('drops what is about access points themselves from level 3 on, and not what lacks a station', () => {
    expect(
      left(3, [
        ['Status', 'ap1', { station: 'ap1' }],
        ['Associated', 'ap1', { station: null }],
        ['Associated', 'ap1'],
      ]),
    ).toEqual([1, 2])
  })

  it('keeps the first that leaves, and all that do not leave, from level 4 on', () => {
    expect(
      left(4, [
        ['Associated', 'ap1'],
        ['Disconnected', 'ap1'],
        ['Disassociated', 'ap2'],
        ['Associated', 'ap2'],
        ['Deauthenticated', 'ap3'],
        ['Left', 'ap3'],
      ]),
    ).toEqual([0, 1, 3])
  })

  it('keeps one event of each access point from level 5 on, and of those two of three at level 6', () => {
    const events = [1, 1, 2, 3, 2, 4, 5, 6].map((ap) => ['Associated', `ap${ap}`] as const)
    expect(left(5, events)).toEqual([0, 2, 3, 5, 6, 7])
    expect(left(6, events)).toEqual([2, 3, 6, 7])
  })

  it('counts the stations of what it dropped', () => {
    const entries = ['a', 'a', 'b'].map((station, i) => ({
      epoch: 1,
      seq: i + 1,
      time: i,
      event: { type: 'Notice', station },
    }))
    const [digest] = pack(policy, entries, { level: 1 })
    expect('event' in digest! ? undefined : policy.show(digest!).digest).toEqual({
      COUNT: 3,
      DISTINCT: 2,
    })
  })
})
