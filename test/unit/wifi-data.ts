// Recorded and rendered lines of access points, where they are: beside the checkout.
import { existsSync, readFileSync } from 'node:fs'

const folder = new URL('../../../shared/data/', import.meta.url)
const CAPTURED = new URL('wifi-openwrt/openwrt-hostapd-dnsmasq.log', folder)
const FORMATS = new URL('wifi-syslog-formats/formats.json', folder)

export const hasWifiData = existsSync(CAPTURED) && existsSync(FORMATS)
if (!hasWifiData) console.warn('skipped what needs ../shared/data: it is not there')

/** Where the captured log is, for programs that send it. */
export const capturedFile = CAPTURED

export interface RenderedFormat {
  readonly vendor: string
  readonly event: string
  readonly rendered: string
}

/** 502 lines of one OpenWrt access point. */
export const capturedLines: readonly string[] = hasWifiData
  ? readFileSync(CAPTURED, 'utf8').trim().split('\n')
  : []

export const renderedFormats: readonly RenderedFormat[] = hasWifiData
  ? (JSON.parse(readFileSync(FORMATS, 'utf8')) as RenderedFormat[])
  : []

export interface Ending {
  readonly isThere: boolean
  readonly ip: string | undefined
}

/** Where the captured log leaves each station: whether its last message of coming or going is one of coming. */
export function endingsOf(lines: readonly string[]): Map<string, Ending> {
  const endings = new Map<string, Ending>()
  for (const line of lines) {
    const mac = /(?:STA|AP-STA-(?:DIS)?CONNECTED|DHCPACK\(br-lan\) \S+) ((?:\w\w:){5}\w\w)/.exec(line)?.[1]
    if (mac === undefined) continue
    const before = endings.get(mac) ?? { isThere: false, ip: undefined }
    const comes = / (?:associated|AP-STA-CONNECTED)/.test(line)
    const goes = / (?:disassociated|deauthenticated|disconnected|AP-STA-DISCONNECTED)/.test(line)
    const ip = /DHCPACK\(br-lan\) (\S+)/.exec(line)?.[1] ?? before.ip
    endings.set(mac, { isThere: comes || (before.isThere && !goes), ip })
  }
  return endings
}
