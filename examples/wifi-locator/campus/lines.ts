// The lines that access points of the generated campus write: Cisco IOS as in the paper, and hostapd with dnsmasq.
import type { AccessPoint } from './ground.ts'

/** Who a line is about. */
export interface Subject {
  readonly mac: string
  readonly ip: string
  /** As the device calls itself. */
  readonly host: string
}

/** What happened at an access point. */
export type Happening =
  | {
      readonly kind: 'authenticated' | 'associated' | 'reassociated' | 'addressed' | 'retries'
      readonly of: Subject
    }
  | { readonly kind: 'roamed'; readonly of: Subject; readonly to: AccessPoint }
  | { readonly kind: 'left'; readonly of: Subject; readonly why: 'asked' | 'idle' | 'weak' }
  | { readonly kind: 'radio'; readonly frequency: number }
  | { readonly kind: 'configured' }

/** Facility and severity: local7 as IOS has it, and daemon. */
const LOCAL7 = 23 * 8
const DAEMON = 3 * 8
const WARNING = 4
const NOTICE = 5
const INFO = 6

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** The lines of what happened, mostly one; none where this system keeps silent. */
export function linesOf(ap: AccessPoint, happening: Happening, at: number, number: number): string[] {
  return ap.system === 'ios' ? iosLines(ap, happening, at, number) : hostapdLines(ap, happening, at)
}

function iosLines(ap: AccessPoint, happening: Happening, at: number, number: number): string[] {
  const told = (severity: number, what: string) => [
    `<${LOCAL7 + severity}>${stamp(at)} ${ap.name} ${number}: ${stamp(at)}.${millis(at)}: %${what}`,
  ]
  const radio = radioOf(happening)
  switch (happening.kind) {
    case 'associated':
    case 'reassociated': {
      const { host, mac } = happening.of
      const how = happening.kind === 'associated' ? 'Associated' : 'Reassociated'
      return told(
        INFO,
        `DOT11-6-ASSOC: Interface Dot11Radio${radio}, Station ${host} ${dotted(mac)} ${how} KEY_MGMT[WPAv2]`,
      )
    }
    case 'roamed':
      return told(
        INFO,
        `DOT11-6-ROAMED: Station ${dotted(happening.of.mac)} Roamed to ${dotted(happening.to.mac)}`,
      )
    case 'left':
      return told(
        INFO,
        `DOT11-6-DISASSOC: Interface Dot11Radio${radio}, Deauthenticating Station ${dotted(happening.of.mac)} Reason: ${IOS_REASONS[happening.why]}`,
      )
    case 'retries':
      return told(
        WARNING,
        `DOT11-4-MAXRETRIES: Packet to client ${dotted(happening.of.mac)} reached max retries, removing the client`,
      )
    case 'radio':
      return told(
        INFO,
        `DOT11-6-FREQ_USED: Interface Dot11Radio${radio}, frequency ${happening.frequency} selected`,
      )
    case 'configured':
      return told(NOTICE, 'SYS-5-CONFIG_I: Configured from console by vty0')
    // IOS says nothing of the first step, and has no server of addresses.
    case 'authenticated':
    case 'addressed':
      return []
  }
}

const IOS_REASONS = {
  asked: 'Sending station has left the BSS',
  idle: 'Disassociated due to inactivity',
  weak: 'Previous authentication no longer valid',
} as const

function hostapdLines(ap: AccessPoint, happening: Happening, at: number): string[] {
  const told = (severity: number, program: string, what: string) =>
    `<${DAEMON + severity}>${stamp(at)} ${ap.name} ${program}: ${what}`
  const radio = `wlan${radioOf(happening)}`
  const ieee = (what: string, mac: string) =>
    told(INFO, 'hostapd', `${radio}: STA ${mac} IEEE 802.11: ${what}`)
  const notice = (what: string) => told(NOTICE, 'hostapd', `${radio}: ${what}`)
  switch (happening.kind) {
    case 'authenticated':
      return [ieee('authenticated', happening.of.mac)]
    case 'associated':
    case 'reassociated':
      return [
        ieee(`associated (aid ${1 + (hash(happening.of.mac) % 60)})`, happening.of.mac),
        notice(`AP-STA-CONNECTED ${happening.of.mac}`),
        told(
          INFO,
          'hostapd',
          `${radio}: STA ${happening.of.mac} WPA: pairwise key handshake completed (RSN)`,
        ),
      ]
    case 'left':
      return [
        ieee(HOSTAPD_REASONS[happening.why], happening.of.mac),
        notice(`AP-STA-DISCONNECTED ${happening.of.mac}`),
      ]
    case 'addressed': {
      const { ip, mac, host } = happening.of
      return [told(INFO, 'dnsmasq-dhcp[1441]', `DHCPACK(br-lan) ${ip} ${mac} ${host}`)]
    }
    case 'radio':
      return [notice('AP-ENABLED')]
    case 'retries':
      return [ieee('did not acknowledge authentication response', happening.of.mac)]
    // hostapd does not know where a station went, and is not configured over the wire here.
    case 'roamed':
    case 'configured':
      return []
  }
}

const HOSTAPD_REASONS = {
  asked: 'disassociated',
  idle: 'disassociated due to inactivity',
  weak: 'disconnected due to excessive missing ACKs',
} as const

/** A station keeps to one band. */
function radioOf(happening: Happening): number {
  return 'of' in happening ? hash(happening.of.mac) % 2 : 0
}

function hash(text: string): number {
  let sum = 0
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) >>> 0
  return sum
}

/** As IOS writes an address: 0000.5e00.5301. */
function dotted(mac: string): string {
  return mac.replaceAll(':', '').replace(/(.{4})(.{4})(.{4})/, '$1.$2.$3')
}

/** RFC 3164, in the time of the place. */
function stamp(at: number): string {
  const date = new Date(at)
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, '0'))
  return `${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2, ' ')} ${time.join(':')}`
}

function millis(at: number): string {
  return String(Math.floor(at) % 1_000).padStart(3, '0')
}
