// The one error class of Spillway: a failure at the boundary, with a stable code.

/** Stable codes; each has a heading in the README. */
export type ErrorCode =
  | 'POLICY_INVALID'
  | 'POLICY_LIMIT'
  | 'NAME_TAKEN'
  | 'NAME_INVALID'
  | 'EVENT_INVALID'
  | 'OPTION_INVALID'
  | 'FRAME_INVALID'
  | 'CLOSED'
  | 'REFUSED'
  | 'UNREACHABLE'
  | 'ADDRESS_INVALID'
  | 'KEY_INVALID'
  | 'LISTEN_FAILED'

/** A failure at the boundary: bad policy, bad event, bad frame, refused. Loss is never an error. */
export class SpillwayError extends Error {
  override readonly name: string = 'SpillwayError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
