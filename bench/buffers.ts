// What queues cost: items a second through enqueue, drain and acknowledge; packing against the number of
// receivers and of policies; memory for each queued event and each idle subscription.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BlockWriter, type Run } from '../buffers/block.ts'
import { Budget } from '../buffers/budget.ts'
import { BodyWriter } from '../buffers/codec.ts'
import { Link } from '../buffers/link.ts'
import type { QueueBounds } from '../buffers/queue.ts'
import { RemoteBuffer } from '../buffers/remote-buffer.ts'
import { seeded } from '../policies/chance.ts'
import { compilePolicy } from '../policies/compile.ts'
import { noPolicy, type Policy } from '../policies/policy.ts'
import type { BenchOptions } from './main.ts'

interface Row {
  readonly what: string
  readonly value: number
  readonly unit: string
}

const schema = { tags: ['kind', 'payload'] }
const payload = new Uint8Array(128).map((_, i) => i)
const WIDE: QueueBounds = { items: 10_000_000, bytes: 10_000_000_000 }
const FRAME_BYTES = 65_536

/** Prints each figure with its unit. */
export function run({ json, small }: BenchOptions): void {
  const scale = small ? 1_000 : 1_000_000
  const rows = [...throughput(scale), ...packing(small ? 100 : 10_000), ...memory(scale)]
  if (json) for (const row of rows) console.log(JSON.stringify(row))
  else console.table(rows)
}

function throughput(events: number): Row[] {
  const bodies = new BodyWriter()
  const one = timed(() => {
    const { buffer, link, writer } = world(1)
    for (let seq = 1; seq <= events; seq++) {
      buffer.enqueue(
        's',
        writer.write(schema, 1, seq, seq, bodies.encode(schema, { kind: seq % 50, payload })),
      )
      if (seq % 100 === 0) drain([link])
    }
    drain([link])
  })
  const fanOut = 16
  const frames = framesOf(events / 10, 100)
  const many = timed(() => {
    const { buffer, links } = world(fanOut)
    for (const frame of frames) {
      buffer.enqueue('s', frame)
      drain(links)
    }
  })
  return [
    row('encode, enqueue, drain, acknowledge, one event at a time, 1 link', events / one, 'events/s'),
    row(
      'enqueue, drain, acknowledge, frames of 100 events, 16 links',
      ((events / 10) * fanOut) / many,
      'events/s',
    ),
  ]
}

/** One overflow of a shared queue of so many events, by the number of receivers and of policies. */
function packing(events: number): Row[] {
  const overflow = (receivers: number, policies: number) => {
    const times = Array.from({ length: 9 }, () => {
      const { buffer } = world(
        1,
        receivers,
        Array.from({ length: policies }, (_, i) => policyOf(i)),
        {
          items: events,
          bytes: WIDE.bytes,
        },
      )
      for (const frame of framesOf(events, 100)) buffer.enqueue('s', frame)
      const [last] = framesOf(1, 1, events)
      return timed(() => buffer.enqueue('s', last!))
    })
    return times.sort((a, b) => a - b)[4]! * 1000
  }
  overflow(16, 16)
  return [
    ...[3, 30, 300, 3_000].map((count) =>
      row(`pack ${events} events for ${count} receivers with 3 policies`, overflow(count, 3), 'ms'),
    ),
    ...[1, 2, 4, 8, 16].map((count) =>
      row(`pack ${events} events for 16 receivers with ${count} policies`, overflow(16, count), 'ms'),
    ),
  ]
}

function memory(events: number): Row[] {
  const { buffer, link, writer } = world(1, 1, [compilePolicy({ levels: [[{ name: 'EVERY', n: 4 }]] })])
  const bodies = new BodyWriter()
  const before = memoryBytes()
  for (let seq = 1; seq <= events; seq++) {
    buffer.enqueue('s', writer.write(schema, 1, seq, seq, bodies.encode(schema, { kind: seq % 50, payload })))
  }
  const queued = memoryBytes() - before
  buffer.classOf('s', 'r0')!.slot!.shared.relieve()
  const packed = memoryBytes() - before
  const kept = buffer.classOf('s', 'r0')!.queue.events
  drain([link])
  return [
    row('memory of a queued event of 128 bytes', queued / events, 'bytes'),
    row('the same for those left when a pack dropped 3 of 4, with their digests', packed / kept, 'bytes'),
    row('memory of an idle subscription, all in one class', idle(events / 10, false), 'bytes'),
    row('memory of an idle subscription, each behind a link of its own', idle(events / 100, true), 'bytes'),
  ]
}

function idle(receivers: number, apart: boolean): number {
  const before = memoryBytes()
  const { buffer } = world(1, 0)
  const link = new Link('shared')
  const links = Array.from({ length: receivers }, (_, i) => (apart ? new Link(`link-${i}`) : link))
  for (const [i, one] of links.entries()) buffer.subscribe('s', one, `receiver-${i}`, noPolicy)
  const bytes = (memoryBytes() - before) / receivers
  if (buffer.classOf('s', 'receiver-0') === undefined) throw new Error('the subscriptions are gone')
  return bytes
}

function world(
  linkCount: number,
  receivers = linkCount,
  policies: readonly Policy[] = [noPolicy],
  bounds: QueueBounds = WIDE,
) {
  const surroundings = { budget: new Budget(Number.POSITIVE_INFINITY), now: () => 0, random: seeded(1) }
  const buffer = new RemoteBuffer(bounds, { ...surroundings, buffer: 'RPB' })
  const links = Array.from({ length: linkCount }, (_, i) => new Link(`link-${i}`))
  for (let i = 0; i < receivers; i++) {
    buffer.subscribe('s', links[i % linkCount]!, `r${i}`, policies[i % policies.length]!)
  }
  return { buffer, links, link: links[0]!, writer: new BlockWriter() }
}

function drain(links: readonly Link[]): void {
  for (const link of links) {
    for (let batch = link.take(FRAME_BYTES); batch !== undefined; batch = link.take(FRAME_BYTES)) {
      link.acknowledge(batch.number)
    }
  }
}

/** Events as they arrive in frames, numbered behind `after`. */
function framesOf(events: number, size: number, after = 0): Run[] {
  const bodies = new BodyWriter()
  return Array.from({ length: Math.ceil(events / size) }, (_, frame) => {
    const writer = new BlockWriter()
    const runs = Array.from({ length: size }, (_, i) => {
      const seq = after + frame * size + i + 1
      return writer.write(schema, 1, seq, seq, bodies.encode(schema, { kind: seq % 50, payload }))
    })
    return { ...runs[0]!, to: runs.at(-1)!.to }
  })
}

/** Policies that differ only in a value. */
function policyOf(i: number): Policy {
  return compilePolicy({
    attribute: 'kind',
    summary: ['MEAN'],
    levels: [[{ name: 'LATESTBY', window: 10 + i }], [{ name: 'GUNIQ' }]],
  })
}

function timed(work: () => void): number {
  const start = performance.now()
  work()
  return (performance.now() - start) / 1000
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function memoryBytes(): number {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function row(what: string, value: number, unit: string): Row {
  return { what, value: value < 100 ? Math.round(value * 100) / 100 : Math.round(value), unit }
}
