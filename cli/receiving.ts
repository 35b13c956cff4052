// What `sub` and `pull` have in common: they write what arrives until they are told to end, with a receipt at the end.
import { pipe } from 'it-pipe'
import type { EpochReceipt } from '../buffers/receipt.ts'
import type { Delivered, DeliveredDigest, DeliveredEvent, DeliveredGap } from '../endpoints/delivery.ts'
import type { Subscription } from '../endpoints/subscription.ts'
import { SpillwayError } from '../policies/error.ts'
import type { Value } from '../policies/event.ts'
import type { NodeWatch } from './attachment.ts'
import { pause, unlessAborted } from './interruption.ts'
import { toLines, writeLine } from './json-lines.ts'
import { type Io, UsageError, wholeNumber } from './options.ts'

/** A subscription, or a pull. */
export type Receiving = Pick<Subscription, 'subscribed' | 'receipt' | 'next' | 'close'> &
  Partial<Pick<Subscription, 'forgo'>>

export interface Ending {
  /** Events. */
  readonly count: number
  readonly idleMs: number | undefined
}

/** The lines that both write, beside the first. */
export const LINES = [
  ['{"epoch":…}', 'The sender has started anew: what follows is of this epoch, numbered from 1 again.'],
  ['{"seq":…,"event":{…}}', 'An event.'],
  ['{"digest":{…},"from":…,"to":…,"count":…,"causes":[…]}', 'What the policy dropped.'],
  [
    '{"gap":{"from":…,"to":…}}',
    'What was lost by accident; with "cause":"departed" because the client was away for longer than anybody waits.',
  ],
  [
    '{"receipt":{"epoch":…,"first":…,"last":…,"delivered":…,"digested":…,"gaps":…}}',
    'Last, for each epoch of which there was something: delivered + digested + gaps = last - first + 1, all counted ' +
      'in events, up to the last one written.',
  ],
] as const

/** How many events end it. */
export const COUNT = {
  value: 'N',
  help: 'End after so many events; digests and gaps do not count.',
} as const

/** The operand: a sender's ID. */
export function checkSenderOperand(command: string, sender: string): void {
  if (!/^[\da-f]{64}$/.test(sender))
    throw new UsageError(
      command,
      `SENDER: expected an ID of 64 hex digits (spillway ls shows them), got "${sender}"`,
    )
}

export function endingOf(command: string, count: string | undefined, idle: string | undefined): Ending {
  return {
    count: numberOf(command, 'count', count, 1) ?? Number.POSITIVE_INFINITY,
    idleMs: numberOf(command, 'idle', idle, 1),
  }
}

/** Writes the first line, what arrives, and the receipts. */
export async function receive(
  receiving: Receiving,
  node: NodeWatch,
  ending: Ending,
  slowMs: number,
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  await new Reception(receiving, node, ending, io, signal).run(slowMs)
}

class Reception {
  readonly #receiving: Receiving
  readonly #node: NodeWatch
  readonly #ending: Ending
  readonly #io: Io
  readonly #signal: AbortSignal
  /** Once it was interrupted: what was accounted for by then, and how many events waited. */
  #receipt: readonly EpochReceipt[] | undefined
  #unread = 0

  constructor(receiving: Receiving, node: NodeWatch, ending: Ending, io: Io, signal: AbortSignal) {
    this.#receiving = receiving
    this.#node = node
    this.#ending = ending
    this.#io = io
    this.#signal = signal
  }

  async run(slowMs: number): Promise<void> {
    const first = await unlessAborted(
      this.#receiving.subscribed.then((cursor) => cursor ?? BEFORE_THE_SENDER),
      this.#signal,
    )
    if (first === undefined) return
    await writeLine(this.#io, { subscribed: { epoch: first.epoch, first: first.seq } })
    const slowed = (items: AsyncIterable<Delivered>) => slowly(items, slowMs, this.#signal)
    const lines = (items: AsyncIterable<Delivered>) => shown(items, first.epoch)
    await pipe(this.#items(), slowed, lines, toLines(this.#io))
    for (const receipt of this.#receipt ?? this.#receiving.receipt)
      if (receipt.first <= receipt.last) await writeLine(this.#io, { receipt })
    if (this.#unread > 0)
      this.#io.stderr.write(`${this.#unread} more events waited in the queue, and were not read\n`)
  }

  /** What is delivered until one of the endings. */
  async *#items(): AsyncGenerator<Delivered> {
    const { count, idleMs } = this.#ending
    const close = () => this.#receiving.close()
    let isWaiting = false
    this.#io.stdout.once('error', close)
    // While this waits for something, nothing waits for it.
    this.#signal.addEventListener('abort', () => isWaiting && close())
    for (let events = 0; ; ) {
      if (this.#signal.aborted) return yield* this.#accountedFor()
      const cancel = idleMs === undefined ? () => {} : afterWaiting(idleMs, this.#node, close)
      isWaiting = true
      const item = await this.#receiving.next()
      isWaiting = false
      cancel()
      if (item === undefined) return
      if (item.kind === 'event' && ++events === count) close()
      yield item
    }
  }

  /** What was accounted for when it was interrupted still comes; what waits in the queue is only counted. */
  async *#accountedFor(): AsyncGenerator<Delivered> {
    const receiving = this.#receiving
    // What of the backlog has not come by now is a gap.
    receiving.forgo?.()
    const receipt = receiving.receipt
    this.#receipt = receipt
    const last = receipt.at(-1)
    // Nothing arrives before the next turn, and by then what is here was looked at.
    setImmediate(() => receiving.close())
    const rest: Delivered[] = []
    for (let item = await receiving.next(); item !== undefined; item = await receiving.next()) {
      const { epoch, to, count } = spanOf(item)
      const isAccountedFor =
        last !== undefined && (epoch < last.epoch || (epoch === last.epoch && to <= last.last))
      if (isAccountedFor) rest.push(item)
      else this.#unread += count
    }
    yield* rest
  }
}

/** Whoever begins before the sender exists gets it from its first event on. */
const BEFORE_THE_SENDER = { epoch: null, seq: 1 }

/** The epoch and the last number of an item, and how many events it stands for. */
function spanOf(item: Delivered): { epoch: number; to: number; count: number } {
  const { kind, epoch } = item
  if (kind === 'event') return { epoch, to: (item as DeliveredEvent).seq, count: 1 }
  const { to, count } = item as DeliveredDigest
  return { epoch, to, count }
}

/** A timer that is later than this was not waiting: the process was stopped, or had no time. */
const LATE_MS = 500

/** Calls back after so long, in which the process was running and had a node; returns how to cancel it. */
function afterWaiting(delayMs: number, node: NodeWatch, call: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    clearTimeout(timer)
    if (!node.isAttached) return
    const dueAt = performance.now() + delayMs
    timer = setTimeout(() => (performance.now() - dueAt > LATE_MS ? wait() : call()), delayMs)
  }
  const forget = node.whenChanged(wait)
  wait()
  return () => {
    forget()
    clearTimeout(timer)
  }
}

async function* slowly(
  items: AsyncIterable<Delivered>,
  slowMs: number,
  signal: AbortSignal,
): AsyncGenerator<Delivered> {
  for await (const item of items) {
    yield item
    if (slowMs > 0 && item.kind === 'event') await pause(slowMs, signal)
  }
}

/** Items as they are written, with the epoch wherever it is another one than before. */
async function* shown(items: AsyncIterable<Delivered>, first: number | null): AsyncGenerator<object> {
  let epoch = first
  for await (const item of items) {
    if (item.epoch !== epoch) {
      epoch = item.epoch
      yield { epoch }
    }
    if (item.kind === 'event') yield shownEvent(item as DeliveredEvent)
    else if (item.kind === 'digest') yield shownDigest(item as DeliveredDigest)
    else yield shownGap(item as DeliveredGap)
  }
}

function shownEvent({ kind, epoch, seq, time, backlog, ...event }: DeliveredEvent): object {
  return {
    seq,
    ...(backlog === undefined ? {} : { backlog }),
    event: Object.fromEntries(Object.entries(event).map(([tag, value]) => [tag, shownValue(value)])),
  }
}

function shownGap({ from, to, cause, backlog }: DeliveredGap): object {
  const more = { ...(cause === undefined ? {} : { cause }), ...(backlog === undefined ? {} : { backlog }) }
  return { gap: { from, to, ...more } }
}

/** JSON has no bytes. */
function shownValue(value: Value): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

function shownDigest(item: DeliveredDigest): object {
  const { kind, epoch, from, to, count, fromTime, toTime, causes, overlaps, backlog, preview, ...digest } =
    item
  const more = {
    ...(overlaps === undefined ? {} : { overlaps }),
    ...(backlog === undefined ? {} : { backlog }),
    ...(preview === undefined ? {} : { preview }),
  }
  return { digest, from, to, count, causes, ...more }
}

/** Who is refused is told by which ID the sender's owner can let it in. */
export function withId(error: Error, id: string): Error {
  if (!(error instanceof SpillwayError) || error.code !== 'REFUSED') return error
  const advice = `The ID of this client, for spillway pub --allow, is ${id} (with --key FILE it stays the same)`
  return new SpillwayError('REFUSED', `${error.message}\n${advice}`, { cause: error })
}

export function numberOf(
  command: string,
  option: string,
  text: string | undefined,
  low: number,
): number | undefined {
  if (text === undefined) return undefined
  return wholeNumber(command, option, text, low, 2 ** 31 - 1, `a whole number from ${low}`)
}
