// The `spillway` command line: finds the command, loads it, and turns whatever happens into an exit code.
// 0: done. 1: the work failed. 2: wrong use.
import { readFileSync } from 'node:fs'
import { SpillwayError } from '../policies/error.ts'
import { suggestion } from '../policies/suggestion.ts'
import {
  type Command,
  flagsOf,
  InputError,
  type Io,
  type Option,
  type Options,
  page,
  UsageError,
  write,
} from './options.ts'

export interface Entry {
  readonly name: string
  readonly summary: string
  /** Commands load only when they are called. */
  load(): Promise<Pick<Command, 'run'>>
}

/** Commands to choose from. */
export interface Menu {
  /** As it is typed after `spillway`; empty for `spillway` itself. */
  readonly name: string
  readonly usage: string
  readonly paragraph: string
  readonly entries: readonly Entry[]
  readonly options: Options
  readonly example: readonly string[]
}

/** The help of a menu. */
export const HELP: Option = { short: 'h', help: 'Show this help; COMMAND --help shows that of a command.' }

const spillway: Menu = {
  name: '',
  usage: 'spillway COMMAND [options]',
  paragraph:
    'Application-controlled loss for event streams: the receiver says beforehand what may be lost, ' +
    'and gets a receipt for it.',
  entries: [
    {
      name: 'policy',
      summary: 'Check, print, try and study policies: what may be lost, and what is then left.',
      load: async () => (await import('./policy.ts')).policy,
    },
    {
      name: 'node',
      summary: 'Run a node of the overlay.',
      load: async () => (await import('./node.ts')).node,
    },
    {
      name: 'pub',
      summary: 'Publish the JSON lines of stdin as the events of a sender.',
      load: async () => (await import('./pub.ts')).pub,
    },
    {
      name: 'sub',
      summary: 'Subscribe to a sender: events, digests and gaps as JSON lines, then the receipt.',
      load: async () => (await import('./sub.ts')).sub,
    },
    {
      name: 'pull',
      summary: "Ask a sender's root for what is new when a schedule says so; lines as those of sub.",
      load: async () => (await import('./pull.ts')).pullCommand,
    },
    {
      name: 'ls',
      summary: 'List the senders one can subscribe to.',
      load: async () => (await import('./ls.ts')).ls,
    },
    {
      name: 'replay',
      summary: 'Replay publish times against polling schedules: latency, and polls that found nothing.',
      load: async () => (await import('./pull-replay.ts')).replayCommand,
    },
    {
      name: 'publish-model',
      summary: 'Write the publish times of a modelled sensor, for replay.',
      load: async () => (await import('./pull-model.ts')).publishModel,
    },
    {
      name: 'crawl',
      summary: 'Plan when to crawl sensors that sleep, under a budget.',
      load: async () => (await import('./pull-crawl.ts')).crawl,
    },
  ],
  options: { help: HELP, version: { help: 'Show the version.' } },
  example: [
    'npx spillway node --listen /ip4/127.0.0.1/tcp/4600',
    `printf '%s\\n' '{"bpm":70}' '{"bpm":71}' | npx spillway pub pulse --at /ip4/127.0.0.1/tcp/4600`,
  ],
}

/** Runs one command line, given without `node` and `spillway`, and returns its exit code. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  // A reader that went away is noticed where we write; without a listener it would crash the process.
  const ignore = () => {}
  io.stdout.on('error', ignore)
  try {
    return await dispatch(argv, io)
  } catch (error) {
    return await failure(error, io)
  } finally {
    // The error event of a failed write comes after its callback.
    setImmediate(() => io.stdout.off('error', ignore)).unref()
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  if (argv[0] !== '--version') return choose(spillway, argv, io)
  await write(io.stdout, `${version()}\n`)
  return 0
}

/** Runs the entry that the first word names, or shows the overview; a wrong word gets a suggestion. */
export async function choose(menu: Menu, [word, ...rest]: readonly string[], io: Io): Promise<number> {
  // `help policy try` is `policy try --help`.
  if (word === 'help') return choose(menu, [...rest, '--help'], io)
  if (word === undefined || word === '--help' || word === '-h') {
    await write(word === undefined ? io.stderr : io.stdout, overview(menu))
    return word === undefined ? 2 : 0
  }
  const entry = menu.entries.find(({ name }) => name === word)
  if (entry) return (await entry.load()).run(rest, io)
  const what = word.startsWith('-') ? 'option' : 'command'
  const known = what === 'option' ? flagsOf(menu.options) : menu.entries.map(({ name }) => name)
  const guess = suggestion(word, known) || `, expected ${known.join(', ')}`
  throw new UsageError(menu.name, `unknown ${what} "${word}"${guess}`)
}

function overview(menu: Menu): string {
  return page({
    ...menu,
    commands: menu.entries.map(({ name, summary }) => [name, summary]),
    example: menu.example,
    exits: { 0: 'done', 1: 'the work failed' },
  })
}

function version(): string {
  // Sources and build lie at different depths below package.json.
  const depth = import.meta.url.endsWith('.ts') ? '../package.json' : '../../package.json'
  return JSON.parse(readFileSync(new URL(depth, import.meta.url), 'utf8')).version
}

async function failure(error: unknown, io: Io): Promise<number> {
  if (error instanceof UsageError) {
    const command = ['spillway', error.command].filter(Boolean).join(' ')
    await write(io.stderr, `${command}: ${error.message}\nTry: ${command} --help\n`)
    return 2
  }
  if (error instanceof InputError) {
    await write(io.stderr, `${error.message}\n`)
    return 1
  }
  const { code, message, stack } = error as NodeJS.ErrnoException
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return 0
  if (error instanceof SpillwayError) {
    const advice = error.code === 'UNREACHABLE' ? adviceOn(message) : ''
    await write(io.stderr, `spillway: ${error.code}: ${message}\n${advice}`)
    return 1
  }
  // An error with a code is about the input or the system; one without is ours, and its stack helps.
  await write(io.stderr, `spillway: ${code === undefined ? stack : message}\n`)
  return 1
}

/** What to look at when a node cannot be reached, by what happened. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /nobody listens|another peer answers/,
    'A node prints its addresses when it starts: spillway node --listen /ip4/127.0.0.1/tcp/4600',
  ],
  [/pre-shared/, 'In a private overlay, --psk FILE has to be the same as that of the node.'],
]

function adviceOn(message: string): string {
  return ADVICE.filter(([pattern]) => pattern.test(message))
    .map(([, advice]) => `${advice}\n`)
    .join('')
}
