// The command line of the program.
import { parseArgs } from 'node:util'
import type { PortWish } from './audience.ts'

export interface Options {
  /** How long to run; until it is interrupted without it. */
  readonly seconds: number | undefined
  readonly syslogPort: number
  readonly isJson: boolean
  /** The file of access points. */
  readonly aps: string | undefined
  readonly isCampus: boolean
  /** How many times as fast as real time the campus is. */
  readonly speed: number
  /** How many times as fast as those of the paper its access points answer. */
  readonly answers: number
  /** Events that wait for the locator. */
  readonly queue: number
  /** Of the page and of the location bar. */
  readonly page: PortWish
  readonly bar: PortWish
}

export type { PortWish }

/** Wrong use: exit code 2. */
export class UsageError extends Error {}

/** 514 is for root. */
const DEFAULT_PORT = 5_514
/** As small as the paper's must have been: it overflows while an access point takes seconds to answer. */
const CAMPUS_QUEUE = 100
/** Of a few access points: it holds what a relay that was away sends at once. */
const DEFAULT_QUEUE = 2_000
const MAX_QUEUE = 1_000_000
/** Timers cannot wait for longer. */
const MAX_SECONDS = 2_000_000
const MAX_PORT = 65_535
const MAX_SPEED = 1_000
/** So that the map fills within a minute or so, and the locator falls behind all the same: all six levels run. */
const DEFAULT_SPEED = 20
const DEFAULT_ANSWERS = 10
const PAGE_PORT = 8_700
const BAR_PORT = 8_701

const OPTIONS = {
  seconds: { type: 'string' },
  syslog: { type: 'string' },
  json: { type: 'boolean' },
  aps: { type: 'string' },
  'no-campus': { type: 'boolean' },
  speed: { type: 'string' },
  answers: { type: 'string' },
  page: { type: 'string' },
  bar: { type: 'string' },
  queue: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

export const USAGE = `Usage: npm start [-- options]

Tells where the stations of a Wi-Fi network are, from what its access points log. It runs an overlay of three nodes on
this machine: at one of them a source takes syslog, at another a locator finds out who is where, and publishes that.
Point an access point's syslog at this machine, and see your phone. It runs until Ctrl-C.

Options:
  --syslog PORT   Listen for syslog on this port, over UDP and TCP. ${DEFAULT_PORT} if not given; 0 is any that is free.
  --aps FILE      A JSON file of access points, by the names that they log:
                  {"ap1": {"building": "Library", "http": "http://192.0.2.1:8080", "mac": "00:00:5e:00:53:a0"}}
                  An access point with "http" is asked for its stations there (GET …/stations answers
                  [{"mac": …, "ip": …, "host": …}]), at most once in 30 s; "x" and "y" place it on a map.
  --no-campus     Leave the generated campus out: only real syslog drives it.
  --speed N       How many times as fast as real time the generated campus is; ${DEFAULT_SPEED} if not given.
  --answers N     How many times as fast its access points answer as those of the paper, which took from hundreds of
                  milliseconds to 30 s; ${DEFAULT_ANSWERS} if not given.
  --page PORT     The page, on this machine only; ${PAGE_PORT} if not given, or any that is free.
  --bar PORT      The location bar, likewise: GET /where tells a browser its building, and as an HTTP proxy it puts a
                  bar at the top of every page; ${BAR_PORT} if not given, or any that is free.
  --queue N       How many events may wait for the locator, before its policy drops some: ${DEFAULT_QUEUE} if not given,
                  ${CAMPUS_QUEUE} with the campus.
  --json          No page; write each location as one line, and nothing else on stdout:
                  {"station": …, "ap": …, "ip": …, "action": "joined", "moved" or "left", "time": milliseconds}
  --seconds N     Run for so long.
  -h, --help      Show this help.

Example:
  npm start -- --no-campus
  logger -n 127.0.0.1 -P ${DEFAULT_PORT} -d -t hostapd 'wlan0: STA 00:00:5e:00:53:01 IEEE 802.11: associated (aid 1)'

Exit codes:
  0   it ran for as long as it was told, or was interrupted
  1   the port is taken, or the file of access points is wrong
  2   wrong use
`

/** Throws UsageError. */
export function optionsOf(argv: readonly string[]): Options | 'help' {
  const { tokens } = parseArgs({ args: [...argv], options: OPTIONS, strict: false, tokens: true })
  const values = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') throw new UsageError(`expected only options, got ${token.value}`)
    if (token.kind === 'option') values.set(token.name, givenValue(token, values))
  }
  if (values.has('help')) return 'help'
  const seconds = values.get('seconds')
  const isCampus = !values.has('no-campus')
  return {
    seconds: seconds === undefined ? undefined : numberOf('seconds', seconds, MAX_SECONDS),
    syslogPort: portOf('syslog', values.get('syslog') ?? String(DEFAULT_PORT)),
    isJson: values.has('json'),
    aps: values.get('aps'),
    isCampus,
    speed: numberOf('speed', values.get('speed') ?? String(DEFAULT_SPEED), MAX_SPEED),
    answers: numberOf('answers', values.get('answers') ?? String(DEFAULT_ANSWERS), MAX_SPEED),
    page: portWish('page', values.get('page'), PAGE_PORT),
    bar: portWish('bar', values.get('bar'), BAR_PORT),
    queue: queueOf(values.get('queue') ?? String(isCampus ? CAMPUS_QUEUE : DEFAULT_QUEUE)),
  }
}

interface Token {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

function givenValue(
  { name, rawName, value, inlineValue }: Token,
  given: ReadonlyMap<string, string>,
): string {
  if (!Object.hasOwn(OPTIONS, name)) throw new UsageError(`unknown option "${rawName}"${suggestion(name)}`)
  const { type } = OPTIONS[name as keyof typeof OPTIONS]
  if (type === 'boolean') {
    if (value !== undefined) throw new UsageError(`--${name} takes no value, got "${value}"`)
    return ''
  }
  if (given.has(name)) throw new UsageError(`--${name}: expected once, got it twice`)
  const isForgotten = inlineValue !== true && value !== undefined && /^-[^\d]/.test(value)
  if (value === undefined || value === '' || isForgotten) throw new UsageError(`--${name} needs a value`)
  return value
}

/** The known option that has most letters at its beginning and end in common with the one that was given. */
function suggestion(given: string): string {
  const shared = (name: string) => {
    const length = Math.min(name.length, given.length)
    let [begin, end] = [0, 0]
    while (begin < length && name[begin] === given[begin]) begin++
    while (end < length - begin && name.at(-1 - end) === given.at(-1 - end)) end++
    return (begin + end) / Math.max(name.length, given.length)
  }
  const names = Object.keys(OPTIONS)
  const nearest = names.reduce((a, b) => (shared(b) > shared(a) ? b : a))
  return shared(nearest) >= 0.5 ? ` (did you mean "--${nearest}"?)` : ''
}

function numberOf(option: string, text: string, most: number): number {
  const number = Number(text)
  if (number > 0 && number <= most) return number
  throw new UsageError(`--${option}: expected a number above 0, up to ${most}, got "${text}"`)
}

function queueOf(text: string): number {
  if (/^[1-9]\d*$/.test(text) && Number(text) <= MAX_QUEUE) return Number(text)
  throw new UsageError(`--queue: expected a whole number from 1 to ${MAX_QUEUE}, got "${text}"`)
}

function portWish(option: string, given: string | undefined, usual: number): PortWish {
  if (given === undefined) return { port: usual, isPreferred: true }
  return { port: portOf(option, given), isPreferred: false }
}

function portOf(option: string, text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= MAX_PORT) return Number(text)
  throw new UsageError(`--${option}: expected a port, from 0 to ${MAX_PORT}, got "${text}"`)
}
