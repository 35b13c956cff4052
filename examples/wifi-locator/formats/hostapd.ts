// hostapd, which OpenWrt, UniFi and most others run: `wlan0: STA 00:00:5e:00:53:01 IEEE 802.11: associated (aid 2)`.
import type { Action } from '../events.ts'
import { MAC } from '../mac.ts'
import { type Said, station } from './format.ts'

const STA = new RegExp(String.raw`(?:^|\s)(\S+): STA ${MAC} (IEEE 802\.11|WPA|[A-Z][\w. ]{1,20}): (.+)$`)
const AP_STA = new RegExp(String.raw`(?:^|\s)(\S+): AP-STA-(CONNECTED|DISCONNECTED|[A-Z-]+) ${MAC}`)
const OWN =
  /(?:^|\s)(?:(\S+): (?:interface state \S|AP-(?:ENABLED|DISABLED|CSA-FINISHED)|ACS-|DFS-)|Using interface (\S+) with hwaddr|Configuration file: )/
const MANAGEMENT = /^(authenticated|associated|disassociated|deauthenticated|disconnected)\b(?: due to (.*))?/

const MANAGEMENT_ACTIONS: Readonly<Record<string, Action>> = {
  authenticated: 'Authenticated',
  associated: 'Associated',
  disassociated: 'Disassociated',
  deauthenticated: 'Deauthenticated',
  disconnected: 'Disconnected',
}

export function hostapd(message: string): Said | undefined {
  return ofStation(message) ?? ofAccessPoint(message) ?? ofItself(message)
}

function ofStation(message: string): Said | undefined {
  const [all, radio, mac, layer, text = ''] = STA.exec(message) ?? []
  if (all === undefined) return undefined
  const [, word = '', reason] = layer === 'IEEE 802.11' ? (MANAGEMENT.exec(text) ?? []) : []
  const isHandshake = layer === 'WPA' && text.includes('key handshake completed')
  const action = isHandshake ? 'Handshake' : (MANAGEMENT_ACTIONS[word] ?? 'Other')
  return { action, station: station(mac), radio, reason: action === 'Other' ? text : reason }
}

function ofAccessPoint(message: string): Said | undefined {
  const [all, radio, event, mac] = AP_STA.exec(message) ?? []
  if (all === undefined) return undefined
  if (event === 'CONNECTED') return { action: 'Connected', station: station(mac), radio }
  if (event === 'DISCONNECTED') return { action: 'Disconnected', station: station(mac), radio }
  return { action: 'Other', station: station(mac), radio, reason: event }
}

function ofItself(message: string): Said | undefined {
  const [all, radio, other] = OWN.exec(message) ?? []
  if (all === undefined) return undefined
  return { action: 'Status', radio: radio ?? other }
}
