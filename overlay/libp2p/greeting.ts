// The first frame on every stream, in both directions: which run of the process speaks, and which of its attempts
// to reach the other this is. The one who answers names its own last attempt; all up to that one are void. So a
// stream that arrives late, after the tie of a simultaneous dial was settled, is told from a new one.
import { randomBytes } from 'node:crypto'
import { FrameError } from './frames.ts'

export interface Greeting {
  /** Random, 16 hex digits; a new one each time a process starts. */
  readonly run: string
  /** Counts up within a run, and is 0 before the first attempt. */
  readonly attempt: number
}

export function newRun(): string {
  return randomBytes(8).toString('hex')
}

export function encodeGreeting(greeting: Greeting): Uint8Array {
  const frame = Buffer.alloc(GREETING_BYTES)
  frame.write(greeting.run, 'hex')
  frame.writeUInt32BE(greeting.attempt, RUN_BYTES)
  return frame
}

/** Throws a FrameError when it is none. */
export function decodeGreeting(frame: Uint8Array): Greeting {
  if (frame.length !== GREETING_BYTES) throw new FrameError('the first frame of a stream is no greeting')
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
  return { run: bytes.toString('hex', 0, RUN_BYTES), attempt: bytes.readUInt32BE(RUN_BYTES) }
}

const RUN_BYTES = 8
const GREETING_BYTES = RUN_BYTES + 4
