// From a line to an event: its header, and the first format that knows its message.
import type { SyslogEvent } from '../events.ts'
import { type Header, headerOf } from '../syslog/header.ts'
import { asuswrt } from './asuswrt.ts'
import { ciscoController } from './cisco-controller.ts'
import { ciscoIosAp } from './cisco-ios-ap.ts'
import { dnsmasq } from './dnsmasq.ts'
import type { Format, Said } from './format.ts'
import { hostapd } from './hostapd.ts'
import { meraki } from './meraki.ts'
import { mikrotik } from './mikrotik.ts'
import { ruijie } from './ruijie.ts'
import { unifi } from './unifi.ts'

/** By name, the frequent ones first. A new vendor is a file beside these and a line here. */
export const formats: Readonly<Record<string, Format>> = {
  hostapd,
  dnsmasq,
  'cisco-ios-ap': ciscoIosAp,
  unifi,
  mikrotik,
  'cisco-controller': ciscoController,
  meraki,
  asuswrt,
  ruijie,
}

/** Characters of a value of an event; what is longer is cut. */
const MAX_VALUE_LENGTH = 256

export interface Understood {
  readonly format: string
  readonly event: SyslogEvent
  /** Meraki's number of the association. */
  readonly aid: string | undefined
}

/** `remote` is the address that the line came from: the access point's name when the line has none. */
export function understand(line: string, remote: string, now: number): Understood | undefined {
  const header = headerOf(line, now)
  const { program, message } = header
  const found = saidBy(message, header)
  if (found !== undefined || program === null) return found && understoodAs(found, header, remote)
  // A relay takes the first word for a program, also where it is part of the message, as `%WLAN-6-OUTPUT:` is.
  const whole = saidBy(`${program}: ${message}`, header)
  return whole && understoodAs(whole, header, remote)
}

function saidBy(message: string, header: Header): [format: string, said: Said] | undefined {
  for (const [format, says] of Object.entries(formats)) {
    const said = says(message, header)
    if (said !== undefined) return [format, said]
  }
  return undefined
}

function understoodAs([format, said]: [string, Said], header: Header, remote: string): Understood {
  return { format, event: eventOf(said, header, remote), aid: said.aid }
}

function eventOf(said: Said, header: Header, remote: string): SyslogEvent {
  const ap = said.ap === undefined ? (header.host ?? header.device ?? remote) : said.ap
  return {
    // A line without a severity tells of something that is no trouble.
    type: said.type ?? header.type ?? 'Info',
    action: said.action,
    station: said.station ?? (said.action === 'Status' ? cut(ap) : null),
    ap: cut(ap),
    radio: cut(said.radio),
    ip: cut(said.ip),
    reason: cut(said.reason),
    host: cut(said.host),
    at: said.at ?? header.at ?? null,
  }
}

function cut(value: string | null | undefined): string | null {
  if (value === null || value === undefined || value === '') return null
  return value.length <= MAX_VALUE_LENGTH ? value : value.slice(0, MAX_VALUE_LENGTH).toWellFormed()
}
