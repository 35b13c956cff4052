// Builders for the tests of the buffers: streams of events, queues with a clock of their own, and items as text.
import { Block, BlockWriter, EVENT_OVERHEAD_BYTES, positionOf, type Run } from '../../buffers/block.ts'
import { Budget } from '../../buffers/budget.ts'
import { BodyWriter, type Schema } from '../../buffers/codec.ts'
import type { Item, Marker } from '../../buffers/item.ts'
import { type Batch, Link } from '../../buffers/link.ts'
import { PrivateQueue } from '../../buffers/private-queue.ts'
import type { Queue, QueueBounds, QueueSurroundings } from '../../buffers/queue.ts'
import type { Receipt } from '../../buffers/receipt.ts'
import { type PolicyClass, Slot } from '../../buffers/slot.ts'
import { seeded } from '../../policies/chance.ts'
import { compilePolicy } from '../../policies/compile.ts'
import type { Digest } from '../../policies/digest.ts'
import { noPolicy, type Policy } from '../../policies/policy.ts'

/** An event with one value: its number, and text to make it as large as one likes. */
export const schema: Schema = { tags: ['v', 'text'] }

/** What an event of `Stream` costs a queue, without text: the overhead, a small integer, an empty text. */
export const EVENT_BYTES = EVENT_OVERHEAD_BYTES + 2 + 2
/** What a digest of `noPolicy` costs a queue, when it has one cause. */
export const DIGEST_BYTES = 128 + 16 + 16

/** A sender: numbers its events from 1; `v` is the number modulo 64, which keeps every body equally long. */
export class Stream {
  epoch = 1
  seq = 0
  /** Publish time of the next event. */
  time = 0
  readonly #writer = new BlockWriter()
  readonly #body = new BodyWriter()

  /** So many events; each has a text of so many bytes, at most 127. */
  publish(count = 1, textBytes = 0): Run {
    const runs = Array.from({ length: count }, () => this.#write(textBytes))
    return joined(runs)
  }

  /** One event in a block of its own, with a text of so many bytes, which may be large. */
  publishAlone(textBytes: number): Run {
    const block = new Block(schema, this.epoch)
    block.append(++this.seq, this.time, this.#encode(textBytes))
    return { kind: 'events', block, picks: undefined, from: 0, to: 1 }
  }

  /** Leaves so many numbers out. */
  skip(count = 1): this {
    this.seq += count
    return this
  }

  restart(): this {
    this.epoch++
    this.seq = 0
    return this
  }

  marker(end = false): Marker {
    return { kind: 'marker', epoch: this.epoch, highest: this.seq, end }
  }

  #write(textBytes: number): Run {
    this.seq++
    return this.#writer.write(schema, this.epoch, this.seq, this.time, this.#encode(textBytes))
  }

  #encode(textBytes: number): Uint8Array {
    return this.#body.encode(schema, { v: this.seq % 64, text: 'x'.repeat(textBytes) })
  }
}

/** Runs behind one another in one block, as one. */
function joined(runs: readonly Run[]): Run {
  const last = runs.at(-1)!
  const [first] = runs.filter(({ block }) => block === last.block)
  if (first !== runs[0]) throw new Error('these events do not fit into one block')
  return { ...runs[0]!, to: last.to }
}

export interface Pack {
  readonly queue: Queue
  readonly level: number
  readonly before: number
  readonly after: number
}

/** Surroundings that remember what they were told; time stands still until a test moves it. */
export class TestSurroundings<Name extends string = 'RPB'> implements QueueSurroundings {
  readonly buffer: Name
  readonly budget: Budget
  time = 0
  readonly packs: Pack[] = []
  readonly pressures: [queue: Queue, high: boolean][] = []
  readonly random = seeded(1)

  constructor(options: { budgetBytes?: number; buffer?: Name } = {}) {
    this.budget = new Budget(options.budgetBytes ?? Number.POSITIVE_INFINITY)
    this.buffer = options.buffer ?? ('RPB' as Name)
  }

  now(): number {
    return this.time
  }

  pressure(queue: Queue, high: boolean): void {
    this.pressures.push([queue, high])
  }

  packed(queue: Queue, level: number, before: number, after: number): void {
    this.packs.push({ queue, level, before, after })
  }

  /** The levels of all packs so far. */
  get levels(): number[] {
    return this.packs.map(({ level }) => level)
  }
}

/** Keeps the last `window` at level 1, and so on. */
export function latest(...windows: number[]): Policy {
  return compilePolicy({ levels: windows.map((window) => [{ name: 'LATEST', window }]) })
}

/** Keeps every `n`-th event at level 1, and so on. */
export function every(...steps: number[]): Policy {
  return compilePolicy({ levels: steps.map((n) => [{ name: 'EVERY', n }]) })
}

export function digest(from: number, to: number, options: { epoch?: number; policy?: Policy } = {}): Digest {
  return {
    kind: 'digest',
    policy: (options.policy ?? noPolicy).hash,
    epoch: options.epoch ?? 1,
    from,
    to,
    fromTime: from,
    toTime: to,
    causes: [{ buffer: 'SRB', level: 'worst-case', count: to - from + 1 }],
    states: (options.policy ?? noPolicy).digesters.map(({ definition }) => definition.create()),
  }
}

/** Some events of a run, by index from its beginning. */
export function part(run: Run, from: number, to: number): Run {
  return { ...run, from: run.from + from, to: run.from + to }
}

/** The numbers of a run's events. */
export function seqsOf(run: Run): number[] {
  return Array.from({ length: run.to - run.from }, (_, i) => run.block.seq(positionOf(run, run.from + i)))
}

/**
 * Items as a text: `1 2 d3-5 6 m6` for events, a digest of 3 to 5, an event and a marker; `e6` is a marker that
 * says END. What is not of epoch 1 has its epoch in front: `2/1`.
 */
export function shown(items: readonly Item[]): string {
  return items.flatMap(shownItem).join(' ')
}

function shownItem(item: Item): string[] {
  switch (item.kind) {
    case 'events':
      return seqsOf(item).map((seq) => inEpoch(item.block.epoch, `${seq}`))
    case 'digest':
      return [inEpoch(item.epoch, `d${item.from}-${item.to}`)]
    case 'marker':
      return [inEpoch(item.epoch, `${item.end ? 'e' : 'm'}${item.highest}`)]
  }
}

function inEpoch(epoch: number, text: string): string {
  return epoch === 1 ? text : `${epoch}/${text}`
}

/** What a batch has, a text for each part: the class or receiver it is for, if any, and its items. */
export function shownParts(batch: Batch | undefined): string[] {
  return (batch?.parts ?? []).map(({ rid, taken }) => `${rid === undefined ? '' : '> '}${shown(taken.items)}`)
}

/** Takes everything from a link and acknowledges it: the items for one class, and those for everyone. */
export function drain(link: Link, rid?: string, frameBytes = 100_000): Item[] {
  const items: Item[] = []
  for (let batch = link.take(frameBytes); batch !== undefined; batch = link.take(frameBytes)) {
    for (const sent of batch.parts) {
      if (rid === undefined || sent.rid === undefined || sent.rid === rid) items.push(...sent.taken.items)
    }
    link.acknowledge(batch.number)
  }
  return items
}

/** Tells a receipt of items, as a receiver does; the ones it may deliver. */
export function receive(receipt: Receipt, items: readonly Item[]): string {
  const delivered: string[] = []
  for (const item of items) {
    if (item.kind === 'marker') receipt.marker(item)
    else if (item.kind === 'digest') {
      const accepted = receipt.digest(item)
      if (accepted !== undefined) delivered.push(shown([accepted]))
    } else {
      for (const seq of seqsOf(item)) {
        if (receipt.event(item.block.epoch, seq)) delivered.push(inEpoch(item.block.epoch, `${seq}`))
      }
    }
  }
  return delivered.join(' ')
}

/** A slot with a class for each policy, as a remote buffer makes it. */
export function slotOf(
  policies: readonly Policy[],
  bounds: Partial<QueueBounds> = {},
  surroundings: QueueSurroundings = new TestSurroundings(),
  link = new Link('link'),
): { slot: Slot; link: Link; classes: PolicyClass[] } {
  const limits = { items: 1_000, bytes: 1_000_000, ...bounds }
  const slot = new Slot('sender', link, limits, surroundings)
  const classes = policies.map((policy) => classFor(policy, limits, surroundings))
  for (const one of classes) slot.add(one)
  return { slot, link, classes }
}

export function classFor(policy: Policy, bounds: QueueBounds, surroundings: QueueSurroundings): PolicyClass {
  return {
    rid: policy.hash,
    policy,
    receivers: new Set([policy.hash]),
    queue: new PrivateQueue(policy, bounds, surroundings),
    first: undefined,
    next: undefined,
    slot: undefined,
  }
}
