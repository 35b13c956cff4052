// Builders for the tests of the wire: frames of every kind, as fast-check makes them or from a seed, and what a
// frame says as plain data that can be compared.
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js'
import fc from 'fast-check'
import { Block, positionOf, type Run } from '../../buffers/block.ts'
import type { Schema } from '../../buffers/codec.ts'
import { type Item, itemBytes, type Marker } from '../../buffers/item.ts'
import type { Toward } from '../../overlay/control.ts'
import type { DataFrame, DataPart, Outgoing } from '../../overlay/wire/data-frame.ts'
import type { Cause, Digest } from '../../policies/digest.ts'
import type { State } from '../../policies/digester.ts'

/** A run over events that are given whole. */
export interface EventSpec {
  readonly seq: number
  readonly time: number
  readonly body: Uint8Array
}

export function blockOf(schema: Schema, epoch: number, events: readonly EventSpec[]): Block {
  const block = new Block(schema, epoch)
  for (const { seq, time, body } of events) block.append(seq, time, body)
  return block
}

export function runOf(block: Block, from = 0, to = block.length): Run {
  return { kind: 'events', block, picks: undefined, from, to }
}

/** So many equally long events from 1 on. */
export function plainRun(events: number, bodyBytes: number, schema: Schema = { tags: ['v'] }): Run {
  const specs = Array.from({ length: events }, (_, i) => ({
    seq: i + 1,
    time: 1_000 + i,
    body: new Uint8Array(bodyBytes).fill(i),
  }))
  return runOf(blockOf(schema, 1, specs))
}

/** The ID whose every byte is this one. */
export function idOf(byte: number): string {
  return byte.toString(16).padStart(2, '0').repeat(32)
}

/** A different ID for each number. */
export function numberedId(number: number): string {
  return number.toString(16).padStart(64, '0')
}

/** A frame as a link would hand it over. */
export function outgoing({ number, parts }: DataFrame): Outgoing {
  let bytes = 0
  for (const { items } of parts) for (const item of items) bytes += itemBytes(item)
  return {
    number,
    bytes,
    parts: parts.map(({ toward, sender, rid, items }) => ({
      slot: { buffer: `${toward}B`, sender },
      rid,
      taken: { items },
    })),
  }
}

/** A frame of one part towards SR for everyone. */
export function frameOf(...items: Item[]): DataFrame {
  return { number: 1, parts: [{ toward: 'SR', sender: idOf(0xaa), rid: undefined, items }] }
}

/** What a frame says, with events as plain data. */
export function said({ number, parts }: DataFrame): unknown {
  return { number, parts: parts.map((part) => ({ ...part, items: part.items.map(saidItem) })) }
}

function saidItem(item: Item): unknown {
  if (item.kind !== 'events') return item
  const { block, from, to } = item
  const events = Array.from({ length: to - from }, (_, i) => {
    const position = positionOf(item, from + i)
    return [block.seq(position), block.time(position), bytesToHex(block.body(position))]
  })
  return { tags: block.schema.tags, epoch: block.epoch, events }
}

/** A record as a literal would make it; fields of `optional` may be absent. */
export function aRecord<T>(
  fields: { readonly [K in keyof T]-?: fc.Arbitrary<Exclude<T[K], undefined> | Extract<T[K], undefined>> },
  optional: readonly (keyof T)[] = [],
): fc.Arbitrary<T> {
  const requiredKeys = (Object.keys(fields) as (keyof T)[]).filter((key) => !optional.includes(key))
  return fc.record(fields as never, {
    noNullPrototype: true,
    requiredKeys: requiredKeys as never,
  }) as fc.Arbitrary<T>
}

export const anId: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(idOf(0), idOf(1), idOf(0xff)),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map(bytesToHex),
)
export const aCount = fc.oneof(fc.nat(300), fc.maxSafeNat())
const wellFormed = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.toWellFormed())
export const someTags = fc.array(fc.oneof(wellFormed, fc.constantFrom('\ufeffa', '', '__proto__')), {
  maxLength: 4,
})
const schema = someTags.map((tags): Schema => ({ tags }))

/** Not -0, which as the second time of a run is 0. */
const time = fc.oneof(
  fc.integer({ min: 1_753_000_000_000, max: 1_753_000_001_000 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.maxSafeInteger(),
)
const times = (count: number) =>
  fc.oneof(
    fc.array(time, { minLength: count, maxLength: count }),
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: count, maxLength: count }),
  )
const bodies = (count: number) =>
  fc.nat(20).chain((bytes) =>
    fc.array(
      fc.oneof(fc.uint8Array({ minLength: bytes, maxLength: bytes }), fc.uint8Array({ maxLength: 200 })),
      {
        minLength: count,
        maxLength: count,
      },
    ),
  )
const seqs = (count: number) =>
  fc
    .tuple(
      fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 2 ** 50 })),
      fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2 ** 40 })), {
        minLength: count,
        maxLength: count,
      }),
    )
    .map(([first, steps]) => steps.map((_, i) => steps.slice(0, i).reduce((sum, step) => sum + step, first)))

const block = fc.integer({ min: 1, max: 40 }).chain((count) =>
  fc
    .tuple(schema, aCount, seqs(count), times(count), bodies(count))
    .map(([schema, epoch, seqs, times, bodies]) =>
      blockOf(
        schema,
        epoch,
        seqs.map((seq, i) => ({ seq, time: times[i]!, body: bodies[i]! })),
      ),
    ),
)

/** A run of all of a block, of a part of it, or of some of its positions. */
export const aRun: fc.Arbitrary<Run> = fc
  .tuple(block, fc.nat(), fc.nat(), fc.option(fc.infiniteStream(fc.boolean()), { nil: undefined }))
  .map(([block, a, b, picked]) => {
    const all = [...Array(block.length).keys()]
    const some = picked === undefined ? all : all.filter(() => picked.next().value === true)
    const picks = picked === undefined || some.length === 0 ? undefined : Uint32Array.from(some)
    const length = picks?.length ?? block.length
    const from = a % length
    return { kind: 'events', block, picks, from, to: from + 1 + (b % (length - from)) }
  })

export const aState: fc.Arbitrary<State> = fc.letrec<{ state: State }>((tie) => ({
  state: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(
      null,
      true,
      false,
      0,
      -0,
      Number.NaN,
      Infinity,
      -Infinity,
      2 ** 48,
      1 - 2 ** 48,
      -(2 ** 48),
    ),
    fc.double(),
    fc.maxSafeInteger(),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('\ud800', 'a\udc00b', '\ufeff', '🚲'.repeat(20)),
    fc.uint8Array({ maxLength: 40 }),
    fc.array(tie('state'), { maxLength: 5 }),
  ),
})).state

const cause: fc.Arbitrary<Cause> = aRecord({
  buffer: fc.oneof(
    fc.constantFrom('SPB', 'SRB', 'RRB', 'RPB', 'RCB', 'RB'),
    fc.constant('a buffer of their own'),
  ),
  level: fc.oneof(fc.integer({ min: 1, max: 32 }), fc.constant('worst-case' as const)),
  count: fc.integer({ min: 1, max: 2 ** 40 }),
})

export const aDigest: fc.Arbitrary<Digest> = aRecord<Omit<Digest, 'kind' | 'to'>>({
  policy: anId,
  epoch: aCount,
  from: fc.integer({ min: 1, max: 2 ** 50 }),
  fromTime: time,
  toTime: time,
  causes: fc.array(cause, { minLength: 1, maxLength: 5 }),
  states: fc.array(aState, { maxLength: 16 }),
}).map((digest) => {
  const count = digest.causes.reduce((sum, { count }) => sum + count, 0)
  return { kind: 'digest', ...digest, to: digest.from + count - 1 }
})

export const aMarker: fc.Arbitrary<Marker> = aRecord<Marker>({
  kind: fc.constant('marker'),
  epoch: aCount,
  highest: aCount,
  end: fc.boolean(),
})

/** Runs and digests of which most go on where the one before ended, as packing leaves them. */
const aSequence: fc.Arbitrary<Item[]> = fc
  .tuple(
    aCount,
    fc.array(
      fc.tuple(
        fc.constantFrom('events', 'digest', 'hole'),
        fc.integer({ min: 1, max: 20 }),
        fc.oneof(fc.integer({ min: -9, max: 99 }), time),
      ),
      { minLength: 2, maxLength: 8 },
    ),
  )
  .map(([epoch, steps]) => {
    const items: Item[] = []
    let next = 1
    for (const [kind, count, time] of steps) {
      const seqs = Array.from({ length: count }, (_, i) => next + i)
      next += count
      if (kind === 'events')
        items.push(
          runOf(
            blockOf(
              { tags: ['v'] },
              epoch,
              seqs.map((seq) => ({ seq, time: time + seq, body: new Uint8Array(2) })),
            ),
          ),
        )
      else if (kind === 'digest') {
        const causes = [{ buffer: 'RCB', level: 1, count }]
        const times = { fromTime: time, toTime: time + count }
        items.push({
          kind,
          policy: idOf(1),
          epoch,
          from: seqs[0]!,
          to: next - 1,
          ...times,
          causes,
          states: [],
        })
      }
    }
    return items.length > 0 ? items : [{ kind: 'marker', epoch, highest: 0, end: false }]
  })

const part: fc.Arbitrary<DataPart> = aRecord<DataPart & { readonly receiver: string }>({
  toward: fc.constantFrom<Toward>('SP', 'SR', 'RR', 'RP', 'RC'),
  sender: anId,
  receiver: anId,
  rid: fc.option(anId, { nil: undefined }),
  items: fc.oneof(fc.array(fc.oneof(aRun, aDigest, aMarker), { minLength: 1, maxLength: 4 }), aSequence),
}).map(({ toward, sender, receiver, rid, items }) => ({
  toward,
  sender: toward === 'RP' || toward === 'RC' ? sender + receiver : sender,
  rid,
  items,
}))

export const aFrame: fc.Arbitrary<DataFrame> = aRecord({
  number: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  parts: fc.array(part, { minLength: 1, maxLength: 4 }),
})

/** One mutation of some bytes: bits, bytes and numbers changed, parts cut out, doubled or put elsewhere. */
export function mutated(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = Math.floor(random() * bytes.length)
  const length = 1 + Math.floor(random() * Math.min(16, bytes.length - at))
  const before = bytes.subarray(0, at)
  const some = bytes.subarray(at, at + length)
  const after = bytes.subarray(at + length)
  switch (Math.floor(random() * 7)) {
    case 0:
      return changed(bytes, at, bytes[at]! ^ (1 << Math.floor(random() * 8)))
    case 1:
      return changed(bytes, at, Math.floor(random() * 256))
    case 2:
      return changed(bytes, at, [0, 1, 0x7f, 0x80, 0xff][Math.floor(random() * 5)]!)
    case 3:
      return before.slice()
    case 4:
      return concatBytes(before, after)
    case 5:
      return concatBytes(before, some, some, after)
    default:
      return concatBytes(
        before,
        some.map(() => Math.floor(random() * 256)),
        after,
      )
  }
}

function changed(bytes: Uint8Array, at: number, byte: number): Uint8Array {
  const copy = bytes.slice()
  copy[at] = byte
  return copy
}
