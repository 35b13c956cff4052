// A client (PACK sections 3 and 4): a host of endpoints outside the overlay, attached to one node, its proxy. What
// its senders publish goes through SPB; what comes for its receivers waits in RB. Like a node it does no IO.

import { BlockWriter, positionOf, type Run } from '../buffers/block.ts'
import { Budget } from '../buffers/budget.ts'
import { BodyWriter, type Schema } from '../buffers/codec.ts'
import { type Cursor, type Item, itemsFrom, type Marker, nextAfter } from '../buffers/item.ts'
import { LocalBuffer } from '../buffers/local-buffer.ts'
import type { PrivateQueue } from '../buffers/private-queue.ts'
import type { Queue, QueueBounds, QueueSurroundings } from '../buffers/queue.ts'
import { RemoteBuffer } from '../buffers/remote-buffer.ts'
import { compilePolicy } from '../policies/compile.ts'
import { SpillwayError } from '../policies/error.ts'
import type { Attributes } from '../policies/event.ts'
import { noPolicy, type Policy, type PolicySpec } from '../policies/policy.ts'
import type { ControlMessage, NodeInfo, PollAnswer, SenderInfo } from './control.ts'
import { LEASE_MS, REFRESH_MS } from './host.ts'
import { type Id, idOfEndpoint } from './id.ts'
import { HEARTBEAT_MS, PeerLink } from './peer-link.ts'
import { itemsOf } from './poll-answer.ts'
import type { Core, Peer, Stream, Surroundings } from './surroundings.ts'
import { decodeControl } from './wire/control-frame.ts'
import type { DataPart } from './wire/data-frame.ts'

/** What a client tells the application that has it. */
export interface ClientEvents {
  attached?(proxy: Id): void
  detached?(proxy: Id): void
  /** It has been away for so long that nobody keeps anything for it any more. */
  departed?(): void
  opened?(sid: Id): void
  /** The subscription stands; its stream begins at `first`, without it at 1. */
  subscribed?(sid: Id, rid: Id, first: Cursor | undefined): void
  refused?(sid: Id, rid: Id | undefined, reason: string): void
  /** There is something in a receiver's queue. */
  items?(sid: Id, rid: Id): void
  /** The senders' queue fills, or has room again. */
  pressure?(isHigh: boolean): void
  /** A receiver's queue fills, or has room again. */
  falling?(sid: Id, rid: Id, isHigh: boolean): void
  /** Everything a sender has published is with its proxy. */
  drained?(sid: Id): void
  /** Other nodes there are, those with the most room first; with `move` one of them is to be attached to. */
  others?(nodes: readonly NodeInfo[], move: boolean, load: number): void
  senders?(request: number, senders: readonly SenderInfo[], last: boolean): void
  /** What a poll or a recall brought. */
  polled?(request: number, outcome: PollOutcome): void
}

/** What a poll brought: an answer with its items, or that there will be none. */
export type PollOutcome =
  | (Omit<Extract<PollAnswer, { kind: 'items' }>, 'index' | 'items'> & { readonly items: readonly Item[] })
  /** What a recall brought; no items when nothing waits any more. */
  | { readonly kind: 'backlog'; readonly items: readonly Item[] }
  | Extract<PollAnswer, { kind: 'unknown' | 'busy' | 'denied' }>
  /** The node is gone, or its answer was none. */
  | { readonly kind: 'failed'; readonly reason: string }

export interface SenderOptions {
  readonly tags: readonly string[]
  readonly epoch: number
  /** The IDs of the clients whose receivers may subscribe; everybody's without it. */
  readonly allow?: readonly Id[]
}

/** How much there is of what a client has for its endpoints. */
export interface ClientCounts {
  readonly senders: number
  readonly subscriptions: number
  readonly polls: number
  /** Entries of its buffers. */
  readonly buffers: number
  readonly queues: number
  readonly queuedBytes: number
  /** Parts of streams of which it is remembered how far they came. */
  readonly cursors: number
}

export interface SubscribeWishes {
  /** Told of the packs of its queue. */
  readonly packed?: QueueSurroundings['packed']
  /** What waited while the client was away stays at the root until it is recalled. */
  readonly backlog?: 'digest-first'
}

const SPB_BOUNDS: QueueBounds = { items: 10_000, bytes: 8_388_608 }
const BUDGET_BYTES = 256 * 1_048_576
/** A sender tells its highest number so long after it last published. */
const MARK_AFTER_MS = HEARTBEAT_MS
/** A sender that ended still tells its highest number for so long, if the client lives. */
const KEEP_ENDED_MS = 120_000

interface Sender {
  readonly sid: Id
  readonly name: string
  readonly schema: Schema
  readonly epoch: number
  readonly allow: readonly Id[] | undefined
  readonly writer: BlockWriter
  readonly hashes: Set<string>
  /** What was published before it is known who wants it; undefined once it is. */
  held: Run[] | undefined
  /** Whether its queues wait until a new proxy knows who wants them. */
  isSuspended: boolean
  seq: number
  publishedAt: number
  /** The highest number that a marker told, and when. */
  marked: number
  markedAt: number
  isEnded: boolean
  /** Whether the application was told that its proxy has everything. */
  isDrained: boolean
}

/** A poll, and the pieces of its answer so far. */
interface Poll {
  readonly sid: Id
  readonly pieces: string[]
}

interface Subscription {
  readonly sid: Id
  readonly rid: Id
  readonly name: string
  readonly policy: Policy
  readonly queue: PrivateQueue
  readonly backlog: 'digest-first' | undefined
  /** Where the next item is expected. */
  next: Cursor | undefined
}

export class ClientCore implements Core {
  readonly #surroundings: Surroundings
  readonly #events: ClientEvents
  readonly #budget = new Budget(BUDGET_BYTES)
  readonly #spb: RemoteBuffer
  readonly #rb: LocalBuffer
  readonly #bodies = new BodyWriter()
  readonly #senders = new Map<Id, Sender>()
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #polls = new Map<number, Poll>()
  #proxy: PeerLink | undefined
  /** Whether the proxy is gone and nobody has said yet who comes after it: then it is whoever connects. */
  #isOrphan = true
  /** Who is to have it once it is connected; until then the proxy has it. */
  #next: Id | undefined
  /** When this client last attached. */
  #generation = 0
  #isAwake = false
  /** Whether it detached by its own wish, and stays so until it attaches. */
  #isDetached = false
  /** Since when it is not attached; undefined while it is, or when it was told that it has departed. */
  #awaySince: number | undefined

  constructor(surroundings: Surroundings, events: ClientEvents) {
    this.#surroundings = surroundings
    this.#events = events
    const shared: Omit<QueueSurroundings, 'buffer'> = {
      budget: this.#budget,
      now: () => surroundings.now(),
      random: () => surroundings.random(),
    }
    this.#spb = new RemoteBuffer(SPB_BOUNDS, {
      ...shared,
      buffer: 'SPB',
      pressure: (_queue, isHigh) => events.pressure?.(isHigh),
    })
    this.#rb = new LocalBuffer({
      ...shared,
      buffer: 'RB',
      pressure: (queue, isHigh) => this.#falls(queue, isHigh),
    })
    surroundings.after(HEARTBEAT_MS, () => this.#beat())
  }

  /** How much there is of what it has for its endpoints; all is 0 when they are closed. */
  get counts(): ClientCounts {
    return {
      senders: this.#senders.size,
      subscriptions: this.#subscriptions.size,
      polls: this.#polls.size,
      buffers: this.#spb.size + this.#rb.size,
      queues: this.#budget.queues.size,
      queuedBytes: this.#budget.bytes,
      cursors: this.#proxy?.cursors ?? 0,
    }
  }

  get isAttached(): boolean {
    return this.#proxy?.isConnected === true && !this.#isDetached
  }

  /** The node it is attached to, or was last. */
  get proxy(): Id | undefined {
    return this.#proxy?.id
  }

  /** The smallest round trip of late of what it sent to its proxy, in milliseconds; infinite before the first. */
  get roundTripMs(): number {
    return this.#proxy?.roundTripMs ?? Number.POSITIVE_INFINITY
  }

  /**
   * Attaches to a node, another or again; `attached` tells when. What waits for the old one goes to the new. As long as the
   * new one is not there, the old one keeps the client.
   */
  attach(proxy: Id): void {
    const isThere = this.#proxy?.isConnected === true
    this.#next = isThere && this.#proxy?.id !== proxy ? proxy : undefined
    if (this.#next !== undefined) {
      this.#surroundings.dial(proxy)
      return
    }
    this.#isOrphan = false
    const isBack = this.#isDetached && isThere
    this.#isDetached = false
    if (isBack) {
      this.#attached(proxy)
      return
    }
    if (this.#proxy?.id !== proxy) this.#turnTo(proxy)
    if (!isThere) this.#surroundings.dial(proxy)
  }

  /**
   * Detaches: what comes for the receivers waits at their roots, and what the senders publish waits here. The
   * connection stays until the client attaches elsewhere.
   */
  detach(): void {
    this.#next = undefined
    if (!this.isAttached) return
    this.#proxy!.tell({ kind: 'detach', generation: this.#generation })
    this.#isDetached = true
    this.#awaySince = this.#surroundings.now()
    this.#suspend()
    this.#events.detached?.(this.#proxy!.id)
  }

  /** The ID of this client's endpoint of that name. */
  endpoint(name: string): Id {
    return idOfEndpoint(this.#surroundings.self.key, name)
  }

  /** Opens a sender. Its numbers begin at 1. */
  open(name: string, { tags, epoch, allow }: SenderOptions): Id {
    const sid = this.endpoint(name)
    const counts = {
      held: [],
      isSuspended: false,
      seq: 0,
      publishedAt: 0,
      marked: 0,
      markedAt: 0,
      isEnded: false,
      isDrained: false,
    }
    const parts = { schema: { id: 1, tags }, writer: new BlockWriter(), hashes: new Set<string>() }
    const sender: Sender = { sid, name, epoch, allow, ...parts, ...counts }
    this.#senders.set(sid, sender)
    this.#tellOpen(sender)
    return sid
  }

  /** Publishes an event and returns how full the first queue is, from 0 to 1. Throws EVENT_INVALID. */
  publish(sid: Id, attributes: Attributes): number {
    const sender = this.#senders.get(sid)
    if (sender === undefined || sender.isEnded) throw new SpillwayError('CLOSED', 'the sender is closed')
    const body = this.#bodies.encode(sender.schema, attributes)
    const now = Math.floor(this.#surroundings.now())
    sender.seq++
    sender.publishedAt = now
    // Without a receiver anywhere, and a root that keeps it for those who pull, there is nobody to keep it for.
    if (sender.held === undefined && sender.hashes.size === 0) return 0
    const run = sender.writer.write(sender.schema, sender.epoch, sender.seq, now, body)
    if (sender.held === undefined) this.#spb.enqueue(sid, run)
    else if (sender.held.length < SPB_BOUNDS.items) sender.held.push(run)
    return sender.held === undefined ? this.#spb.fillOf(sid) : sender.held.length / SPB_BOUNDS.items
  }

  /** How many events the sender has published. */
  published(sid: Id): number {
    return this.#senders.get(sid)?.seq ?? 0
  }

  /** No more will come from the sender; `drained` tells when its proxy has everything. */
  end(sid: Id): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined || sender.isEnded) return
    sender.isEnded = true
    if (sender.held === undefined) this.#mark(sender)
  }

  /** Subscribes a receiver; its queue fills when the subscription stands, and `packed` is told of its packs. */
  subscribe(
    sid: Id,
    name: string,
    policy: Policy,
    bounds: QueueBounds,
    { packed, backlog }: SubscribeWishes = {},
  ): { rid: Id; queue: PrivateQueue } {
    const rid = this.endpoint(name)
    const queue = this.#rb.subscribe(sid, rid, policy, bounds, packed)
    const subscription: Subscription = { sid, rid, name, policy, queue, backlog, next: undefined }
    this.#subscriptions.set(sid + rid, subscription)
    this.#tellSubscribe(subscription)
    return { rid, queue }
  }

  unsubscribe(sid: Id, rid: Id): void {
    if (!this.#subscriptions.delete(sid + rid)) return
    this.#rb.unsubscribe(sid, rid)
    if (this.isAttached) this.#proxy!.tell({ kind: 'unsubscribe', sid, rid })
  }

  /** Asks for the senders one can subscribe to. */
  list(request: number): void {
    this.#proxy?.tell({ kind: 'list', request })
  }

  /** Asks a sender's root for what it has from `since` on, or for the newest event; `polled` tells, if it answers. */
  poll(request: number, sid: Id, since: Cursor | undefined): void {
    const from = since === undefined ? {} : { since }
    this.#ask({ kind: 'poll', request, sid, ...from })
  }

  /**
   * Asks a receiver's root for what waited while it was away, from `since` on, or what all of it would be as a digest;
   * `polled` tells, if it answers. What lies below `since` is not kept any longer.
   */
  recall(request: number, sid: Id, rid: Id, since: Cursor | undefined, isPreview: boolean): void {
    const from = since === undefined ? {} : { since }
    this.#ask({ kind: 'recall', request, sid, rid, ...from, ...(isPreview ? { preview: true } : {}) })
  }

  #ask(message: Extract<ControlMessage, { kind: 'poll' | 'recall' }>): void {
    const { request, sid } = message
    if (!this.isAttached) {
      this.#events.polled?.(request, { kind: 'failed', reason: 'no node is there' })
      return
    }
    this.#polls.set(request, { sid, pieces: [] })
    this.#proxy!.tell(message)
  }

  /** Nobody waits for the answer any more. */
  forget(request: number): void {
    this.#polls.delete(request)
  }

  connected(peer: Peer): void {
    // At once: what the peer says first it does not say again.
    const isAwaited = peer.id === this.#next
    if ((isAwaited || this.#isOrphan) && peer.id !== this.#proxy?.id) this.#turnTo(peer.id)
    if (isAwaited) this.#isDetached = false
    if (peer.id !== this.#proxy?.id) {
      this.#surroundings.hangUp(peer.id)
      return
    }
    this.#isOrphan = false
    this.#proxy!.connected(peer)
    if (!this.#isDetached) this.#attached(peer.id)
  }

  #attached(proxy: Id): void {
    this.#awaySince = undefined
    this.#tellAll()
    this.#events.attached?.(proxy)
  }

  /** Tells the proxy everything, with a generation newer than any before. */
  #tellAll(): void {
    this.#generation = Math.max(this.#generation + 1, Math.floor(this.#surroundings.now()))
    for (const sender of this.#senders.values()) this.#tellOpen(sender)
    for (const subscription of this.#subscriptions.values()) this.#tellSubscribe(subscription)
  }

  /**
   * An endpoint of this client was attached with a newer generation: before it was started again, by a clock that was
   * ahead of ours. This attachment is the newer one, and says so.
   */
  #outdated({ generation, newest }: Extract<ControlMessage, { kind: 'refused' }>): void {
    if (!this.isAttached || generation !== this.#generation) return
    this.#generation = Math.max(this.#generation, newest ?? 0)
    this.#tellAll()
  }

  disconnected(peer: Id): void {
    if (peer === this.#next) this.#next = undefined
    if (peer !== this.#proxy?.id) return
    this.#proxy.disconnected()
    if (this.#isDetached) return
    this.#isOrphan = true
    this.#awaySince ??= this.#surroundings.now()
    this.#failPolls()
    this.#events.detached?.(peer)
  }

  received(peer: Id, stream: Stream, frame: Uint8Array): void {
    const proxy = this.#proxy
    if (peer !== proxy?.id || !proxy.isConnected) return
    proxy.heard()
    try {
      if (stream === 'control') this.#control(proxy, decodeControl(frame))
      else this.#data(proxy, frame)
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw error
      this.#surroundings.hangUp(peer)
      this.disconnected(peer)
    }
  }

  /** The link has something to send: what else comes up in this turn goes with it. */
  #wake(): void {
    if (this.#isAwake) return
    this.#isAwake = true
    this.#surroundings.after(0, () => {
      this.#isAwake = false
      this.#proxy?.flush()
    })
  }

  #turnTo(proxy: Id): void {
    const link = new PeerLink(proxy, this.#surroundings, () => this.#wake())
    if (this.#proxy?.isConnected) this.#surroundings.hangUp(this.#proxy.id)
    this.#failPolls()
    this.#proxy = link
    this.#next = undefined
    this.#suspend()
  }

  /** What is published waits until a proxy knows who wants it. */
  #suspend(): void {
    for (const sender of this.#senders.values()) {
      sender.isSuspended = true
      for (const hash of sender.hashes) this.#spb.suspend(sender.sid, hash)
    }
  }

  #data(proxy: PeerLink, frame: Uint8Array): void {
    const decoded = proxy.decode(frame)
    if (decoded === undefined) return
    for (const part of decoded.parts) this.#deliver(part)
    proxy.took(decoded)
  }

  #deliver({ toward, sender, items }: DataPart): void {
    const subscription = this.#subscriptions.get(sender)
    if (toward !== 'RC' || subscription === undefined) return
    const { sid, rid, queue } = subscription
    const fresh = itemsFrom(items, subscription.next)
    for (const item of fresh) subscription.next = nextAfter(item) ?? subscription.next
    queue.enqueue(fresh)
    this.#events.items?.(sid, rid)
  }

  #control(proxy: PeerLink, message: ControlMessage): void {
    switch (message.kind) {
      case 'ack':
        proxy.acknowledged(message.number)
        this.#tellDrained()
        break
      case 'ping':
        proxy.tell({ kind: 'pong', at: message.at })
        break
      case 'resume':
        proxy.resumed(message.cursors, message.last)
        break
      case 'opened':
        this.#opened(message.sid)
        break
      case 'want':
        this.#want(proxy, message)
        break
      case 'unwant':
        this.#unwant(message.sid, message.hashes)
        break
      case 'subscribed':
        this.#events.subscribed?.(message.sid, message.rid, message.first)
        break
      case 'refused':
        if (message.generation === undefined) this.#events.refused?.(message.sid, message.rid, message.reason)
        else this.#outdated(message)
        break
      case 'others':
        this.#events.others?.(message.nodes, message.move === true, message.load)
        break
      case 'senders':
        this.#events.senders?.(message.request, message.senders, message.last)
        break
      case 'polled':
        this.#polled(message.request, message.answer)
        break
    }
  }

  /** The sender's root knows it, and those who wanted its events before have been told of. */
  #opened(sid: Id): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined) return
    if (sender.isSuspended) {
      sender.isSuspended = false
      for (const hash of sender.hashes) this.#spb.resume(sid, hash, this.#proxy!.link)
      this.#tellDrained()
    }
    const { held } = sender
    if (held === undefined) return
    sender.held = undefined
    for (const run of held) this.#spb.enqueue(sid, run)
    if (sender.isEnded) this.#mark(sender)
    this.#events.opened?.(sid)
  }

  /** Receivers want a sender's events: from the next one on they are kept for them. */
  #want(proxy: PeerLink, { sid, classes }: Extract<ControlMessage, { kind: 'want' }>): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined) return
    for (const { hash, policy } of classes) {
      if (sender.hashes.has(hash) || policy === undefined) continue
      this.#spb.subscribe(sid, proxy.link, hash, policyOf(policy))
      sender.hashes.add(hash)
      // It must not overtake what waits for the others.
      if (sender.isSuspended) this.#spb.suspend(sid, hash)
    }
    const [oldest] = sender.held ?? []
    const first = { epoch: sender.epoch, seq: oldest === undefined ? sender.seq + 1 : seqOf(oldest) }
    proxy.tell({ kind: 'granted', sid, hashes: classes.map(({ hash }) => hash), first, ancestors: [] })
  }

  #unwant(sid: Id, hashes: readonly string[]): void {
    for (const hash of hashes) {
      this.#senders.get(sid)?.hashes.delete(hash)
      this.#spb.unsubscribe(sid, hash)
    }
  }

  #polled(request: number, answer: PollAnswer): void {
    const poll = this.#polls.get(request)
    if (poll === undefined) return
    const { sid, pieces } = poll
    if (answer.kind === 'piece' && answer.index === pieces.length) {
      pieces.push(answer.items)
      return
    }
    this.#polls.delete(request)
    this.#events.polled?.(request, outcomeOf(sid, pieces, answer))
  }

  #failPolls(): void {
    const failed = [...this.#polls.keys()]
    this.#polls.clear()
    for (const request of failed)
      this.#events.polled?.(request, { kind: 'failed', reason: 'the node is gone' })
  }

  #tellOpen({ sid, name, schema, epoch, seq, allow }: Sender): void {
    if (!this.isAttached) return
    const limited = allow === undefined ? {} : { allow }
    this.#proxy!.tell({
      kind: 'open',
      sid,
      name,
      tags: schema.tags,
      epoch,
      next: seq + 1,
      generation: this.#generation,
      ...limited,
    })
  }

  #tellSubscribe({ sid, rid, name, policy, backlog, next }: Subscription): void {
    const at = {
      ...(next === undefined ? {} : { cursor: next }),
      ...(backlog === undefined ? {} : { backlog }),
    }
    if (this.isAttached)
      this.#proxy!.tell({
        kind: 'subscribe',
        sid,
        rid,
        name,
        policy: policy.spec,
        generation: this.#generation,
        ...at,
      })
  }

  #beat(): void {
    this.#surroundings.after(HEARTBEAT_MS, () => this.#beat())
    const now = this.#surroundings.now()
    for (const sender of this.#senders.values()) {
      if (this.#isToMark(sender, now)) this.#mark(sender)
      if (sender.isDrained && now - sender.publishedAt > KEEP_ENDED_MS) this.#close(sender.sid)
    }
    if (this.#awaySince !== undefined && now - this.#awaySince > LEASE_MS) {
      this.#awaySince = undefined
      this.#events.departed?.()
    }
    this.#proxy?.sweep(({ sender }) => this.#subscriptions.has(sender))
    if (this.#proxy?.beat() === false) {
      this.#surroundings.hangUp(this.#proxy.id)
      this.disconnected(this.#proxy.id)
    }
  }

  /** After a pause, and again and again, because whoever had the last events may be gone. */
  #isToMark({ held, seq, marked, markedAt, publishedAt }: Sender, now: number): boolean {
    if (held !== undefined || seq === 0) return false
    return marked < seq ? now - publishedAt >= MARK_AFTER_MS : now - markedAt >= REFRESH_MS
  }

  #mark(sender: Sender): void {
    const { sid, epoch, seq, isEnded } = sender
    sender.marked = seq
    sender.markedAt = this.#surroundings.now()
    const marker: Marker = { kind: 'marker', epoch, highest: seq, end: isEnded }
    this.#spb.mark(sid, marker)
    if (isEnded) this.#tellDrained()
  }

  #tellDrained(): void {
    for (const sender of this.#senders.values()) {
      const { sid, isEnded, isDrained, isSuspended, held } = sender
      if (!isEnded || isDrained || isSuspended || held !== undefined) continue
      if ([...this.#spb.slotsOf(sid)].some((slot) => !slot.isDone)) continue
      sender.isDrained = true
      this.#events.drained?.(sid)
    }
  }

  #close(sid: Id): void {
    this.#unwant(sid, [...this.#senders.get(sid)!.hashes])
    this.#senders.delete(sid)
    if (this.isAttached) this.#proxy!.tell({ kind: 'close', sid })
  }

  #falls(queue: Queue, isHigh: boolean): void {
    for (const { sid, rid, queue: own } of this.#subscriptions.values()) {
      if (own === queue) this.#events.falling?.(sid, rid, isHigh)
    }
  }
}

function seqOf(run: Run): number {
  return run.block.seq(positionOf(run, run.from))
}

function policyOf(spec: PolicySpec): Policy {
  return spec.levels.length === 0 ? noPolicy : compilePolicy(spec)
}

/** A piece that is missing went with a connection between two nodes. */
function outcomeOf(sid: Id, pieces: readonly string[], answer: PollAnswer): PollOutcome {
  if (answer.kind === 'piece') return { kind: 'failed', reason: 'a piece of the answer is missing' }
  if (answer.kind !== 'items' && answer.kind !== 'backlog') return answer
  const { index, items, ...rest } = answer
  if (index !== pieces.length) return { kind: 'failed', reason: 'a piece of the answer is missing' }
  try {
    return { ...rest, items: itemsOf(sid, items === undefined ? pieces : [...pieces, items]) }
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    return { kind: 'failed', reason: error.message }
  }
}
