// Ruijie: `%WLAN-6-OUTPUT: STA(0000.5e00.5301) actives in BSSID(0000.5e00.53a0): Assoc succeed.`
import { severities } from '../events.ts'
import { MAC } from '../mac.ts'
import { type Said, station } from './format.ts'

const EVENT = new RegExp(
  String.raw`%WLAN-([0-7])-\w+: ?STA\(${MAC}\) (actives in|leaves) BSSID\(${MAC}\): ?(.*?)\.?$`,
)

export function ruijie(message: string): Said | undefined {
  const [all, severity, mac, verb, bssid, text = ''] = EVENT.exec(message) ?? []
  if (all === undefined) return undefined
  const said = { type: severities[Number(severity)]!, station: station(mac), ap: station(bssid) }
  if (verb === 'leaves') return { ...said, action: 'Left', reason: text }
  return text.includes('succeed')
    ? { ...said, action: 'Associated' }
    : { ...said, action: 'Other', reason: text }
}
