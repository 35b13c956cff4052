// The first frame on every stream, in both directions: which run of the process speaks, and which of its attempts
// to reach the other this is. The one who answers names its own last attempt; all up to that one are void. So a
// stream that arrives late, after the tie of a simultaneous dial was settled, is told from a new one.
import { bytesToHex, hexToBytes, randomBytes } from '@noble/hashes/utils.js'
import { FrameError } from './frames.ts'

export interface Greeting {
  /** Random, 16 hex digits; a new one each time a process starts. */
  readonly run: string
  /** Counts up within a run, and is 0 before the first attempt. */
  readonly attempt: number
}

export function newRun(): string {
  return bytesToHex(randomBytes(RUN_BYTES))
}

export function encodeGreeting(greeting: Greeting): Uint8Array {
  const frame = new Uint8Array(GREETING_BYTES)
  frame.set(hexToBytes(greeting.run))
  new DataView(frame.buffer).setUint32(RUN_BYTES, greeting.attempt)
  return frame
}

/** Throws a FrameError when it is none. */
export function decodeGreeting(frame: Uint8Array): Greeting {
  if (frame.length !== GREETING_BYTES) throw new FrameError('the first frame of a stream is no greeting')
  const attempt = new DataView(frame.buffer, frame.byteOffset).getUint32(RUN_BYTES)
  return { run: bytesToHex(frame.subarray(0, RUN_BYTES)), attempt }
}

const RUN_BYTES = 8
const GREETING_BYTES = RUN_BYTES + 4
