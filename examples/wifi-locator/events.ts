// What the parts of the locator say to each other over the overlay (PACK section 7, Figure 10): the source publishes what
// access points log, the locator publishes where stations are.
import type { Declaration, EventOf } from '../../index.ts'

/** The names of the two senders. */
export const SYSLOG = 'syslog'
export const LOCATIONS = 'locations'

/** Severities of syslog, from 0 on. */
export const severities = [
  'Emergency',
  'Alert',
  'Critical',
  'Error',
  'Warning',
  'Notice',
  'Info',
  'Debug',
] as const
export type Severity = (typeof severities)[number]

/** The station is now at the access point that the event names. */
export const arrivals = ['Associated', 'Reassociated', 'Connected', 'Roamed'] as const
/** The station has left: the paper's four messages. */
export const departures = ['Disassociated', 'Deauthenticated', 'Disconnected', 'Left'] as const
/**
 * Everything that can happen. `Roamed` is what the access point that lost the station says, which names the new one; that
 * one says `Associated` itself. What only a controller knows is `Reassociated`: nobody else says it. `Addressed` binds an
 * IP address, `Handshake` says that keys were exchanged, `Status` is about the access point itself, and `Other` is whatever
 * else was understood.
 */
export const actions = [
  'Authenticated',
  ...arrivals,
  ...departures,
  'Addressed',
  'Handshake',
  'Status',
  'Other',
] as const
export type Action = (typeof actions)[number]

/** Each may be missing, and is null then. */
export const syslogAttributes = {
  /** The severity, as a word. */
  type: 'string',
  action: 'string',
  /** The station's MAC, lower case with colons; the access point's own name in lines about itself. */
  station: 'string',
  /** The name of the access point; its MAC or address where nothing else is known. Null when a line does not tell it. */
  ap: 'string',
  radio: 'string',
  ip: 'string',
  reason: 'string',
  /** The station's host name. */
  host: 'string',
  /** Milliseconds, from the line's own clock; null when that is not set, or the line has none. */
  at: 'number',
} as const satisfies Declaration

export interface SyslogEvent extends Required<EventOf<typeof syslogAttributes>> {
  readonly type: Severity
  readonly action: Action
}

export const locationAttributes = {
  station: 'string',
  /** Where it is; for 'left', where it was. */
  ap: 'string',
  building: 'string',
  ip: 'string',
  /**
   * `joined`, `moved` or `left`. A station that is where it was is told again as `joined` when its address becomes known
   * or changes.
   */
  action: 'string',
  /** Milliseconds: when the line says that it happened, or when it was received if its clock is not set. */
  at: 'number',
} as const satisfies Declaration

/** A location as it is published. A missing building or address is null. */
export interface Location {
  readonly station: string
  readonly ap: string
  readonly building: string | null
  readonly ip: string | null
  readonly action: 'joined' | 'moved' | 'left'
  readonly at: number
}

/** A location as it was delivered, where what is missing is undefined. */
export function locationOf(event: EventOf<typeof locationAttributes>): Location {
  const { station, ap, building, ip, action, at } = event
  return {
    station: station ?? '',
    ap: ap ?? '',
    building: building ?? null,
    ip: ip ?? null,
    action: (action ?? 'joined') as Location['action'],
    at: at ?? 0,
  }
}
