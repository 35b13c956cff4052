// Frames on a stream of bytes, without a network.
import fc from 'fast-check'
import { Uint8ArrayList } from 'uint8arraylist'
import { expect, test } from 'vitest'
import { FrameError, FrameSplitter, joinFrames, splitFrames } from '../../overlay/libp2p/frames.ts'

const frames = fc.array(
  fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }),
    fc.integer({ min: 1, max: 40_000 }).map((length) => new Uint8Array(length).fill(length)),
  ),
  { maxLength: 30 },
)

test('come out as they went in, however the bytes are cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 20_000 })), (sent, cuts) => {
      const stream = joinFrames(sent).subarray()
      const splitter = new FrameSplitter(1_000_000)
      const got: Uint8Array[] = []
      let at = 0
      for (const cut of [...cuts, stream.length]) {
        splitter.push(stream.subarray(at, at + cut), got)
        at = Math.min(stream.length, at + cut)
      }
      expect(got.map(hex)).toEqual(sent.map(hex))
    }),
    { numRuns: 200 },
  )
})

test('come out of byte by byte too', () => {
  const sent = [Uint8Array.of(1), new Uint8Array(200).fill(2), new Uint8Array(20_000).fill(3)]
  const splitter = new FrameSplitter(1_000_000)
  const got: Uint8Array[] = []
  for (const byte of joinFrames(sent).subarray()) splitter.push(Uint8Array.of(byte), got)
  expect(got.map(hex)).toEqual(sent.map(hex))
})

test('that a chunk holds whole are slices of it, not copies', () => {
  const chunk = joinFrames([Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5)]).subarray()
  const got: Uint8Array[] = []
  new FrameSplitter(10).push(chunk, got)
  for (const frame of got) expect(frame.buffer).toBe(chunk.buffer)
})

test('that are large are written as they are, and small ones together', () => {
  const large = new Uint8Array(65_536)
  const list = joinFrames([...Array(100).fill(Uint8Array.of(7)), large, Uint8Array.of(8)])
  expect([...list].length).toBe(3)
  expect([...list][1]).toBe(large)
})

test('take no memory for what was only announced', () => {
  const splitter = new FrameSplitter(1_048_576)
  const before = process.memoryUsage().arrayBuffers
  const splitters = Array.from({ length: 100 }, () => new FrameSplitter(1_048_576))
  for (const each of [splitter, ...splitters]) each.push(Uint8Array.of(0x80, 0x80, 0x40, 1), [])
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
})

test('that are empty, too long or have an endless length are refused', () => {
  for (const wrong of [[0], [0x81, 0x80, 0x40], [0xff, 0xff, 0xff], [0x80, 0x80, 0x00]]) {
    expect(() => new FrameSplitter(1_048_576).push(Uint8Array.from(wrong), [])).toThrow(FrameError)
  }
})

test('of one chunk come together', async () => {
  const sent = [Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)]
  async function* source() {
    yield joinFrames(sent)
    yield new Uint8ArrayList(Uint8Array.of(2), Uint8Array.of(9), Uint8Array.of(9))
  }
  const batches: string[][] = []
  for await (const batch of splitFrames(10)(source())) batches.push(batch.map(hex))
  expect(batches).toEqual([sent.map(hex), ['0909']])
})

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
