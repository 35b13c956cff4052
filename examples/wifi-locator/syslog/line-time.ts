// The time at the head of a line, in the many ways that devices write it. A device that says that its clock is not set,
// or not in step with others, has no time.

/** What was found: how many characters it takes, and the time in milliseconds, null when the clock is not to be trusted. */
export interface LineTime {
  readonly length: number
  readonly at: number | null
  /** A facility and severity that stand behind the time: `daemon.info`. */
  readonly severity?: string
  /** Whether the message follows at once, without a host and a program: Cisco ends its time with a colon. */
  readonly isLast: boolean
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const MONTH = `(${MONTHS.join('|')})`
const CLOCK = String.raw`(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?`

const ISO = /^(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)(: |:$| |$)/
/** OpenWrt's logread, and ctime: `Sun Jul 16 12:43:15 2023 daemon.info `. */
const CTIME = new RegExp(
  String.raw`^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) ${MONTH} {1,2}(\d{1,2}) ${CLOCK} (\d{4})(?: +[a-z]+\d?\.([a-z]+))?(?: |$)`,
)
/** RFC 3164, with Cisco's marks, and a year and a zone where they may stand. */
const BSD = new RegExp(
  String.raw`^([*.])?(?:(\d{4}) )?${MONTH} {1,2}(\d{1,2})(?: (\d{4}))? ${CLOCK}(?: ([A-Z]{3,5})(?=:))?(: |:$| |$)`,
)
/** How long the device runs: `1w2d: ` or `00:01:02: `. */
const UPTIME = /^[*.]?(?:(?:\d{1,4}[ywdh]){1,2}|\d{1,3}:\d{2}:\d{2}(?:\.\d+)?): (?=%)/

/** The time at the head of the text, which must begin with it; undefined when there is none. `now` finds the year. */
export function lineTimeOf(text: string, now: number): LineTime | undefined {
  return isoTime(text) ?? ctime(text, now) ?? bsdTime(text, now) ?? uptime(text)
}

function isoTime(text: string): LineTime | undefined {
  const [all, time, end] = ISO.exec(text) ?? []
  if (all === undefined) return undefined
  return { length: all.length, at: finite(Date.parse(time!)), isLast: end!.startsWith(':') }
}

function ctime(text: string, now: number): LineTime | undefined {
  const found = CTIME.exec(text)
  if (found === null) return undefined
  const [all, month, day, hours, minutes, seconds, fraction, year, severity] = found
  const at = timeOf({ year, month, day, hours, minutes, seconds, fraction, zone: undefined }, now)
  return { length: all.length, at, isLast: false, ...(severity === undefined ? {} : { severity }) }
}

function bsdTime(text: string, now: number): LineTime | undefined {
  const found = BSD.exec(text)
  if (found === null) return undefined
  const [all, mark, before, month, day, after, hours, minutes, seconds, fraction, zone, end] = found
  const parts = { year: before ?? after, month, day, hours, minutes, seconds, fraction, zone }
  const at = mark === undefined ? timeOf(parts, now) : null
  return { length: all.length, at, isLast: end!.startsWith(':') }
}

function uptime(text: string): LineTime | undefined {
  const [all] = UPTIME.exec(text) ?? []
  return all === undefined ? undefined : { length: all.length, at: null, isLast: true }
}

interface Parts {
  readonly year: string | undefined
  readonly month: string | undefined
  readonly day: string | undefined
  readonly hours: string | undefined
  readonly minutes: string | undefined
  readonly seconds: string | undefined
  readonly fraction: string | undefined
  readonly zone: string | undefined
}

/** How far a clock may be ahead of ours before a time without a year is taken for one of last year. */
const MAX_AHEAD_MS = 7 * 86_400_000

/** Zones have no unique letters: all but UTC are taken for this machine's. */
function timeOf({ year, zone, fraction = '0', ...parts }: Parts, now: number): number | null {
  const month = MONTHS.indexOf(parts.month!)
  const [day, hours, minutes, seconds] = [parts.day, parts.hours, parts.minutes, parts.seconds].map(Number)
  const ms = Math.floor(Number(`0.${fraction}`) * 1_000)
  const inYear = (y: number) =>
    zone === 'UTC' || zone === 'GMT'
      ? Date.UTC(y, month, day, hours, minutes, seconds, ms)
      : new Date(y, month, day!, hours, minutes, seconds, ms).getTime()
  if (year !== undefined) return finite(inYear(Number(year)))
  const thisYear = new Date(now).getFullYear()
  const latest = [thisYear + 1, thisYear].map(inYear).find((time) => time <= now + MAX_AHEAD_MS)
  return finite(latest ?? inYear(thisYear - 1))
}

function finite(time: number): number | null {
  return Number.isFinite(time) ? time : null
}
