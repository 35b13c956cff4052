// Runs of events on the wire: a head (epoch, numbers, times, lengths) and the bodies back to back. Neither depends
// on the stream, so a head is made once and kept for the other links; bodies are copied as they are, never decoded.
import { Block, positionOf, type Run } from '../../buffers/block.ts'
import { MAX_BODY_BYTES, type Schema } from '../../buffers/codec.ts'
import { invalidFrame } from './frame-error.ts'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MAX_FRAME_ENTRIES, MAX_KEPT_HEADS, MIN_KEPT_EVENTS } from './limits.ts'

/** Bits of a head's flags. Without any: no number is left out, times are whole, bodies are equally long. */
const HAS_GAPS = 1
const HAS_FLOAT_TIMES = 2
const HAS_LENGTHS = 4
const ALL_FLAGS = 7

/** Differences between times beyond this are not written as varints: doubled they would not be safe integers. */
const MAX_TIME_DELTA = 2 ** 52 - 1

/** Writes a run, all but its schema. */
export function writeRun(writer: FrameWriter, run: Run): void {
  writer.spend(run.to - run.from)
  const kept = keptHead(run)
  if (kept !== undefined) writer.bytes(kept)
  else writeNewHead(writer, run)
  writeBodies(writer, run)
}

/** Reads a run; its block lies over the frame. */
export function readRun(reader: FrameReader, schema: Schema): Run {
  const start = reader.at
  const epoch = reader.varint()
  const count = reader.count('the number of events', MAX_FRAME_ENTRIES, 1)
  reader.spend(count)
  // Each event but the first takes at least the byte of its time.
  if (count - 1 > reader.left) throw invalidFrame('ends too early')
  const firstSeq = reader.varint()
  const flags = reader.byte()
  if (flags > ALL_FLAGS) throw invalidFrame(`has ${flags} as the flags of a run`)
  const seqs = readSeqs(reader, firstSeq, count, (flags & HAS_GAPS) !== 0)
  const times = readTimes(reader, count, (flags & HAS_FLOAT_TIMES) !== 0)
  const offsets = readOffsets(reader, count, (flags & HAS_LENGTHS) !== 0)
  const head = reader.since(start)
  const block = Block.of(schema, epoch, reader.bytes(offsets[count]!), offsets, seqs, times)
  keep(block, 0, count, head)
  return { kind: 'events', block, picks: undefined, from: 0, to: count }
}

function keptHead({ block, picks, from, to }: Run): Uint8Array | undefined {
  if (picks !== undefined || to - from < MIN_KEPT_EVENTS) return undefined
  return block.heads?.find((head) => head.from === from && head.to === to)?.bytes
}

function keep(block: Block, from: number, to: number, bytes: Uint8Array): void {
  if (to - from < MIN_KEPT_EVENTS) return
  block.heads ??= []
  if (block.heads.length === MAX_KEPT_HEADS) block.heads.shift()
  block.heads.push({ from, to, bytes })
}

function writeNewHead(writer: FrameWriter, run: Run): void {
  const start = writer.length
  writeHead(writer, run)
  // Picks belong to one packed queue, and so to one link.
  if (run.picks === undefined) keep(run.block, run.from, run.to, writer.since(start))
}

function writeHead(writer: FrameWriter, run: Run): void {
  const { block, from, to } = run
  const gaps = hasGaps(run)
  const floatTimes = hasFloatTimes(run)
  const lengths = hasLengths(run)
  writer.varint(block.epoch)
  writer.varint(to - from)
  writer.varint(block.seq(positionOf(run, from)))
  writer.byte((gaps ? HAS_GAPS : 0) | (floatTimes ? HAS_FLOAT_TIMES : 0) | (lengths ? HAS_LENGTHS : 0))
  if (gaps) writeGaps(writer, run)
  if (floatTimes) writeFloatTimes(writer, run)
  else writeWholeTimes(writer, run)
  if (lengths) writeLengths(writer, run)
  else writer.varint(block.bodyBytes(positionOf(run, from)))
}

function hasGaps(run: Run): boolean {
  const { block, from, to } = run
  // Numbers rise, so looking at both ends is enough.
  return block.seq(positionOf(run, to - 1)) - block.seq(positionOf(run, from)) !== to - 1 - from
}

function hasFloatTimes(run: Run): boolean {
  const { block, from, to } = run
  let before = block.time(positionOf(run, from))
  for (let i = from; i < to; i++) {
    const time = block.time(positionOf(run, i))
    if (!Number.isSafeInteger(time) || Math.abs(time - before) > MAX_TIME_DELTA) return true
    before = time
  }
  return false
}

function hasLengths(run: Run): boolean {
  const { block, from, to } = run
  const bytes = block.bodyBytes(positionOf(run, from))
  for (let i = from + 1; i < to; i++) {
    if (block.bodyBytes(positionOf(run, i)) !== bytes) return true
  }
  return false
}

/** For each event but the first: how many numbers are left out before it. */
function writeGaps(writer: FrameWriter, run: Run): void {
  const { block, from, to } = run
  let before = block.seq(positionOf(run, from))
  for (let i = from + 1; i < to; i++) {
    const seq = block.seq(positionOf(run, i))
    writer.varint(seq - before - 1)
    before = seq
  }
}

function writeFloatTimes(writer: FrameWriter, run: Run): void {
  for (let i = run.from; i < run.to; i++) writer.float(run.block.time(positionOf(run, i)))
}

/** The first, and the difference of each to the one before, zigzag. */
function writeWholeTimes(writer: FrameWriter, run: Run): void {
  const { block, from, to } = run
  let before = block.time(positionOf(run, from))
  writer.float(before)
  for (let i = from + 1; i < to; i++) {
    const time = block.time(positionOf(run, i))
    const delta = time - before
    writer.varint(delta < 0 ? -2 * delta - 1 : 2 * delta)
    before = time
  }
}

function writeLengths(writer: FrameWriter, run: Run): void {
  for (let i = run.from; i < run.to; i++) writer.varint(run.block.bodyBytes(positionOf(run, i)))
}

function writeBodies(writer: FrameWriter, { block, picks, from, to }: Run): void {
  if (picks === undefined) {
    writer.bytes(block.bodies(from, to))
    return
  }
  for (let i = from; i < to; ) {
    const first = picks[i]!
    let last = first
    while (++i < to && picks[i] === last + 1) last++
    writer.bytes(block.bodies(first, last + 1))
  }
}

function readSeqs(reader: FrameReader, first: number, count: number, hasGaps: boolean): Float64Array {
  if (first === 0) throw invalidFrame('has 0 as the number of an event')
  const seqs = new Float64Array(count)
  let seq = first
  seqs[0] = seq
  for (let i = 1; i < count; i++) {
    seq += hasGaps ? reader.varint() + 1 : 1
    seqs[i] = seq
  }
  // They only rise, and a sum of doubles that once left the safe integers does not come back.
  if (seq > Number.MAX_SAFE_INTEGER) throw invalidFrame('has an event with an unsafe number')
  return seqs
}

function readTimes(reader: FrameReader, count: number, areFloats: boolean): Float64Array {
  // Not before the frame is seen to have them.
  if (areFloats && 8 * count > reader.left) throw invalidFrame('ends too early')
  const times = new Float64Array(count)
  let time = reader.time()
  times[0] = time
  for (let i = 1; i < count; i++) {
    if (areFloats) time = reader.time()
    else {
      const zigzag = reader.varint()
      time += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
    }
    times[i] = time
  }
  return times
}

/** Where each body begins, and where the last ends. */
function readOffsets(reader: FrameReader, count: number, areDifferent: boolean): Uint32Array {
  const offsets = new Uint32Array(count + 1)
  let length = 0
  let offset = 0
  for (let i = 0; i < count; i++) {
    if (i === 0 || areDifferent) length = reader.count('the length of a body', MAX_BODY_BYTES)
    offset += length
    offsets[i + 1] = offset
  }
  // 65,536 bodies of 65,536 bytes are just one more than the offsets can say.
  if (offset > reader.left) throw invalidFrame('ends too early')
  return offsets
}
