// What comes by a new way before the former one has brought all that lies below: it waits, for some seconds and up to a
// limit. It waits outside of all queues, where no policy packs it and no budget counts it.
import { type Item, itemBytes } from '../buffers/item.ts'

/** Items for everyone, or for a class or receiver. */
export interface Part {
  readonly rid: string | undefined
  readonly items: readonly Item[]
}

/** Parts that may wait, and their bytes: what two queues may have, since one may wait here already. */
export const MAX_EARLY = 1_024
export const MAX_EARLY_BYTES = 16_777_216

export class Early {
  readonly #parts: Part[] = []
  #bytes = 0

  get parts(): readonly Part[] {
    return this.#parts
  }

  /** Puts it behind the others. False when that was too much: then the former way is waited for no more. */
  add(part: Part): boolean {
    this.#parts.push(part)
    for (const item of part.items) this.#bytes += itemBytes(item)
    return this.#parts.length <= MAX_EARLY && this.#bytes <= MAX_EARLY_BYTES
  }
}
