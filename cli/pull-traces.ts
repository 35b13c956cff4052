// Traces as the commands read and write them: publish times in seconds, one a line, ascending.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { InputError, type Io, UsageError } from './options.ts'

export interface Trace {
  /** As it was given: a file, or `-`. */
  readonly name: string
  /** Milliseconds, whole, ascending; at least one. */
  readonly times: readonly number[]
}

/** What a trace is; for the help of every command that reads one. */
export const TRACE = 'A trace is a text file of publish times in seconds, one a line, ascending; - is stdin.'

/** Reads traces, stdin at most once; throws an InputError with every bad line. */
export async function readTraces(command: string, names: readonly string[], io: Io): Promise<Trace[]> {
  if (names.filter((name) => name === '-').length > 1)
    throw new UsageError(command, 'stdin, -, can be read only once')
  return Promise.all(names.map(async (name) => ({ name, times: timesOf(name, await contentOf(name, io)) })))
}

/** A file's text, or that of stdin for `-`. */
export async function contentOf(name: string, io: Io): Promise<string> {
  if (name === '-') return text(io.stdin)
  try {
    return await readFile(name, 'utf8')
  } catch (error) {
    throw new InputError(`${name}: ${(error as Error).message}`)
  }
}

/** Beyond it milliseconds are no longer told apart; a trace that reaches it is hardly one of seconds. */
const LARGEST_SECONDS = Math.floor(Number.MAX_SAFE_INTEGER / 1000)
/** What other tools write: no 0x10, which Number takes as well. */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
/** Bad lines that are named; a wrong file has them all. */
const NAMED_MISTAKES = 10

function timesOf(name: string, content: string): number[] {
  const times: number[] = []
  const mistakes: string[] = []
  for (const [i, line] of content.split(/\r?\n/).entries()) {
    const word = line.trim()
    if (word === '') continue
    const seconds = DECIMAL.test(word) ? Number(word) : Number.NaN
    const last = times.at(-1) ?? Number.NEGATIVE_INFINITY
    const at = Math.round(seconds * 1000)
    if (!Number.isFinite(seconds))
      mistakes.push(`${name}:${i + 1}: expected seconds, got "${word.slice(0, 40)}"`)
    else if (Math.abs(seconds) > LARGEST_SECONDS)
      mistakes.push(`${name}:${i + 1}: expected seconds up to ${LARGEST_SECONDS}, got ${word.slice(0, 40)}`)
    else if (at < last)
      mistakes.push(`${name}:${i + 1}: expected ascending times, got ${word} after ${last / 1000}`)
    else times.push(at)
  }
  if (mistakes.length > 0) throw new InputError(...mistakes.slice(0, NAMED_MISTAKES))
  if (times.length === 0)
    throw new InputError(`${name}: expected publish times in seconds, one a line; there are none`)
  return times
}

/** A number of an option between two bounds, or a usage error that says what was expected. */
export function numberOf(
  command: string,
  option: string,
  given: string,
  isRight: (value: number) => boolean,
  expected: string,
): number {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  if (Number.isFinite(value) && isRight(value)) return value
  throw new UsageError(command, `--${option}: expected ${expected}, got "${given}"`)
}

/** Aligned columns: the first to the left, the others to the right. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((row) => row[c]!.length)))
  const lines = rows.map((row) =>
    row.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!))).join('  '),
  )
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

/** Milliseconds as seconds, to the millisecond. */
export function seconds(ms: number): number {
  return Math.round(ms) / 1000
}
