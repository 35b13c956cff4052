// Events as JSON lines: each line an object of attributes. A bad line is named and takes no sequence
// number; everything else goes on.
import { isUtf8 } from 'node:buffer'
import type { DecodedEvent } from '../policies/decoded.ts'
import type { Attributes, Value } from '../policies/event.ts'
import type { Policy } from '../policies/policy.ts'
import { suggestion } from '../policies/suggestion.ts'
import { InputError, type Io, write } from './options.ts'

/** A line longer than this is no event but a mistake, and would be held in memory whole. */
export const LINE_LIMIT_BYTES = 1 << 20
/** The whole input is packed as one queue, in memory; beyond this Node's default heap gets tight. */
export const EVENTS_LIMIT = 4_000_000

/** Bad lines that are named each; a wrong `--time` or JSON over several lines makes all of them bad. */
export const BAD_LINES_NAMED = 10
/** Events whose attributes are looked through for the one that was meant. */
const TAGS_OF_EVENTS = 1000

/** An event and the text of its line. */
export interface EventLine extends DecodedEvent {
  readonly raw: string
}

/** The valid lines of an input, numbered from 1. */
export interface EventLines {
  readonly entries: readonly EventLine[]
  readonly badLines: number
}

/** The `--time` option, the same for every command that reads events. */
export const TIME = {
  value: 'ATTRIBUTE',
  help:
    'The attribute that holds the publish time: milliseconds or ISO 8601 text. Now is then the latest of them. ' +
    'Without it all events count as published at one instant, so AGE drops nothing and RATE sees one interval.',
} as const

/** Reads stdin to its end; writes what is wrong with it to stderr. */
export async function readEvents(io: Io, timeAttribute: string | undefined): Promise<EventLines> {
  await sayWaiting(io)
  const entries: EventLine[] = []
  const badLines = new BadLines(io)
  const take = ({ event, raw }: StdinEvent) => {
    const time = timeAttribute === undefined ? 0 : timeOf(event, timeAttribute)
    entries.push({ epoch: 1, seq: entries.length + 1, time, event, raw })
  }
  for await (const batch of eventsOf(badLines)(linesOf(io.stdin))) {
    for (const one of batch) badLines.unless(one.line, () => take(one))
    if (entries.length > EVENTS_LIMIT) {
      throw new InputError(`stdin: more than ${EVENTS_LIMIT} events; try a part of them`)
    }
  }
  badLines.sayMore()
  return { entries, badLines: badLines.count }
}

/** Tells someone at a terminal what the command waits for. */
export async function sayWaiting({ stdin, stderr }: Io): Promise<void> {
  if (stdin.isTTY)
    await write(stderr, 'waiting for events on stdin, one JSON object per line; end with Ctrl-D\n')
}

/** An event of stdin, the number of its line from 1, and its text. */
export interface StdinEvent {
  readonly line: number
  readonly event: Attributes
  readonly raw: string
}

/** What is wrong with a line, beside where. */
export class BadLine extends Error {}

/** The lines that were wrong: the first of them are named on stderr, all are counted. */
export class BadLines {
  readonly #io: Io
  #count = 0

  constructor(io: Io) {
    this.#io = io
  }

  get count(): number {
    return this.#count
  }

  /** Does the work for a line, or names the line if that throws BadLine. */
  unless(line: number, work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof BadLine)) throw error
      this.#name(line, error.message)
    }
  }

  /** Says how many more there were than were named. */
  sayMore(): void {
    const more = this.#count - BAD_LINES_NAMED
    if (more > 0) this.#io.stderr.write(`stdin: and ${more} more bad ${more === 1 ? 'line' : 'lines'}\n`)
  }

  #name(line: number, message: string): void {
    if (++this.#count <= BAD_LINES_NAMED) this.#io.stderr.write(`stdin:${line}: ${message}\n`)
  }
}

/**
 * Lines in, events out, a chunk's worth at a time; for a pipe. Each line is read when it is asked for, so that bad ones
 * are named in order with what else is wrong. Blank lines are passed over.
 */
export function eventsOf(badLines: BadLines) {
  return async function* (batches: AsyncIterable<readonly Line[]>): AsyncGenerator<Iterable<StdinEvent>> {
    let before = 0
    for await (const batch of batches) {
      yield eventsIn(batch, before, badLines)
      before += batch.length
    }
  }
}

function* eventsIn(batch: readonly Line[], before: number, badLines: BadLines): Generator<StdinEvent> {
  let line = before
  for (const text of batch) {
    line++
    let event: Attributes | undefined
    badLines.unless(line, () => {
      event = eventOf(text)
    })
    if (event !== undefined) yield { line, event, raw: (text as string).trim() }
  }
}

/** Says on stderr which attributes the policy reads up to this level that no event has. */
export async function warnOfUnknown(
  policy: Policy,
  levels: number,
  { entries }: EventLines,
  io: Io,
): Promise<void> {
  if (entries.length === 0) return
  const readers = [...policy.levels.slice(0, levels).flat(), ...policy.digesters]
  for (const attribute of new Set(readers.map(({ attribute }) => attribute))) {
    if (attribute === undefined || entries.some(({ event }) => Object.hasOwn(event, attribute))) continue
    const tags = entries.slice(0, TAGS_OF_EVENTS).flatMap(({ event }) => Object.keys(event))
    const near = suggestion(attribute, new Set(tags))
    await write(io.stderr, `note: no event has the attribute ${JSON.stringify(attribute)}${near}\n`)
  }
}

/** Says on stderr when the policy asks for publish times and there are none. */
export async function warnWithoutTime(
  policy: Policy,
  levels: number,
  time: string | undefined,
  io: Io,
): Promise<void> {
  if (time !== undefined) return
  const names = policy.levels.slice(0, levels).flatMap((filters) => filters.map(({ name }) => name))
  const timed = ['AGE', 'RATE'].filter((name) => names.includes(name))
  if (timed.length === 0) return
  const who = timed.length === 1 ? `${timed[0]} goes` : `${timed.join(' and ')} go`
  await write(io.stderr, `note: ${who} by publish time, and without --time all events have the same\n`)
}

/** The text of a line, or why there is none. */
export type Line = string | { readonly wrong: string }

/** The event of a line, or undefined for a blank one. */
function eventOf(line: Line): Attributes | undefined {
  if (typeof line !== 'string') throw new BadLine(line.wrong)
  if (line.trim() === '') return undefined
  const event = parsed(line)
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    throw new BadLine(`expected a JSON object of attributes, got ${kindOf(event)}`)
  }
  for (const tag of Object.keys(event)) checkValue(tag, event[tag as keyof typeof event])
  return event as Attributes
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    const reason = (error as Error).message.replace(/ in JSON at position (\d+).*$/s, ' at character $1')
    throw new BadLine(`expected a JSON object of attributes, got something that is not JSON: ${reason}`)
  }
}

const EXPECTED = 'expected a finite number, text, true, false, null, or an array of them as a set'

function checkValue(tag: string, value: unknown): void {
  if (value === null || isScalar(value)) return
  if (!Array.isArray(value))
    throw new BadLine(`attribute ${JSON.stringify(tag)}: ${EXPECTED}, got ${kindOf(value)}`)
  const stranger = value.find((member) => !isScalar(member))
  if (stranger === undefined) return
  throw new BadLine(
    `attribute ${JSON.stringify(tag)}: expected a set of numbers, text, true or false, got ${kindOf(stranger)} in it`,
  )
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return 'text'
  return typeof value === 'number' && !Number.isFinite(value) ? 'a number too large' : String(value)
}

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/

function timeOf(event: Attributes, attribute: string): number {
  const value: Value = Object.hasOwn(event, attribute) ? event[attribute] : undefined
  const time = typeof value === 'string' && ISO.test(value) ? Date.parse(value) : value
  if (typeof time === 'number' && !Number.isNaN(time)) return time
  const got = value === undefined ? 'nothing' : JSON.stringify(value)
  throw new BadLine(
    `attribute ${JSON.stringify(attribute)}: expected the publish time, in milliseconds or ISO 8601, got ${got}`,
  )
}

const NEWLINE = 0x0a

/** The lines of a stream, a chunk's worth at a time; for a pipe. */
export async function* linesOf(stream: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line[]> {
  let held: Buffer[] = []
  let heldBytes = 0
  let first = true
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    const end = bytes.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      yield split(Buffer.concat([...held, bytes.subarray(0, end - 1)]), first)
      first = false
      held = []
      heldBytes = 0
    }
    heldBytes += bytes.length - end
    // Of a line that is too long only its being too long is kept.
    if (heldBytes <= LINE_LIMIT_BYTES + bytes.length) held.push(bytes.subarray(end))
  }
  if (heldBytes > 0) yield split(Buffer.concat(held), first)
}

function split(bytes: Buffer, first: boolean): Line[] {
  const start = first && bytes.subarray(0, 3).equals(BOM) ? 3 : 0
  const text = isUtf8(bytes) ? bytes.toString('utf8', start).split('\n') : undefined
  if (text && bytes.length <= LINE_LIMIT_BYTES) return text
  const lines: Line[] = []
  for (let from = start; from <= bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from)
    const to = newline < 0 ? bytes.length : newline
    lines.push(lineOf(bytes.subarray(from, to)))
    from = to + 1
  }
  return lines
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

function lineOf(bytes: Buffer): Line {
  if (bytes.length > LINE_LIMIT_BYTES)
    return { wrong: `expected at most ${LINE_LIMIT_BYTES} bytes, got more` }
  return isUtf8(bytes) ? bytes.toString() : { wrong: 'expected UTF-8, got other bytes' }
}
