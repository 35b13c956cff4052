// What waited at a receiver's root while it was away, for those who want the digest first: first a preview of it, then what
// is live, and the backlog beside that, piece by piece. Time and asking are handed in.
import { type Cursor, type Item, nextAfter } from '../buffers/item.ts'
import type { PollOutcome } from '../overlay/client.ts'
import type { Digest } from '../policies/digest.ts'

/** How what waited comes back: as if nothing had happened, or beside what is live. */
export type BacklogOrder = 'in-order' | 'digest-first'

export const BACKLOGS: readonly BacklogOrder[] = ['in-order', 'digest-first']

export interface BacklogSurroundings {
  now(): number
  after(delayMs: number, call: () => void): void
  /** Asks the root for what waits from `since` on, or for the preview of all; `answered` is told, or nobody is. */
  ask(since: Cursor | undefined, isPreview: boolean, answered: (outcome: PollOutcome) => void): void
  /** Something may be delivered that could not be before, or the backlog is over. */
  changed(): void
}

/** What is live waits so long for the preview. */
export const HOLD_MS = 2_000
/** An answer that has not come by then will not come. */
export const ANSWER_MS = 5_000
/** Who gets no answer asks again after so long. */
const RETRY_MS = 1_000
/** Nobody is asked for longer: by then nobody keeps anything any more. */
const GIVE_UP_MS = 20_000
/** What is below a piece, and live, is on its way for so long at most. */
const OVERTAKEN_MS = 10_000

type State =
  /** Nothing waits, as far as is known. */
  | { readonly kind: 'none' }
  /** Asked; since when for the first time. */
  | { readonly kind: 'asking'; readonly isPreview: boolean; readonly since: number }
  /** There may be more at the root. */
  | { readonly kind: 'more' }

export class Backlog {
  readonly #surroundings: BacklogSurroundings
  #state: State = { kind: 'none' }
  /** What was asked last; other answers are late. */
  #turn = 0
  #hold: 'none' | 'held' | 'over' = 'none'
  #previews: Digest[] = []
  #items: Item[] = []
  #arrivedAt = 0
  #since: Cursor | undefined

  constructor(surroundings: BacklogSurroundings) {
    this.#surroundings = surroundings
  }

  /** Whether something may still come of it. */
  get isUnderWay(): boolean {
    return this.#state.kind !== 'none' || this.#items.length > 0 || this.#previews.length > 0
  }

  /** What is next of the piece that is here. */
  get next(): Item | undefined {
    return this.#items[0]
  }

  /** The client is attached, again or for the first time: there may be something. */
  attached(): void {
    this.#hold = 'none'
    this.#ask(true, this.#surroundings.now())
  }

  /** Nothing of it is wanted, or there, any more. */
  end(): void {
    this.#turn++
    this.#state = { kind: 'none' }
    this.#previews = []
    this.#items = []
  }

  /** Whether what is live may have to wait for the preview. */
  get mayHold(): boolean {
    return this.#hold !== 'over' && this.#state.kind === 'asking' && this.#state.isPreview
  }

  /** Whether what is live has to wait for the preview; called when it has a hole before it. */
  hold(): boolean {
    const state = this.#state
    if (!this.mayHold || state.kind !== 'asking') return false
    if (this.#hold === 'none') {
      this.#hold = 'held'
      this.#surroundings.after(HOLD_MS, () => this.#holdIsOver(state.since))
    }
    return true
  }

  get hasPreview(): boolean {
    return this.#previews.length > 0
  }

  takePreview(): Digest | undefined {
    return this.#previews.shift()
  }

  /** The next event, or digest. */
  take(): Item | undefined {
    const item = this.#items.shift()
    if (item?.kind !== 'events' || item.to - item.from === 1) return item
    this.#items.unshift({ ...item, from: item.from + 1 })
    return { ...item, to: item.from + 1 }
  }

  /** Whether what is live and below this piece is lost, rather than slow. */
  get isOvertaken(): boolean {
    return this.#surroundings.now() - this.#arrivedAt >= OVERTAKEN_MS
  }

  /** There is room for more. */
  pull(): void {
    const isEmpty = this.#items.length === 0 && this.#previews.length === 0
    if (this.#state.kind === 'more' && isEmpty) this.#ask(false, this.#surroundings.now())
  }

  #ask(isPreview: boolean, since: number): void {
    const turn = ++this.#turn
    this.#state = { kind: 'asking', isPreview, since }
    this.#surroundings.ask(this.#since, isPreview, (outcome) => {
      if (turn === this.#turn) this.#answered(outcome, isPreview, since)
    })
  }

  #answered(outcome: PollOutcome, isPreview: boolean, since: number): void {
    switch (outcome.kind) {
      case 'backlog':
        this.#arrived(outcome.items, isPreview)
        break
      case 'busy':
        this.#askAgain(outcome.retryAfterMs, isPreview, since)
        break
      case 'failed':
        this.#askAgain(RETRY_MS, isPreview, since)
        break
      default:
        this.#over()
    }
  }

  #arrived(items: readonly Item[], isPreview: boolean): void {
    if (items.length === 0) {
      this.#over()
      return
    }
    this.#state = { kind: 'more' }
    if (isPreview) this.#previews = items.filter((item) => item.kind === 'digest')
    else {
      this.#items = [...items]
      this.#since = nextAfter(items.at(-1)!) ?? this.#since
      this.#arrivedAt = this.#surroundings.now()
      this.#surroundings.after(OVERTAKEN_MS, () => this.#surroundings.changed())
    }
    this.#surroundings.changed()
  }

  #askAgain(afterMs: number, isPreview: boolean, since: number): void {
    const turn = this.#turn
    if (this.#surroundings.now() - since > GIVE_UP_MS) {
      this.#over()
      return
    }
    this.#surroundings.after(afterMs, () => {
      if (turn === this.#turn) this.#ask(isPreview, since)
    })
  }

  #holdIsOver(since: number): void {
    if (this.#state.kind !== 'asking' || this.#state.since !== since) return
    this.#hold = 'over'
    this.#surroundings.changed()
  }

  /** The root has no more; what is here is still taken. */
  #over(): void {
    this.#state = { kind: 'none' }
    this.#surroundings.changed()
  }
}
