import { describe, expect, it, test } from 'vitest'
import { AccessPoints } from '../../examples/wifi-locator/access-points.ts'
import { type Fetch, StationLists, stationListLimits } from '../../examples/wifi-locator/station-lists.ts'

const STATION = '00:00:5e:00:53:01'
const aps = new AccessPoints({
  ap1: { building: 'Library', http: 'http://192.0.2.1/cgi-bin/', mac: '00-00-5E-00-53-A0' },
  ap2: { building: 'Library' },
})

/** Access points that answer this, a clock that stands still unless it is told, and what was asked. */
function asked(answer: () => Response | Promise<Response>) {
  const urls: string[] = []
  let now = 1_000_000
  const fetch: Fetch = async (url) => {
    urls.push(url)
    return await answer()
  }
  const lists = new StationLists(aps, fetch, () => now)
  const wait = (ms: number) => {
    now += ms
  }
  return { lists, urls, wait }
}

const json = (value: unknown) => () => new Response(JSON.stringify(value))

describe('the lists of access points', () => {
  it('are asked for at most once in 30 seconds, and kept for that long', async () => {
    const { lists, urls, wait } = asked(
      json([{ mac: STATION.toUpperCase(), ip: '192.0.2.7', host: 'phone' }]),
    )
    const first = await lists.ask('ap1')
    expect(first).toMatchObject({ isNew: true, stations: [{ mac: STATION, ip: '192.0.2.7', host: 'phone' }] })
    wait(stationListLimits.intervalMs - 1)
    expect(await lists.ask('ap1')).toEqual({ ...first, isNew: false })
    wait(1)
    expect((await lists.ask('ap1'))?.isNew).toBe(true)
    expect(urls).toEqual(['http://192.0.2.1/cgi-bin/stations', 'http://192.0.2.1/cgi-bin/stations'])
  })

  it('are not asked for where nobody knows how', async () => {
    const { lists, urls } = asked(json([]))
    expect([lists.canAsk('ap1'), lists.canAsk('ap2'), lists.canAsk('ap3')]).toEqual([true, false, false])
    expect(await lists.ask('ap2')).toBeUndefined()
    expect(urls).toEqual([])
  })

  it('pass over what is no station', async () => {
    const { lists } = asked(json([null, 5, {}, { mac: 'x' }, { mac: STATION, ip: 7, host: 'x'.repeat(300) }]))
    expect((await lists.ask('ap1'))?.stations).toEqual([{ mac: STATION, ip: null, host: null }])
  })

  test.each<[string, () => Response | Promise<Response>]>([
    ['that are no JSON', () => new Response('<html>')],
    ['that are no list', json({ stations: [] })],
    ['of a status that is none of success', () => new Response('[]', { status: 503 })],
    ['that do not end', () => new Response(`[${' '.repeat(stationListLimits.answerBytes)}]`)],
    ['that do not come', () => Promise.reject(new TypeError('fetch failed'))],
  ])('fail with answers %s, and are not asked for again at once', async (_, answer) => {
    const { lists, urls } = asked(answer)
    expect(await lists.ask('ap1')).toBeUndefined()
    expect(await lists.ask('ap1')).toMatchObject({ isNew: false, stations: [] })
    expect([urls.length, lists.counts.failed]).toEqual([1, 1])
    expect(lists.counts.lastFailure).toMatch(/^http:\/\/192.0.2.1\/cgi-bin\/stations: ./)
  })
})

it('an access point is known by its name and its MAC', () => {
  expect(['ap1', '00:00:5e:00:53:a0', 'ap9'].map((ap) => aps.nameOf(ap))).toEqual(['ap1', 'ap1', 'ap9'])
})
