// The one failure of the wire: a frame that is not what `docs/wire.md` says. Whoever gets one closes that stream.
import { SpillwayError } from '../../policies/error.ts'

/** FRAME_INVALID; `trouble` completes "the frame …". */
export function invalidFrame(trouble: string, cause?: unknown): SpillwayError {
  return new SpillwayError('FRAME_INVALID', `the frame ${trouble}`, cause === undefined ? {} : { cause })
}
