// Who watches what a receiver is handed, and keeps a receipt of its own: everything accounted for, once, in order.
import type { Cursor, Marker } from '../../buffers/item.ts'
import { type EpochReceipt, type Gap, type OverlappingDigest, Receipt } from '../../buffers/receipt.ts'
import type { Digest } from '../../policies/digest.ts'
import type { Attributes } from '../../policies/event.ts'

/** What a receiver takes from its client, in order. */
export type Taken =
  /** First: the subscription stands, and begins here; without `first`, with the sender's first event. */
  | { readonly kind: 'subscribed'; readonly first?: Cursor | undefined }
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'event'
      readonly epoch: number
      readonly seq: number
      /** When it was published, in milliseconds. */
      readonly time: number
      readonly attributes?: Attributes
    }
  | Digest
  | OverlappingDigest
  /** A client that keeps receipts tells gaps; one that does not gives markers, and the witness finds the gaps. */
  | Gap
  | Marker

/** What a sender published in one epoch. */
export interface PublishedEpoch {
  readonly epoch: number
  /** The attribute `n` of the event before the first. */
  readonly offset: number
  highest: number
}

/** Violations that a witness remembers; the first ones say it all. */
const MAX_VIOLATIONS = 5

export class Witness {
  readonly name: string
  readonly violations: string[] = []
  refusal: string | undefined
  readonly #published: readonly PublishedEpoch[]
  readonly #isStrict: boolean
  #receipt: Receipt | undefined
  /** Events in gaps that the receipt found while nobody told one. */
  #untold = 0
  #found: Gap | undefined

  /** Strict: what is taken has gone through a receipt already, so that nothing is late and every gap is told. */
  constructor(name: string, published: readonly PublishedEpoch[], isStrict: boolean) {
    this.name = name
    this.#published = published
    this.#isStrict = isStrict
  }

  get isSubscribed(): boolean {
    return this.#receipt !== undefined
  }

  get epochs(): readonly EpochReceipt[] {
    return this.#receipt?.epochs ?? []
  }

  /** Events that came again or too late, which only a client without a receipt of its own lets through. */
  get late(): number {
    return this.#receipt?.late ?? 0
  }

  take(taken: Taken): void {
    if (taken.kind === 'subscribed') {
      this.#receipt ??= new Receipt(taken.first, (gap) => this.#onGap(gap))
      return
    }
    if (taken.kind === 'refused') {
      this.refusal = taken.reason
      return
    }
    this.#receipt ??= new Receipt(undefined, (gap) => this.#onGap(gap))
    const receipt = this.#receipt
    switch (taken.kind) {
      case 'event':
        if (!receipt.event(taken.epoch, taken.seq)) this.#late(`event ${taken.epoch}/${taken.seq}`)
        else this.#checkContent(taken.epoch, taken.seq, taken.attributes)
        break
      case 'digest':
        if (receipt.digest(taken) !== taken) this.#late(`digest ${taken.epoch}/${taken.from}-${taken.to}`)
        this.#checkCauses(taken)
        break
      case 'gap':
        this.#takeGap(receipt, taken)
        break
      case 'marker':
        receipt.marker(taken)
        break
    }
  }

  /** Whether everything up to the sender's last number is accounted for. */
  get isComplete(): boolean {
    const last = this.#published.at(-1)
    if (last === undefined || last.highest === 0) return this.isSubscribed
    const cursor = this.#receipt?.cursor
    return cursor !== undefined && cursor.epoch === last.epoch && cursor.seq > last.highest
  }

  /** Everything that is wrong at the end, of a receiver that was there to the end or not, where gaps may be or not. */
  check(wasThereToTheEnd: boolean, isLossless = false): string[] {
    const wrong = [...this.violations]
    if (this.#untold > 0 && this.#isStrict) wrong.push(`${this.#untold} events lost in silence`)
    for (const { epoch, first, last, delivered, digested, gaps } of this.epochs) {
      const counted = `${delivered} delivered + ${digested} digested + ${gaps} gaps`
      if (delivered + digested + gaps !== last - first + 1)
        wrong.push(`epoch ${epoch}: ${counted} of ${first}-${last}`)
      if (gaps > 0 && isLossless) wrong.push(`epoch ${epoch}: ${gaps} events lost, where nothing may be lost`)
      const published = this.#published.find((one) => one.epoch === epoch)?.highest
      if (published === undefined && last >= first) wrong.push(`epoch ${epoch} was never published in`)
      if (published !== undefined && last > published)
        wrong.push(`epoch ${epoch}: ${last} is above ${published}`)
    }
    if (wasThereToTheEnd && !this.isComplete) wrong.push(this.#incomplete())
    return wrong.map((what) => `${this.name}: ${what}`)
  }

  #incomplete(): string {
    if (this.refusal !== undefined) return `refused: ${this.refusal}`
    if (this.#receipt === undefined) return 'never subscribed'
    const last = this.#published.at(-1)
    const { epoch, seq } = this.#receipt.cursor ?? { epoch: 0, seq: 0 }
    return `expects ${epoch}/${seq} while ${last?.epoch}/${last?.highest} was published`
  }

  #takeGap(receipt: Receipt, gap: Gap): void {
    this.#found = undefined
    const untold = this.#untold
    receipt.marker({ kind: 'marker', epoch: gap.epoch, highest: gap.to, end: false })
    const found = this.#found as Gap | undefined
    this.#untold = untold
    if (found?.from === gap.from) return
    this.#violate(
      `gap ${gap.epoch}/${gap.from}-${gap.to} where ${found ? found.from : 'nothing'} was missing`,
    )
  }

  #onGap(gap: Gap): void {
    this.#found = gap
    this.#untold += gap.to - gap.from + 1
  }

  #late(what: string): void {
    if (this.#isStrict) this.#violate(`${what} doubled or out of order`)
  }

  #checkContent(epoch: number, seq: number, attributes: Attributes | undefined): void {
    if (attributes === undefined) return
    const offset = this.#published.find((one) => one.epoch === epoch)?.offset
    if (offset === undefined || attributes.n !== offset + seq) {
      this.#violate(
        `event ${epoch}/${seq} has n = ${attributes.n}, published was ${(offset ?? Number.NaN) + seq}`,
      )
    }
  }

  /** A digest says of each event in it why it was dropped. */
  #checkCauses(digest: Digest | OverlappingDigest): void {
    // One that was trimmed keeps what it counted.
    if ('overlaps' in digest) return
    const { epoch, from, to, causes } = digest
    const counted = causes.reduce((sum, { count }) => sum + count, 0)
    if (counted !== to - from + 1) this.#violate(`digest ${epoch}/${from}-${to} has causes for ${counted}`)
  }

  #violate(what: string): void {
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(what)
  }
}
