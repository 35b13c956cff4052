// The receipt of a subscription (DESIGN section 4): every number from the first on was delivered, is counted in
// a digest, or is reported as a gap. It is told what arrives, in order, and finds the gaps.
import { countOf, type Digest } from '../policies/digest.ts'
import type { Cursor, Marker } from './item.ts'

/** Numbers `from` to `to` of an epoch that did not arrive. */
export interface Gap {
  readonly kind: 'gap'
  readonly epoch: number
  readonly from: number
  readonly to: number
}

/** A digest of which the first `overlaps` events are accounted for already; its values still count them. */
export interface OverlappingDigest extends Digest {
  readonly overlaps: number
}

/** What is accounted for in one epoch: delivered + digested + gaps = last - first + 1. All count events. */
export interface EpochReceipt {
  readonly epoch: number
  readonly first: number
  readonly last: number
  readonly delivered: number
  readonly digested: number
  readonly gaps: number
}

/** Gaps that are remembered for repair; of more, the oldest are only counted. */
export const MAX_OPEN_GAPS = 10_000
/** Epochs that are remembered; of more, the oldest are forgotten. */
export const MAX_EPOCHS = 1_000

/** One epoch, as it is counted. */
interface Account {
  readonly epoch: number
  first: number
  /** The next number expected. */
  next: number
  delivered: number
  digested: number
  gaps: number
}

export class Receipt {
  readonly #onGap: (gap: Gap) => void
  readonly #closed: Account[] = []
  #open: Account | undefined
  #missing: Gap[] = []
  #late = 0
  #malformed = 0
  #ended = false

  /** `first` is where the subscription begins, as its acknowledgement says; without it, at 1. */
  constructor(first?: Cursor, onGap: (gap: Gap) => void = () => {}) {
    this.#onGap = onGap
    if (first !== undefined) this.#open = accountFrom(first)
  }

  /** The next number expected; undefined before the first item. */
  get cursor(): Cursor | undefined {
    return this.#open && { epoch: this.#open.epoch, seq: this.#open.next }
  }

  /** What is accounted for, an entry for each epoch, the oldest first. */
  get epochs(): EpochReceipt[] {
    const accounts = this.#open === undefined ? this.#closed : [...this.#closed, this.#open]
    return accounts.map(({ epoch, first, next, delivered, digested, gaps }) => ({
      epoch,
      first,
      last: next - 1,
      delivered,
      digested,
      gaps,
    }))
  }

  /** What is missing: the gaps, in the order in which they were found. */
  get missing(): readonly Gap[] {
    return this.#missing
  }

  /** How many events, also in digests, came after they were accounted for, or before the first. */
  get late(): number {
    return this.#late
  }

  /** How many items had numbers that cannot be: they change nothing else. */
  get malformed(): number {
    return this.#malformed
  }

  /** Whether the sender said that no more will come. */
  get isEnded(): boolean {
    return this.#ended
  }

  /** An event is about to be delivered. False when it must not be: it was accounted for, or is from before. */
  event(epoch: number, seq: number): boolean {
    const open = this.#open
    // Nearly always it is the next one.
    if (open?.epoch === epoch && open.next === seq && seq < Number.MAX_SAFE_INTEGER - 1) {
      open.delivered++
      open.next = seq + 1
      return true
    }
    if (!this.#isRange(epoch, seq, seq)) return false
    const account = this.#accountOf(epoch)
    if (account === undefined || seq < account.next) {
      this.#late++
      return false
    }
    this.#missUpTo(account, seq)
    account.delivered++
    account.next = seq + 1
    return true
  }

  /** A digest is about to be delivered: as it is, or without what was accounted for, or not at all. */
  digest(digest: Digest): Digest | OverlappingDigest | undefined {
    if (!this.#isRange(digest.epoch, digest.from, digest.to)) return undefined
    const account = this.#accountOf(digest.epoch)
    if (account === undefined || digest.to < account.next) {
      this.#late += countOf(digest)
      return undefined
    }
    if (digest.from < account.next) return this.#trimmed(account, digest)
    this.#missUpTo(account, digest.from)
    account.digested += countOf(digest)
    account.next = digest.to + 1
    return digest
  }

  /** The sender's highest number: what is below and did not arrive is missing. */
  marker({ epoch, highest, end }: Marker): void {
    // A sender that has published nothing says 0.
    if (!this.#isRange(epoch, 1, highest + 1)) return
    const account = this.#accountOf(epoch)
    if (account === undefined) return
    this.#missUpTo(account, highest + 1)
    if (end && account === this.#open) this.#ended = true
  }

  /** A missing event was found after all. False when it was not missing. */
  repair(epoch: number, seq: number): boolean {
    if (!Number.isInteger(seq)) return false
    const account = this.#retract({ kind: 'gap', epoch, from: seq, to: seq })?.account
    if (account === undefined) return false
    account.delivered++
    return true
  }

  /** A digest of missing events was found: as it is, or without what was not missing, or not at all. */
  repairDigest(digest: Digest): Digest | OverlappingDigest | undefined {
    const { epoch, from, to } = digest
    if (!this.#isRange(epoch, from, to)) return undefined
    const retracted = this.#retract({ kind: 'gap', epoch, from, to })
    const count = retracted?.count ?? 0
    const overlaps = countOf(digest) - count
    this.#late += overlaps
    if (retracted === undefined) return undefined
    retracted.account.digested += count
    return overlaps === 0 ? digest : { ...digest, from: retracted.from, to: retracted.to, overlaps }
  }

  /** Takes back what is missing of a range: how many numbers, between which; undefined when none is. */
  #retract(range: Gap): { account: Account; count: number; from: number; to: number } | undefined {
    const { epoch, from, to } = range
    const account = [...this.#closed, this.#open].find((one) => one?.epoch === epoch)
    if (account === undefined) return undefined
    const at = this.#firstFrom(epoch, from)
    let end = at
    let count = 0
    for (; end < this.#missing.length && overlap(this.#missing[end]!, range); end++) {
      const gap = this.#missing[end]!
      count += Math.min(to, gap.to) - Math.max(from, gap.from) + 1
    }
    if (end === at) return undefined
    const touched = this.#missing.slice(at, end)
    this.#missing.splice(at, touched.length, ...without(touched, range))
    if (this.#missing.length > MAX_OPEN_GAPS) this.#missing.shift()
    account.gaps -= count
    return { account, count, from: Math.max(from, touched[0]!.from), to: Math.min(to, touched.at(-1)!.to) }
  }

  /** Where the first gap stands that ends with this number or behind it: they are in order. */
  #firstFrom(epoch: number, seq: number): number {
    let low = 0
    let high = this.#missing.length
    while (low < high) {
      const middle = (low + high) >> 1
      const gap = this.#missing[middle]!
      if (gap.epoch < epoch || (gap.epoch === epoch && gap.to < seq)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The account of an epoch; a newer epoch closes the one before. Undefined for an older one. */
  #accountOf(epoch: number): Account | undefined {
    const open = this.#open
    if (open?.epoch === epoch) return open
    if (open !== undefined) {
      if (epoch < open.epoch) return undefined
      this.#closed.push(open)
      if (this.#closed.length >= MAX_EPOCHS) this.#forget(this.#closed.shift()!)
    }
    this.#open = accountFrom({ epoch, seq: 1 })
    this.#ended = false
    return this.#open
  }

  #forget({ epoch }: Account): void {
    this.#missing = this.#missing.filter((gap) => gap.epoch !== epoch)
  }

  /** Whether these can be numbers of an epoch, with room for one more; counts those that cannot. */
  #isRange(epoch: number, from: number, to: number): boolean {
    const isWhole = Number.isSafeInteger(epoch) && Number.isSafeInteger(from) && Number.isSafeInteger(to + 1)
    if (isWhole && 1 <= from && from <= to) return true
    this.#malformed++
    return false
  }

  /** The digest straddles the next number: before anything was accounted for, the stream begins behind it. */
  #trimmed(account: Account, digest: Digest): OverlappingDigest | undefined {
    if (account.next === account.first) {
      account.first = digest.to + 1
      account.next = account.first
      return undefined
    }
    const overlaps = account.next - digest.from
    account.digested += digest.to - account.next + 1
    this.#late += overlaps
    const from = account.next
    account.next = digest.to + 1
    return { ...digest, from, overlaps }
  }

  /** Everything from the next number up to `seq - 1` did not arrive. */
  #missUpTo(account: Account, seq: number): void {
    if (seq <= account.next) return
    const gap: Gap = { kind: 'gap', epoch: account.epoch, from: account.next, to: seq - 1 }
    account.gaps += seq - account.next
    account.next = seq
    this.#missing.push(gap)
    if (this.#missing.length > MAX_OPEN_GAPS) this.#missing.shift()
    this.#onGap(gap)
  }
}

function accountFrom({ epoch, seq }: Cursor): Account {
  return { epoch, first: seq, next: seq, delivered: 0, digested: 0, gaps: 0 }
}

/** Gaps without what lies in a range. */
export function without(gaps: readonly Gap[], range: Omit<Gap, 'kind'>): Gap[] {
  return gaps.flatMap((gap) => {
    if (!overlap(gap, range)) return [gap]
    const left = [
      { ...gap, to: range.from - 1 },
      { ...gap, from: range.to + 1 },
    ]
    return left.filter(({ from, to }) => from <= to)
  })
}

function overlap(a: Omit<Gap, 'kind'>, b: Omit<Gap, 'kind'>): boolean {
  return a.epoch === b.epoch && a.from <= b.to && b.from <= a.to
}
