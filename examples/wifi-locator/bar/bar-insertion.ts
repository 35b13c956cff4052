// Puts the bar into a page while it passes: its beginning waits until it is known where the bar goes, the rest does not.
import { Transform, type TransformCallback } from 'node:stream'
import { HEAD_BYTES, placeForBar } from './bar.ts'

export class BarInsertion extends Transform {
  readonly #bar: Buffer
  #head: Buffer | undefined = Buffer.alloc(0)

  constructor(bar: string) {
    super()
    this.#bar = Buffer.from(bar, 'latin1')
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#head === undefined) {
      done(null, chunk)
      return
    }
    this.#head = Buffer.concat([this.#head, chunk])
    this.#insert(this.#head.length >= HEAD_BYTES)
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#insert(true)
    done()
  }

  /** Latin 1 keeps every byte: the tags looked for are ASCII in whatever charset the page has. */
  #insert(isAll: boolean): void {
    const head = this.#head
    if (head === undefined) return
    // A page whose first byte is a UTF-16 mark, or has zeros, is no ASCII whatever it says.
    const isPlain = !(head[0] === 0xfe || head[0] === 0xff || head.subarray(0, 64).includes(0))
    const at = isPlain ? placeForBar(head.toString('latin1'), isAll) : -1
    if (at === undefined) return
    this.#head = undefined
    if (at < 0 || head.length === 0) this.push(head)
    else for (const part of [head.subarray(0, at), this.#bar, head.subarray(at)]) this.push(part)
  }
}
