// Cisco IOS access points: `%DOT11-6-ASSOC: Interface Dot11Radio0, Station 0000.5e00.5301 Associated KEY_MGMT[…]`. A
// name may stand before the MAC.
import { severities } from '../events.ts'
import { MAC } from '../mac.ts'
import { type Said, station } from './format.ts'

const DOT11 = /%DOT11-([0-7])-([A-Z_0-9]+): (.*)$/
const RADIO = /^Interface ([\w/.]+)/
const NAMED = new RegExp(String.raw`[Ss]tation (?:([\w.-]+) {1,2})?${MAC}(?![\w.])`)
const ANY = new RegExp(String.raw`(?:^|[\s(])${MAC}(?![\w.])`)
const NEW_AP = new RegExp(` Roamed to ${MAC}`)
const REASON = /Reason:? ?(.*)$/

export function ciscoIosAp(message: string): Said | undefined {
  const [, severity, event, text = ''] = DOT11.exec(message) ?? []
  if (event === undefined) return undefined
  const [, host, named] = NAMED.exec(text) ?? []
  const mac = named ?? ANY.exec(text)?.[1]
  const said = {
    type: severities[Number(severity)]!,
    station: station(mac),
    host,
    radio: RADIO.exec(text)?.[1],
    reason: REASON.exec(text)?.[1],
  }
  if (mac === undefined) return { ...said, action: 'Status' }
  if (event === 'ASSOC' || event === 'ADD')
    return { ...said, action: text.includes('Reassociated') ? 'Reassociated' : 'Associated' }
  if (event === 'DISASSOC') return { ...said, action: 'Disassociated' }
  if (event === 'ROAMED') return { ...said, action: 'Roamed', ap: station(NEW_AP.exec(text)?.[1]) ?? null }
  // It does not answer any more and is removed.
  if (event === 'MAXRETRIES' && text.includes('removing'))
    return { ...said, action: 'Disconnected', reason: text }
  return { ...said, action: 'Other', reason: said.reason ?? text }
}
