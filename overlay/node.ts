// A node of the overlay (PACK sections 3 and 4): the dispatcher. It plays all roles at once, proxy of senders (SP)
// and of receivers (RP), root of senders (SR) and of receivers (RR), and forwarder. It does no IO: what happens is
// told by `connected`, `disconnected` and `received`; what is to be done it asks of its surroundings.
import { Budget } from '../buffers/budget.ts'
import type { Item } from '../buffers/item.ts'
import { Link } from '../buffers/link.ts'
import type { QueueBounds } from '../buffers/queue.ts'
import { RemoteBuffer, type RemoteBufferName } from '../buffers/remote-buffer.ts'
import { compilePolicy } from '../policies/compile.ts'
import { SpillwayError } from '../policies/error.ts'
import { noPolicy, type Policy, type PolicySpec } from '../policies/policy.ts'
import { type ClientState, Clients, type ClientsHost } from './clients.ts'
import type { ControlMessage, NodeInfo, RoutedMessage, SenderInfo, ToldCursor } from './control.ts'
import { Forest } from './forest.ts'
import { type Host, LEASE_MS, REFRESH_MS } from './host.ts'
import { compareDistance, type Id } from './id.ts'
import { Mirrors } from './mirrors.ts'
import { HEARTBEAT_MS, PeerLink, towardOf } from './peer-link.ts'
import { PollProxy } from './poll-proxy.ts'
import { ReceiverProxy } from './receiver-proxy.ts'
import { ReceiverRoot } from './receiver-root.ts'
import { SenderProxy } from './sender-proxy.ts'
import { SenderRoot } from './sender-root.ts'
import type { Core, Peer, Stream, Surroundings } from './surroundings.ts'
import { decodeControl } from './wire/control-frame.ts'
import type { DataPart } from './wire/data-frame.ts'
import { portionsOf } from './wire/portions.ts'

/** Who publishes what, as far as this node has heard. */
export interface Directory {
  announce(info: SenderInfo): void
  senders(): readonly SenderInfo[]
}

export interface NodeSurroundings extends Surroundings {
  readonly directory: Directory
  /** The other nodes, as far as this one has heard. */
  members(): readonly NodeInfo[]
}

export interface NodeOptions {
  /** Bounds of each queue. */
  readonly bounds?: QueueBounds
  /** Over all queues. */
  readonly budgetBytes?: number
  /** Of more clients, those that came last are sent to other nodes. */
  readonly maxClients?: number
  /** Told when a client is attached, detached, or has departed. */
  clientChanged?(client: Id, state: ClientState): void
}

/** How much there is of what a node has for clients. */
export interface NodeCounts {
  /** That are connected, or were until lately. */
  readonly clients: number
  /** Entries of its buffers. */
  readonly buffers: number
  readonly queues: number
  readonly queuedBytes: number
  readonly unacknowledgedBytes: number
  /** Control messages that wait for a connection. */
  readonly waitingMessages: number
  /** Parts of streams of which it is remembered how far they came. */
  readonly cursors: number
  readonly trees: number
  /** Of clients that are attached here, or were and move. */
  readonly senders: number
  readonly receivers: number
  /** Senders of receivers whose root is here. */
  readonly rooted: number
  /** Queues of receivers that are away: of this root elsewhere, and of others here. */
  readonly mirrors: number
  readonly polls: number
  /** What roots keep for those who pull. */
  readonly rings: number
}

const DEFAULT_BOUNDS: QueueBounds = { items: 10_000, bytes: 8_388_608 }
const DEFAULT_BUDGET_BYTES = 512 * 1_048_576
/** Below the connections that a node may have: who is sent on needs one until it has gone. */
const DEFAULT_MAX_CLIENTS = 900
/** How many nodes are looked at to find the next hop: enough to step around some that are dead. */
const CANDIDATES = 8
/** A node that could not be reached is not tried again for so long. */
const SUSPECT_MS = 3_000
/** A message that was passed on so often goes round in circles. */
const MAX_HOPS = 32
/** Compiled policies that are kept. */
const MAX_POLICIES = 4_096
/** What is handed over at a time between two roles of this node. */
const OWN_BATCH_BYTES = 1_048_576
/** Senders in one answer to `list`, so that it stays below the limit of a frame. */
const SENDERS_PER_MESSAGE = 500

export class OverlayNode implements Core, Host {
  readonly id: Id
  readonly #surroundings: NodeSurroundings
  readonly #peers = new Map<Id, PeerLink>()
  readonly #suspects = new Map<Id, number>()
  /** Nodes that are about to leave: there, but nobody's root or parent. */
  readonly #leavers = new Set<Id>()
  readonly #clients: Clients
  readonly #policies = new Map<string, Policy>()
  readonly #budget: Budget
  readonly #buffers: RemoteBuffer[] = []
  readonly #forest: Forest
  readonly #senderProxy: SenderProxy
  readonly #receiverProxy: ReceiverProxy
  readonly #receiverRoot: ReceiverRoot
  readonly #senderRoot: SenderRoot
  readonly #pollProxy: PollProxy
  /** From one role of this node to another. */
  readonly #ownLink: Link
  readonly #ownMessages: ControlMessage[] = []
  /** Links that have something to send; they send at the end of the turn. */
  readonly #awake = new Set<PeerLink>()
  #isWorking = false
  #isLeaving = false
  #beats = 0
  #malformed = 0

  constructor(
    surroundings: NodeSurroundings,
    {
      bounds = DEFAULT_BOUNDS,
      budgetBytes = DEFAULT_BUDGET_BYTES,
      maxClients = DEFAULT_MAX_CLIENTS,
      clientChanged = () => {},
    }: NodeOptions = {},
  ) {
    this.id = surroundings.self.id
    this.#surroundings = surroundings
    this.#budget = new Budget(budgetBytes)
    this.#ownLink = new Link(this.id)
    this.#clients = new Clients(this.#clientsHost(clientChanged), maxClients)
    const buffer = (name: RemoteBufferName) => this.#newBuffer(name, bounds)
    this.#forest = new Forest(this, buffer('RRB'))
    this.#senderProxy = new SenderProxy(this, buffer('SRB'))
    this.#receiverProxy = new ReceiverProxy(this, buffer('RCB'))
    const mirrors = new Mirrors(this, buffer('SIB'))
    this.#receiverRoot = new ReceiverRoot(this, buffer('RPB'), this.#forest, mirrors)
    const random = () => surroundings.random()
    this.#senderRoot = new SenderRoot(this, random, (sid) => this.#forest.find(sid)?.end)
    this.#forest.local = {
      granted: (tree, ...grant) => this.#receiverRoot.granted(tree, ...grant),
      denied: (tree, ...denial) => this.#receiverRoot.denied(tree, ...denial),
      deliver: ({ sid, isRoot }, rid, items) => {
        this.#receiverRoot.deliver(sid, rid, items)
        if (isRoot) this.#senderRoot.deliver(sid, rid, items)
      },
    }
    this.#pollProxy = new PollProxy(this, (sid) => this.isAnnounced(sid))
    this.#beats = Math.floor(surroundings.random() * (REFRESH_MS / HEARTBEAT_MS))
    surroundings.after(HEARTBEAT_MS * surroundings.random(), () => this.#beat())
  }

  /** How many malformed frames arrived. */
  get malformed(): number {
    return this.#malformed
  }

  get budget(): Budget {
    return this.#budget
  }

  get forest(): Forest {
    return this.#forest
  }

  /** How full it is: 1 is full. */
  get load(): number {
    return Math.max(this.#clients.fill, this.#budget.bytes / this.#budget.limitBytes)
  }

  /** Whether any other node stays, as far as this one has heard. */
  get hasOthers(): boolean {
    return this.#surroundings.members().some(({ id }) => !this.#leavers.has(id))
  }

  /** Whether nothing is here any more that would be lost with this node, as far as it has told the others that it leaves. */
  get isIdle(): boolean {
    // Senders whose clients are gone have nothing that is not with their roots.
    const isNobodySending = this.#clients.fill === 0 && this.#budget.bytes === 0
    return (
      (this.#senderProxy.isIdle || isNobodySending) &&
      this.#receiverProxy.isIdle &&
      this.#receiverRoot.isIdle &&
      this.#forest.isIdle
    )
  }

  /**
   * It is about to leave: clients are sent on, others become roots and parents, and what waits here follows them.
   * `isIdle` tells when nothing is left.
   */
  leave(): void {
    this.#work(() => {
      if (this.#isLeaving) return
      this.#isLeaving = true
      for (const { peer } of this.#peers.values())
        if (peer?.kind === 'node') this.tell(peer.id, { kind: 'leave' })
      this.#clients.leave()
      this.#refresh()
    })
  }

  /** What it has for clients. Once they have all departed, all is 0; only rings are kept for an hour. */
  get counts(): NodeCounts {
    const links = [...this.#peers.values()]
    const sum = (of: (link: PeerLink) => number) => links.reduce((all, link) => all + of(link), 0)
    return {
      clients: links.filter(({ isClient }) => isClient).length,
      buffers: this.#buffers.reduce((all, { size }) => all + size, 0),
      queues: this.#budget.queues.size,
      queuedBytes: this.#budget.bytes,
      unacknowledgedBytes: sum(({ link }) => link.unacknowledgedBytes),
      waitingMessages: sum(({ waiting }) => waiting) + this.#ownMessages.length,
      cursors: sum(({ cursors }) => cursors),
      trees: [...this.#forest.trees].length,
      senders: this.#senderProxy.size,
      receivers: this.#receiverProxy.size,
      rooted: this.#receiverRoot.size,
      mirrors: this.#receiverRoot.mirrors,
      polls: this.#pollProxy.size + this.#pollProxy.askers,
      rings: this.#senderRoot.size,
    }
  }

  connected(peer: Peer): void {
    this.#work(() => {
      this.#suspects.delete(peer.id)
      this.#leavers.delete(peer.id)
      this.#peerLink(peer.id).connected(peer)
      if (peer.kind === 'client') this.#clients.become(peer.id, 'attached')
      else if (this.#isLeaving) this.tell(peer.id, { kind: 'leave' })
    })
  }

  disconnected(peer: Id): void {
    this.#work(() => this.#lost(peer))
  }

  received(peer: Id, stream: Stream, frame: Uint8Array): void {
    const link = this.#peers.get(peer)
    if (link?.isConnected !== true) return
    link.heard()
    this.#work(() => {
      try {
        if (stream === 'control') this.#control(peer, decodeControl(frame))
        else this.#data(link, frame)
      } catch (error) {
        this.#refuseFrame(peer, error)
      }
    })
  }

  now(): number {
    return this.#surroundings.now()
  }

  linkTo(peer: Id): Link {
    return peer === this.id ? this.#ownLink : this.#peerLink(peer).link
  }

  tell(peer: Id, message: ControlMessage): void {
    if (peer === this.id) this.#ownMessages.push(message)
    else this.#peerLink(peer).tell(message)
  }

  route(key: Id, message: RoutedMessage): void {
    this.#route({ kind: 'route', key, hops: 0, origin: this.id, message })
  }

  nextHop(key: Id): Id | undefined {
    const best = this.#closest(key, this.#isLeaving ? undefined : this.id)
    return best === this.id ? undefined : best
  }

  standIn(key: Id): Id | undefined {
    return this.#closest(key, undefined)
  }

  /** The closest to the key of this one and those that are known to be alive, and to stay. */
  #closest(key: Id, own: Id | undefined): Id | undefined {
    const now = this.now()
    let best = own
    for (const candidate of this.#surroundings.closest(key, CANDIDATES)) {
      if ((this.#suspects.get(candidate) ?? 0) > now || this.#leavers.has(candidate)) continue
      if (best === undefined || compareDistance(key, candidate, best) < 0) best = candidate
    }
    return best
  }

  handOver(receiver: string, rid: string | undefined, items: readonly Item[]): void {
    this.#receiverProxy.deliver(this.id, receiver, rid, items)
  }

  isAnnounced(sid: Id): boolean {
    return this.#surroundings.directory.senders().some((info) => info.sid === sid)
  }

  isThere(peer: Id): boolean {
    return peer === this.id || this.#peers.get(peer)?.isConnected === true
  }

  isLeaving(peer: Id): boolean {
    return peer === this.id ? this.#isLeaving : this.#leavers.has(peer)
  }

  compile(spec: PolicySpec): Policy {
    if (spec.levels.length === 0) return noPolicy
    const text = JSON.stringify(spec)
    const known = this.#policies.get(text)
    if (known !== undefined) return known
    const policy = compilePolicy(spec)
    if (this.#policies.size >= MAX_POLICIES) this.#policies.delete(this.#policies.keys().next().value!)
    this.#policies.set(text, policy)
    return policy
  }

  /** Does something, then everything that follows from it here. */
  #work(first: () => void): void {
    if (this.#isWorking) {
      first()
      return
    }
    this.#isWorking = true
    try {
      first()
      while (this.#workOnce());
    } finally {
      this.#isWorking = false
    }
  }

  #wake(link: PeerLink): void {
    if (this.#awake.size === 0) this.#surroundings.after(0, () => this.#flush())
    this.#awake.add(link)
  }

  #flush(): void {
    const awake = [...this.#awake]
    this.#awake.clear()
    for (const link of awake) link.flush()
  }

  /** Takes what one role of this node has for another. False when there is nothing. */
  #workOnce(): boolean {
    const message = this.#ownMessages.shift()
    if (message !== undefined) {
      this.#control(this.id, message)
      return true
    }
    const batch = this.#ownLink.take(OWN_BATCH_BYTES)
    if (batch === undefined) return false
    this.#ownLink.acknowledge(batch.number)
    for (const { slot, rid, taken } of batch.parts) {
      this.#dispatch(this.id, { toward: towardOf(slot), sender: slot.sender, rid, items: taken.items })
    }
    return true
  }

  #data(link: PeerLink, frame: Uint8Array): void {
    const decoded = link.decode(frame)
    if (decoded === undefined) return
    // What a client sends for others than its own senders is not even remembered.
    const isHeard = ({ toward, sender }: DataPart) =>
      toward === 'SP' && this.#senderProxy.has(link.id, sender)
    const parts = link.peer?.kind === 'client' ? decoded.parts.filter(isHeard) : decoded.parts
    for (const part of parts) this.#dispatch(link.id, part)
    link.took({ ...decoded, parts })
  }

  #dispatch(from: Id, { toward, sender, rid, items }: DataPart): void {
    switch (toward) {
      case 'SP':
        if (this.#senderProxy.has(from, sender)) this.#senderProxy.deliver(sender, rid, items)
        break
      case 'SR':
      case 'RR':
        this.#forest.deliver(from, sender, rid, items)
        break
      case 'RP':
        this.#receiverProxy.deliver(from, sender, rid, items)
        break
      case 'RC':
        this.#receiverProxy.takeOver(sender, rid, items)
        break
      case 'SI':
        this.#receiverRoot.mirrored(from, sender, rid, items)
        break
    }
  }

  #control(from: Id, message: ControlMessage): void {
    const link = this.#peers.get(from)
    if (message.kind === 'ack') this.#acknowledged(link, message.number)
    else if (message.kind === 'ping') this.tell(from, { kind: 'pong', at: message.at })
    else if (message.kind === 'resume') link?.resumed(message.cursors, message.last)
    else if (link?.peer?.kind === 'client') this.#clientControl(link.peer, message)
    else this.#nodeControl(from, message)
  }

  #acknowledged(link: PeerLink | undefined, number: number): void {
    link?.acknowledged(number)
    this.#settle()
  }

  /** Who moves may have all by now that was left behind. */
  #settle(): void {
    this.#receiverRoot.settle()
    this.#receiverProxy.settle()
    this.#senderProxy.settle()
  }

  /** Clients are strangers: they may do what is theirs, and nothing else is heard. */
  #clientControl(client: Peer, message: ControlMessage): void {
    switch (message.kind) {
      case 'open':
        this.#attached(client.id, message.generation)
        this.#senderProxy.open(client, message)
        if (this.#senderProxy.has(client.id, message.sid)) this.#announce()
        break
      case 'close':
        this.#senderProxy.close(client.id, message.sid)
        break
      case 'granted':
        this.#senderProxy.granted(client.id, message.sid, message.hashes, message.first)
        break
      case 'detach':
        if (this.#peers.get(client.id)!.detached(message.generation)) {
          this.#clients.become(client.id, 'detached')
          this.#receiverProxy.detached(client.id, message.generation)
        }
        break
      case 'subscribe':
        this.#attached(client.id, message.generation)
        this.#receiverProxy.subscribe(client, message)
        break
      case 'unsubscribe':
        this.#receiverProxy.unsubscribe(client.id, message.sid, message.rid)
        break
      case 'list':
        this.#list(client.id, message.request)
        break
      case 'poll':
        this.#pollProxy.poll(client.id, message)
        break
      case 'recall':
        this.#pollProxy.recall(client.id, message)
        break
    }
  }

  #attached(client: Id, generation: number): void {
    this.#peers.get(client)!.attached(generation)
    this.#clients.become(client, 'attached')
  }

  #nodeControl(from: Id, message: ControlMessage): void {
    switch (message.kind) {
      case 'leave':
        this.#leaves(from)
        break
      case 'route':
        this.#route(message)
        break
      case 'rooted':
        this.#senderProxy.rooted(from, message.key)
        this.#senderProxy.opened(message.key)
        this.#receiverProxy.rooted(from, message.key)
        break
      case 'collect':
        this.#receiverProxy.collect(from, message)
        break
      case 'suspend':
        this.#receiverRoot.suspend(from, message.sid, message.rid, message.generation)
        break
      case 'mirror':
        this.#receiverRoot.mirror(from, message)
        break
      case 'unmirror':
        this.#receiverRoot.unmirror(from, message.sid, message.rid)
        break
      case 'collected':
        this.#receiverRoot.collected(from, message.sid, message.rid, message.generation)
        break
      case 'subscribed':
        this.#receiverProxy.subscribed(from, message.sid, message.rid, message.first)
        break
      case 'refused':
        if (message.rid === undefined) this.#senderProxy.refused(message)
        else this.#receiverProxy.refused(message)
        break
      case 'polled':
        this.#polled(message)
        break
      default:
        this.#treeControl(from, message)
    }
  }

  /** Along the tree: the sender's root and its proxy talk as parent and child do. */
  #treeControl(from: Id, message: ControlMessage): void {
    switch (message.kind) {
      case 'want':
        if (message.toward === 'SP') this.#senderProxy.want(from, message)
        else this.#forest.treeOf(message.sid).want(from, message.classes, message, this.now())
        break
      case 'unwant':
        if (message.toward === 'SP') this.#senderProxy.unwant(from, message.sid, message.hashes)
        else this.#forest.unwant(from, message.sid, message.hashes)
        break
      case 'granted':
        this.#forest.find(message.sid)?.granted(from, message)
        break
      case 'denied':
        this.#forest.find(message.sid)?.denied(from, message.hashes, message.reason)
        break
      case 'redirect':
        this.#forest.find(message.sid)?.redirected(from, message.to)
        break
      case 'finish':
        this.#senderProxy.finish(from, message.sid, message.generation)
        break
      case 'finished':
        this.#forest.find(message.sid)?.finished(from, message.generation)
        break
    }
  }

  #route(message: Extract<ControlMessage, { kind: 'route' }>): void {
    const { key, hops, origin, message: routed } = message
    const next = routed.kind === 'unsubscribe' ? undefined : this.nextHop(key)
    if (next !== undefined) {
      const isAsked = routed.kind === 'poll' || routed.kind === 'recall'
      const passed = isAsked ? { ...routed, path: [...routed.path, this.id] } : routed
      if (hops < MAX_HOPS) this.tell(next, { ...message, hops: hops + 1, message: passed })
      return
    }
    if (this.#rooted(routed)) this.tell(origin, { kind: 'rooted', key })
  }

  /** This node is the root of what the message is about. True when who asked is to hear of it now. */
  #rooted(message: RoutedMessage): boolean {
    switch (message.kind) {
      case 'register': {
        const { sid, allow } = message
        return this.#forest.treeOf(sid).registered(message, () => this.#senderRoot.keep(sid, allow))
      }
      case 'unregister':
        this.#forest.unregister(message.sid, message.proxy)
        return false
      case 'subscribe':
        this.#receiverRoot.subscribe(message)
        return true
      case 'unsubscribe':
        this.#receiverRoot.unsubscribe(message.sid, message.rid, message.proxy, message.to)
        return false
      case 'poll':
        this.#senderRoot.poll(message)
        return false
      case 'recall':
        this.#receiverRoot.recall(message)
        return false
    }
  }

  /** An answer goes back the way the poll came. */
  #polled(message: Extract<ControlMessage, { kind: 'polled' }>): void {
    const { path } = message
    const next = path.at(-1)
    if (next === undefined) this.#pollProxy.polled(message)
    else this.tell(next, { ...message, path: path.slice(0, -1) })
  }

  #list(client: Id, request: number): void {
    const portions = portionsOf(this.#surroundings.directory.senders(), SENDERS_PER_MESSAGE)
    for (const senders of portions) {
      this.tell(client, { kind: 'senders', request, senders, last: senders === portions.at(-1) })
    }
  }

  /** Once a heartbeat: who is silent is asked, who stays silent is gone; now and then everything is told again. */
  #beat(): void {
    this.#surroundings.after(HEARTBEAT_MS, () => this.#beat())
    this.#work(() => {
      for (const [id, link] of [...this.#peers]) {
        if (!link.beat()) {
          this.#surroundings.hangUp(id)
          this.#lost(id)
        } else if (link.awayMs > LEASE_MS) this.#forget(id)
      }
      this.#settle()
      this.#pollProxy.expire()
      this.#senderProxy.seek()
      this.#receiverProxy.seek()
      if (++this.#beats % (REFRESH_MS / HEARTBEAT_MS) === 0) this.#refresh()
    })
  }

  /** A node is about to leave: what it is to others, another becomes, while it is still there. */
  #leaves(peer: Id): void {
    this.#leavers.add(peer)
    this.#forest.leaves(peer)
    this.#senderProxy.leaves(peer)
    this.#receiverProxy.leaves(peer)
  }

  #refresh(): void {
    const before = this.now() - LEASE_MS
    for (const [id, until] of this.#suspects) if (until < this.now()) this.#suspects.delete(id)
    this.#announce()
    this.#senderProxy.refresh(before)
    this.#receiverProxy.refresh()
    this.#receiverRoot.refresh(before)
    this.#forest.refresh(before)
    this.#senderRoot.refresh()
    this.#clients.refresh()
    for (const [id, link] of this.#peers) link.sweep((cursor) => this.#isExpected(id, cursor))
  }

  /** Whether somebody here takes what a peer sends of this. */
  #isExpected(from: Id, { toward, sender }: ToldCursor): boolean {
    switch (toward) {
      case 'SP':
        return this.#senderProxy.has(from, sender)
      case 'SR':
      case 'RR':
        return this.#forest.find(sender) !== undefined
      case 'RP':
      case 'RC':
        return this.#receiverProxy.has(sender)
      case 'SI':
        return this.#receiverRoot.isMirroredFrom(from, sender)
    }
  }

  #announce(): void {
    for (const info of this.#senderProxy.infos) this.#surroundings.directory.announce(info)
  }

  /** A peer is gone, for now: what goes to it waits; what came from it is looked for elsewhere. */
  #lost(peer: Id): void {
    const link = this.#peers.get(peer)
    const isClient = link?.peer?.kind === 'client'
    link?.disconnected()
    this.#leavers.delete(peer)
    if (isClient) {
      this.#clients.become(peer, 'detached')
      this.#receiverProxy.detached(peer)
      return
    }
    const untold = link?.drop() ?? []
    this.#suspects.set(peer, this.now() + SUSPECT_MS)
    this.#surroundings.forget(peer)
    // What was to go through it goes another way; what was for itself is told again, or needs not be told.
    for (const message of untold)
      if (message.kind === 'route' && message.message.kind !== 'unsubscribe') this.#route(message)
    this.#forest.lost(peer)
    this.#senderProxy.lost(peer)
    this.#receiverProxy.lost(peer)
    this.#receiverRoot.lost(peer)
  }

  /** A peer has been gone for longer than anybody waits. */
  #forget(peer: Id): void {
    if (this.#peers.get(peer)?.isConnected) this.#surroundings.hangUp(peer)
    this.#peers.delete(peer)
    this.#clients.become(peer, 'departed')
    this.#senderProxy.departed(peer)
    this.#receiverProxy.departed(peer)
    this.#pollProxy.departed(peer)
    this.#receiverRoot.departed(peer)
    this.#forest.departed(peer)
  }

  #refuseFrame(peer: Id, error: unknown): void {
    if (!(error instanceof SpillwayError)) throw error
    this.#malformed++
    this.#surroundings.hangUp(peer)
    this.#lost(peer)
  }

  #peerLink(id: Id): PeerLink {
    const known = this.#peers.get(id)
    if (known !== undefined) return known
    const link = new PeerLink(id, this.#surroundings, (awake) => this.#wake(awake))
    this.#peers.set(id, link)
    return link
  }

  #clientsHost(changed: (client: Id, state: ClientState) => void): ClientsHost {
    const node = this
    return {
      get load() {
        return node.load
      },
      members: () => node.#surroundings.members().filter(({ id }) => !node.#leavers.has(id)),
      tell: (client, message) => node.tell(client, message),
      random: () => node.#surroundings.random(),
      changed,
    }
  }

  #newBuffer(buffer: RemoteBufferName, bounds: QueueBounds): RemoteBuffer {
    const surroundings = this.#surroundings
    const made = new RemoteBuffer(bounds, {
      buffer,
      budget: this.#budget,
      now: () => surroundings.now(),
      random: () => surroundings.random(),
    })
    this.#buffers.push(made)
    return made
  }
}
