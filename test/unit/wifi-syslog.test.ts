import { describe, expect, it, test } from 'vitest'
import { Framing, framingLimits } from '../../examples/wifi-locator/syslog/framing.ts'
import { headerOf } from '../../examples/wifi-locator/syslog/header.ts'

const NOW = Date.UTC(2026, 10, 18, 20)
const local = (year: number, month: number, day: number, hours: number, minutes: number, seconds: number) =>
  new Date(year, month, day, hours, minutes, seconds).getTime()

describe('a header', () => {
  test.each([
    [
      'RFC 5424',
      '<165>1 2003-10-11T22:14:15.003Z ap1 hostapd 12 ID47 [a@1 b="c \\"d] e"][f] wlan0: hello',
      {
        type: 'Notice',
        at: Date.UTC(2003, 9, 11, 22, 14, 15, 3),
        host: 'ap1',
        program: 'hostapd',
        message: 'wlan0: hello',
      },
    ],
    [
      'RFC 5424 without anything',
      '<14>1 - - - - - - hello',
      { type: 'Info', at: undefined, host: null, program: null, message: 'hello' },
    ],
    [
      'RFC 3164',
      '<14>Nov  7 07:23:58 ap1 hostapd[12]: wlan0: hello',
      {
        type: 'Info',
        at: local(2026, 10, 7, 7, 23, 58),
        host: 'ap1',
        program: 'hostapd',
        message: 'wlan0: hello',
      },
    ],
    [
      'RFC 3164 without a host',
      '<30>Nov  7 07:23:58 hostapd: wlan0: hello',
      { at: local(2026, 10, 7, 7, 23, 58), host: null, program: 'hostapd', message: 'wlan0: hello' },
    ],
    ['only a priority', '<11>hello', { type: 'Error', at: undefined, message: 'hello' }],
    ['nothing', 'wireless,info hello', { type: null, at: undefined, message: 'wireless,info hello' }],
    ['a priority that there is not', '<999>hello', { type: null, message: '<999>hello' }],
    [
      "OpenWrt's own log",
      'Sun Jul 16 12:43:15 2023 daemon.warn hostapd: wlan0: hello',
      {
        type: 'Warning',
        at: local(2023, 6, 16, 12, 43, 15),
        host: null,
        program: 'hostapd',
        message: 'wlan0: hello',
      },
    ],
    [
      'a time of rsyslog',
      '<14>2026-11-07T07:23:58.5+01:00 ap1 hostapd: hello',
      { at: Date.UTC(2026, 10, 7, 6, 23, 58, 500), host: 'ap1', program: 'hostapd', message: 'hello' },
    ],
    [
      "Cisco's, with a year and a zone",
      '<190>201477: Jan 4 2026 17:25:42.866 UTC: %X-6-Y: hello',
      { at: Date.UTC(2026, 0, 4, 17, 25, 42, 866), host: null, message: '%X-6-Y: hello' },
    ],
    [
      "Cisco's, not set",
      '<14>13: *Mar  1 00:00:25.871: %X-6-Y: hello',
      { at: null, message: '%X-6-Y: hello' },
    ],
    [
      "Cisco's, not in step",
      '<14>13: .Nov  7 00:00:25: %X-6-Y: hello',
      { at: null, message: '%X-6-Y: hello' },
    ],
    ["Cisco's, since it runs", '<14>13: 1w2d: %X-6-Y: hello', { at: null, message: '%X-6-Y: hello' }],
    [
      "Cisco's, with its name",
      '<14>13: ap-7: Nov  7 00:00:25: %X-6-Y: hello',
      { at: local(2026, 10, 7, 0, 0, 25), host: 'ap-7', message: '%X-6-Y: hello' },
    ],
    [
      "UniFi's device",
      '<14>Nov  7 07:23:58 ap1 ("U7LT,00005e0053a0,v3.7.17.5220") hostapd: ath0: hello',
      { host: 'ap1', device: '00:00:5e:00:53:a0', program: 'hostapd', message: 'ath0: hello' },
    ],
    [
      "UniFi's device without a host",
      '<14>Nov  7 07:23:58 00005e0053a0,U6-Lite-6.0.10+13599: hostapd[7]: rai0: hello',
      { host: null, device: '00:00:5e:00:53:a0', program: 'hostapd', message: 'rai0: hello' },
    ],
    [
      'one that was relayed: the inner one is nearer to the truth',
      '<13>1 2026-11-18T20:00:00Z relay root - - [timeQuality isSynced="0"] <30>Nov  7 07:23:58 ap1 hostapd: hello',
      { type: 'Info', at: local(2026, 10, 7, 7, 23, 58), host: 'ap1', program: 'hostapd', message: 'hello' },
    ],
    [
      'one that was relayed and lacks a host',
      '<13>Nov 18 20:00:00 relay root: Sun Jul 16 12:43:15 2023 daemon.info hostapd: hello',
      {
        type: 'Info',
        at: local(2023, 6, 16, 12, 43, 15),
        host: 'relay',
        program: 'hostapd',
        message: 'hello',
      },
    ],
  ])('is read: %s', (_, line, expected) => {
    expect(headerOf(line, NOW)).toMatchObject(expected)
  })

  it('has the latest year that is not ahead of us by more than a week', () => {
    const at = (line: string, now: number) => new Date(headerOf(line, now).at!).getFullYear()
    expect(at('<14>Dec 31 23:59:59 ap1 x: y', Date.UTC(2026, 0, 1, 12))).toBe(2025)
    expect(at('<14>Jan  1 00:00:01 ap1 x: y', local(2025, 11, 31, 23, 0, 0))).toBe(2026)
    expect(at('<14>Nov 27 00:00:01 ap1 x: y', NOW)).toBe(2025)
  })
})

/** The lines that come out, and how many were cut, when the bytes come in pieces of so many. */
function framed(text: string | Buffer, pieceBytes: number) {
  const lines: string[] = []
  let cuts = 0
  let isSyslog = true
  const framing = new Framing({ line: (line) => lines.push(line), cut: () => cuts++ })
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length && isSyslog; i += pieceBytes)
    isSyslog = framing.push(bytes.subarray(i, i + pieceBytes))
  framing.end()
  return { lines, cuts, isSyslog }
}

describe('framing', () => {
  const counted = (line: string) => `${Buffer.byteLength(line)} ${line}`
  const two = '<14>zwei\nin einer ü'

  test.each([1, 2, 3, 7, 1_000])(
    'tells lines apart in pieces of %d bytes, counted or ended',
    (pieceBytes) => {
      const text = `<14>one\n${counted(two)}\r\n${counted('<14>three')}13319: AP: four\0<14>five\n\nsix\n<14>seven`
      expect(framed(text, pieceBytes)).toEqual({
        lines: ['<14>one', two, '<14>three', '13319: AP: four', '<14>five', 'six', '<14>seven'],
        cuts: 0,
        isSyslog: true,
      })
    },
  )

  test.each([1_000, 100_000])('cuts lines that are too long, and goes on behind them', (pieceBytes) => {
    const long = `<14>${'x'.repeat(framingLimits.lineBytes * 3)}`
    const { lines, cuts } = framed(`${long}\n<14>two\n${counted(long)}<14>four\n`, pieceBytes)
    expect(lines.map(({ length }) => length)).toEqual([
      framingLimits.lineBytes,
      7,
      framingLimits.lineBytes,
      8,
    ])
    expect(cuts).toBe(2)
  })

  it('holds no more than a line of what has no end', () => {
    const lines: string[] = []
    const framing = new Framing({ line: (line) => lines.push(line), cut: () => {} })
    for (let i = 0; i < 1_000; i++) framing.push(Buffer.alloc(10_000, 'x'))
    expect(lines).toHaveLength(1)
    framing.push(Buffer.from('\n<14>two\n'))
    expect(lines.at(-1)).toBe('<14>two')
  })

  test.each([1, 5, 1_000])('takes counted lines without a priority, in pieces of %d bytes', (pieceBytes) => {
    const [first, second, third] = ['*Apr 20 23:00:25.871: %X-6-Y: one', 'wireless,info two', 'three']
    const text = `${counted(first!)}${counted(second!)}${counted(third!)}${counted('<14>four')}`
    expect(framed(text, pieceBytes).lines).toEqual([first, second, third, '<14>four'])
  })

  it('takes a number at the beginning of a line for what it is', () => {
    expect(framed('25 hello\n2026 Nov 7 hello\n25 hello again', 3).lines).toEqual([
      '25 hello',
      '2026 Nov 7 hello',
      '25 hello again',
    ])
  })

  it('gives up on a count that no line has', () => {
    expect(framed('99999 <14>x', 100).isSyslog).toBe(false)
  })
})
