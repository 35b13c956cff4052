// Where a client may attach: the addresses it was given, which it keeps, and those it was told of, which are bounded.

/** A node of the overlay, as a client was told of it. */
export interface OtherNode {
  readonly id: string
  readonly addresses: readonly string[]
  /** 0 is idle, 1 is full. */
  readonly load: number
}

/** An address, and who is to answer there, where that is known. */
export interface Place {
  readonly address: string
  readonly node?: string
}

/** Told places that are kept, the newest: a node tells of eight others, with some addresses each. */
export const MAX_TOLD_PLACES = 32

export class Places {
  readonly #given: readonly string[]
  #told: readonly Place[] = []
  #first: Place | undefined
  /** Those that did not answer when they were tried last; the last of them is the last. */
  readonly #failed = new Set<string>()

  constructor(given: readonly string[]) {
    this.#given = given
  }

  /** In the order in which they are to be tried. */
  get all(): readonly Place[] {
    const places = new Map<string, Place>()
    const first = this.#first === undefined ? [] : [this.#first]
    for (const place of [...first, ...this.#given.map((address) => ({ address })), ...this.#told])
      if (!places.has(place.address)) places.set(place.address, place)
    const failed = [...this.#failed].flatMap((address) => places.get(address) ?? [])
    return [...[...places.values()].filter(({ address }) => !this.#failed.has(address)), ...failed]
  }

  /** What a node says of others is newer than what was known of them. */
  learn(nodes: readonly OtherNode[]): void {
    const told = nodes.flatMap(({ id, addresses }) => addresses.map((address) => ({ address, node: id })))
    const isTold = ({ address, node }: Place) =>
      told.some((one) => one.address === address || one.node === node)
    this.#told = [...told, ...this.#told.filter((place) => !isTold(place))].slice(0, MAX_TOLD_PLACES)
    const known = new Set(this.all.map(({ address }) => address))
    for (const address of this.#failed) if (!known.has(address)) this.#failed.delete(address)
  }

  /** This one is tried first from now on. At an address that was given, whoever answers is right. */
  prefer({ address, node }: Place): void {
    this.#first = node === undefined || this.#given.includes(address) ? { address } : { address, node }
    this.#failed.delete(address)
  }

  /** It did not answer, or is about to leave: it is tried after all others. */
  failed(address: string): void {
    this.#failed.delete(address)
    this.#failed.add(address)
  }

  /** The node at which the client is is about to leave. */
  firstFails(): void {
    if (this.#first !== undefined) this.failed(this.#first.address)
  }
}
