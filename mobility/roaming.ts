// When a client that knows several nodes measures them, and moves by itself. It does no IO: time, chance and measuring are
// handed in.
import { Choice, mayBeBetter, type Way } from './choice.ts'
import type { OtherNode } from './places.ts'

export interface RoamingSurroundings {
  /** From 0 to below 1. */
  random(): number
  after(delayMs: number, call: () => void): void
  /** The smallest of some round trips to the node that has it, or to another; undefined when it does not answer. */
  roundTripMs(node?: OtherNode): Promise<number | undefined>
  /** Attaches to another node. False when that cannot be. */
  move(node: OtherNode): Promise<boolean>
}

/** The first time so long after it began: who stays for less does not care. */
const FIRST_MS = 30_000
/** And then so often. To dial a node costs both ends some 10 ms of work. */
const EVERY_MS = 600_000
/** A node that was clearly better is measured again so soon, before it is believed. */
const AGAIN_MS = 5_000
/** Who has moved by choice stays for so long at least, whatever it measures. */
const REST_MS = 1_800_000
/** Nodes measured at a time. */
const CANDIDATES = 3

export class Roaming {
  readonly #surroundings: RoamingSurroundings
  readonly #choice = new Choice()
  #others: readonly OtherNode[] = []
  #load = 0
  #isStopped = false

  constructor(surroundings: RoamingSurroundings) {
    this.#surroundings = surroundings
  }

  start(): void {
    this.#later(FIRST_MS)
  }

  stop(): void {
    this.#isStopped = true
  }

  /** What its node says of the others, and how full it is itself. */
  told(others: readonly OtherNode[], load: number): void {
    this.#others = others
    this.#load = load
  }

  /** Not all at the same moment: those who came together would measure together for ever. */
  #later(afterMs: number): void {
    this.#surroundings.after(afterMs * (0.5 + this.#surroundings.random() / 2), async () => {
      if (this.#isStopped) return
      const nextMs = await this.#measure()
      this.#later(nextMs)
    })
  }

  /** Returns when to measure again. */
  async #measure(): Promise<number> {
    const alone = await this.#ownWay()
    if (alone === undefined || !mayBeBetter(alone)) {
      this.#choice.forget()
      return EVERY_MS
    }
    const candidates = this.#candidates()
    // At the same time, so that what is in all of them, as the client's own line, is not held against one.
    const [own, ...ways] = await Promise.all([
      this.#ownWay(),
      ...candidates.map(async (node) => [node, await this.#surroundings.roundTripMs(node)] as const),
    ])
    if (own === undefined || this.#isStopped) return EVERY_MS
    const others = new Map(
      ways.flatMap(([{ id, load }, roundTripMs]) =>
        roundTripMs === undefined ? [] : [[id, { roundTripMs, load }] as const],
      ),
    )
    const chosen = this.#choice.judge(own, others)
    const node = candidates.find(({ id }) => id === chosen)
    if (node !== undefined && (await this.#surroundings.move(node))) return REST_MS
    return this.#choice.favourite === undefined ? EVERY_MS : AGAIN_MS
  }

  async #ownWay(): Promise<Way | undefined> {
    const roundTripMs = await this.#surroundings.roundTripMs()
    return roundTripMs === undefined ? undefined : { roundTripMs, load: this.#load }
  }

  /** The one that was better the last time, and others by chance. */
  #candidates(): readonly OtherNode[] {
    const isFavourite = ({ id }: OtherNode) => id === this.#choice.favourite
    const drawn = this.#others.map((node) => ({
      node,
      at: isFavourite(node) ? -1 : this.#surroundings.random(),
    }))
    return drawn
      .sort((a, b) => a.at - b.at)
      .slice(0, CANDIDATES)
      .map(({ node }) => node)
  }
}
