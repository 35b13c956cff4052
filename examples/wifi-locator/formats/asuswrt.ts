// ASUS routers: `wlceventd_proc_event(559): eth1: Assoc 00:00:5E:00:53:01, status: Successful (0), rssi:0`.
import type { Action } from '../events.ts'
import { MAC } from '../mac.ts'
import { type Said, station } from './format.ts'

const EVENT = new RegExp(
  String.raw`wlceventd_proc_event\(\d+\): (\S+): (\w+) ${MAC}(?:, status: ([^,]*))?(?:, reason: (.*?))?(?:, rssi.*)?$`,
)

const ACTIONS: Readonly<Record<string, Action>> = {
  Auth: 'Authenticated',
  Assoc: 'Associated',
  ReAssoc: 'Reassociated',
  Disassoc: 'Disassociated',
  Deauth: 'Deauthenticated',
  Deauth_ind: 'Deauthenticated',
}

export function asuswrt(message: string): Said | undefined {
  const [all, radio, word = '', mac, status = '', reason] = EVENT.exec(message) ?? []
  if (all === undefined) return undefined
  const hasFailed = word.endsWith('ssoc') && !word.startsWith('Dis') && !/Successful|^0?$/.test(status)
  const known = Object.hasOwn(ACTIONS, word) ? ACTIONS[word]! : 'Other'
  return {
    action: hasFailed ? 'Other' : known,
    station: station(mac),
    radio,
    reason: hasFailed ? status : reason,
  }
}
