import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ControlMessage } from '../../overlay/control.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'
import { type DataFrame, FrameDecoder, FrameEncoder } from '../../overlay/wire/data-frame.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_ENTRIES } from '../../overlay/wire/limits.ts'
import { seeded } from '../../policies/chance.ts'
import { SpillwayError } from '../../policies/error.ts'
import { collectedHeapBytes } from './heap.ts'
import { aFrame, mutated, outgoing } from './wire-frames.ts'
import { messages } from './wire-messages.ts'

const MUTATIONS = 100_000
const SEED = 20_260_728
const frameInvalid = expect.objectContaining({ constructor: SpillwayError, code: 'FRAME_INVALID' })

/** What was decoded, or undefined when it was refused as it should be. */
function outcomeOf<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof SpillwayError && error.code === 'FRAME_INVALID') return undefined
    throw error
  }
}

function encoded(frame: DataFrame): Uint8Array {
  return new FrameEncoder().encode(outgoing(frame)).subarray()
}

/** Hex digits in any number of lines, with spaces. */
function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'))
}

/** A frame of one part towards SR with this behind its item count of 1. */
function frameWith(item: string): Uint8Array {
  return bytesOf(`01 01 02 01 ${'aa'.repeat(32)} 00 01 ${item}`)
}

const RUN = '01 00 01 01 76'
const POLICY = `01 ${'bb'.repeat(32)}`
const TIME = '00 00 00 00 00 00 00 00'
const CAUSE = '02 01 01'

describe('mutations of valid frames', () => {
  it(`of data are refused or are valid frames (${MUTATIONS})`, () => {
    const random = seeded(SEED)
    const frames = fc.sample(aFrame, { seed: SEED, numRuns: 1_000 }).map(encoded)
    let valid = 0
    for (let i = 0; i < MUTATIONS; i++) {
      const frame = mutated(frames[i % frames.length]!, random)
      const decoded = outcomeOf(() => new FrameDecoder().decode(frame))
      if (decoded === undefined) continue
      valid++
      // What was taken can be passed on, and arrives as the same.
      const forwarded = encoded(decoded)
      if (Buffer.compare(encoded(new FrameDecoder().decode(forwarded)), forwarded) !== 0) {
        expect(encoded(new FrameDecoder().decode(forwarded))).toStrictEqual(forwarded)
      }
    }
    expect(valid).toBeGreaterThan(MUTATIONS / 100)
    expect(valid).toBeLessThan(MUTATIONS)
  }, 60_000)

  it('of data are refused or valid in the midst of a stream', () => {
    const random = seeded(SEED)
    fc.assert(
      fc.property(fc.array(aFrame, { minLength: 2, maxLength: 4 }), (frames) => {
        const encoder = new FrameEncoder()
        const bytes = frames.map((frame) => encoder.encode(outgoing(frame)).subarray())
        for (let i = 0; i < 20; i++) {
          const decoder = new FrameDecoder()
          for (const frame of bytes.slice(0, -1)) decoder.decode(frame)
          outcomeOf(() => decoder.decode(mutated(bytes.at(-1)!, random)))
        }
      }),
      { seed: SEED, numRuns: 500 },
    )
  }, 60_000)

  it(`of control are refused or are valid messages (${MUTATIONS})`, () => {
    const random = seeded(SEED)
    const every = fc.oneof(...(Object.values(messages) as fc.Arbitrary<ControlMessage>[]))
    const frames = fc.sample(every, { seed: SEED, numRuns: 1_000 }).map(encodeControl)
    let valid = 0
    for (let i = 0; i < MUTATIONS; i++) {
      const frame = mutated(frames[i % frames.length]!, random)
      const message = outcomeOf(() => decodeControl(frame))
      if (message === undefined) continue
      valid++
      expect(JSON.stringify(decodeControl(encodeControl(message)))).toBe(JSON.stringify(message))
    }
    expect(valid).toBeGreaterThan(MUTATIONS / 100)
    expect(valid).toBeLessThan(MUTATIONS)
  }, 60_000)

  it('that are not frames at all are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        outcomeOf(() => new FrameDecoder().decode(bytes))
        outcomeOf(() => decodeControl(bytes))
        outcomeOf(() => new FrameDecoder().decode(Uint8Array.of(1, 1, 2, 1, ...bytes)))
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('a decoder', () => {
  it('takes the frame that the others here are made of', () => {
    const decode = (item: string) => new FrameDecoder().decode(frameWith(item)).parts[0]!.items[0]
    expect(decode('03 05 06')).toStrictEqual({ kind: 'marker', epoch: 5, highest: 6, end: false })
    expect(decode(`${RUN} 05 01 01 00 ${TIME} 01 00`)).toMatchObject({ kind: 'events', from: 0, to: 1 })
    expect(decode(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 00`)).toMatchObject({ from: 1, to: 1 })
  })

  it.each([
    ['an unknown version', 'has version 2, expected 1', bytesOf('02 01')],
    ['no batch number', 'ends too early', bytesOf('01')],
    [
      'batch number 0',
      'has 0 as the number of a batch',
      bytesOf(`01 00 02 01 ${'aa'.repeat(32)} 00 01 03 05 06`),
    ],
    ['no part', 'ends too early', bytesOf('01 01')],
    [
      'a part to nowhere',
      'has 7 as where a part goes',
      bytesOf(`01 01 07 01 ${'aa'.repeat(32)} 00 01 03 05 06`),
    ],
    ['no sender', 'has a part towards SR whose sender is not named', bytesOf('01 01 02 00 00 01 03 05 06')],
    [
      'a sender that is not known',
      'refers to name 3, which is not known',
      bytesOf('01 01 02 03 00 01 03 05 06'),
    ],
    [
      'a sender of two IDs towards SR',
      'has a part towards SR whose sender is not named',
      bytesOf(`01 01 02 02 ${'aa'.repeat(64)} 00 01 03 05 06`),
    ],
    [
      'a sender of one ID towards RC',
      'has a part towards RC whose sender is not named',
      bytesOf(`01 01 05 01 ${'aa'.repeat(32)} 00 01 03 05 06`),
    ],
    [
      'a rid of two IDs',
      'has a part for something without an ID',
      bytesOf(`01 01 02 01 ${'aa'.repeat(32)} 02 ${'bb'.repeat(64)} 01 03 05 06`),
    ],
    ['a part without items', 'has 0 as the number of items', bytesOf(`01 01 02 01 ${'aa'.repeat(32)} 00 00`)],
    ['more items than there are', 'ends too early', bytesOf(`01 01 02 01 ${'aa'.repeat(32)} 00 02 03 05 06`)],
    ['an item of unknown kind', 'has an item of unknown kind 5', frameWith('05 05 06')],
    ['a byte behind the last item', 'has 0 as where a part goes', frameWith('03 05 06 00')],
    ['a varint that could be shorter', 'has a varint that could be shorter', frameWith('03 85 00 06')],
    [
      'a varint of more than 53 bits',
      'has a varint of more than 53 bits',
      frameWith('03 ff ff ff ff ff ff ff 1f 06'),
    ],
    [
      'a varint of nine bytes',
      'has a varint of more than 8 bytes',
      frameWith('03 80 80 80 80 80 80 80 80 01 06'),
    ],
    [
      'a schema that is not known',
      'refers to schema 1, which is not known',
      frameWith(`01 01 05 01 01 00 ${TIME} 01 00`),
    ],
    [
      'a tag that is not UTF-8',
      'has a text that is not UTF-8',
      frameWith(`01 00 01 01 ff 05 01 01 00 ${TIME} 01 00`),
    ],
    ['a run without events', 'has 0 as the number of events', frameWith(`${RUN} 05 00 01 00 ${TIME} 01`)],
    ['event number 0', 'has 0 as the number of an event', frameWith(`${RUN} 05 01 00 00 ${TIME} 01 00`)],
    [
      'an event number that is not safe',
      'has an event with an unsafe number',
      frameWith(`${RUN} 05 02 ff ff ff ff ff ff ff 0f 00 ${TIME} 00 00`),
    ],
    ['unknown flags', 'has 8 as the flags of a run', frameWith(`${RUN} 05 01 01 08 ${TIME} 01 00`)],
    [
      'a time that is not a number',
      'has NaN as a time',
      frameWith(`${RUN} 05 01 01 00 00 00 00 00 00 00 f8 7f 01 00`),
    ],
    [
      'a body that is too long',
      'has 65537 as the length of a body',
      frameWith(`${RUN} 05 01 01 00 ${TIME} 81 80 04 ${'00'.repeat(65_537)}`),
    ],
    ['a body that is not there', 'ends too early', frameWith(`${RUN} 05 01 01 00 ${TIME} 02 00`)],
    ['60,000 events of nothing', 'ends too early', frameWith(`${RUN} 05 e0 d4 03 01 00 ${TIME} 00 00`)],
    [
      'bodies of 4 GiB',
      'ends too early',
      frameWith(`${RUN} 05 fd ff 03 01 00 ${TIME} ${'00'.repeat(65_532)} 80 80 04`),
    ],
    [
      'a digest without a policy',
      'has another name where an ID is expected',
      frameWith(`02 00 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 00`),
    ],
    [
      'a digest from 0',
      'has 0 as the first number of a digest',
      frameWith(`02 ${POLICY} 05 00 00 ${TIME} ${TIME} 01 ${CAUSE} 00`),
    ],
    [
      'a digest with causes for fewer',
      'has a digest of 2 with causes for 1',
      frameWith(`02 ${POLICY} 05 01 01 ${TIME} ${TIME} 01 ${CAUSE} 00`),
    ],
    [
      'a digest without causes',
      'has a digest of 1 with causes for 0',
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 00 00`),
    ],
    [
      'a cause in an unknown buffer',
      'has 7 as a buffer',
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 07 01 01 00`),
    ],
    [
      'a cause at level 33',
      'has 33 as the level of a cause',
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 02 21 01 00`),
    ],
    [
      '17 states',
      'has 17 as the number of states',
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 11 ${'00'.repeat(17)}`),
    ],
    [
      'nine lists in lists',
      'has a state of more than 8 lists in lists',
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 01 ${'07 01'.repeat(9)} 00`),
    ],
    [
      'a value of unknown kind',
      "has a state's value of unknown kind 9",
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 01 09`),
    ],
    [
      'a list that is not there',
      'ends too early',
      frameWith(`02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 01 07 ff ff ff 7f`),
    ],
    ['a frame that is too long', 'has more than 1048576 bytes', new Uint8Array(MAX_FRAME_BYTES + 1).fill(1)],
  ])('refuses %s, and everything after it', (_, reason, frame) => {
    const decoder = new FrameDecoder()
    expect(() => decoder.decode(frame)).toThrow(`the frame ${reason}`)
    expect(() => decoder.decode(frameWith('03 05 06'))).toThrow(frameInvalid)
  })

  it('refuses a frame that was cut anywhere but between parts, since the transport knows how long it is', () => {
    const frame = encoded(
      fc.sample(aFrame, { seed: SEED, numRuns: 100 }).find(({ parts }) => parts.length === 4)!,
    )
    const whole = []
    for (let length = 0; length < frame.length; length++) {
      const cut = outcomeOf(() => new FrameDecoder().decode(frame.slice(0, length)))
      if (cut !== undefined) whole.push(cut.parts.length)
    }
    expect(whole).toStrictEqual([1, 2, 3])
  })
})

describe('the memory of a decoder', () => {
  /** Of the largest frames with the least bytes for each entry. */
  const ENTRIES = MAX_FRAME_ENTRIES - 2
  const count = `${((ENTRIES & 0x7f) | 0x80).toString(16)} ${(((ENTRIES >> 7) & 0x7f) | 0x80).toString(16)} 03`
  const digestOf = (state: string) => `02 ${POLICY} 05 01 00 ${TIME} ${TIME} 01 ${CAUSE} 01 ${state}`

  it.each([
    ['markers', bytesOf(`01 01 02 01 ${'aa'.repeat(32)} 00 ${count} ${'03 00 00'.repeat(ENTRIES)}`)],
    ['empty events', frameWith(`${RUN} 05 ${count} 01 00 ${TIME} ${'00'.repeat(ENTRIES - 1)} 00`)],
    ['empty lists', frameWith(digestOf(`07 f0 ff 03 ${'07 00'.repeat(65_520)}`))],
    ['units of text', frameWith(digestOf(`08 80 80 1c ${'00 d8'.repeat(458_752)}`))],
  ])('is bounded for a frame of nothing but %s', (_, frame) => {
    const before = held()
    const decoded = new FrameDecoder().decode(frame)
    expect(held() - before).toBeLessThan(8 * MAX_FRAME_BYTES)
    expect(decoded.number).toBe(1)
  })

  function held(): number {
    return collectedHeapBytes() + process.memoryUsage().arrayBuffers
  }
})
