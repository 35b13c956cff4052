// A node as the proxy of those who pull: it takes polls of attached clients towards the senders' roots, recalls towards
// their receivers' roots, and the answers back to the clients. Nodes between keep nothing: a poll remembers its way.
import type { ClientMessage, PathMessage, PollAnswer } from './control.ts'
import type { Host } from './host.ts'
import type { Id } from './id.ts'
import { POLL_BYTES, PollLoad } from './poll-load.ts'

type Poll = Extract<ClientMessage, { kind: 'poll' }>
type Recall = Extract<ClientMessage, { kind: 'recall' }>
type Polled = Extract<PathMessage, { kind: 'polled' }>

/** Polls of one client, and of all, that wait for an answer. */
export const MAX_POLLS_OF_CLIENT = 64
export const MAX_POLLS = 16_384
/** Polls of one client: then its next are put off, so that it cannot take the roots' time from the others. */
const CLIENT_POLLS_PER_SECOND = 200
const MAX_CLIENT_QUEUE_MS = 5_000
/** A poll without an answer is forgotten after so long: longer than clients wait. */
export const POLL_TIMEOUT_MS = 30_000
/** Who polls too much is asked to come again after so long, and a sender's new root, when it has heard of the sender. */
const RETRY_AFTER_MS = 1_000

interface Pending {
  readonly client: Id
  /** The client's own number. */
  readonly request: number
  /** Whose root it is; undefined for a recall, which a receiver's root answers. */
  readonly sid: Id | undefined
  readonly at: number
}

interface Asker {
  pending: number
  readonly load: PollLoad
}

export class PollProxy {
  readonly #host: Host
  readonly #isAnnounced: (sid: Id) => boolean
  /** The oldest first. */
  readonly #pending = new Map<number, Pending>()
  readonly #askers = new Map<Id, Asker>()
  #requests = 0

  /** `isAnnounced` says whether a sender was heard of anywhere. */
  constructor(host: Host, isAnnounced: (sid: Id) => boolean) {
    this.#host = host
    this.#isAnnounced = isAnnounced
  }

  get size(): number {
    return this.#pending.size
  }

  /** Clients that have polled. */
  get askers(): number {
    return this.#askers.size
  }

  poll(client: Id, { request: own, ...poll }: Poll): void {
    const request = this.#admit(client, own, poll.sid)
    // `owner` is who the connection says it is.
    if (request !== undefined) this.#host.route(poll.sid, { ...poll, request, owner: client, path: [] })
  }

  /** As a poll, but of the root of one of the client's receivers. */
  recall(client: Id, { request: own, ...recall }: Recall): void {
    const request = this.#admit(client, own, undefined)
    if (request !== undefined) this.#host.route(recall.rid, { ...recall, request, owner: client, path: [] })
  }

  /** This node's number for it; undefined when there are too many. */
  #admit(client: Id, request: number, sid: Id | undefined): number | undefined {
    const now = this.#host.now()
    const asker = this.#askerOf(client, now)
    if (
      asker.pending >= MAX_POLLS_OF_CLIENT ||
      this.#pending.size >= MAX_POLLS ||
      asker.load.queueMs(now) > MAX_CLIENT_QUEUE_MS
    ) {
      this.#tell(client, request, { kind: 'busy', retryAfterMs: RETRY_AFTER_MS })
      return undefined
    }
    asker.pending++
    asker.load.answered(0, now)
    this.#pending.set(++this.#requests, { client, request, sid, at: now })
    return this.#requests
  }

  /** An answer, or a piece of one. */
  polled({ request, answer }: Polled): void {
    const pending = this.#pending.get(request)
    if (pending === undefined) return
    if (answer.kind !== 'piece') this.#forget(request, pending)
    // A root that has not heard of a sender which others have heard of has only just become its root.
    const { sid } = pending
    const isSoon = answer.kind === 'unknown' && sid !== undefined && this.#isAnnounced(sid)
    const told: PollAnswer = isSoon ? { kind: 'busy', retryAfterMs: RETRY_AFTER_MS } : answer
    this.#tell(pending.client, pending.request, told)
  }

  departed(client: Id): void {
    for (const [request, pending] of this.#pending)
      if (pending.client === client) this.#forget(request, pending)
    this.#askers.delete(client)
  }

  /** Once a heartbeat. */
  expire(): void {
    const before = this.#host.now() - POLL_TIMEOUT_MS
    for (const [request, pending] of this.#pending) {
      if (pending.at >= before) return
      this.#forget(request, pending)
    }
  }

  #tell(client: Id, request: number, answer: PollAnswer): void {
    this.#host.tell(client, { kind: 'polled', request, path: [], answer })
  }

  #forget(request: number, { client }: Pending): void {
    this.#pending.delete(request)
    this.#askers.get(client)!.pending--
  }

  #askerOf(client: Id, now: number): Asker {
    const known = this.#askers.get(client)
    if (known !== undefined) return known
    const asker = { pending: 0, load: new PollLoad(CLIENT_POLLS_PER_SECOND * POLL_BYTES, now) }
    this.#askers.set(client, asker)
    return asker
  }
}
