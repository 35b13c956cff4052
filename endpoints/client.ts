// A client, as an application has it: senders and subscriptions over one connection to a node.
import type { Cursor } from '../buffers/item.ts'
import type { QueueBounds, QueueSurroundings } from '../buffers/queue.ts'
import { Attachment } from '../mobility/attachment.ts'
import type { AttachmentListener, AttachmentState } from '../mobility/listeners.ts'
import type { OtherNode, Place } from '../mobility/places.ts'
import { Roaming } from '../mobility/roaming.ts'
import { ClientCore, type PollOutcome } from '../overlay/client.ts'
import type { SenderInfo } from '../overlay/control.ts'
import type { Id } from '../overlay/id.ts'
import type { Transport } from '../overlay/libp2p/transport.ts'
import { compilePolicy } from '../policies/compile.ts'
import { SpillwayError } from '../policies/error.ts'
import type { Attributes } from '../policies/event.ts'
import { noPolicy, Policy, type PolicySpec } from '../policies/policy.ts'
import { parsePolicy } from '../policies/xml.ts'
import { checkAddresses } from './address.ts'
import { checkDeclaration, type Declaration } from './attributes.ts'
import { ANSWER_MS, BACKLOGS, type BacklogOrder } from './backlog.ts'
import type { Pack } from './delivery.ts'
import { checkAllowed, checkName, checkSender } from './name.ts'
import { checkChoice, checkList, checkOptions, checkQueue, checkType } from './options.ts'
import type { PullOptions } from './pull/pull.ts'
import { SenderPull } from './pull/sender-pull.ts'
import { Sender } from './sender.ts'
import { type LoadEdge, start } from './start.ts'
import { type AskBacklog, Subscription } from './subscription.ts'

export interface ConnectOptions<K = string> {
  /** A file with the client's key, made if it is not there; without it a new key, and so new IDs, each time. */
  readonly key?: K
  /** 32 bytes that all nodes and clients of a private overlay have in common. */
  readonly psk?: Uint8Array
  /**
   * Whether it goes by itself to nodes that it was told of: when its node leaves or is full, when another one is clearly
   * better, and when those it was given are gone. True unless told.
   */
  readonly roams?: boolean
  /** Ends the start, and closes the client when it aborts later. */
  readonly signal?: AbortSignal
  /** Told when the node is gone, and when one is there again, the first one too; the client goes on trying by itself. */
  attachment?(isAttached: boolean): void
}

export interface SenderOptions {
  /** The IDs of the clients that may subscribe; everybody may without it. */
  readonly allow?: readonly string[]
  /** Ends the sender; `opened` and `close` wait no longer. */
  readonly signal?: AbortSignal
}

export interface SubscribeOptions {
  /** What may be lost: XML, a plain object, or compiled. Without it, overflow becomes one COUNT digest. */
  readonly policy?: string | PolicySpec | Policy
  /** The receiver's name; with the client's key it makes its ID. */
  readonly name?: string
  /**
   * How what waited while the client was away comes back: in order, unless told, or a digest of all of it first, as a
   * preview, then what is live, and beside that, as there is room, what waited.
   */
  readonly backlog?: BacklogOrder
  /** Bounds of the receiver's own queue. */
  readonly queue?: Partial<QueueBounds>
  /** Ends the subscription. */
  readonly signal?: AbortSignal
  /** Told of every pack of the receiver's own queue; others, on the way, are causes in digests only. */
  packed?(pack: Pack): void
}

export interface Waiting {
  /** Ends the waiting. */
  readonly signal?: AbortSignal
}

export interface AttachOptions extends Waiting {
  /** Cuts the connection before, as if coverage was lost, instead of asking. */
  readonly abrupt?: boolean
}

const DEFAULT_QUEUE: QueueBounds = { items: 10_000, bytes: 8_388_608 }
const LIST_TIMEOUT_MS = 10_000

const CONNECT_OPTIONS = ['key', 'psk', 'roams', 'signal', 'attachment'] satisfies (keyof ConnectOptions)[]
const SENDER_OPTIONS = ['allow', 'signal'] satisfies (keyof SenderOptions)[]
const SUBSCRIBE_OPTIONS = [
  'policy',
  'name',
  'backlog',
  'queue',
  'packed',
  'signal',
] satisfies (keyof SubscribeOptions)[]

interface Told<T = void> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

interface List extends Told<readonly SenderInfo[]> {
  readonly senders: SenderInfo[]
}

interface News {
  readonly nodes: readonly OtherNode[]
  readonly move: boolean
  readonly load: number
}

/** Senders and subscriptions over one connection. Made by `connect`. */
export class Client {
  readonly #opened = new Map<Id, Told>()
  readonly #drained = new Map<Id, Told>()
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #lists = new Map<number, List>()
  readonly #polls = new Map<number, Told<PollOutcome>>()
  readonly #relieved = new Set<Told>()
  /** Aborts when the client is closed, and with it whatever listens for other signals. */
  readonly #closing = new AbortController()
  readonly #attachment: Attachment
  /** Without it the client stays where it is. */
  readonly #roaming: Roaming | undefined
  #transport!: Transport<ClientCore>
  /** What its node told of others, as long as nobody has looked at it. */
  #news: News | undefined
  #receivers = 0
  #requests = 0
  /** How many of the senders' queues are beyond their high-water mark. */
  #highQueues = 0

  private constructor(addresses: readonly string[], roams: boolean) {
    // In a page a timer is a number, and keeps nothing running.
    const after = (delayMs: number, call: () => void) => void setTimeout(call, delayMs).unref?.()
    const random = Math.random
    this.#attachment = new Attachment(addresses, {
      random,
      after,
      attach: (place, isWanted) => succeeds(this.#attachTo(place, { isWanted })),
    })
    if (!roams) return
    this.#roaming = new Roaming({
      random,
      after,
      roundTripMs: (node) => this.#roundTripMs(node).catch(() => undefined),
      move: (node) => this.#attachment.move(node),
    })
  }

  /** Use `connect`. */
  static async connect<K>(
    address: string | readonly string[],
    options: ConnectOptions<K>,
    edge: (key: K | undefined) => LoadEdge,
  ): Promise<Client> {
    const addresses = Array.isArray(address) ? [...address] : [address as string]
    if (addresses.length === 0) throw new SpillwayError('ADDRESS_INVALID', 'expected an address, got none')
    checkOptions('connect', options, CONNECT_OPTIONS)
    checkType('connect: attachment', options.attachment, 'function', 'a function')
    checkType('connect: roams', options.roams, 'boolean', 'true or false')
    const { key, psk, roams = true, signal, attachment } = options
    const client = new Client(addresses, roams)
    client.on('attached', () => attachment?.(true))
    client.on('detached', () => attachment?.(false))
    const makeCore = (surroundings: ConstructorParameters<typeof ClientCore>[0]) =>
      client.#makeCore(surroundings)
    client.#transport = await start({ kind: 'client', makeCore, join: addresses, psk, signal }, edge(key))
    client.#whenAborted(signal, () => void client.close())
    client.#roaming?.start()
    void client.#told()
    return client
  }

  /** This client's ID: what senders put on their list of who may subscribe. */
  get id(): string {
    return this.#transport.id
  }

  /** Whether a node has it, or keeps what comes for it, or nobody does any more. */
  get state(): AttachmentState {
    return this.#attachment.state
  }

  /**
   * Calls the listener when the client's state becomes this one; returns how to listen no more. A client whose node is
   * gone is `detached`, looks for another by itself, and is `attached` there.
   */
  on(state: AttachmentState, listener: () => void): () => void {
    return this.#attachment.listen({ [state]: listener } satisfies AttachmentListener)
  }

  /**
   * Detaches: what comes for its receivers is kept by the overlay, packed by their policies, and what its senders
   * publish is kept here. Nobody keeps it for longer than 20 seconds: then the client has departed.
   */
  detach(): void {
    this.#assertOpen()
    this.#attachment.stop()
    this.#core.detach()
  }

  /**
   * Attaches again, to the node at another address, or without one to the node it was attached to. What waits for it
   * follows. Throws ADDRESS_INVALID, UNREACHABLE or CLOSED; the client is then still where it was, or looks for the nodes
   * it knows.
   */
  async attach(address?: string, { signal, abrupt = false }: AttachOptions = {}): Promise<void> {
    this.#assertOpen()
    if (address !== undefined) checkAddresses('dial', [address])
    if (abrupt) await this.#transport.cut()
    this.#attachment.want(address)
    try {
      if (address !== undefined) await this.#attachTo({ address }, { signal })
      else await this.#attachAgain(signal)
    } catch (cause) {
      signal?.throwIfAborted()
      if (address !== undefined) this.#attachment.unreached(address)
      // It was not turned to where nobody answered: it may still be where it was.
      if (!this.#core.isAttached) this.#attachment.detached()
      throw new SpillwayError('UNREACHABLE', `no node answers at ${address ?? 'the last address'}`, { cause })
    }
  }

  /**
   * Opens a sender whose events have these attributes, numbered from 1. Its ID follows from the client's key and the
   * name. Throws NAME_INVALID, NAME_TAKEN, OPTION_INVALID or CLOSED; `opened` rejects with REFUSED.
   */
  sender<const D extends Declaration>(name: string, attributes: D, options: SenderOptions = {}): Sender<D> {
    checkOptions('sender', options, SENDER_OPTIONS)
    const { allow, signal } = options
    this.#assertOpen()
    signal?.throwIfAborted()
    checkName(name)
    checkDeclaration(attributes)
    checkList('sender: allow', allow)
    checkAllowed(allow ?? [])
    const sid = this.#core.endpoint(name)
    if (this.#opened.has(sid))
      throw new SpillwayError('NAME_TAKEN', `there is a sender called "${name}" already`)
    const tags = Object.keys(attributes)
    const opened = told()
    const drained = told()
    this.#opened.set(sid, opened)
    this.#drained.set(sid, drained)
    this.#core.open(name, { tags, epoch: Date.now(), ...(allow === undefined ? {} : { allow }) })
    this.#whenAborted(signal, () => {
      this.#core.end(sid)
      for (const one of [opened, drained]) one.reject(signal?.reason)
    })
    return new Sender<D>(this.#core, sid, name, attributes, {
      opened: opened.promise,
      drained: drained.promise,
    })
  }

  /**
   * Subscribes to a sender by its ID, also to one that is not there yet. Throws NAME_INVALID, NAME_TAKEN when a
   * receiver of that name has subscribed to it already, POLICY_INVALID, OPTION_INVALID or CLOSED; `subscribed` rejects
   * with REFUSED.
   */
  subscribe<A extends Attributes = Attributes>(
    sender: string,
    options: SubscribeOptions = {},
  ): Subscription<A> {
    checkOptions('subscribe', options, SUBSCRIBE_OPTIONS)
    const { name = `receiver-${++this.#receivers}`, queue = {}, signal, packed } = options
    this.#assertOpen()
    signal?.throwIfAborted()
    checkSender(sender)
    checkName(name)
    checkQueue('subscribe', queue)
    checkType('subscribe: packed', packed, 'function', 'a function')
    checkChoice('subscribe: backlog', options.backlog, BACKLOGS)
    const policy = policyOf(options.policy)
    if (this.#subscriptions.has(sender + this.#core.endpoint(name)))
      throw new SpillwayError('NAME_TAKEN', `there is a receiver called "${name}" of this sender already`)
    const bounds = { ...DEFAULT_QUEUE, ...queue }
    const wishes = {
      ...(packed === undefined ? {} : { packed: telling(packed) }),
      ...(options.backlog === 'digest-first' ? { backlog: options.backlog } : {}),
    }
    const { rid, queue: own } = this.#core.subscribe(sender, name, policy, bounds, wishes)
    const unsubscribe = () => {
      forgetSignal()
      this.#core.unsubscribe(sender, rid)
      this.#subscriptions.delete(sender + rid)
    }
    const ask: AskBacklog = (since, isPreview, answered) =>
      void this.#recall(sender, rid, since, isPreview).then(answered)
    const subscription = new Subscription<A>(
      sender,
      rid,
      policy,
      own,
      unsubscribe,
      wishes.backlog !== undefined ? ask : undefined,
    )
    if (this.#core.isAttached) subscription.attached()
    this.#subscriptions.set(sender + rid, subscription as unknown as Subscription)
    const forgetSignal = this.#whenAborted(signal, () => subscription.close())
    return subscription
  }

  /**
   * Pulls from a sender by its ID when the schedule says so, while somebody iterates: from the newest event that its root
   * holds on, or from `since`. Throws NAME_INVALID or CLOSED; the iteration throws REFUSED.
   */
  pull<A extends Attributes = Attributes>(sender: string, options: PullOptions<Cursor>): SenderPull<A> {
    this.#assertOpen()
    checkSender(sender)
    const { signal } = options
    const ending =
      signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    const poll = (since: Cursor | undefined, until: AbortSignal) => this.#poll(sender, since, until)
    return new SenderPull<A>(sender, poll, { ...options, signal: ending })
  }

  /** The senders one can subscribe to, as far as the node has heard. Throws UNREACHABLE when it does not answer. */
  async senders({ signal }: Waiting = {}): Promise<readonly SenderInfo[]> {
    this.#assertOpen()
    const request = ++this.#requests
    const list: List = { ...told<readonly SenderInfo[]>(), senders: [] }
    this.#lists.set(request, list)
    const timer = setTimeout(() => {
      list.reject(new SpillwayError('UNREACHABLE', `the node did not answer in ${LIST_TIMEOUT_MS / 1_000} s`))
    }, LIST_TIMEOUT_MS)
    this.#core.list(request)
    try {
      return await this.#waitFor(list, signal)
    } finally {
      clearTimeout(timer)
      this.#lists.delete(request)
    }
  }

  /** Resolves when none of the senders' queues is beyond its high-water mark: for those who would rather wait than lose. */
  async relieved({ signal }: Waiting = {}): Promise<void> {
    if (this.#highQueues === 0) return
    const relief = told()
    this.#relieved.add(relief)
    await this.#waitFor(relief, signal).finally(() => this.#relieved.delete(relief))
  }

  /** Ends all subscriptions and closes the connection. Senders should be closed before: what waits in them is lost. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#closing.abort()
      this.#attachment.stop()
      this.#roaming?.stop()
      for (const subscription of [...this.#subscriptions.values()]) subscription.close()
      const waiting = [this.#opened, this.#drained, this.#lists].flatMap(
        (each) => [...each.values()] as Told[],
      )
      for (const { reject } of [...waiting, ...this.#relieved]) reject(closed())
    }
    await this.#transport.stop()
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  get #core(): ClientCore {
    return this.#transport.core
  }

  #makeCore(surroundings: ConstructorParameters<typeof ClientCore>[0]): ClientCore {
    return new ClientCore(surroundings, {
      opened: (sid) => this.#opened.get(sid)?.resolve(),
      drained: (sid) => this.#drained.get(sid)?.resolve(),
      subscribed: (sid, rid, first) => this.#subscriptions.get(sid + rid)?.begins(first),
      refused: (sid, rid, reason) => this.#refused(sid, rid, reason),
      items: (sid, rid) => this.#subscriptions.get(sid + rid)?.arrived(),
      falling: (sid, rid, isHigh) => this.#subscriptions.get(sid + rid)?.pressure(isHigh),
      pressure: (isHigh) => this.#pressure(isHigh),
      senders: (request, senders, last) => this.#listed(request, senders, last),
      polled: (request, outcome) => this.#polls.get(request)?.resolve(outcome),
      others: (nodes, move, load) => this.#others(nodes, move, load),
      attached: () => this.#attached(),
      detached: () => this.#attachment.detached(),
      departed: () => this.#departed(),
    })
  }

  #departed(): void {
    for (const subscription of this.#subscriptions.values()) subscription.departed()
    this.#attachment.departed()
  }

  /** One poll of a sender's root. Rejects when the signal aborts. */
  #poll(sid: Id, since: Cursor | undefined, signal: AbortSignal): Promise<PollOutcome> {
    return this.#asked((request) => this.#core.poll(request, sid, since), signal)
  }

  /** Asks a receiver's root for what waits there. */
  #recall(sid: Id, rid: Id, since: Cursor | undefined, isPreview: boolean): Promise<PollOutcome> {
    const ending = AbortSignal.any([AbortSignal.timeout(ANSWER_MS), this.#closing.signal])
    const ask = (request: number) => this.#core.recall(request, sid, rid, since, isPreview)
    return this.#asked(ask, ending).catch(() => ({ kind: 'failed', reason: 'no answer' }))
  }

  /** What `ask` brings. Rejects when the signal aborts. */
  async #asked(ask: (request: number) => void, signal: AbortSignal): Promise<PollOutcome> {
    const request = ++this.#requests
    const polled = told<PollOutcome>()
    this.#polls.set(request, polled)
    const giveUp = () => polled.reject(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    ask(request)
    try {
      return await polled.promise
    } finally {
      signal.removeEventListener('abort', giveUp)
      this.#polls.delete(request)
      this.#core.forget(request)
    }
  }

  #attached(): void {
    for (const subscription of this.#subscriptions.values()) subscription.attached()
    this.#attachment.attached()
    // What was asked for went to the node before.
    for (const [request, { senders }] of this.#lists) {
      senders.length = 0
      this.#core.list(request)
    }
  }

  #refused(sid: Id, rid: Id | undefined, reason: string): void {
    if (rid !== undefined) this.#subscriptions.get(sid + rid)?.refused(reason)
    else {
      for (const one of [this.#opened, this.#drained])
        one.get(sid)?.reject(new SpillwayError('REFUSED', reason))
    }
  }

  #pressure(isHigh: boolean): void {
    this.#highQueues += isHigh ? 1 : -1
    if (this.#highQueues === 0) for (const { resolve } of this.#relieved) resolve()
  }

  #listed(request: number, senders: readonly SenderInfo[], last: boolean): void {
    const list = this.#lists.get(request)
    list?.senders.push(...senders)
    if (last) list?.resolve(list.senders)
  }

  /** Attaches to the node at a place, if it is the one that is meant, and still wanted once it has answered. */
  async #attachTo(
    { address, node }: Place,
    { signal, isWanted = () => true }: { signal?: AbortSignal | undefined; isWanted?: () => boolean },
  ): Promise<void> {
    const id = await this.#transport.meet(address, signal)
    if (node !== undefined && id !== node) throw new Error(`another node answers at ${address}`)
    if (!isWanted()) throw new Error('nobody wants it any more')
    this.#core.attach(id)
    await this.#transport.reach(id, signal)
  }

  async #attachAgain(signal: AbortSignal | undefined): Promise<void> {
    const id = this.#core.proxy
    if (id === undefined) throw new Error('it was attached nowhere')
    this.#core.attach(id)
    await this.#transport.reach(id, signal)
  }

  /** Its node tells of others; maybe before the start is over. */
  #others(nodes: readonly OtherNode[], move: boolean, load: number): void {
    this.#news = { nodes, move, load }
    if (this.#transport !== undefined) void this.#told()
  }

  /** Passes on what its node told of others, as far as they can be reached from here. */
  async #told(): Promise<void> {
    const news = this.#news
    this.#news = undefined
    if (news === undefined || this.#roaming === undefined) return
    const each = news.nodes.map(async (node) => {
      return { ...node, addresses: await this.#transport.dialable(node.addresses) }
    })
    const nodes = (await Promise.all(each)).filter(({ addresses }) => addresses.length > 0)
    if (this.#isClosed) return
    this.#roaming.told(nodes, news.load)
    this.#attachment.others(nodes, news.move)
  }

  /** To its node, or to another. */
  async #roundTripMs(node: OtherNode | undefined): Promise<number | undefined> {
    if (node !== undefined) return await this.#transport.roundTripMs(node.id, node.addresses)
    if (!this.#core.isAttached) return undefined
    const measured = await this.#transport.roundTripMs(this.#core.proxy!)
    // What it sends makes a queue of its own, which is not the way.
    return Math.min(measured, this.#core.roundTripMs)
  }

  /** As it is told, or until the signal aborts. */
  async #waitFor<T>(one: Told<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted()
    const forgetSignal = this.#whenAborted(signal, () => one.reject(signal?.reason))
    return await one.promise.finally(forgetSignal)
  }

  /** Acts when the signal aborts, unless the client was closed before; returns how to forget it. */
  #whenAborted(signal: AbortSignal | undefined, act: () => void): () => void {
    signal?.addEventListener('abort', act, { once: true, signal: this.#closing.signal })
    return () => signal?.removeEventListener('abort', act)
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closed()
  }
}

function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}

function closed(): SpillwayError {
  return new SpillwayError('CLOSED', 'the client is closed')
}

function policyOf(policy: SubscribeOptions['policy']): Policy {
  if (policy === undefined) return noPolicy
  if (policy instanceof Policy) return policy
  return typeof policy === 'string' ? parsePolicy(policy) : compilePolicy(policy)
}

function told<T = void>(): Told<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  // Not everyone waits for it.
  promise.catch(() => {})
  return { promise, resolve, reject }
}

/** Tells the application of packs. What it throws is uncaught, and the queue is packed all the same. */
function telling(packed: (pack: Pack) => void): QueueSurroundings['packed'] {
  return (_queue, level, before, after, passes) => {
    const pack: Pack = { level: level === 0 ? 'worst-case' : level, before, after, time: Date.now(), passes }
    try {
      packed(pack)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}
