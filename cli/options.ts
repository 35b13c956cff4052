// Command lines: one declaration per command, from which parsing, suggestions and --help are all made, so
// that the help cannot drift from what the command takes.
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { suggestion } from '../policies/suggestion.ts'

/** The streams a command works on; handed in, so that tests run commands in process. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable
}

/** An option; one with a `value` placeholder takes a value, any other is a switch. */
export interface Option {
  readonly value?: string
  readonly short?: string
  readonly required?: boolean
  /** May be given several times; the value is then a list. */
  readonly many?: boolean
  readonly help: string
}

export type Options = Readonly<Record<string, Option>>

/** Wrong use: exit code 2. `command` is the one whose help should be read. */
export class UsageError extends Error {
  readonly command: string

  constructor(command: string, message: string) {
    super(message)
    this.command = command
  }
}

/** What was given to work on is wrong: exit code 1. Each line says where and what. */
export class InputError extends Error {
  readonly lines: readonly string[]

  constructor(...lines: readonly string[]) {
    super(lines.join('\n'))
    this.lines = lines
  }
}

export interface Declaration<O extends Options = Options> {
  /** As it is typed after `spillway`: `policy try`. */
  readonly name: string
  /** `FILE`, or `FILE…` for one or more; a command without it takes only options. */
  readonly operand?: string
  /** What the command reads from stdin beside its operand, for those who name it as a second one. */
  readonly stdin?: string
  readonly paragraph: string
  /** What each kind of line that it writes is, and says. */
  readonly output?: Rows
  readonly options: O
  /** What to say of options that it does not have and others do. */
  readonly without?: Readonly<Record<string, string>>
  /** Lines that run as they stand. */
  readonly example: readonly string[]
  readonly exits: Exits
}

/** What exit code 0 and exit code 1 mean; 2 is wrong use everywhere. */
export interface Exits {
  readonly 0: string
  readonly 1: string
}

/** A command: its declaration, and what it does. It returns the exit code. */
export interface Command {
  readonly declaration: Declaration
  run(argv: readonly string[], io: Io): Promise<number>
}

/** A command that has parsed its options already. */
export function command<const O extends Options>(
  declaration: Declaration<O>,
  work: (given: Given<O>, io: Io) => Promise<number>,
): Command {
  return {
    declaration,
    async run(argv, io) {
      const given = parse(declaration, argv)
      if (given !== 'help') return work(given, io)
      await write(io.stdout, help(declaration))
      return 0
    },
  }
}

export interface Given<O extends Options> {
  readonly operands: readonly [string, ...string[]]
  readonly options: { readonly [K in keyof O]: Parsed<O[K]> }
}

type Parsed<T extends Option> = T extends { many: true }
  ? readonly string[]
  : T extends { value: string }
    ? T extends { required: true }
      ? string
      : string | undefined
    : boolean

const HELP: Option = { short: 'h', help: 'Show this help.' }

function parse<O extends Options>(declaration: Declaration<O>, argv: readonly string[]) {
  const known: Options = { ...declaration.options, help: HELP }
  const options: Record<string, string | boolean | string[]> = Object.create(null)
  const operands: string[] = []
  for (const token of tokensOf(known, argv)) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    if (token.name === 'help') return 'help'
    const value = optionValue(declaration, known, token)
    checkOnce(declaration.name, known[token.name]!, token.name, options[token.name])
    if (known[token.name]!.many)
      options[token.name] = [...[options[token.name] ?? []].flat(), value] as string[]
    else options[token.name] = value
  }
  checkOperands(declaration, operands)
  for (const [name, option] of Object.entries(declaration.options)) {
    if (option.required && options[name] === undefined) {
      throw new UsageError(declaration.name, `--${name} ${option.value} is missing`)
    }
    if (option.value === undefined) options[name] ??= false
    if (option.many) options[name] ??= []
  }
  return { operands, options } as unknown as Given<O>
}

function tokensOf(known: Options, argv: readonly string[]) {
  const options = Object.entries(known).map(([name, { value, short }]) => {
    const type: 'boolean' | 'string' = value === undefined ? 'boolean' : 'string'
    return [name, short === undefined ? { type } : { type, short }] as const
  })
  const config = {
    args: [...argv],
    options: Object.fromEntries(options),
    strict: false,
    tokens: true,
  } as const
  return parseArgs({ ...config, allowPositionals: true }).tokens
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

/** Of two values one would be lost without a word. */
function checkOnce(command: string, option: Option, name: string, before: unknown): void {
  if (before === undefined || option.many || option.value === undefined) return
  throw new UsageError(command, `--${name}: expected once, got it twice`)
}

function optionValue(
  { name: command, without = {} }: Declaration,
  known: Options,
  { name, rawName, value, inlineValue }: OptionToken,
) {
  if (!Object.hasOwn(known, name)) {
    const hint = Object.hasOwn(without, name) ? `: ${without[name]}` : suggestion(rawName, flagsOf(known))
    throw new UsageError(command, `unknown option "${rawName}"${hint}`)
  }
  const placeholder = known[name]?.value
  if (placeholder === undefined) {
    if (value !== undefined) throw new UsageError(command, `--${name} takes no value, got "${value}"`)
    return true
  }
  // A word that looks like an option is one, unless it is a negative number.
  const forgotten = !inlineValue && value !== undefined && /^-[^\d]/.test(value)
  if (value === undefined || value === '' || forgotten) {
    throw new UsageError(command, `--${name} needs a value: --${name} ${placeholder}`)
  }
  return value
}

function checkOperands({ name, operand, stdin }: Declaration, operands: readonly string[]): void {
  if (operand === undefined) {
    if (operands.length === 0) return
    throw new UsageError(name, `expected only options, got ${operands.join(' ')}`)
  }
  if (operands.length === 0) throw new UsageError(name, `${operand} is missing`)
  if (operands.length === 1 || operand.endsWith('…')) return
  const hint = stdin === undefined ? '' : `; ${stdin} come from stdin: < ${operands.at(-1)}`
  throw new UsageError(name, `expected one ${operand}, got ${operands.length}: ${operands.join(' ')}${hint}`)
}

/** The options as they are typed. */
export function flagsOf(options: Options): string[] {
  return Object.keys(options).map((name) => `--${name}`)
}

/** A whole number from `low` to `high`, or a usage error that says what was expected. */
export function wholeNumber(
  command: string,
  option: string,
  text: string,
  low: number,
  high: number,
  expected: string,
) {
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= low && number <= high) return number
  throw new UsageError(command, `--${option}: expected ${expected}, got "${text}"`)
}

function help(declaration: Declaration): string {
  const { name, operand, stdin, options } = declaration
  const required = Object.entries(options).filter(([, option]) => option.required)
  const flags = required.map(([flag, { value }]) => `--${flag} ${value}`)
  const usage = ['spillway', name, ...(operand === undefined ? [] : [operand]), ...flags]
  return page({
    ...declaration,
    usage: `${usage.join(' ')} [options]${stdin === undefined ? '' : ` < ${stdin}`}`,
    options: { ...options, help: HELP },
  })
}

export interface Page {
  readonly usage: string
  readonly paragraph: string
  /** Those to choose from, with what each does. */
  readonly commands?: Rows
  /** The lines that a command writes. */
  readonly output?: Rows
  readonly options: Options
  readonly example: readonly string[]
  readonly exits: Exits
}

/** The text of `--help`. */
export function page({ usage, paragraph, commands, output, options, example, exits }: Page): string {
  const sections = [
    `Usage: ${usage}`,
    wrap(paragraph, ''),
    ...(commands === undefined ? [] : [`Commands:\n${table(commands)}`]),
    ...(output === undefined ? [] : [`Output:\n${list(output)}`]),
    `Options:\n${table(Object.entries(options).map(optionRow))}`,
    `Example:\n${example.map((line) => `  ${line}`).join('\n')}`,
    `Exit codes:\n${table([...Object.entries(exits), ['2', 'wrong use']])}`,
  ]
  return `${sections.join('\n\n')}\n`
}

function optionRow([name, { value, short, help, required, many }]: [string, Option]): [string, string] {
  const flag = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
  const notes = [many ? 'May be repeated.' : '', required ? 'Required.' : ''].filter(Boolean)
  return [flag, [help, ...notes].join(' ')]
}

export type Rows = readonly (readonly [string, string])[]

/** Two columns, the second wrapped. */
function table(rows: Rows): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 4
  return rows
    .map(([left, right]) => `  ${left.padEnd(width - 2)}${wrap(right, ' '.repeat(width))}`)
    .join('\n')
}

/** The second under the first, which is too wide to stand beside it. */
function list(rows: Rows): string {
  return rows.map(([above, below]) => `  ${above}\n${INDENT}${wrap(below, INDENT)}`).join('\n')
}

const INDENT = ' '.repeat(6)
const LINE_WIDTH = 96

function wrap(text: string, indent: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string
    if (line !== '' && indent.length + line.length + 1 + word.length > LINE_WIDTH) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${indent}`)
}

/** Resolves when the stream has taken the text, so that whoever writes much waits for a slow reader. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })
}
