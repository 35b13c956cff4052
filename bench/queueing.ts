// Figure 8 of the paper in virtual time: a sender every 30 ms, a link that takes 40 ms an event. A queue that drops
// what arrives when it is full, beside one that a policy packs.
import { writeFileSync } from 'node:fs'
import { BlockWriter, positionOf } from '../buffers/block.ts'
import { Budget } from '../buffers/budget.ts'
import { BodyWriter } from '../buffers/codec.ts'
import { Link } from '../buffers/link.ts'
import { PrivateQueue } from '../buffers/private-queue.ts'
import type { QueueBounds, QueueSurroundings, Taken } from '../buffers/queue.ts'
import { Receipt } from '../buffers/receipt.ts'
import { RemoteBuffer } from '../buffers/remote-buffer.ts'
import { seeded } from '../policies/chance.ts'
import { compilePolicy } from '../policies/compile.ts'
import { Ladder } from '../policies/ladder.ts'
import type { BenchOptions } from './main.ts'
import { svgOf } from './plot.ts'

const INTERVAL_MS = 30
const LINK_MS = 40
const SIZES = [20, 50, 100, 200, 500]
/** The size whose figures stand for all, and which is drawn. */
const MAIN_SIZE = 100
const PICTURE = 'docs/queueing.svg'
const PICTURE_S = 120

const policy = compilePolicy({
  levels: [0.1, 0.25, 0.5].map((fraction) => [{ name: 'RANDOM', fraction }]),
})
const schema = { tags: ['n'] }

/** What a queue before a slow link does; events are told by number. */
interface Contender {
  put(seq: number, now: number): void
  /** The number of the next event to send, if there is one. */
  take(): number | undefined
  sent(): void
}

interface Pack {
  readonly atMs: number
  readonly level: number
  readonly dropped: number
}

interface Result {
  readonly meanLatencyMs: number
  readonly loss: number
}

interface PackedResult extends Result {
  /** How many packs ran at level 1, 2 and 3. */
  readonly packsPerLevel: readonly number[]
}

/** What was received, in order. */
type Run = readonly (readonly [publishedMs: number, latencyMs: number])[]

/** Prints mean latency and loss, and how often each level packed; draws the three plots. */
export function run({ json, small }: BenchOptions): void {
  const events = small ? 3_000 : 100_000
  const sizes = small ? [20, MAIN_SIZE] : SIZES
  const rows = sizes.map((queue) => ({ queue, ...compare(queue, events) }))
  if (!small) draw()
  if (json) {
    const { dropTail, packed } = rows.find(({ queue }) => queue === MAIN_SIZE)!
    console.log(JSON.stringify({ queue: MAIN_SIZE, dropTail, packed, sizes: rows }))
    return
  }
  console.table(rows.flatMap(tableRows))
  if (!small) console.log(`plots of the queue of ${MAIN_SIZE}: ${PICTURE}`)
}

interface Comparison {
  readonly dropTail: Result
  readonly packed: PackedResult
  /** The same queue, with a ladder that updates its history before it compares. */
  readonly packedUpdatingFirst: PackedResult
  /** The whole slot: a shared queue and a private one, each of that size. */
  readonly slot: PackedResult
}

function compare(size: number, events: number): Comparison {
  return {
    dropTail: resultOf(simulate(new DropTail(size), events)),
    packed: packedResult(events, (log) => new PackedQueue(size, log, new Ladder(policy.top))),
    packedUpdatingFirst: packedResult(
      events,
      (log) => new PackedQueue(size, log, new UpdatingFirst(policy.top)),
    ),
    slot: packedResult(events, (log) => new PackedSlot(size, log)),
  }
}

function packedResult(events: number, make: (log: Pack[]) => Contender): PackedResult {
  const log: Pack[] = []
  const result = resultOf(simulate(make(log), events))
  const packsPerLevel = policy.levels.map((_, i) => log.filter(({ level }) => level === i + 1).length)
  return { ...result, packsPerLevel }
}

/** Puts and sends in the order of time. */
function simulate(contender: Contender, events: number): Run {
  const received: [publishedMs: number, latencyMs: number][] = []
  let sending: number | undefined
  let freeAt = 0
  for (let seq = 1; seq <= events; seq++) {
    const now = seq * INTERVAL_MS
    while (sending !== undefined && freeAt <= now) {
      received.push([sending * INTERVAL_MS, freeAt - sending * INTERVAL_MS])
      contender.sent()
      sending = contender.take()
      freeAt += LINK_MS
    }
    contender.put(seq, now)
    if (sending !== undefined) continue
    sending = contender.take()
    freeAt = now + LINK_MS
  }
  return received
}

/** From the first loss on: before, the queue only fills. */
function resultOf(received: Run): Result {
  const first = received.findIndex(([published], i) => published !== (i + 1) * INTERVAL_MS)
  const settled = received.slice(first)
  const published = (settled.at(-1)![0] - settled[0]![0]) / INTERVAL_MS + 1
  const total = settled.reduce((sum, [, latency]) => sum + latency, 0)
  return {
    meanLatencyMs: Math.round(total / settled.length),
    loss: Math.round((1 - settled.length / published) * 10_000) / 10_000,
  }
}

/** Drops what arrives while it is full. What is being sent counts, as it does in the others. */
class DropTail implements Contender {
  readonly #size: number
  readonly #queue: number[] = []
  #isSending = false

  constructor(size: number) {
    this.#size = size
  }

  put(seq: number): void {
    if (this.#queue.length + (this.#isSending ? 1 : 0) < this.#size) this.#queue.push(seq)
  }

  take(): number | undefined {
    const seq = this.#queue.shift()
    this.#isSending = seq !== undefined
    return seq
  }

  sent(): void {
    this.#isSending = false
  }
}

/** A queue with a policy, as a receiver has it in RB, or behind a link of its own. */
class PackedQueue implements Contender {
  readonly #queue: PrivateQueue
  readonly #events = new EventSource()
  readonly #receipt = new Receipt()
  #now = 0
  #taken: Taken | undefined

  constructor(size: number, log: Pack[], ladder: Ladder) {
    const surroundings = surroundingsOf('RB', () => this.#now, log)
    this.#queue = new PrivateQueue(policy, boundsOf(size), surroundings, ladder)
  }

  put(seq: number, now: number): void {
    this.#now = now
    this.#queue.enqueueRun(this.#events.write(seq, now))
  }

  take(): number | undefined {
    this.#taken = this.#queue.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1)
    return this.#taken && receive(this.#receipt, this.#taken)
  }

  sent(): void {
    this.#queue.acknowledge(this.#taken!)
  }
}

/** What a node has for one receiver behind a link: a shared queue, and a private one of the same size. */
class PackedSlot implements Contender {
  readonly #buffer: RemoteBuffer
  readonly #link = new Link('slow')
  readonly #events = new EventSource()
  readonly #receipt = new Receipt()
  #now = 0
  #batch = 0

  constructor(size: number, log: Pack[]) {
    this.#buffer = new RemoteBuffer(boundsOf(size), {
      ...surroundingsOf('RCB', () => this.#now, log),
      buffer: 'RCB',
    })
    this.#buffer.subscribe('sender', this.#link, 'receiver', policy)
  }

  put(seq: number, now: number): void {
    this.#now = now
    this.#buffer.enqueue('sender', this.#events.write(seq, now))
  }

  take(): number | undefined {
    for (;;) {
      // The smallest batch: one item, which may be a digest alone.
      const batch = this.#link.take(1)
      if (batch === undefined) return undefined
      this.#batch = batch.number
      const seq = receive(this.#receipt, batch.parts[0]!.taken)
      if (seq !== undefined) return seq
    }
  }

  sent(): void {
    this.#link.acknowledge(this.#batch)
  }
}

/** The ladder of the formula as it is printed, read the other way: the history is updated before it is compared. */
class UpdatingFirst extends Ladder {
  readonly #top: number
  readonly #turnaround: number[] = []
  #current = 1
  #packedAt: number | undefined

  constructor(top: number) {
    super(top)
    this.#top = top
  }

  override get level(): number {
    return this.#current
  }

  override request(now: number): number {
    const level = this.#current
    if (this.#packedAt !== undefined) {
      const observed = now - this.#packedAt
      const smoothed = 0.9 * observed + 0.1 * (this.#turnaround[level] ?? observed)
      this.#turnaround[level] = smoothed
      const change = (observed - smoothed) / smoothed
      if (change > 0.1) this.#current = Math.max(1, level - 1)
      else if (change < -0.1) this.#current = Math.min(this.#top, level + 1)
    }
    this.#packedAt = now
    return this.#current
  }

  override climbed(level: number): void {
    this.#current = level
  }
}

class EventSource {
  readonly #writer = new BlockWriter()
  readonly #body = new BodyWriter()

  write(seq: number, now: number) {
    return this.#writer.write(schema, 1, seq, now, this.#body.encode(schema, { n: seq }))
  }
}

/** The number of the event that was taken; checks that nothing is missing before it. */
function receive(receipt: Receipt, { items }: Taken): number | undefined {
  let seq: number | undefined
  for (const item of items) {
    if (item.kind === 'digest') receipt.digest(item)
    if (item.kind !== 'events') continue
    seq = item.block.seq(positionOf(item, item.from))
    receipt.event(item.block.epoch, seq)
  }
  if (receipt.missing.length > 0) throw new Error('events were lost without a receipt')
  return seq
}

function surroundingsOf(buffer: string, now: () => number, log: Pack[]): QueueSurroundings {
  return {
    buffer,
    budget: new Budget(Number.POSITIVE_INFINITY),
    now,
    random: seeded(8),
    packed: (_queue, level, before, after) => log.push({ atMs: now(), level, dropped: 1 - after / before }),
  }
}

function boundsOf(size: number): QueueBounds {
  return { items: size, bytes: Number.POSITIVE_INFINITY }
}

function tableRows({
  queue,
  dropTail,
  packed,
  packedUpdatingFirst,
  slot,
}: { queue: number } & Comparison): object[] {
  const row = (name: string, { meanLatencyMs, loss, packsPerLevel }: Result & Partial<PackedResult>) => ({
    queue,
    name,
    'mean latency ms': meanLatencyMs,
    'of drop-tail': Math.round((meanLatencyMs / dropTail.meanLatencyMs) * 100) / 100,
    loss,
    'packs at level 1, 2, 3': packsPerLevel?.join(' ') ?? '',
  })
  return [
    row('drop-tail', dropTail),
    row('packed', packed),
    row('packed, update first', packedUpdatingFirst),
    row('packed slot', slot),
  ]
}

/** Figure 8: latency, loss in every second, and what each pack dropped, over the first minutes. */
function draw(): void {
  const events = (PICTURE_S * 1000) / INTERVAL_MS
  const log: Pack[] = []
  const dropTail = simulate(new DropTail(MAIN_SIZE), events)
  const packed = simulate(new PackedQueue(MAIN_SIZE, log, new Ladder(policy.top)), events)
  const grey = '#888'
  const blue = '#1f6fb4'
  const picture = svgOf([
    {
      title: '(a) latency',
      x: 'published at, s',
      y: 'latency, s',
      series: [
        { name: 'drop-tail', colour: grey, style: 'line', points: latencyPoints(dropTail) },
        { name: 'packed', colour: blue, style: 'line', points: latencyPoints(packed) },
      ],
    },
    {
      title: '(b) loss in each second',
      x: 'published at, s',
      y: 'loss',
      series: [
        { name: 'drop-tail', colour: grey, style: 'line', points: lossPoints(dropTail) },
        { name: 'packed', colour: blue, style: 'line', points: lossPoints(packed) },
      ],
    },
    {
      title: '(c) packs',
      x: 'at, s',
      y: 'share dropped',
      series: [1, 2, 3].map((level) => ({
        name: `level ${level}`,
        colour: ['#2a9d4e', blue, '#c2452d'][level - 1]!,
        style: 'dots',
        points: log.filter((pack) => pack.level === level).map(({ atMs, dropped }) => [atMs / 1000, dropped]),
      })),
    },
  ])
  writeFileSync(new URL(`../${PICTURE}`, import.meta.url), picture)
}

function latencyPoints(received: Run): [number, number][] {
  return received.map(([published, latency]) => [published / 1000, latency / 1000])
}

function lossPoints(received: Run): [number, number][] {
  const seconds = Math.floor(received.at(-1)![0] / 1000)
  const counts = new Array<number>(seconds).fill(0)
  for (const [published] of received) if (published < seconds * 1000) counts[Math.floor(published / 1000)]!++
  return counts.map((count, second) => {
    const first = Math.max(1, Math.ceil((second * 1000) / INTERVAL_MS))
    const last = Math.ceil(((second + 1) * 1000) / INTERVAL_MS) - 1
    return [second, 1 - count / (last - first + 1)]
  })
}
