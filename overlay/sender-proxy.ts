// A node as the proxy of senders, SP (PACK sections 3 and 4): it takes the events of attached clients and sends them
// to their senders' roots through SRB.
import { type Cursor, cursorOf, digestBytes, type Item, laterOf, type Marker } from '../buffers/item.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Digest } from '../policies/digest.ts'
import type { Policy } from '../policies/policy.ts'
import type { ClassSpec, ClientMessage, ControlMessage, PathMessage, SenderInfo } from './control.ts'
import { HANDOVER_MS, type Host } from './host.ts'
import { type Id, idOfEndpoint } from './id.ts'
import type { Peer } from './surroundings.ts'
import { MAX_CLASSES } from './tree.ts'
import { portionsOf } from './wire/portions.ts'

type Open = Extract<ClientMessage, { kind: 'open' }>
type Refused = Extract<ClientMessage, { kind: 'refused' }>
type Want = Extract<PathMessage, { kind: 'want' }>

/** Senders of one client; each has a queue. */
export const MAX_SENDERS_OF_CLIENT = 1_024
/** A sender that ended is told of for so long after its client has departed. */
const KEEP_ENDED_MS = 60_000
/** Of a digester's state in a stranger's digest, and for all besides: the largest that we know have half as many. */
const STATE_BYTES = 32_768

interface Sender {
  readonly info: SenderInfo
  readonly client: Id
  /** Of the client's attachment. */
  readonly generation: number
  readonly allow: readonly Id[] | undefined
  /** Where the classes begin that the client granted last. */
  first: Cursor | undefined
  root: Id | undefined
  /** A root that comes next, when it wants all that the one before wanted: that one becomes part of its tree. */
  next: { readonly id: Id; readonly since: number; readonly wants: Map<string, ClassSpec> } | undefined
  /** What the sender said last, if nothing came after it. */
  marker: Marker | undefined
  departedAt: number | undefined
  /** Whether the client was told. Told while it is away, or again, it would take that for an answer when it is back. */
  isOpened: boolean
  /** The classes that the root wants, and whether the client has them. */
  readonly classes: Map<string, { readonly spec: ClassSpec; isGranted: boolean; heardAt: number }>
}

export class SenderProxy {
  readonly #host: Host
  readonly #srb: RemoteBuffer
  readonly #senders = new Map<Id, Sender>()
  /** Senders whose next root waits for the one before. */
  readonly #succeeding = new Set<Sender>()
  /** Senders that have lost their root: who was asked may not have noticed yet that it is dead. */
  readonly #seeking = new Set<Id>()
  /** Senders that are elsewhere, and whose root waits for what is here. */
  readonly #finishing = new Map<Id, { readonly root: Id; readonly generation: number }>()

  constructor(host: Host, srb: RemoteBuffer) {
    this.#host = host
    this.#srb = srb
  }

  /** What the directory says of the senders here that have not ended. */
  get infos(): SenderInfo[] {
    return [...this.#senders.values()].filter(({ marker }) => marker?.end !== true).map(({ info }) => info)
  }

  /** Senders that are here or were, with those of them that move, or whose root does. */
  get size(): number {
    return this.#senders.size + this.#succeeding.size + this.#finishing.size + this.#seeking.size
  }

  /** Whether this client may publish as this sender here. */
  has(client: Id, sid: Id): boolean {
    return this.#senders.get(sid)?.client === client
  }

  /** Events of a sender: on to its root. Digests come from a stranger: what is not one of its class's is left out. */
  deliver(sid: Id, rid: string | undefined, items: readonly Item[]): void {
    const sender = this.#senders.get(sid)
    const last = items.at(-1)
    if (sender !== undefined && last !== undefined) sender.marker = last.kind === 'marker' ? last : undefined
    const spec = rid === undefined ? undefined : sender?.classes.get(rid)?.spec
    const policy = spec?.policy === undefined ? undefined : this.#host.compile(spec.policy)
    const sound = items.filter(
      (item) => item.kind !== 'digest' || (policy !== undefined && isSound(item, policy)),
    )
    this.#srb.put(sid, rid, sound)
  }

  open(client: Peer, { sid, name, tags, epoch, next, generation, allow }: Open): void {
    if (idOfEndpoint(client.key, name) !== sid) {
      this.#host.tell(client.id, { kind: 'refused', sid, reason: `"${name}" is not the name of this sender` })
      return
    }
    const known = this.#senders.get(sid)
    if (known === undefined && this.#countOf(client.id) >= MAX_SENDERS_OF_CLIENT) {
      this.#host.tell(client.id, {
        kind: 'refused',
        sid,
        reason: `more than ${MAX_SENDERS_OF_CLIENT} senders`,
      })
      return
    }
    const info = { sid, name, owner: client.id, tags }
    const first = laterOf(known?.first, { epoch, seq: next })
    const classes = known?.classes ?? new Map()
    for (const one of classes.values()) one.isGranted = false
    const marker = known?.marker?.epoch === epoch ? known.marker : undefined
    if (known !== undefined) this.#succeeding.delete(known)
    const kept = {
      root: known?.next?.id ?? known?.root,
      next: undefined,
      marker,
      departedAt: undefined,
      isOpened: false,
      classes,
    }
    this.#finishing.delete(sid)
    this.#senders.set(sid, { info, client: client.id, generation, allow, first, ...kept })
    this.#askClient(sid, [...classes.keys()])
    this.#register(sid)
  }

  close(client: Id, sid: Id): void {
    if (!this.has(client, sid)) return
    this.#forget(sid)
    this.#host.route(sid, { kind: 'unregister', sid, proxy: this.#host.id })
  }

  /** The sender is attached elsewhere, with a newer generation, and its root waits for what is here. */
  finish(root: Id, sid: Id, generation: number): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined) {
      this.#host.tell(root, { kind: 'finished', sid, generation })
      return
    }
    // It is here again, which the root has not heard yet: an answer would let it forget what is here.
    if (sender.generation >= generation) return
    this.#finishing.set(sid, { root, generation })
    for (const hash of sender.classes.keys()) this.#srb.resume(sid, hash, this.#host.linkTo(root))
    this.settle()
  }

  /** Looks after those that are elsewhere: told when something was acknowledged, and now and then. */
  settle(): void {
    for (const sender of [...this.#succeeding])
      if (this.#host.now() - sender.next!.since > HANDOVER_MS) this.#succeed(sender)
    for (const [sid, { root, generation }] of this.#finishing) {
      if (!this.#srb.isDone(sid)) continue
      this.#finishing.delete(sid)
      this.#forget(sid)
      this.#host.tell(root, { kind: 'finished', sid, generation })
    }
  }

  /** The sender is attached elsewhere, with a newer generation: what is here of it goes. */
  refused(message: Refused): void {
    const { sid, generation } = message
    const sender = this.#senders.get(sid)
    if (sender === undefined || sender.generation !== generation) return
    // A client that is here all the same has a clock that went back: it attaches with a newer generation.
    if (this.#host.isThere(sender.client)) this.#tellClient(sender, message)
    this.#forget(sid)
  }

  /** The sender's root wants classes. */
  want(root: Id, { sid, classes: specs, all }: Want): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined) return
    if (sender.root !== root) this.rooted(root, sid)
    if (sender.next?.id === root) {
      this.#wantNext(sender, specs)
      return
    }
    const wanted = new Set(specs.map(({ hash }) => hash))
    if (all === true)
      this.unwant(
        root,
        sid,
        [...sender.classes.keys()].filter((hash) => !wanted.has(hash)),
      )
    const asked: string[] = []
    const granted: string[] = []
    for (const spec of specs) {
      const known = sender.classes.get(spec.hash)
      if (known !== undefined) {
        known.heardAt = this.#host.now()
        this.#srb.resume(sid, spec.hash, this.#host.linkTo(root))
      }
      if (known?.isGranted) granted.push(spec.hash)
      else if (this.#add(sender, root, spec)) asked.push(spec.hash)
    }
    if (sender.marker?.end === true) granted.push(...this.#grantEnded(sender, asked))
    else this.#askClient(sid, asked)
    if (granted.length > 0) this.#grant(sender, granted, laterOf(sender.first, this.#beginOf(sid, granted)))
  }

  /** Where classes begin whose queues go to a root from now on: that has all that waits, and the one before has not. */
  #beginOf(sid: Id, hashes: readonly string[]): Cursor | undefined {
    let begin: Cursor | undefined
    for (const hash of hashes) {
      const head = this.#srb.classOf(sid, hash)?.queue.items.find(({ kind }) => kind !== 'marker')
      begin = laterOf(begin, head === undefined ? this.#srb.endOf(sid) : cursorOf(head))
    }
    return begin
  }

  /** The sender has ended, and its client may be gone: all there is to tell is how much there was. */
  #grantEnded(sender: Sender, hashes: readonly string[]): readonly string[] {
    if (hashes.length === 0) return hashes
    const { info, classes, marker } = sender
    for (const hash of hashes) classes.get(hash)!.isGranted = true
    sender.first = laterOf(sender.first, { epoch: marker!.epoch, seq: marker!.highest + 1 })
    this.#srb.mark(info.sid, marker!)
    return hashes
  }

  unwant(root: Id, sid: Id, hashes: readonly string[]): void {
    if (this.#senders.get(sid)?.root === root) this.#drop(sid, hashes)
  }

  /** The client has the classes, from `first` on. */
  granted(client: Id, sid: Id, hashes: readonly string[], first: Cursor | undefined): void {
    const sender = this.#senders.get(sid)
    if (sender?.client !== client) return
    sender.first = laterOf(sender.first, first)
    for (const hash of hashes) {
      const known = sender.classes.get(hash)
      if (known !== undefined) known.isGranted = true
    }
    this.#grant(sender, hashes, first)
  }

  /** A node says that it is the sender's root: from now on events go there. */
  rooted(root: Id, sid: Id): void {
    const sender = this.#senders.get(sid)
    this.#seeking.delete(sid)
    if (sender === undefined || sender.root === root || sender.next?.id === root) return
    sender.next = { id: root, since: this.#host.now(), wants: new Map() }
    if (sender.root === undefined || sender.classes.size === 0 || !this.#host.isThere(sender.root))
      this.#succeed(sender)
    else this.#succeeding.add(sender)
  }

  #wantNext(sender: Sender, specs: readonly ClassSpec[]): void {
    const { wants } = sender.next!
    for (const spec of specs)
      if (spec.policy !== undefined || !wants.has(spec.hash)) wants.set(spec.hash, spec)
    for (const hash of sender.classes.keys()) if (!wants.has(hash)) return
    this.#succeed(sender)
  }

  /** The next root takes the place of the one before. */
  #succeed(sender: Sender): void {
    const { info, next, classes } = sender
    this.#succeeding.delete(sender)
    if (next === undefined) return
    sender.root = next.id
    sender.next = undefined
    // What waits stays here until the new root says that it wants it: before, it has nobody to send it to.
    for (const hash of classes.keys()) this.#srb.suspend(info.sid, hash)
    if (next.wants.size === 0) return
    this.want(next.id, { kind: 'want', toward: 'SP', sid: info.sid, classes: [...next.wants.values()] })
  }

  /** The root has told what it wants, and that it is the root. */
  opened(sid: Id): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined || sender.isOpened || !this.#host.isThere(sender.client)) return
    sender.isOpened = true
    this.#tellClient(sender, { kind: 'opened', sid })
  }

  /** Whether it has nothing of any sender. */
  get isIdle(): boolean {
    return this.#senders.size === 0
  }

  /** A node is about to leave: senders whose root it is get another while it is still there. */
  leaves(peer: Id): void {
    for (const [sid, { root }] of this.#senders) if (root === peer) this.#register(sid)
  }

  /** A node is gone: senders whose root it was, or may be about to be, look for another. */
  lost(peer: Id): void {
    for (const sender of [...this.#succeeding]) {
      if (sender.next?.id === peer) {
        sender.next = undefined
        this.#succeeding.delete(sender)
      } else if (sender.root === peer) this.#succeed(sender)
    }
    for (const [sid, { root }] of this.#senders) {
      if (root !== peer && root !== undefined) continue
      this.#seeking.add(sid)
      this.#register(sid)
    }
  }

  /** Once a heartbeat: asks again for roots that were not found. */
  seek(): void {
    for (const sid of this.#seeking) this.#register(sid)
  }

  /** A client, or a root, has been gone for longer than anybody waits. */
  departed(peer: Id): void {
    for (const [sid, sender] of [...this.#senders]) {
      if (sender.client === peer && sender.marker?.end === true) sender.departedAt ??= this.#host.now()
      else this.close(peer, sid)
      if (sender.root === peer) sender.root = undefined
    }
  }

  /** Tells roots again, also how much there was, and forgets classes that none wanted since `before`. */
  refresh(before: number): void {
    for (const [sid, { client, classes, marker, departedAt = Infinity }] of [...this.#senders]) {
      if (this.#host.now() - departedAt > KEEP_ENDED_MS) {
        this.close(client, sid)
        continue
      }
      // Whoever had the sender's last events may be gone, and the sender too.
      if (marker !== undefined) this.#srb.mark(sid, marker)
      const stale = [...classes].filter(([, { heardAt }]) => heardAt < before)
      this.#drop(
        sid,
        stale.map(([hash]) => hash),
      )
      this.#register(sid)
    }
  }

  #register(sid: Id): void {
    const { allow, generation } = this.#senders.get(sid)!
    const limited = allow === undefined ? {} : { allow }
    this.#host.route(sid, { kind: 'register', sid, proxy: this.#host.id, generation, ...limited })
  }

  #drop(sid: Id, hashes: readonly string[]): void {
    const sender = this.#senders.get(sid)
    if (sender === undefined || hashes.length === 0) return
    for (const hash of hashes) {
      sender.classes.delete(hash)
      this.#srb.unsubscribe(sid, hash)
    }
    this.#tellClient(sender, { kind: 'unwant', toward: 'SC', sid, hashes })
  }

  #add(sender: Sender, root: Id, spec: ClassSpec): boolean {
    const { sid } = sender.info
    if (sender.classes.has(spec.hash)) return true
    try {
      this.#srb.subscribe(sid, this.#host.linkTo(root), spec.hash, this.#host.compile(spec.policy!))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#host.tell(root, { kind: 'denied', sid, hashes: [spec.hash], reason })
      return false
    }
    sender.classes.set(spec.hash, { spec, isGranted: false, heardAt: this.#host.now() })
    return true
  }

  #askClient(sid: Id, hashes: readonly string[]): void {
    const sender = this.#senders.get(sid)!
    if (hashes.length === 0) return
    const specs = hashes.map((hash) => sender.classes.get(hash)!.spec)
    for (const classes of portionsOf(specs, MAX_CLASSES)) {
      this.#tellClient(sender, { kind: 'want', toward: 'SC', sid, classes })
    }
  }

  /** Nobody looks for a client that has departed. */
  #tellClient({ client, departedAt }: Sender, message: ControlMessage): void {
    if (departedAt === undefined) this.#host.tell(client, message)
  }

  #grant({ info, root, allow }: Sender, hashes: readonly string[], first: Cursor | undefined): void {
    if (root === undefined) return
    this.#host.tell(root, {
      kind: 'granted',
      sid: info.sid,
      hashes,
      ancestors: [],
      ...(first === undefined ? {} : { first }),
      ...(allow === undefined ? {} : { allow }),
    })
  }

  #forget(sid: Id): void {
    const sender = this.#senders.get(sid)
    if (sender !== undefined) this.#succeeding.delete(sender)
    for (const hash of this.#senders.get(sid)?.classes.keys() ?? []) this.#srb.unsubscribe(sid, hash)
    this.#senders.delete(sid)
    this.#seeking.delete(sid)
  }

  #countOf(client: Id): number {
    let count = 0
    for (const sender of this.#senders.values()) if (sender.client === client) count++
    return count
  }
}

/** Whether a digest is one that the policy could have made, as far as its digesters can tell. */
function isSound(digest: Digest, policy: Policy): boolean {
  if (digest.policy !== policy.hash || digest.states.length !== policy.digesters.length) return false
  if (digestBytes(digest) > STATE_BYTES * (1 + digest.states.length)) return false
  // A client has no other buffer.
  if (digest.causes.some(({ buffer }) => buffer !== 'SPB')) return false
  try {
    policy.digesters.forEach(({ definition }, i) => {
      const state = definition.create()
      definition.merge(state, digest.states[i])
      definition.merge(state, digest.states[i])
      definition.show(state)
    })
    return true
  } catch {
    return false
  }
}
