import { describe, expect, it, test } from 'vitest'
import type { Action } from '../../examples/wifi-locator/events.ts'
import { understand } from '../../examples/wifi-locator/formats/understand.ts'
import { seeded } from '../../index.ts'
import { capturedLines, hasWifiData, renderedFormats } from './wifi-data.ts'

const NOW = Date.UTC(2026, 10, 18, 20)
const REMOTE = '198.51.100.9'
const STATION = '00:00:5e:00:53:01'
const AP = '00:00:5e:00:53:a0'

function eventOf(line: string) {
  return understand(line, REMOTE, NOW)?.event
}

/** What each rendered line says: the action, and the access point. */
const SAYINGS: Readonly<Record<string, readonly (readonly [Action, string | null])[]>> = {
  'cisco-ios-ap assoc': [['Associated', AP]],
  'cisco-ios-ap disassoc': [['Disassociated', AP]],
  'cisco-ios-ap roamed': [['Roamed', AP]],
  'cisco-aireos-wlc user-bound': [['Connected', null]],
  'cisco-c9800 run-state': [['Connected', null]],
  'hostapd auth': [['Authenticated', 'ap1']],
  'hostapd assoc': [['Associated', 'ap1']],
  'hostapd disassoc': [
    ['Disassociated', 'ap1'],
    ['Disassociated', 'ap1'],
    ['Disconnected', 'ap1'],
  ],
  'hostapd deauth': [
    ['Deauthenticated', 'ap1'],
    ['Deauthenticated', 'ap1'],
  ],
  'hostapd connected': [['Connected', 'ap1']],
  'hostapd disconnected': [['Disconnected', 'ap1']],
  'dnsmasq ip-bound': [['Addressed', 'ap1']],
  'unifi assoc': [
    ['Associated', 'ap1'],
    ['Associated', 'ap1'],
  ],
  'unifi join': [['Connected', 'ap1']],
  'unifi tracker': [['Left', 'ap1']],
  'unifi-controller roam': [['Reassociated', '00:00:5e:00:53:a1']],
  'meraki assoc': [['Associated', 'MR18']],
  'meraki disassoc': [['Disassociated', 'MR18']],
  'mikrotik connected': [['Connected', 'wlan0']],
  'mikrotik roamed': [['Reassociated', 'wlan1']],
  'mikrotik disconnected': [['Disconnected', 'wlan0']],
  'asuswrt assoc': [['Associated', REMOTE]],
  'ruijie assoc': [['Associated', AP]],
}

describe.skipIf(!hasWifiData)('the recorded and rendered lines', () => {
  it('are understood, every format of them, and nothing else was expected', () => {
    const said: Record<string, unknown[]> = {}
    for (const { vendor, event, rendered } of renderedFormats) {
      const { action, ap, station, type } = eventOf(rendered) ?? {}
      const key = `${vendor} ${event}`
      said[key] = [...(said[key] ?? []), [action, ap]]
      expect([rendered, type]).toEqual([rendered, 'Info'])
      // Older Meraki firmware has a number in place of the MAC.
      expect([rendered, station]).toEqual([rendered, vendor === 'meraki' ? null : STATION])
    }
    expect(said).toEqual(SAYINGS)
  })

  it('are understood the same when a relay wraps them', () => {
    for (const { rendered } of renderedFormats) {
      const { ap, ...event } = eventOf(rendered)!
      for (const head of [
        '<14>Nov 18 20:00:00 relay root: ',
        '<14>1 2026-11-18T20:00:00Z relay root - - - ',
      ]) {
        const wrapped = eventOf(head + rendered)!
        expect({ ...wrapped, at: event.at, ap }).toEqual({ ...event, ap })
        expect([rendered, wrapped.ap]).toEqual([rendered, ap === REMOTE ? 'relay' : ap])
      }
    }
  })

  it('of a week are all understood, with the station, its address and its name', () => {
    const counts: Record<string, number> = {}
    for (const line of capturedLines) {
      const action = eventOf(line)?.action ?? 'unknown'
      counts[action] = (counts[action] ?? 0) + 1
    }
    expect(counts).toEqual({
      Authenticated: 48,
      Associated: 48,
      Connected: 46,
      Handshake: 55,
      Disassociated: 34,
      Deauthenticated: 35,
      Disconnected: 38,
      Addressed: 77,
      Other: 113,
      Status: 8,
    })
    expect(eventOf(capturedLines.find((line) => line.includes('DHCPACK'))!)).toMatchObject({
      station: '02:00:00:00:00:02',
      ip: '192.168.1.103',
      host: 'host-1',
    })
  })
})

test.each<[string, object]>([
  [
    '<189>45: *Mar  1 00:10:25: %DOT11-6-ASSOC: Interface Dot11Radio1, Station laptop-3 0000.5e00.5301 Reassociated KEY_MGMT[NONE]',
    { action: 'Reassociated', host: 'laptop-3', ap: REMOTE, radio: 'Dot11Radio1', at: null, type: 'Info' },
  ],
  [
    '<189>45: %DOT11-4-MAXRETRIES: Packet to client 0000.5e00.5301 reached max retries, removing the client',
    { action: 'Disconnected', station: STATION, type: 'Warning' },
  ],
  [
    '<14>Nov 17 07:23:58 ap1 hostapd: wlan0: AP-STA-CONNECTED 00:00:5e:00:53:01 auth_alg=sae',
    { action: 'Connected', station: STATION },
  ],
  [
    '<14>Nov 17 07:23:58 ap1 hostapd: wlan0: AP-STA-POSSIBLE-PSK-MISMATCH 00:00:5e:00:53:01',
    { action: 'Other', station: STATION, reason: 'POSSIBLE-PSK-MISMATCH' },
  ],
  [
    '<14>Nov 17 07:23:58 ap1 hostapd: wlan0: interface state UNINITIALIZED->ENABLED',
    { action: 'Status', station: 'ap1' },
  ],
  [
    '<14>Nov 17 07:23:58 ap1 dnsmasq-dhcp[7]: DHCPACK(br-lan) 2001:db8::7 00:00:5e:00:53:01',
    { action: 'Addressed', ip: '2001:db8::7', host: null },
  ],
  [
    '<14>Nov 17 07:23:58 ap1 ("U7LT,00005e0053a0,v3") libubnt[1]: wevent.ubnt_custom_event(): EVENT_STA_LEAVE ath0: 00:00:5e:00:53:01 / 4',
    { action: 'Left', station: STATION, radio: 'ath0' },
  ],
  [
    '<14>Nov 17 07:23:58 ap1 syslog: wevent.ubnt_custom_event(): EVENT_STA_IP ath0: 00:00:5e:00:53:01 / 192.0.2.7',
    { action: 'Addressed', ip: '192.0.2.7' },
  ],
  [
    '{"key":"EVT_WG_Disconnected","guest":"00:00:5E:00:53:01","ap":"00:00:5e:00:53:a0","time":1672437522587}',
    { action: 'Disconnected', station: STATION, ap: AP, at: 1672437522587 },
  ],
  [
    '{"key":"EVT_WU_Connected","user":"00:00:5e:00:53:01","ap":"00:00:5e:00:53:a0","ap_name":"attic","hostname":"phone"}',
    { action: 'Connected', ap: 'attic', host: 'phone' },
  ],
  [
    "<134>1 1380653443.8 MR18 events type=wpa_auth radio='0' client_mac='00:00:5E:00:53:01' aid='7'",
    { action: 'Connected', station: STATION, ap: 'MR18' },
  ],
  [
    '<30>Nov 17 07:23:58 router wireless,info 00:00:5E:00:53:01@wlan1: connected, signal strength -62',
    { action: 'Connected', ap: 'router', radio: 'wlan1' },
  ],
  [
    '<30>Nov 17 07:23:58 controller caps,info 00:00:5E:00:53:01@cap-attic reassociating',
    { action: 'Reassociated', ap: 'cap-attic' },
  ],
  [
    'dhcp,info defconf assigned 192.0.2.7 for 00:00:5E:00:53:01 phone',
    { action: 'Addressed', ip: '192.0.2.7', host: 'phone', type: 'Info' },
  ],
  [
    'Nov 17 07:23:58 syslog: wlceventd_proc_event(526): eth1: Disassoc 00:00:5E:00:53:01, status: 0, reason: Disassociated because sending station is leaving (or has left) BSS (8), rssi:0',
    { action: 'Disassociated', station: STATION, reason: expect.stringContaining('(8)') },
  ],
  [
    'Nov 17 07:23:58 syslog: wlceventd_proc_event(559): eth1: Assoc 00:00:5E:00:53:01, status: Refused (17), rssi:0',
    { action: 'Other', reason: 'Refused (17)' },
  ],
  [
    '%WLAN-6-OUTPUT: STA(0000.5e00.5301) leaves BSSID(0000.5e00.53a0): STA disassoc, reason code(3).',
    { action: 'Left', ap: AP },
  ],
])('%s', (line, expected) => {
  expect(eventOf(line)).toMatchObject(expected)
})

it('finds the first word of a message again that a relay has taken for a program', () => {
  const line =
    '<13>1 2026-11-18T21:19:31Z relay %WLAN-6-OUTPUT - - -  STA(0000.5e00.5301) leaves BSSID(0000.5e00.53a0): x.'
  expect(eventOf(line)).toMatchObject({ action: 'Left', station: STATION })
})

it('does not understand what is about something else', () => {
  for (const line of [
    '',
    'hello',
    '<14>Nov 17 07:23:58 ap1 sshd[1]: Accepted publickey for root',
    '{"key":"EVT_WU_',
  ])
    expect(eventOf(line)).toBeUndefined()
})

const lines = hasWifiData
  ? [...capturedLines, ...renderedFormats.map(({ rendered }) => rendered)]
  : ['<14>Nov 27 07:23:58 ap1 hostapd: wlan0: STA 00:00:5e:00:53:01 IEEE 802.11: associated (aid 2)']

/** Cuts, doubles, swaps, or puts in what does not belong there. */
function mutated(line: string, random: () => number): string {
  const at = Math.floor(random() * (line.length + 1))
  const to = at + Math.floor(random() * 12)
  const strange = [
    '\0',
    '\ud800',
    '<',
    ']'.repeat(50),
    '"',
    '{'.repeat(50),
    ' ',
    '%DOT11-6-',
    '9'.repeat(30),
    '🛜',
    ': ',
  ]
  const other = lines[Math.floor(random() * lines.length)]!
  const ways = [
    () => line.slice(0, at) + line.slice(to),
    () => line.slice(0, at) + strange[Math.floor(random() * strange.length)] + line.slice(at),
    () => line.slice(0, at) + other.slice(at),
    () => line.slice(0, to) + line.slice(at),
    () => line + other.repeat(Math.floor(random() * 3)),
  ]
  const next = ways[Math.floor(random() * ways.length)]!()
  return random() < 0.5 ? mutated(next, random) : next
}

it('survives 100,000 mutated lines, and makes events of them that can be published', () => {
  const random = seeded(7)
  let understood = 0
  for (let i = 0; i < 100_000; i++) {
    const event = eventOf(mutated(lines[i % lines.length]!, random))
    if (event === undefined) continue
    understood++
    if (event.at !== null) expect(Number.isFinite(event.at)).toBe(true)
    for (const value of Object.values(event))
      if (typeof value === 'string' && (value.length > 256 || value === '')) expect.fail(value)
  }
  expect(understood).toBeGreaterThan(20_000)
}, 60_000)

it('takes no longer for lines that are made to take long', () => {
  const startedAt = performance.now()
  for (const part of [
    '9',
    ' ',
    'a ',
    'aa:',
    '00:',
    '1 ',
    '[a="',
    'STA ',
    'Station ',
    '<1>',
    '1234567890: ',
    'x,',
  ])
    for (const head of ['', '<14>1 ', '<14>Nov 27 07:23:58 ', '<14>1 2026-11-18T20:00:00Z a b - - '])
      eventOf(head + part.repeat(8_192 / part.length))
  expect(performance.now() - startedAt).toBeLessThan(2_000)
})
