// Digests on the wire: which events they stand for, why those were dropped, and the digesters' states.
import type { Cause, Digest } from '../../policies/digest.ts'
import { countOf } from '../../policies/digest.ts'
import type { State } from '../../policies/digester.ts'
import { policyLimits } from '../../policies/limits.ts'
import type { ReceivedNames, SentNames } from './dictionary.ts'
import { invalidFrame } from './frame-error.ts'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MAX_BUFFER_NAME_BYTES, MAX_CAUSES } from './limits.ts'
import { follows, isDelta, type Place } from './place.ts'
import { readState, writeState } from './state-codec.ts'

/** Buffers by their code, which counts from 1. */
const BUFFERS = ['SPB', 'SRB', 'RRB', 'RPB', 'RCB', 'RB']
/** The code of a buffer whose name follows. */
const OTHER_BUFFER = 0
/** The level of what no level freed. */
const WORST_CASE = 0

/** Whether the digest can lean on the item that ended at `before`. */
export function digestFollows(digest: Digest, before: Place | undefined): before is Place {
  const { epoch, from, fromTime, toTime } = digest
  return follows(before, epoch, from, fromTime) && isDelta(fromTime, toTime)
}

/** Writes a digest, behind a place if it follows one. */
export function writeDigest(writer: FrameWriter, digest: Digest, names: SentNames, before?: Place): void {
  checkLimits(digest)
  names.write(writer, digest.policy)
  if (before === undefined) {
    writer.varint(digest.epoch)
    writer.varint(digest.from)
  }
  writer.varint(digest.to - digest.from)
  if (before === undefined) {
    writer.float(digest.fromTime)
    writer.float(digest.toTime)
  } else {
    writer.zigzag(digest.fromTime - before.time)
    writer.zigzag(digest.toTime - digest.fromTime)
  }
  writer.varint(digest.causes.length)
  writer.spend(digest.causes.length)
  for (const cause of digest.causes) writeCause(writer, cause)
  writer.varint(digest.states.length)
  for (const state of digest.states) writeState(writer, state)
}

/** Reads a digest, behind a place if it follows one. */
export function readDigest(reader: FrameReader, names: ReceivedNames, before?: Place): Digest {
  const policy = names.readId(reader)
  const epoch = before?.epoch ?? reader.varint()
  const from = before?.next ?? reader.count('the first number of a digest', Number.MAX_SAFE_INTEGER, 1)
  const to = from + reader.varint()
  if (to > Number.MAX_SAFE_INTEGER) throw invalidFrame('has a digest with an unsafe number')
  const fromTime = before === undefined ? reader.time() : before.time + reader.zigzag()
  const toTime = before === undefined ? reader.time() : fromTime + reader.zigzag()
  const causes = readCauses(reader)
  const states = readStates(reader)
  const digest: Digest = { kind: 'digest', policy, epoch, from, to, fromTime, toTime, causes, states }
  checkCount(digest)
  return digest
}

function writeCause(writer: FrameWriter, { buffer, level, count }: Cause): void {
  const code = BUFFERS.indexOf(buffer) + 1
  writer.byte(code)
  if (code === OTHER_BUFFER) writer.text(buffer, MAX_BUFFER_NAME_BYTES)
  writer.varint(level === 'worst-case' ? WORST_CASE : level)
  writer.varint(count)
}

function readCauses(reader: FrameReader): Cause[] {
  const length = reader.count('the number of causes', MAX_CAUSES)
  reader.spend(length)
  const causes: Cause[] = []
  for (let i = 0; i < length; i++) causes.push(readCause(reader))
  return causes
}

function readCause(reader: FrameReader): Cause {
  const code = reader.byte()
  const buffer = code === OTHER_BUFFER ? reader.text(MAX_BUFFER_NAME_BYTES) : BUFFERS[code - 1]
  if (buffer === undefined) throw invalidFrame(`has ${code} as a buffer`)
  const level = reader.count('the level of a cause', policyLimits.levels)
  const count = reader.count('the count of a cause', Number.MAX_SAFE_INTEGER, 1)
  return { buffer, level: level === WORST_CASE ? 'worst-case' : level, count }
}

function readStates(reader: FrameReader): State[] {
  const length = reader.count('the number of states', policyLimits.digesters)
  const states: State[] = []
  for (let i = 0; i < length; i++) states.push(readState(reader))
  return states
}

/** What the other side would refuse must not leave. */
function checkLimits(digest: Digest): void {
  const { causes, states } = digest
  if (causes.length > MAX_CAUSES) throw invalidFrame(`cannot hold a digest of ${causes.length} causes`)
  if (states.length > policyLimits.digesters)
    throw invalidFrame(`cannot hold a digest of ${states.length} states`)
  checkCount(digest)
}

/** Every event of a digest was dropped for one cause. */
function checkCount(digest: Digest): void {
  let count = 0
  for (const cause of digest.causes) count += cause.count
  if (count !== countOf(digest))
    throw invalidFrame(`has a digest of ${countOf(digest)} with causes for ${count}`)
}
