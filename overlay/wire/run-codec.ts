// Runs of events on the wire: a head (epoch, numbers, times, lengths) and the bodies back to back. Neither depends
// on the stream, so a head is made once and kept for the other links; only that of a short run may lean on the item
// before it. Bodies are copied as they are, never decoded.
import { Block, positionOf, type Run } from '../../buffers/block.ts'
import { MAX_BODY_BYTES, type Schema } from '../../buffers/codec.ts'
import { invalidFrame } from './frame-error.ts'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MAX_FRAME_ENTRIES, MAX_KEPT_HEADS, MIN_KEPT_EVENTS } from './limits.ts'
import { follows, isDelta, type Place } from './place.ts'

/** Bits of a head's flags. Without any: no number is left out, times are whole, bodies are equally long. */
const HAS_GAPS = 1
const HAS_FLOAT_TIMES = 2
const HAS_LENGTHS = 4
const ALL_FLAGS = 7

/** Whether the head leans on the item that ended at `before`. */
export function runFollows(run: Run, before: Place | undefined): before is Place {
  if (before === undefined || run.to - run.from >= MIN_KEPT_EVENTS || hasFloatTimes(run)) return false
  const { block, from } = run
  const first = positionOf(run, from)
  return follows(before, block.epoch, block.seq(first), block.time(first))
}

/** Writes a run that follows `before`, all but its schema. */
export function writeRunBehind(writer: FrameWriter, run: Run, before: Place): void {
  writer.spend(run.to - run.from)
  writeHead(writer, run, before)
  writeBodies(writer, run)
}

/** Writes a run, all but its schema. */
export function writeRun(writer: FrameWriter, run: Run): void {
  writer.spend(run.to - run.from)
  const kept = keptHead(run)
  if (kept !== undefined) writer.bytes(kept)
  else writeNewHead(writer, run)
  writeBodies(writer, run)
}

/** Reads a run, behind a place if it follows one; its block lies over the frame. */
export function readRun(reader: FrameReader, schema: Schema, before?: Place): Run {
  const start = reader.at
  const epoch = before?.epoch ?? reader.varint()
  const count = reader.count('the number of events', MAX_FRAME_ENTRIES, 1)
  reader.spend(count)
  // Each event but the first takes at least the byte of its time.
  if (count - 1 > reader.left) throw invalidFrame('ends too early')
  const firstSeq = before?.next ?? reader.varint()
  const flags = reader.byte()
  if (flags > ALL_FLAGS) throw invalidFrame(`has ${flags} as the flags of a run`)
  const seqs = readSeqs(reader, firstSeq, count, (flags & HAS_GAPS) !== 0)
  const times = readTimes(reader, count, (flags & HAS_FLOAT_TIMES) !== 0, before)
  const offsets = readOffsets(reader, count, (flags & HAS_LENGTHS) !== 0)
  const head = reader.since(start)
  const block = Block.of(schema, epoch, reader.bytes(offsets[count]!), offsets, seqs, times)
  if (before === undefined) keep(block, 0, count, head)
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

function writeHead(writer: FrameWriter, run: Run, before?: Place): void {
  const { block, from, to } = run
  const gaps = hasGaps(run)
  const floatTimes = hasFloatTimes(run)
  const lengths = hasLengths(run)
  if (before === undefined) writer.varint(block.epoch)
  writer.varint(to - from)
  if (before === undefined) writer.varint(block.seq(positionOf(run, from)))
  writer.byte((gaps ? HAS_GAPS : 0) | (floatTimes ? HAS_FLOAT_TIMES : 0) | (lengths ? HAS_LENGTHS : 0))
  if (gaps) writeGaps(writer, run)
  if (floatTimes) writeFloatTimes(writer, run)
  else writeWholeTimes(writer, run, before)
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
    if (!isDelta(before, time)) return true
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

/** The first, or its difference to the place that the run follows, and that of each to the one before. */
function writeWholeTimes(writer: FrameWriter, run: Run, place: Place | undefined): void {
  const { block, from, to } = run
  let before = block.time(positionOf(run, from))
  if (place === undefined) writer.float(before)
  else writer.zigzag(before - place.time)
  for (let i = from + 1; i < to; i++) {
    const time = block.time(positionOf(run, i))
    writer.zigzag(time - before)
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

function readTimes(
  reader: FrameReader,
  count: number,
  areFloats: boolean,
  before: Place | undefined,
): Float64Array {
  // Not before the frame is seen to have them.
  if (areFloats && 8 * count > reader.left) throw invalidFrame('ends too early')
  const times = new Float64Array(count)
  let time = areFloats || before === undefined ? reader.time() : before.time + reader.zigzag()
  times[0] = time
  for (let i = 1; i < count; i++) {
    time = areFloats ? reader.time() : time + reader.zigzag()
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
