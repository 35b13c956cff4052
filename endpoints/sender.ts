// A sender, as an application has it.
import type { ClientCore } from '../overlay/client.ts'
import { type Declaration, Declared, type EventOf } from './attributes.ts'

export class Sender<D extends Declaration = Declaration> {
  /** What receivers subscribe to: 64 hex digits. */
  readonly id: string
  readonly name: string
  /** Resolves when the overlay knows the sender. What is published before is kept. */
  readonly opened: Promise<void>
  readonly #core: ClientCore
  readonly #declared: Declared
  readonly #drained: Promise<void>

  /** Made by `Client.sender`. */
  constructor(
    core: ClientCore,
    id: string,
    name: string,
    attributes: D,
    told: { opened: Promise<void>; drained: Promise<void> },
  ) {
    this.id = id
    this.name = name
    this.#core = core
    this.#declared = new Declared(attributes)
    this.opened = told.opened
    this.#drained = told.drained
  }

  /** How many events were published. */
  get published(): number {
    return this.#core.published(this.id)
  }

  /**
   * Publishes an event. Never waits; returns how full the first queue is, from 0 to 1: beyond, the receivers'
   * policies decide what is lost. Throws EVENT_INVALID, or CLOSED after `close`.
   */
  publish(event: EventOf<D>): number {
    this.#declared.check(event)
    return this.#core.publish(this.id, event)
  }

  /** No more will come. Resolves when the proxy has everything, and that it was all. */
  async close(): Promise<void> {
    this.#core.end(this.id)
    await this.#drained
  }
}
