// Events as plain objects, seen as a queue that can be packed.
import type { Attributes, Events, Value } from './event.ts'

/** One event with what its sender gave it. `time` is in milliseconds. */
export interface DecodedEvent {
  readonly epoch: number
  readonly seq: number
  readonly time: number
  readonly event: Attributes
}

/** A queue of decoded events. An attribute that an event does not own is missing. */
export class DecodedEvents implements Events {
  readonly #entries: readonly DecodedEvent[]

  constructor(entries: readonly DecodedEvent[]) {
    this.#entries = entries
  }

  get length(): number {
    return this.#entries.length
  }

  epoch(position: number): number {
    return this.#entries[position]!.epoch
  }

  seq(position: number): number {
    return this.#entries[position]!.seq
  }

  time(position: number): number {
    return this.#entries[position]!.time
  }

  columns(tags: readonly string[]): Value[][] {
    return tags.map((tag) => this.#column(tag))
  }

  #column(tag: string): Value[] {
    const entries = this.#entries
    const values = new Array<Value>(entries.length)
    // What Object.prototype has is nobody's attribute: there, ask whether the event owns it.
    const inherited = tag in Object.prototype
    for (let i = 0; i < entries.length; i++) {
      const { event } = entries[i]!
      values[i] = inherited && !Object.hasOwn(event, tag) ? undefined : event[tag]
    }
    return values
  }
}
