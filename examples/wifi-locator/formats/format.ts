// What a format is: it looks at a message, and says what happened, or that the message is none of its own.
import type { Action, Severity } from '../events.ts'
import { macOf } from '../mac.ts'
import type { Header } from '../syslog/header.ts'

/** What a message says. What it does not say comes from the header of the line. */
export interface Said {
  readonly action: Action
  readonly station?: string | undefined
  /** The access point, where the message names it; null where whoever wrote it knows no access points. */
  readonly ap?: string | null | undefined
  readonly radio?: string | undefined
  readonly ip?: string | undefined
  readonly reason?: string | undefined
  readonly host?: string | undefined
  readonly type?: Severity | undefined
  readonly at?: number | undefined
  /** Meraki's number of the association, by which older firmware knows a station. */
  readonly aid?: string | undefined
}

export type Format = (message: string, header: Header) => Said | undefined

export const IP = String.raw`((?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)`

/** A station's MAC that a pattern has matched. */
export function station(matched: string | undefined): string | undefined {
  return macOf(matched)
}
