// MikroTik: `wireless,info 00:00:5E:00:53:01@wlan0(example) connected, signal strength -62`. Under CAPsMAN the interface is
// the access point; a router on its own calls its interfaces wlan1 or wifi1, and its lines may have its name. MikroTik names
// no program: a line that has one went through a relay, and the name is the relay's.
import { type Severity, severities } from '../events.ts'
import { MAC } from '../mac.ts'
import type { Header } from '../syslog/header.ts'
import { IP, type Said, station } from './format.ts'

const WIRELESS = new RegExp(String.raw`(?:^|\s)${MAC}@([^\s(:,]+)(?:\([^)]*\))?:? (.+)$`)
const ROAMED = new RegExp(String.raw`^roamed to ${MAC}@([^\s(:,]+)`)
const GONE = /^disconnected(?:, (.*?))?(?:, signal strength .*)?$/
const DHCP = new RegExp(String.raw`(?:^|\s)\S+ assigned ${IP} (?:for|to) ${MAC}(?: (\S+))?`)
const TOPICS = /(?:^|\s)[a-z0-9!]+(?:,[a-z0-9!]+)*,(debug|info|warning|error|critical)(?=[\s,])/
const OWN_INTERFACE = /^(?:wlan|wifi)\d+$/

export function mikrotik(message: string, header: Pick<Header, 'host' | 'program'>): Said | undefined {
  const said = wireless(message, header) ?? dhcp(message)
  const type = severityOf(message)
  return said === undefined || type === undefined ? said : { ...said, type }
}

function wireless(message: string, { host, program }: Pick<Header, 'host' | 'program'>): Said | undefined {
  const [all, mac, name = '', text = ''] = WIRELESS.exec(message) ?? []
  if (all === undefined) return undefined
  const apOf = (radio: string) =>
    host !== null && program === null && OWN_INTERFACE.test(radio) ? host : radio
  const said = { station: station(mac), radio: name, ap: apOf(name) }
  if (/^connected\b/.test(text)) return { ...said, action: 'Connected' }
  if (/^associated\b/.test(text)) return { ...said, action: 'Associated' }
  if (/^reassociat(?:ed|ing)\b/.test(text)) return { ...said, action: 'Reassociated' }
  const [, , to] = ROAMED.exec(text) ?? []
  if (to !== undefined) return { ...said, action: 'Reassociated', radio: to, ap: apOf(to) }
  const gone = GONE.exec(text)
  if (gone !== null) return { ...said, action: 'Disconnected', reason: gone[1] }
  return { ...said, action: 'Other', reason: text }
}

function dhcp(message: string): Said | undefined {
  const [all, ip, mac, host] = DHCP.exec(message) ?? []
  return all === undefined ? undefined : { action: 'Addressed', station: station(mac), ip, host }
}

function severityOf(message: string): Severity | undefined {
  const [, word] = TOPICS.exec(message) ?? []
  return severities.find((severity) => severity.toLowerCase() === word)
}
