// A node as the root of senders, SR, for those who pull (DESIGN section 9, DPT section 6.4): it keeps the last items of
// each sender and answers polls, with how long ago the last item came, so that no clocks need to agree, and with over how long
// a time the next poll should be spread, because those who know when a sender publishes all ask at once.
import { type Cursor, type Item, itemBytes } from '../buffers/item.ts'
import { noPolicy } from '../policies/policy.ts'
import type { PollAnswer, RoutedMessage } from './control.ts'
import { type Host, LEASE_MS } from './host.ts'
import type { Id } from './id.ts'
import { piecesOf } from './poll-answer.ts'
import { PollLoad } from './poll-load.ts'
import { type Found, type Recent, RING_BYTES, Ring } from './ring.ts'
import { controlLimits } from './wire/limits.ts'

type Poll = Extract<RoutedMessage, { kind: 'poll' }>

/** Senders whose items are kept here; each may take a block of 32 KiB more than its share. */
export const MAX_RINGS = 4_096
/** Of all rings together: shared out evenly when they are many. */
export const RINGS_BYTES = 64 * 1_048_576
/** What a sender that is gone has left is kept for so long. */
export const KEEP_MS = 3_600_000
/** Of an answer: a second or two of a link of 50 kbit/s. Who wants more asks again at once. */
export const ANSWER_BYTES = 8_192
/** What a root gives to those who pull from one sender, and from all: 2,000 and 4,000 polls a second, at 160 us each. */
const SENDER_BYTES_PER_SECOND = 1_048_576
const ALL_BYTES_PER_SECOND = 2 * 1_048_576
/** Who would wait longer is asked to come again. */
export const MAX_QUEUE_MS = 5_000
/** A root that is about to have a sender's items is asked again after so long. */
const SOON_MS = 1_000

interface Kept {
  readonly recent: Recent
  readonly load: PollLoad
  allow: readonly Id[] | undefined
  /** When its proxy last told of it. */
  heardAt: number
}

export class SenderRoot {
  readonly #host: Host
  readonly #random: () => number
  readonly #endOf: (sid: Id) => Cursor | undefined
  readonly #load: PollLoad
  /** The one that was not heard of for the longest time is the first. */
  readonly #kept = new Map<Id, Kept>()

  /** `endOf` tells what is known of where a sender stands. */
  constructor(host: Host, random: () => number, endOf: (sid: Id) => Cursor | undefined) {
    this.#host = host
    this.#random = random
    this.#endOf = endOf
    this.#load = new PollLoad(ALL_BYTES_PER_SECOND, host.now())
  }

  get size(): number {
    return this.#kept.size
  }

  /** The sender's proxy told that this is its root, and who may have its events. False when there are too many. */
  keep(sid: Id, allow: readonly Id[] | undefined): boolean {
    const now = this.#host.now()
    const kept = this.#kept.get(sid) ?? this.#newKept(now)
    if (kept === undefined) return false
    kept.allow = allow
    kept.heardAt = now
    this.#kept.delete(sid)
    this.#kept.set(sid, kept)
    return true
  }

  /** Items from the sender's proxy: for everyone, or for the class that is kept. */
  deliver(sid: Id, rid: string | undefined, items: readonly Item[]): void {
    if (rid === undefined || rid === noPolicy.hash) this.#kept.get(sid)?.recent.put(items, this.#host.now())
  }

  poll(poll: Poll): void {
    const kept = this.#kept.get(poll.sid)
    const waitMs = this.#waitMs(kept)
    if (waitMs > MAX_QUEUE_MS) this.#answer(poll, busy(waitMs * (1 + this.#random())))
    else if (kept === undefined) this.#turnAway(poll, { kind: 'unknown' })
    else if (kept.allow !== undefined && !kept.allow.includes(poll.owner))
      this.#turnAway(poll, { kind: 'denied', reason: 'the sender does not allow this client to pull' })
    else kept.recent.read(poll.since, ANSWER_BYTES, (found) => this.#found(poll, kept, found))
  }

  /** Forgets senders that are long gone, and gives each of the others its share. */
  refresh(): void {
    const before = this.#host.now() - KEEP_MS
    for (const [sid, { heardAt }] of this.#kept) {
      if (heardAt >= before) break
      this.#kept.delete(sid)
    }
    const share = Math.min(RING_BYTES, RINGS_BYTES / this.#kept.size)
    for (const { recent } of this.#kept.values()) recent.settle(share)
  }

  #found({ sid, ...poll }: Poll, { load }: Kept, { items, more, at, ...found }: Found): void {
    const now = this.#host.now()
    const first = found.first ?? this.#endOf(sid)
    if (first === undefined) {
      this.#answer(poll, busy(SOON_MS))
      return
    }
    let bytes = 0
    for (const item of items) bytes += itemBytes(item)
    for (const one of [load, this.#load]) one.answered(bytes, now)
    const pieces = piecesOf(sid, items, bytes)
    const last = pieces.pop()
    for (const [index, piece] of pieces.entries()) this.#answer(poll, { kind: 'piece', index, items: piece })
    this.#answer(poll, {
      kind: 'items',
      index: pieces.length,
      ...(last === undefined ? {} : { items: last }),
      first,
      more,
      phaseAdjustmentMs: Math.max(0, Math.round(now - at)),
      desynchronisationMs: wait(Math.max(load.spreadMs(now), this.#load.queueMs(now))),
    })
  }

  #turnAway(poll: Poll, answer: PollAnswer): void {
    this.#load.answered(0, this.#host.now())
    this.#answer(poll, answer)
  }

  #answer({ request, path }: Pick<Poll, 'request' | 'path'>, answer: PollAnswer): void {
    this.#host.tell(path.at(-1) ?? this.#host.id, {
      kind: 'polled',
      request,
      path: path.slice(0, -1),
      answer,
    })
  }

  #waitMs(kept: Kept | undefined): number {
    const now = this.#host.now()
    return Math.max(this.#load.queueMs(now), kept?.load.queueMs(now) ?? 0)
  }

  /** Undefined when there are too many senders, all of which are there. */
  #newKept(now: number): Kept | undefined {
    if (this.#kept.size >= MAX_RINGS) {
      const [[oldest, { heardAt }]] = this.#kept as unknown as [[Id, Kept]]
      if (now - heardAt < LEASE_MS) return undefined
      this.#kept.delete(oldest)
    }
    const load = new PollLoad(SENDER_BYTES_PER_SECOND, now)
    return { recent: new Ring(), load, allow: undefined, heardAt: now }
  }
}

function busy(retryAfterMs: number): PollAnswer {
  return { kind: 'busy', retryAfterMs: wait(retryAfterMs) }
}

function wait(ms: number): number {
  return Math.min(controlLimits.waitMs, Math.round(ms))
}
