import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BlockWriter } from '../../buffers/block.ts'
import { type Item, nextAfter } from '../../buffers/item.ts'
import { type DataFrame, type DataPart, FrameDecoder, FrameEncoder } from '../../overlay/wire/data-frame.ts'
import {
  MAX_CAUSES,
  MAX_FRAME_BYTES,
  MAX_FRAME_ENTRIES,
  MAX_NAMES,
  MAX_SCHEMAS,
  MAX_STATE_DEPTH,
  MAX_TAGS,
  MAX_TAGS_BYTES,
} from '../../overlay/wire/limits.ts'
import type { Cause, Digest } from '../../policies/digest.ts'
import type { State } from '../../policies/digester.ts'
import { SpillwayError } from '../../policies/error.ts'
import {
  aDigest,
  aFrame,
  aMarker,
  aRun,
  aState,
  blockOf,
  frameOf,
  idOf,
  numberedId,
  outgoing,
  plainRun,
  runOf,
  said,
} from './wire-frames.ts'

/** What arrives of a frame on a new stream. */
function roundTrip(frame: DataFrame): DataFrame {
  return new FrameDecoder().decode(new FrameEncoder().encode(outgoing(frame)).subarray())
}

function roundTripOf(item: Item): Item {
  return roundTrip(frameOf(item)).parts[0]!.items[0]!
}

/** Both ends of a stream. */
class Wire {
  readonly encoder = new FrameEncoder()
  readonly decoder = new FrameDecoder()

  bytes(frame: DataFrame): number {
    const bytes = this.encoder.encode(outgoing(frame)).subarray()
    expect(said(this.decoder.decode(bytes))).toStrictEqual(said(frame))
    return bytes.length
  }
}

const aPolicy = idOf(0xcc)
const aDigestOfOne: Digest = {
  kind: 'digest',
  policy: aPolicy,
  epoch: 1,
  from: 1,
  to: 1,
  fromTime: 0,
  toTime: 0,
  causes: [{ buffer: 'SRB', level: 1, count: 1 }],
  states: [],
}

function withState(state: State): DataFrame {
  return frameOf({ ...aDigestOfOne, states: [state] })
}

/** Lists in lists. */
function nested(depth: number): State {
  return depth === 0 ? 0 : [nested(depth - 1)]
}

const frameInvalid = expect.objectContaining({ constructor: SpillwayError, code: 'FRAME_INVALID' })

describe('a data frame', () => {
  it.each([
    ['a run', aRun],
    ['a digest', aDigest],
    ['a marker', aMarker],
  ])('brings back %s as it was', (_, arbitrary: fc.Arbitrary<Item>) => {
    fc.assert(
      fc.property(arbitrary, (item) => {
        expect(said(frameOf(roundTripOf(item)))).toStrictEqual(said(frameOf(item)))
      }),
      { numRuns: 500 },
    )
  })

  it('brings back the state of a digester as it was', () => {
    fc.assert(
      fc.property(aState, (state) => {
        expect(roundTrip(withState(state))).toStrictEqual(withState(state))
      }),
      { numRuns: 1_000 },
    )
  })

  it('brings back one after another what was sent on a stream', () => {
    fc.assert(
      fc.property(fc.array(aFrame, { maxLength: 5 }), (frames) => {
        const wire = new Wire()
        for (const frame of frames) wire.bytes(frame)
      }),
      { numRuns: 300 },
    )
  })

  it('holds a run without holes, of one time and one length, in a byte an event besides the bodies', () => {
    const bytes = new FrameEncoder().encode(outgoing(frameOf(plainRun(1_000, 10)))).length
    expect(bytes).toBeLessThan(1_000 * 11 + 64)
  })

  it('says only the difference where digests and short runs go on where the item before ended', () => {
    const run = (seq: number) =>
      runOf(
        blockOf({ tags: ['v'] }, 1_753_000_000_000, [{ seq, time: seq * 30, body: Uint8Array.of(4, seq) }]),
      )
    const digest = (seq: number): Digest => ({
      ...aDigestOfOne,
      epoch: 1_753_000_000_000,
      from: seq,
      to: seq,
      fromTime: seq * 30,
      toTime: seq * 30,
    })
    const wire = new Wire()
    wire.bytes(frameOf(run(1), digest(2)))
    const pair = wire.bytes(frameOf(run(3), digest(4)))
    // Kind, policy, span, two times, a cause of four bytes, no state; kind, schema, count, flags, time, length, body.
    expect(wire.bytes(frameOf(run(5), digest(6), run(7), digest(8))) - pair).toBe(10 + 6 + 2)
    // Numbers are left out in between, or time stands still there.
    const marker: Item = { kind: 'marker', epoch: 1_753_000_000_000, highest: 9, end: false }
    wire.bytes(
      frameOf(run(9), digest(11), run(12), marker, digest(13), { ...digest(14), toTime: 0.5 }, run(15)),
    )
  })

  it('leaves the events where they are', () => {
    const frame = new FrameEncoder().encode(outgoing(frameOf(plainRun(100, 50)))).subarray()
    const run = new FrameDecoder().decode(frame).parts[0]!.items[0]!
    if (run.kind !== 'events') throw new Error('not a run')
    expect(run.block.body(7).buffer).toBe(frame.buffer)
  })

  it('lies in a Buffer as well, and events that are appended behind it are not written into it', () => {
    const frame = Buffer.from(new FrameEncoder().encode(outgoing(frameOf(plainRun(3, 50)))).subarray())
    const run = new FrameDecoder().decode(frame).parts[0]!.items[0]!
    if (run.kind !== 'events') throw new Error('not a run')
    expect(run.block.body(0).constructor).toBe(Uint8Array)
    const before = Buffer.from(frame)
    run.block.append(4, 0, Uint8Array.of(1, 2, 3))
    expect(frame).toStrictEqual(before)
    expect(run.block.body(0)).toStrictEqual(new Uint8Array(50).fill(0))
    expect(run.block.body(3)).toStrictEqual(Uint8Array.of(1, 2, 3))
  })

  it('gives events with the same tags the same schema, whoever sent them', () => {
    const wire = new Wire()
    const schemas = [idOf(1), idOf(2), idOf(1)].map((sender) => {
      const items = [plainRun(1, 1, { tags: ['a', 'b'] })]
      const frame = { number: 1, parts: [{ toward: 'SR' as const, sender, rid: undefined, items }] }
      const item = wire.decoder.decode(wire.encoder.encode(outgoing(frame)).subarray()).parts[0]!.items[0]!
      return item.kind === 'events' ? item.block.schema : undefined
    })
    expect(schemas[1]).toBe(schemas[0])
    expect(schemas[2]).toBe(schemas[0])
  })
})

describe('a second link', () => {
  const tail = (frame: Uint8Array, bytes: number) =>
    Buffer.from(frame.subarray(frame.length - bytes)).toString('hex')

  it.each([1, 15, 16, 500])('gets the same bytes of %i events behind other headers', (events) => {
    const run = plainRun(events, 20)
    const [first, second] = [new FrameEncoder(), new FrameEncoder()]
    second.encode(outgoing(frameOf(plainRun(1, 1, { tags: ['another'] })))).subarray()
    const one = first.encode(outgoing(frameOf(run))).subarray()
    const two = second
      .encode(outgoing({ number: 7, parts: [{ ...frameOf(run).parts[0]!, toward: 'RR', rid: aPolicy }] }))
      .subarray()
    // Epoch, count, first number, flags, first time and length, and a byte for each time after the first.
    const bytes = 13 + (events - 1) + 20 * events
    expect(tail(two, bytes)).toBe(tail(one, bytes))
  })

  it('gets what was cut otherwise as it was cut', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(99), fc.nat(99)), { minLength: 1, maxLength: 12 }), (cuts) => {
        const { block } = plainRun(100, 3)
        for (const [a, b] of cuts) {
          const frame = frameOf(runOf(block, Math.min(a, b), Math.max(a, b) + 1))
          expect(said(roundTrip(frame))).toStrictEqual(said(frame))
        }
      }),
    )
  })

  it('gets a block that has grown in between', () => {
    const writer = new BlockWriter()
    const schema = { tags: ['v'] }
    const runs = Array.from({ length: 40 }, (_, i) => writer.write(schema, 1, i + 1, i, Uint8Array.of(i)))
    const { block } = runs[0]!
    for (const to of [20, 40]) {
      const frame = frameOf(runOf(block, 0, to))
      expect(said(roundTrip(frame))).toStrictEqual(said(frame))
    }
    writer.write(schema, 1, 41, 41, Uint8Array.of(41))
    const frame = frameOf(runOf(block, 0, 41))
    expect(said(roundTrip(frame))).toStrictEqual(said(frame))
  })

  it('gets from a node in between the same bytes as that got', () => {
    const frame = new FrameEncoder().encode(outgoing(frameOf(plainRun(100, 20)))).subarray()
    const forwarded = new FrameEncoder().encode(outgoing(new FrameDecoder().decode(frame))).subarray()
    expect(forwarded).toStrictEqual(frame)
  })
})

describe('a dictionary', () => {
  const markerFrom = (sender: string): DataFrame => ({
    number: 1,
    parts: [
      { toward: 'SR', sender, rid: undefined, items: [{ kind: 'marker', epoch: 1, highest: 1, end: false }] },
    ],
  })

  it('says a name once', () => {
    const wire = new Wire()
    expect(wire.bytes(markerFrom(idOf(1)))).toBe(wire.bytes(markerFrom(idOf(1))) + 32)
  })

  it('says a schema once', () => {
    const wire = new Wire()
    const schema = { tags: ['PulseRate'] }
    const first = wire.bytes(frameOf(plainRun(1, 1, schema)))
    expect(first).toBe(wire.bytes(frameOf(plainRun(1, 1, schema))) + 32 + 1 + 1 + 9)
  })

  it('forgets the oldest name when there is no room, and says it again', () => {
    const wire = new Wire()
    for (let i = 0; i < MAX_NAMES; i++) wire.bytes(markerFrom(numberedId(i)))
    expect(wire.bytes(markerFrom(numberedId(0)))).toBeLessThan(12)
    wire.bytes(markerFrom(numberedId(MAX_NAMES)))
    expect(wire.bytes(markerFrom(numberedId(1)))).toBeLessThan(12)
    expect(wire.bytes(markerFrom(numberedId(0)))).toBeGreaterThan(32)
    expect(wire.bytes(markerFrom(numberedId(1)))).toBeGreaterThan(32)
  })

  it.each([
    ['schemas', 1, MAX_SCHEMAS],
    ['bytes', 60_000, 17],
  ])('forgets the oldest schemas when there are too many %s', (_, tagBytes, fitting) => {
    const wire = new Wire()
    const frames = Array.from({ length: fitting + 1 }, (_, i) => {
      return frameOf(plainRun(1, 0, { tags: ['x'.repeat(tagBytes), `${i}`] }))
    })
    for (const frame of frames) wire.bytes(frame)
    const last = wire.bytes(frames[fitting]!)
    expect(wire.bytes(frames[1]!)).toBeLessThanOrEqual(last)
    expect(wire.bytes(frames[0]!)).toBeGreaterThan(last + tagBytes)
  })

  it('knows nothing of another stream', () => {
    const { encoder } = new Wire()
    encoder.encode(outgoing(markerFrom(idOf(1)))).subarray()
    const second = encoder.encode(outgoing(markerFrom(idOf(1)))).subarray()
    expect(() => new FrameDecoder().decode(second)).toThrow(frameInvalid)
  })
})

describe('an encoder', () => {
  const big = frameOf(...Array.from({ length: 17 }, () => plainRun(1, 65_000)))
  const ofPart = (part: Partial<DataPart>): DataFrame => ({
    number: 1,
    parts: [{ ...frameOf(plainRun(1, 1)).parts[0]!, ...part }],
  })
  const withCauses = (causes: readonly Cause[]) => frameOf({ ...aDigestOfOne, to: causes.length, causes })
  const aCause = { buffer: 'SRB', level: 1, count: 1 } as const

  it.each<[string, DataFrame]>([
    ['a sender that is no ID', ofPart({ sender: 'pulse' })],
    ['a sender of two IDs that does not go to RC', ofPart({ sender: idOf(1) + idOf(2) })],
    ['a buffer that nothing leaves', ofPart({ toward: 'R' as 'RR' })],
  ])('refuses %s, and goes on as if it had not been there', (_, frame) => {
    const wire = new Wire()
    const first = { ...frame.parts[0]!, sender: idOf(1), toward: 'SR' as const, items: [plainRun(1, 1)] }
    expect(() => wire.encoder.encode(outgoing({ number: 1, parts: [first, ...frame.parts] }))).toThrow(
      frameInvalid,
    )
    wire.bytes({ number: 1, parts: [first] })
    wire.bytes({ number: 2, parts: [first] })
  })

  it.each<[string, DataFrame]>([
    ['a digest that is too long', withState('x'.repeat(MAX_FRAME_BYTES))],
    ['a state that is not plain data', withState({ sum: 1 })],
    ['a state that is too deep', withState(nested(MAX_STATE_DEPTH + 1))],
    ['a digest of too many causes', withCauses(Array(MAX_CAUSES + 1).fill(aCause))],
    ['a digest with another count than its causes', withCauses([aCause, { ...aCause, count: 2 }])],
    ['a digest of too many states', frameOf({ ...aDigestOfOne, states: Array(17).fill(0) })],
    ['too many entries', frameOf(plainRun(MAX_FRAME_ENTRIES, 0))],
    ['a text in tags that UTF-8 cannot hold', frameOf(plainRun(1, 1, { tags: ['\ud800'] }))],
    ['too many tags', frameOf(plainRun(1, 1, { tags: Array(MAX_TAGS + 1).fill('a') }))],
    ['tags that are too long', frameOf(plainRun(1, 1, { tags: ['a'.repeat(MAX_TAGS_BYTES), 'b'] }))],
  ])('sends a marker in place of %s, and everything beside it', (_, { parts: [part] }) => {
    const wire = new Wire()
    const [item] = part!.items
    const beside = { ...aDigestOfOne, policy: idOf(0xdd) }
    const frame = { number: 1, parts: [{ ...part!, items: [beside, item!, plainRun(2, 2)] }] }
    const marker: Item = { kind: 'marker', epoch: 1, highest: nextAfter(item!)!.seq - 1, end: false }
    const mended = { number: 1, parts: [{ ...part!, items: [beside, marker, plainRun(2, 2)] }] }
    const got = wire.decoder.decode(wire.encoder.encode(outgoing(frame)).subarray())
    expect(said(got)).toStrictEqual(said(mended))
    expect(wire.encoder.replaced).toBe(1)
    wire.bytes(mended)
  })

  it('sends markers alone where items that fit a frame each do not fit one together', () => {
    const wire = new Wire()
    const got = wire.decoder.decode(wire.encoder.encode(outgoing(big)).subarray())
    expect(got.parts[0]!.items).toEqual(
      big.parts[0]!.items.map(() => ({ kind: 'marker', epoch: 1, highest: 1, end: false })),
    )
    expect(wire.encoder.replaced).toBe(17)
  })

  it('never loses step with the other side, whatever it could not send', () => {
    const bad = fc.constantFrom<Item>(
      { ...aDigestOfOne, policy: idOf(0xee), states: [new Map()] },
      plainRun(1, 1, { tags: ['\ud800'] }),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(aFrame, fc.option(bad)), { maxLength: 8 }), (frames) => {
        const wire = new Wire()
        for (const [frame, item] of frames) {
          const last = frame.parts.at(-1)!
          const parts = [
            ...frame.parts.slice(0, -1),
            { ...last, items: [...last.items, item ?? last.items[0]!] },
          ]
          const got = wire.decoder.decode(wire.encoder.encode(outgoing({ ...frame, parts })).subarray())
          expect(got.parts.map(({ sender }) => sender)).toEqual(parts.map(({ sender }) => sender))
          wire.bytes(frame)
        }
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    ['names', MAX_NAMES + 5, (i: number) => ofPart({ sender: numberedId(i) })],
    ['schemas', MAX_SCHEMAS + 5, (i: number) => ofPart({ items: [plainRun(1, 1, { tags: [`${i}`] })] })],
  ])('takes back %s of a frame that did not leave, and those that had to go for them', (_, count, frame) => {
    const wire = new Wire()
    for (let i = 0; i < count; i++) wire.bytes(frame(i))
    const parts = [1, 2, 3].flatMap((i) => frame(count + i).parts)
    const wrong = ofPart({ sender: 'pulse' }).parts
    expect(() => wire.encoder.encode(outgoing({ number: 1, parts: [...parts, ...wrong] }))).toThrow(
      frameInvalid,
    )
    for (let i = 0; i < 10; i++) wire.bytes(frame(i))
    for (let i = count - 10; i < count + 10; i++) wire.bytes(frame(i))
  })

  it('goes to every limit', () => {
    const wire = new Wire()
    wire.bytes(frameOf(...big.parts[0]!.items.slice(0, 16)))
    wire.bytes(frameOf(plainRun(MAX_FRAME_ENTRIES - 2, 0)))
    wire.bytes(withState(nested(MAX_STATE_DEPTH)))
    wire.bytes(frameOf(plainRun(1, 1, { tags: Array(MAX_TAGS).fill('a') })))
    wire.bytes(frameOf(plainRun(1, 1, { tags: ['a'.repeat(MAX_TAGS_BYTES)] })))
    const causes = Array(MAX_CAUSES).fill({ buffer: 'RB', level: 32, count: 1 })
    wire.bytes(frameOf({ ...aDigestOfOne, to: MAX_CAUSES, causes, states: Array(16).fill(null) }))
    const last = Number.MAX_SAFE_INTEGER
    const body = new Uint8Array(65_536)
    wire.bytes(frameOf(runOf(blockOf({ tags: [] }, last, [{ seq: last, time: -last, body }]))))
    wire.bytes({ ...frameOf({ kind: 'marker', epoch: last, highest: last, end: true }), number: last })
  })

  it('fills a frame to its last byte', () => {
    const space = MAX_FRAME_BYTES - new FrameEncoder().encode(outgoing(withState('x'.repeat(100_000)))).length
    const full = withState('x'.repeat(100_000 + space))
    expect(new Wire().bytes(full)).toBe(MAX_FRAME_BYTES)
    const { encoder } = new Wire()
    encoder.encode(outgoing(withState('x'.repeat(100_001 + space))))
    expect(encoder.replaced).toBe(1)
  })
})
