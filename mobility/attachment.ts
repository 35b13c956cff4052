// Where a client is attached (MHOST, PACK section 3): attached, detached, or departed. One that lost its node looks for
// another among those it knows, one search at a time. It does no IO: time, chance and attaching are handed in.

/** Departed is detached for longer than anybody keeps anything. */
export type AttachmentState = 'attached' | 'detached' | 'departed'

/** Told of every change. */
export interface AttachmentListener {
  attached?(): void
  detached?(): void
  departed?(): void
}

export interface AttachmentSurroundings {
  /** From 0 to below 1. */
  random(): number
  after(delayMs: number, call: () => void): void
  /** Attaches to the node at an address. False when that cannot be. */
  attach(address: string): Promise<boolean>
}

/** A lost node and the others are tried again after so long, twice as long each time, up to the second. */
const SEARCH_MS = 500
const SEARCH_MAX_MS = 10_000

export class Attachment {
  readonly #surroundings: AttachmentSurroundings
  readonly #listeners = new Set<AttachmentListener>()
  #addresses: readonly string[]
  #state: AttachmentState = 'detached'
  #isSearching = false
  /** Whether it is to be attached: not after it was asked to detach, nor when it is over. */
  #isWanted = true

  constructor(addresses: readonly string[], surroundings: AttachmentSurroundings) {
    this.#addresses = addresses
    this.#surroundings = surroundings
  }

  get state(): AttachmentState {
    return this.#state
  }

  /** Returns how to listen no more. */
  listen(listener: AttachmentListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** This address is tried first from now on. */
  prefer(address: string): void {
    this.#isWanted = true
    this.#addresses = [address, ...this.#addresses.filter((other) => other !== address)]
  }

  /** From now on nobody searches. */
  stop(): void {
    this.#isWanted = false
  }

  attached(): void {
    this.#isWanted = true
    this.#become('attached')
  }

  /** The node is gone, or was asked to let go. */
  detached(): void {
    if (this.#state === 'attached') this.#become('detached')
    this.#search(SEARCH_MS)
  }

  departed(): void {
    this.#become('departed')
  }

  #become(state: AttachmentState): void {
    if (state === this.#state) return
    this.#state = state
    for (const listener of [...this.#listeners]) listener[state]?.()
  }

  #search(afterMs: number): void {
    if (this.#isSearching || !this.#isWanted) return
    this.#isSearching = true
    // Not at once and not all at the same moment: a node that dies leaves many clients.
    this.#surroundings.after(afterMs * (0.5 + this.#surroundings.random() / 2), async () => {
      const isFound = await this.#attachToAny()
      this.#isSearching = false
      if (!isFound) this.#search(Math.min(SEARCH_MAX_MS, afterMs * 2))
    })
  }

  async #attachToAny(): Promise<boolean> {
    for (const address of this.#addresses) {
      if (!this.#isWanted || this.#state === 'attached') return true
      if (await this.#surroundings.attach(address)) return true
    }
    return false
  }
}
