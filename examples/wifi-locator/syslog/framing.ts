// RFC 6587: how lines are told apart in a stream of bytes. Some count (`57 <14>…`), most end with a newline, and OpenWrt
// can end with a zero. What comes may be cut anywhere, and may be anything.

export const framingLimits = {
  /** Bytes of a line, more than any access point writes; of a longer one the rest is skipped. */
  lineBytes: 8_192,
  /** Bytes that a frame may say that it has; who says more is no syslog. */
  frameBytes: 65_536,
} as const

const NEWLINE = 0x0a
const ZERO = 0
/** As many digits as `frameBytes` has, and a space. */
const COUNT = /^([1-9]\d{0,4}) (.)/
const MAYBE_COUNT = /^[1-9]\d{0,4} ?$/
/** A line may begin with a number, too: less than this is hardly a count. */
const LEAST_COUNT = 16

export interface FrameHandlers {
  line(line: string): void
  /** A line was longer than the limit; its beginning was handed out. */
  cut(): void
}

export class Framing {
  readonly #handlers: FrameHandlers
  #waiting: Buffer = Buffer.alloc(0)
  /** Whether a count was seen: then others on this connection need not look like one. */
  #isCounting = false
  /** Of a line that was cut: how many bytes are still to skip, or all until it ends. */
  #skipping: number | 'line' = 0

  constructor(handlers: FrameHandlers) {
    this.#handlers = handlers
  }

  /** Takes bytes as they come. False when they are no syslog: then the rest means nothing. */
  push(bytes: Buffer): boolean {
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes])
    let from = 0
    for (;;) {
      const next = this.#next(from)
      if (next === 'more') break
      if (next === 'wrong') return false
      from = next
    }
    // Not a view, which would keep everything that arrived with it.
    this.#waiting = Buffer.from(this.#waiting.subarray(from))
    return true
  }

  /** The stream has ended: what has no end is a line too. */
  end(): void {
    if (this.#skipping === 0 && this.#waiting.length > 0) this.#hand(this.#waiting)
    this.#waiting = Buffer.alloc(0)
  }

  /** Takes one line, or a part to skip, from there; where the next one begins. */
  #next(from: number): number | 'more' | 'wrong' {
    const { length } = this.#waiting
    if (from === length) return 'more'
    if (this.#skipping !== 0) return this.#skip(from, this.#skipping)
    const head = this.#waiting.toString('latin1', from, Math.min(length, from + 7))
    const [, digits, first] = COUNT.exec(head) ?? []
    if (digits !== undefined) {
      const begin = from + digits.length + 1
      const isCount = first === '<' || this.#isCounting || this.#looksCounted(begin, Number(digits))
      if (isCount === 'more') return 'more'
      if (isCount) return this.#counted(begin, Number(digits))
    }
    if (from + head.length === length && MAYBE_COUNT.test(head)) return 'more'
    return this.#ended(from)
  }

  /** rsyslog counts lines without a priority as well. They have no newline, unless the number is part of a line. */
  #looksCounted(from: number, bytes: number): boolean | 'more' {
    if (bytes < LEAST_COUNT || bytes > framingLimits.lineBytes) return false
    const frame = this.#waiting.subarray(from, from + bytes)
    if (frame.includes(NEWLINE) || frame.includes(ZERO)) return false
    return frame.length === bytes || 'more'
  }

  #counted(from: number, bytes: number): number | 'more' | 'wrong' {
    this.#isCounting = true
    if (bytes > framingLimits.frameBytes) return 'wrong'
    const taken = Math.min(bytes, framingLimits.lineBytes)
    if (this.#waiting.length < from + taken) return 'more'
    this.#hand(this.#waiting.subarray(from, from + taken))
    this.#skipping = bytes - taken
    if (this.#skipping > 0) this.#handlers.cut()
    return from + taken
  }

  #ended(from: number): number | 'more' {
    const end = this.#endOfLine(from)
    if (end === undefined && this.#waiting.length - from < framingLimits.lineBytes) return 'more'
    const to = Math.min(end ?? Number.POSITIVE_INFINITY, from + framingLimits.lineBytes)
    this.#hand(this.#waiting.subarray(from, to))
    if (to === end) return to + 1
    this.#handlers.cut()
    this.#skipping = 'line'
    return to
  }

  #skip(from: number, skipping: number | 'line'): number {
    if (skipping === 'line') {
      const end = this.#endOfLine(from)
      if (end === undefined) return this.#waiting.length
      this.#skipping = 0
      return end + 1
    }
    const to = Math.min(this.#waiting.length, from + skipping)
    this.#skipping = skipping - (to - from)
    return to
  }

  #endOfLine(from: number): number | undefined {
    const newline = this.#waiting.indexOf(NEWLINE, from)
    const zero = this.#waiting.subarray(from, newline < 0 ? undefined : newline).indexOf(ZERO)
    if (zero >= 0) return from + zero
    return newline < 0 ? undefined : newline
  }

  #hand(bytes: Buffer): void {
    const line = bytes.toString('utf8').trim()
    if (line !== '') this.#handlers.line(line)
  }
}
