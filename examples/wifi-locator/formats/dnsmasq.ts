// dnsmasq, which gives out addresses: `DHCPACK(br-lan) 192.0.2.7 00:00:5e:00:53:01 host-1`, where the name may be missing.
// Where it runs is not where the station is, unless both are the same box; the locator takes only the address from it.
import { MAC } from '../mac.ts'
import { IP, type Said, station } from './format.ts'

const DHCP = new RegExp(
  String.raw`(?:^|\s)DHCP(ACK|REQUEST|DISCOVER|OFFER|NAK|INFORM|RELEASE|DECLINE)\([^)\s]*\) (?:${IP} )?${MAC}(?: ([^\s]+))?`,
)
const OWN = /^(?:DHCP, |read \/|started, |cleared cache|using nameserver|reading \/|using only locally-known)/

export function dnsmasq(message: string, { program }: { program: string | null }): Said | undefined {
  const [all, kind, ip, mac, host] = DHCP.exec(message) ?? []
  if (all !== undefined) {
    if (kind === 'ACK') return { action: 'Addressed', station: station(mac), ip, host }
    return { action: 'Other', station: station(mac), reason: `DHCP${kind}` }
  }
  return program?.startsWith('dnsmasq') && OWN.test(message) ? { action: 'Status' } : undefined
}
