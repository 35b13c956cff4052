// `spillway pub`: publishes the JSON lines of stdin as the events of a sender.
import { pipe } from 'it-pipe'
import { checkTags, type Declaration } from '../endpoints/attributes.ts'
import type { SenderOptions } from '../endpoints/client.ts'
import { checkAllowed, checkName } from '../endpoints/name.ts'
import type { Sender } from '../endpoints/sender.ts'
import { type ErrorCode, SpillwayError } from '../policies/error.ts'
import { AT, type Attached, attach, CLIENT_KEY, checkOption, PSK } from './attachment.ts'
import { BadLine, BadLines, eventsOf, linesOf, type StdinEvent, sayWaiting } from './event-lines.ts'
import { interruptible, pause, unlessAborted } from './interruption.ts'
import { writeLine } from './json-lines.ts'
import { command, type Io, UsageError } from './options.ts'

const NAME = 'pub'

export const pub = command(
  {
    name: NAME,
    operand: 'NAME',
    stdin: 'EVENTS',
    paragraph:
      'Opens a sender and publishes what comes on stdin, one JSON object of attributes per line (an array is a set, null ' +
      'a missing value). Stdin is read no faster than events leave, unless --rate says how fast. All events have the ' +
      'attributes of the first, or of --tags; one may lack some. A bad line is named on stderr, takes no number, and ' +
      'does not stop the rest; blank lines are skipped. SIGINT (Ctrl-C) and SIGTERM end it like the end of stdin, but the ' +
      'node is then waited for no longer than ten seconds.',
    output: [
      ['{"sender":"…"}', 'First: the ID to subscribe to, once the overlay knows the sender.'],
      ['{"published":N}', 'Last: how many events, once its node has acknowledged them, and that it was all.'],
    ],
    options: {
      at: AT,
      key: CLIENT_KEY,
      psk: PSK,
      tags: {
        value: 'A,B',
        help: 'The attributes of the events. The sender is then open before the first event comes.',
      },
      rate: {
        value: 'N',
        help:
          'Events a second. Nothing then waits for slow links: what their queues cannot take is lost as the ' +
          "receivers' policies say.",
      },
      allow: {
        value: 'CLIENT',
        many: true,
        help: 'The ID of a client that may subscribe; if not given, everyone may.',
      },
    },
    example: [
      `printf '%s\\n' '{"bpm":70}' '{"bpm":71}' |`,
      '  npx spillway pub pulse --at /ip4/127.0.0.1/tcp/4600 --key pulse.key',
    ],
    exits: {
      0: 'everything was published',
      1: 'no node answered or has everything, or there were bad lines (the rest is published)',
    },
    without: { json: 'pub always writes JSON' },
  },
  async ({ operands: [name], options }, io) => {
    const rate = options.rate === undefined ? undefined : rateOf(options.rate)
    const tags = options.tags?.split(',').map((tag) => tag.trim())
    checkSenderName(name)
    if (tags !== undefined) checkOption(NAME, 'tags', () => checkTags(tags))
    checkOption(NAME, 'allow', () => checkAllowed(options.allow))
    return interruptible(async (signal) => {
      const attached = await attach(NAME, options, io, signal)
      const allow = options.allow.length === 0 ? {} : { allow: options.allow }
      try {
        return await new Publication(attached, io, signal, { name, allow, rate }).run(tags)
      } finally {
        io.stdin.destroy()
        await attached.client.close()
      }
    })
  },
)

interface Settings {
  readonly name: string
  readonly allow: Pick<SenderOptions, 'allow'>
  /** Events a second. */
  readonly rate: number | undefined
}

class Publication {
  readonly #attached: Attached
  readonly #io: Io
  readonly #signal: AbortSignal
  /** Aborts when the signal has and the node was then waited for. */
  readonly #patience: AbortSignal
  readonly #settings: Settings
  readonly #pace: Pace | undefined
  readonly #badLines: BadLines
  #sender: Sender | undefined

  constructor(attached: Attached, io: Io, signal: AbortSignal, settings: Settings) {
    this.#attached = attached
    this.#io = io
    this.#signal = signal
    this.#patience = patience(signal, () => this.#unacknowledged())
    this.#settings = settings
    this.#pace = settings.rate === undefined ? undefined : new Pace(settings.rate, signal)
    this.#badLines = new BadLines(io)
  }

  /** Returns the exit code. */
  async run(tags: readonly string[] | undefined): Promise<number> {
    if (tags !== undefined) await this.#begin(this.#open(tags))
    await sayWaiting(this.#io)
    const ending = (source: AsyncIterable<Buffer>) => untilAborted(source, this.#signal)
    await pipe(this.#io.stdin, ending, linesOf, eventsOf(this.#badLines), (batches) => this.#take(batches))
    this.#badLines.sayMore()
    if (this.#sender !== undefined) await this.#end(this.#sender)
    await writeLine(this.#io, { published: this.#sender?.published ?? 0 })
    if (this.#sender === undefined)
      this.#io.stderr.write('no event came, so that there was no sender; --tags opens it all the same\n')
    return this.#badLines.count > 0 ? 1 : 0
  }

  /** Resolves when a node has everything, and that it was all. */
  async #end(sender: Sender): Promise<void> {
    const { node } = this.#attached
    if (!node.isAttached) this.#io.stderr.write('everything was read; waiting for a node to acknowledge it\n')
    await sender.close()
    // Where nobody subscribed, nothing waits for a node that is gone; but it has not been told either.
    await node.attached(this.#patience)
  }

  #unacknowledged(): SpillwayError {
    const who = this.#attached.node.isAttached ? 'the node' : 'the node is gone, and'
    const count = this.#sender?.published ?? 0
    return new SpillwayError(
      'UNREACHABLE',
      `${who} has not acknowledged all of the ${count} events that were published; it is waited for no longer`,
    )
  }

  #open(tags: readonly string[]): Sender {
    const { name, allow } = this.#settings
    return this.#attached.client.sender(name, anyOf(tags), { ...allow, signal: this.#patience })
  }

  async #take(batches: AsyncIterable<Iterable<StdinEvent>>): Promise<void> {
    for await (const batch of batches) {
      for (const one of batch) {
        const sender = this.#sender ?? (await this.#beginWith(one))
        if (sender === undefined) continue
        await this.#pace?.turn()
        if (this.#signal.aborted) return
        const fill = this.#publish(sender, one)
        if (this.#pace === undefined && fill > CROWDED)
          await unlessAborted(this.#attached.client.relieved(), this.#signal)
      }
    }
  }

  /** Opens the sender with the attributes of an event; undefined when those cannot be. */
  async #beginWith({ line, event }: StdinEvent): Promise<Sender | undefined> {
    let sender: Sender | undefined
    this.#badLines.unless(line, () => {
      sender = orBadLine(() => this.#open(Object.keys(event)))
    })
    return sender && this.#begin(sender)
  }

  async #begin(sender: Sender): Promise<Sender> {
    this.#sender = sender
    await unlessAborted(sender.opened, this.#signal)
    this.#signal.throwIfAborted()
    await writeLine(this.#io, { sender: sender.id })
    return sender
  }

  /** How full the first queue is then. */
  #publish(sender: Sender, { line, event }: StdinEvent): number {
    let fill = 0
    this.#badLines.unless(line, () => {
      fill = orBadLine(() => sender.publish(event))
    })
    return fill
  }
}

/** What an event is to blame for. */
const OF_THE_LINE: ReadonlySet<string> = new Set<ErrorCode>(['EVENT_INVALID', 'NAME_INVALID'])

function orBadLine<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof SpillwayError) || !OF_THE_LINE.has(error.code)) throw error
    throw new BadLine(error.message)
  }
}

/** Below this the first queue is never called filling. */
const CROWDED = 0.5
/** What was missed of a pace is caught up with, but not more than this: timers are late, and stdin may pause. */
const CATCH_UP_MS = 100

/** So many turns a second. */
class Pace {
  readonly #everyMs: number
  readonly #signal: AbortSignal
  #dueAt = performance.now()

  constructor(rate: number, signal: AbortSignal) {
    this.#everyMs = 1000 / rate
    this.#signal = signal
  }

  async turn(): Promise<void> {
    const now = performance.now()
    this.#dueAt = Math.max(this.#dueAt, now - CATCH_UP_MS)
    if (this.#dueAt > now) await pause(this.#dueAt - now, this.#signal)
    this.#dueAt += this.#everyMs
  }
}

/** Who interrupts does not want to wait for a node that is gone. */
const PATIENCE_MS = 10_000

/** Aborts so long after the signal. */
function patience(signal: AbortSignal, reason: () => Error): AbortSignal {
  const ending = new AbortController()
  const wait = () => setTimeout(() => ending.abort(reason()), PATIENCE_MS).unref()
  signal.addEventListener('abort', wait, { once: true })
  return ending.signal
}

/** The source up to its end, or to the signal. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]()
  for (;;) {
    const next = await unlessAborted(iterator.next(), signal)
    if (next === undefined || next.done) return
    yield next.value
  }
}

function checkSenderName(name: string): void {
  try {
    checkName(name)
  } catch (error) {
    throw new UsageError(NAME, `NAME: ${(error as Error).message}`)
  }
}

function anyOf(tags: readonly string[]): Declaration {
  return Object.fromEntries(tags.map((tag) => [tag, 'any' as const]))
}

function rateOf(text: string): number {
  const rate = Number(text)
  if (rate > 0 && rate < Number.POSITIVE_INFINITY) return rate
  throw new UsageError(NAME, `--rate: expected how many events a second, more than 0, got "${text}"`)
}
