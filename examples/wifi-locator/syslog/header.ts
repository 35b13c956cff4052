// What stands before the message of a line: RFC 5424, RFC 3164, and what devices make of it. A line that was relayed has
// a header inside another one; what the inner one says is nearer to the truth. Own code, because none of the parsers
// on npm knows the headers of OpenWrt, Cisco and UniFi, which are most of the work, and some make up a time where there
// is none.
import { type Severity, severities } from '../events.ts'
import { macOf } from '../mac.ts'
import { lineTimeOf } from './line-time.ts'

export interface Header {
  readonly type: Severity | null
  /** By the line's own clock, in milliseconds; null when that is not set. Undefined without a time. */
  readonly at: number | null | undefined
  /** Who sent it, by its own name. */
  readonly host: string | null
  /** The access point's MAC, where it is part of the header. */
  readonly device: string | null
  readonly program: string | null
  readonly message: string
}

/** Relays of relays beyond this are not looked into. */
const MAX_NESTING = 3
const MAX_PRI = 191

/** Everything that may stand before a message is optional, so every text has a header. */
export function headerOf(line: string, now: number): Header {
  let header: Header = { type: null, at: undefined, host: null, device: null, program: null, message: line }
  for (let i = 0; i < MAX_NESTING; i++) {
    const inner = oneHeader(header.message, now)
    if (inner === undefined) break
    header = {
      type: inner.type ?? header.type,
      at: inner.at === undefined ? header.at : inner.at,
      ...((inner.host ?? inner.device) === null ? named(header) : named(inner)),
      program: inner.program ?? header.program,
      message: inner.message,
    }
  }
  return header
}

function named({ host, device }: Header): Pick<Header, 'host' | 'device'> {
  return { host, device }
}

/** Undefined when the text has none of it. */
function oneHeader(text: string, now: number): Header | undefined {
  const pri = /^<(\d{1,3})>/.exec(text)
  const isPri = pri !== null && Number(pri[1]) <= MAX_PRI
  const type = isPri ? severities[Number(pri[1]) % 8]! : null
  const rest = (isPri ? text.slice(pri[0].length) : text).trimStart()
  const found = (isPri ? modern(rest, now) : undefined) ?? epochTimed(rest) ?? traditional(rest, now)
  if (found === undefined && !isPri) return undefined
  const { message = rest, ...parts } = found ?? tagged(rest)
  return {
    at: undefined,
    host: null,
    device: null,
    program: null,
    ...parts,
    type: parts.type ?? type,
    message,
  }
}

type Found = Partial<Header>

/** RFC 5424: `1 TIME HOST PROGRAM PROCESS ID [DATA] MESSAGE`, with `-` for what is missing. */
function modern(text: string, now: number): Found | undefined {
  const [all, time, host, program] = /^1 (\S+) (\S+) (\S+) \S+ \S+ /.exec(text) ?? []
  if (all === undefined || time === undefined) return undefined
  const at = time === '-' ? undefined : lineTimeOf(`${time} `, now)?.at
  if (time !== '-' && at === undefined) return undefined
  const message = withoutStructuredData(text.slice(all.length)).replace(/^\uFEFF/, '')
  return { at, host: nil(host!), program: nil(program!), message }
}

function nil(text: string): string | null {
  return text === '-' ? null : text
}

function withoutStructuredData(text: string): string {
  if (text.startsWith('-')) return text.slice(1).trimStart()
  let from = 0
  while (text[from] === '[') {
    const end = endOfElement(text, from)
    if (end === undefined) return text
    from = end
  }
  return text.slice(from).trimStart()
}

/** Behind the `]`, which may also stand in quotes, and there `\` takes the meaning from what follows. */
function endOfElement(text: string, from: number): number | undefined {
  let isQuoted = false
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\' && isQuoted) i++
    else if (text[i] === '"') isQuoted = !isQuoted
    else if (text[i] === ']' && !isQuoted) return i + 1
  }
  return undefined
}

/** Meraki: `1 1380653443.857790533 MR18 events …`, a version, seconds, and the name of the access point. */
function epochTimed(text: string): Found | undefined {
  const [all, seconds, host] = /^1 (\d{9,10}\.\d{1,9}) (\S+) (?=\S+ )/.exec(text) ?? []
  if (all === undefined) return undefined
  return { at: Math.floor(Number(seconds) * 1_000), host: host!, message: text.slice(all.length) }
}

/** `13319: AP:0000.5e00.53a0: ` and `ap1: *task: `, which Cisco puts before the time. */
const CISCO_HEAD =
  /^(?:(\d{1,10}): )?(?:AP:([0-9A-Fa-f.:-]+): )?(?:([\w.-]+): )?(?:\*[A-Za-z][\w ]*: )?(?=[*.A-Z\d])/

/** RFC 3164, or a part of it. */
function traditional(text: string, now: number): Found | undefined {
  const head = CISCO_HEAD.exec(text)
  const begin = head?.[0].length ?? 0
  const time = lineTimeOf(text.slice(begin), now) ?? lineTimeOf(text, now)
  if (time === undefined) return undefined
  const isWithHead = lineTimeOf(text.slice(begin), now) !== undefined
  const device = isWithHead ? (macOf(head?.[2]) ?? null) : null
  const host = isWithHead ? (head?.[3] ?? null) : null
  const message = text.slice((isWithHead ? begin : 0) + time.length).trimStart()
  const type = time.severity === undefined ? null : severityNamed(time.severity)
  if (time.isLast) return { at: time.at, host, device, type, message }
  const isOwnLog = time.severity !== undefined
  return { at: time.at, device, type, ...(isOwnLog ? tagged(message) : hosted(message)) }
}

const SEVERITY_NAMES = ['emerg', 'alert', 'crit', 'err', 'warn', 'notice', 'info', 'debug']

function severityNamed(word: string): Severity | null {
  const at = SEVERITY_NAMES.findIndex((name) => word.startsWith(name))
  return severities[at] ?? null
}

/** `HOST PROGRAM[PROCESS]: MESSAGE`; the host may be missing, and then the first word ends with a colon. */
function hosted(text: string): Found {
  const [all, host] = /^([\w.:%-]*[\w%-]) +(?=\S)/.exec(text) ?? []
  if (all === undefined) return tagged(text)
  return { host: host!, ...tagged(text.slice(all.length)) }
}

/** UniFi's model, MAC and firmware: `("U7LT,00005e0053a0,v3.7.17.5220") ` or `00005e0053a0,U6-Lite-6.0.10+13599: `. */
const UNIFI = /^(?:\("[^",]*,([0-9a-f]{12}),[^"]*"\) |([0-9a-f]{12}),[^\s:]+: )/
const TAG = /^([\w./-]{1,64})(?:\[[^\]\s]*\])?: /

function tagged(text: string): Found {
  const unifi = UNIFI.exec(text)
  const device = macOf(unifi?.[1] ?? unifi?.[2])
  const rest = text.slice(unifi?.[0].length ?? 0)
  const tag = TAG.exec(rest)
  return {
    ...(device === undefined ? {} : { device }),
    program: tag?.[1] ?? null,
    message: rest.slice(tag?.[0].length ?? 0),
  }
}
