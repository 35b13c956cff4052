// Where a client is attached (MHOST, PACK section 3): attached, detached, or departed. One that lost its node looks for
// another among those it knows, one search at a time; one that is sent on moves. It does no IO: time, chance and attaching
// are handed in.
import { type AttachmentListener, AttachmentListeners, type AttachmentState } from './listeners.ts'
import { type OtherNode, type Place, Places } from './places.ts'

export interface AttachmentSurroundings {
  /** From 0 to below 1. */
  random(): number
  after(delayMs: number, call: () => void): void
  /**
   * Attaches to the node at an address, as long as that is wanted; until then the client stays where it is. False when
   * it cannot be.
   */
  attach(place: Place, isWanted: () => boolean): Promise<boolean>
}

/** A lost node and the others are tried again after so long, twice as long each time, up to the second. */
const SEARCH_MS = 500
const SEARCH_MAX_MS = 10_000
/** Clients that are sent on go within so long: a node lets in only so many a second. */
const SENT_ON_MS = 1_000

export class Attachment {
  readonly #surroundings: AttachmentSurroundings
  readonly #listeners = new AttachmentListeners()
  readonly #places: Places
  #state: AttachmentState = 'detached'
  #isSearching = false
  #isSentOn = false
  /** Whether it is to be attached: not after it was asked to detach, nor when it is over. */
  #isWanted = true
  /** Counts what the application has asked for: what was begun before is not wanted any more. */
  #wishes = 0

  constructor(addresses: readonly string[], surroundings: AttachmentSurroundings) {
    this.#places = new Places(addresses)
    this.#surroundings = surroundings
  }

  get state(): AttachmentState {
    return this.#state
  }

  /** Returns how to listen no more. */
  listen(listener: AttachmentListener): () => void {
    return this.#listeners.listen(listener)
  }

  /** The application wants it to be attached, and to this address, if it names one. */
  want(address: string | undefined): void {
    this.#wishes++
    this.#isWanted = true
    if (address !== undefined) this.#places.prefer({ address })
  }

  /** Nobody answered where the application wanted it to be. */
  unreached(address: string): void {
    this.#places.failed(address)
  }

  /** From now on nobody searches, and nobody moves it. */
  stop(): void {
    this.#wishes++
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

  /** Its node tells of others. With `move` it is sent on to one of them, because its node leaves or is full. */
  others(nodes: readonly OtherNode[], move: boolean): void {
    this.#places.learn(nodes)
    if (!move || this.#isSentOn || this.#state !== 'attached') return
    this.#isSentOn = true
    this.#places.firstFails()
    this.#surroundings.after(SENT_ON_MS * this.#surroundings.random(), async () => {
      await this.#moveToAny(nodes)
      this.#isSentOn = false
    })
  }

  /** Moves to another node; it stays where it is until that one has it. False when it cannot be. */
  async move({ id, addresses }: OtherNode): Promise<boolean> {
    const isWanted = this.#wish(() => this.#state === 'attached')
    for (const address of addresses) {
      if (!isWanted()) return false
      if (await this.#attachTo({ address, node: id }, isWanted)) return true
    }
    return false
  }

  async #moveToAny(nodes: readonly OtherNode[]): Promise<void> {
    const isWanted = this.#wish(() => this.#state === 'attached')
    for (const node of nodes) if (!isWanted() || (await this.move(node))) return
  }

  #become(state: AttachmentState): void {
    if (state === this.#state) return
    this.#state = state
    this.#listeners.tell(state)
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
    const isWanted = this.#wish(() => this.#state !== 'attached')
    for (const place of this.#places.all) {
      if (!isWanted()) break
      if (await this.#attachTo(place, isWanted)) return true
    }
    return !this.#isWanted || this.#state === 'attached'
  }

  async #attachTo(place: Place, isWanted: () => boolean): Promise<boolean> {
    const isThere = await this.#surroundings.attach(place, isWanted)
    if (isThere) this.#places.prefer(place)
    else if (isWanted()) this.#places.failed(place.address)
    return isThere
  }

  /** Whether something is still wanted: as long as it makes sense and the application asks for nothing else. */
  #wish(makesSense: () => boolean): () => boolean {
    const wishes = this.#wishes
    return () => wishes === this.#wishes && this.#isWanted && makesSense()
  }
}
