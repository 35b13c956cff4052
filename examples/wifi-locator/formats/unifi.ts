// UniFi, beside what its hostapd says: the events of its drivers, the JSON of its station tracker, and the JSON of the
// controller, which alone knows of roams.
import type { Action } from '../events.ts'
import { MAC, macOf } from '../mac.ts'
import { IP, type Said, station } from './format.ts'

const WEVENT = new RegExp(String.raw`EVENT_STA_(JOIN|LEAVE|IP) (\S+): ${MAC} / (\S+)`)
const ADDRESS = new RegExp(`^${IP}$`)

export function unifi(message: string): Said | undefined {
  return driver(message) ?? inJson(message)
}

function driver(message: string): Said | undefined {
  const [all, event, radio, mac, last = ''] = WEVENT.exec(message) ?? []
  if (all === undefined) return undefined
  const said = { station: station(mac), radio }
  if (event === 'JOIN') return { ...said, action: 'Connected' }
  if (event === 'LEAVE') return { ...said, action: 'Left' }
  return { ...said, action: 'Addressed', ip: ADDRESS.test(last) ? last : undefined }
}

type Fields = Readonly<Record<string, unknown>>

function inJson(message: string): Said | undefined {
  if (!message.includes('"STA_ASSOC_TRACKER"') && !message.includes('"EVT_W')) return undefined
  const fields = jsonIn(message)
  if (fields === undefined) return undefined
  return fields.message_type === 'STA_ASSOC_TRACKER' ? tracked(fields) : ofController(fields)
}

/** From the first brace to the last: other text may stand before and behind. */
function jsonIn(message: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1))
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}

/** `sta_roam` says neither from nor to; the hostapd of both access points does. */
function tracked({ mac, vap, event_type: event }: Fields): Said | undefined {
  const station = macOf(mac)
  if (station === undefined) return undefined
  const action: Action = event === 'sta_leave' ? 'Left' : event === 'association' ? 'Associated' : 'Other'
  return { action, station, radio: text(vap), reason: action === 'Other' ? text(event) : undefined }
}

const KEY = /^EVT_W[UG]_(Connected|Disconnected|Roam|RoamRadio)$/

function ofController(fields: Fields): Said | undefined {
  const [, key] = KEY.exec(text(fields.key) ?? '') ?? []
  const station = macOf(fields.user) ?? macOf(fields.guest)
  if (key === undefined || station === undefined) return undefined
  const at = typeof fields.time === 'number' && Number.isFinite(fields.time) ? fields.time : undefined
  const said = {
    station,
    at,
    host: text(fields.hostname),
    radio: text(fields.radio_to) ?? text(fields.radio),
  }
  const ap = nameOf(fields.ap_name ?? fields.ap)
  if (key === 'Connected') return { ...said, action: 'Connected', ap }
  if (key === 'Disconnected') return { ...said, action: 'Disconnected', ap }
  return { ...said, action: 'Reassociated', ap: key === 'Roam' ? nameOf(fields.ap_to) : ap }
}

function nameOf(value: unknown): string | null {
  return macOf(value) ?? text(value) ?? null
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
