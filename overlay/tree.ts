// The multicast tree of one sender at one node (PACK section 3; Scribe's idea on XOR distance). A node that wants
// classes of the sender asks the next node towards its root, which becomes part of the tree if it is not, and so on
// up to the root, which asks the sender's proxy. All of it is soft state, asked for again and again.
import { type Cursor, laterOf, nextAfter } from '../buffers/item.ts'
import { noPolicy, type Policy } from '../policies/policy.ts'
import type { ClassSpec, ControlMessage, PathMessage, RoutedMessage, WantToward } from './control.ts'
import { Early, type Part } from './early.ts'
import { HANDOVER_MS, REFRESH_MS } from './host.ts'
import { compareDistance, type Id } from './id.ts'
import { portionsOf } from './wire/portions.ts'

/** A full node sends joiners on to one of its children: 10,000 nodes are then at most six levels deep. */
export const MAX_CHILDREN = 16
/** Different policies of one sender that a node serves; each costs a queue on each link. */
export const MAX_CLASSES = 64
/** A root that has not heard of a sender others know waits so long for it: it tells of itself that often. */
const PATIENCE_MS = REFRESH_MS

/** What a tree asks of its node. */
export interface TreeHost {
  readonly id: Id
  /** The live node closest to the key, if there is one closer than this node. */
  nextHop(key: Id): Id | undefined
  /** Whether a peer is connected, or this node itself. */
  isThere(peer: Id): boolean
  /** In milliseconds. */
  now(): number
  /** Whether this node has heard that there is such a sender. */
  isAnnounced(sid: Id): boolean
  /** Items that had to wait go down the tree. */
  passOn(tree: Tree, parts: readonly Part[]): void
  tell(peer: Id, message: ControlMessage): void
  /** Classes of this sender go over the link to a child from now on, or no more. */
  addChildClass(sid: Id, child: Id, policy: Policy): void
  removeChildClass(sid: Id, child: Id, hash: string): void
  /** Compiles a policy, or throws. */
  compile(spec: ClassSpec): Policy
  /** This node's own receivers can have, or not have, classes that it wanted for them. */
  granted(tree: Tree, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void
  denied(tree: Tree, hashes: readonly string[], reason: string): void
}

/** Each is worth more than the one before. */
const GRANTS = ['none', 'provisional', 'granted'] as const

type Grant = (typeof GRANTS)[number]

interface TreeClass {
  readonly policy: Policy
  readonly children: Set<Id>
  /** Provisional while the sender is not known. */
  grant: Grant
  /** Whether receivers whose root is this node want it. */
  isLocal: boolean
  /** Whether this node, the sender's root, keeps its items for those who pull. */
  isKept: boolean
}

type Granted = Extract<PathMessage, { kind: 'granted' }>
type Register = Extract<RoutedMessage, { kind: 'register' }>
interface Successor {
  readonly register: Register
  /** Whether this node keeps the sender's items. */
  readonly keep: () => boolean
  readonly since: number
}

type How = Pick<Extract<PathMessage, { kind: 'want' }>, 'all' | 'noRedirect'>

/** Where a node got the sender's events from, until it has them all up to where the new way begins. */
interface Former {
  readonly id: Id
  readonly since: number
  /** Where the new way begins, as far as it is granted. */
  until: Cursor | undefined
  /** The classes that the new way has not granted yet. */
  readonly missing: Set<string>
  /** What came by the new way meanwhile. */
  readonly early: Early
}

/** Where a node gets the sender's events from. */
type Upstream =
  | { readonly kind: 'parent'; readonly id: Id }
  /** This node is the sender's root; the proxy is unknown while the sender is. */
  | { readonly kind: 'proxy'; readonly id: Id | undefined; readonly generation: number }

export class Tree {
  readonly sid: Id
  readonly #host: TreeHost
  readonly #classes = new Map<string, TreeClass>()
  /** When each child was last heard of. */
  readonly #children = new Map<Id, number>()
  #upstream: Upstream
  /** When that changed. */
  #since: number
  /** The proxy that comes next, when the one that the sender left has sent what it has. */
  #successor: Successor | undefined
  #former: Former | undefined
  /** The sender's proxy, when this node was the root until now: something of it may be on its way. */
  #formerProxy: Id | undefined
  #ancestors: readonly Id[] = []
  #allow: readonly Id[] | undefined
  #end: Cursor | undefined

  constructor(sid: Id, host: TreeHost) {
    this.sid = sid
    this.#host = host
    this.#upstream = this.#choose()
    this.#since = host.now()
  }

  get isRoot(): boolean {
    return this.#upstream.kind === 'proxy'
  }

  /** The node above; undefined at the root. */
  get parent(): Id | undefined {
    return this.#upstream.kind === 'parent' ? this.#upstream.id : undefined
  }

  get children(): Iterable<Id> {
    return this.#children.keys()
  }

  /** Whether nobody below wants anything. */
  get isEmpty(): boolean {
    return this.#wanted === 0
  }

  /** Whether this node is the sender's root and has heard of its proxy. */
  get isRegistered(): boolean {
    return this.#upstream.kind === 'proxy' && this.#upstream.id !== undefined
  }

  /** Behind everything that came through here. */
  get end(): Cursor | undefined {
    return this.#end
  }

  /** Whose receivers may have the events; undefined when everybody's may. */
  get allow(): readonly Id[] | undefined {
    return this.#allow
  }

  /** Whether this is the node above. */
  isFrom(peer: Id): boolean {
    return this.#upstream.id === peer
  }

  /**
   * What is to be passed on of what comes from a node: nothing if it is not above, and not yet what comes by a new way
   * as long as there is something on the former one.
   */
  take(from: Id, part: Part): readonly Part[] {
    const former = this.#former
    if (former?.id === from || this.#formerProxy === from) return [part, ...this.#seen(part)]
    if (!this.isFrom(from)) return []
    if (former === undefined) {
      this.#seen(part)
      return [part]
    }
    return former.early.add(part) ? [] : this.#release()
  }

  /** Something came through here. Returns what had to wait for it. */
  #seen({ items }: Part): readonly Part[] {
    const last = items.findLast((item) => item.kind !== 'marker')
    const next = last && nextAfter(last)
    if (next !== undefined) this.#end = laterOf(this.#end, next)
    return this.#isFormerDone ? this.#release() : []
  }

  get #isFormerDone(): boolean {
    const former = this.#former
    if (former === undefined || former.missing.size > 0) return false
    return former.until === undefined || laterOf(this.#end, former.until) === this.#end
  }

  /** The former way is left. Returns what came by the new one meanwhile. */
  #release(): readonly Part[] {
    const former = this.#former
    if (former === undefined) return []
    this.#former = undefined
    if (former.id !== this.#upstream.id) this.#leave(former.id)
    for (const part of former.early.parts) this.#seen(part)
    return former.early.parts
  }

  #leave(parent: Id): void {
    const hashes = [...this.#classes.keys()]
    this.#host.tell(parent, { kind: 'unwant', toward: 'SR', sid: this.sid, hashes })
  }

  /** Receivers of this node want a class. */
  wantLocal(policy: Policy): boolean {
    const treeClass = this.#classFor(policy)
    if (treeClass === undefined) return false
    treeClass.isLocal = true
    const { grant } = treeClass
    if (grant === 'none') this.#ask([policy.hash])
    else this.#host.granted(this, [policy.hash], this.#end, grant === 'provisional')
    return true
  }

  unwantLocal(hash: string): void {
    const treeClass = this.#classes.get(hash)
    if (treeClass === undefined) return
    treeClass.isLocal = false
    this.#prune([hash])
  }

  /** A child wants classes, for the first time or again. */
  want(child: Id, specs: readonly ClassSpec[], how: How, now: number): void {
    if (!this.#children.has(child) && how.noRedirect !== true && this.#redirect(child)) return
    this.#children.set(child, now)
    const granted: string[] = []
    const provisional: string[] = []
    for (const spec of specs) {
      const treeClass = this.#classOfChild(child, spec)
      if (treeClass === undefined) continue
      if (treeClass.grant === 'granted') granted.push(spec.hash)
      else if (treeClass.grant === 'provisional') provisional.push(spec.hash)
      else this.#ask([spec.hash])
    }
    if (how.all === true) this.#removeOthers(child, specs)
    if (provisional.length > 0) this.#grantTo(child, provisional, this.#end, true)
    this.#grantTo(child, granted, this.#end, false)
  }

  /** A child wants classes no more. */
  unwant(child: Id, hashes: readonly string[]): void {
    for (const hash of hashes) {
      if (this.#classes.get(hash)?.children.delete(child)) this.#host.removeChildClass(this.sid, child, hash)
    }
    if (![...this.#classes.values()].some(({ children }) => children.has(child))) this.#children.delete(child)
    this.#prune(hashes)
  }

  removeChild(child: Id): void {
    if (this.#children.has(child)) this.unwant(child, [...this.#classes.keys()])
  }

  /** From above: these classes are installed, and begin at `first`. */
  granted(from: Id, { hashes, first, ancestors, allow, provisional }: Granted): void {
    if (!this.isFrom(from)) return
    if (ancestors.includes(this.#host.id)) {
      this.#join(this.#host.nextHop(this.sid), true)
      return
    }
    // The proxy is not part of the tree, and may be below as well.
    this.#ancestors = this.isRoot ? [] : [from, ...ancestors]
    this.#allow = allow
    if (this.#former !== undefined && provisional !== true) {
      for (const hash of hashes) this.#former.missing.delete(hash)
      this.#former.until = laterOf(this.#former.until, first)
      this.#grantClasses(hashes, first, false)
      if (this.#isFormerDone) this.#host.passOn(this, this.#release())
      return
    }
    this.#grant(hashes, first, provisional === true)
  }

  denied(from: Id, hashes: readonly string[], reason: string): void {
    if (!this.isFrom(from)) return
    for (const hash of hashes) {
      const treeClass = this.#classes.get(hash)
      if (treeClass === undefined) continue
      for (const child of treeClass.children) {
        this.#host.tell(child, { kind: 'denied', sid: this.sid, hashes: [hash], reason })
        this.#host.removeChildClass(this.sid, child, hash)
      }
      this.#classes.delete(hash)
      this.#former?.missing.delete(hash)
      if (treeClass.isLocal) this.#host.denied(this, [hash], reason)
    }
  }

  /** The node that was asked is full. */
  redirected(from: Id, to: Id): void {
    if (this.#upstream.kind === 'parent' && this.#upstream.id === from && to !== this.#host.id)
      this.#join(to, false)
  }

  /**
   * The sender's proxy, told by itself: this node is the sender's root, and keeps its items if it can. False when the
   * proxy that the sender left comes first.
   */
  registered(register: Register, keep: () => boolean): boolean {
    const { proxy, generation } = register
    const upstream = this.#upstream
    const newest = this.#newestGeneration
    if (generation < newest) {
      // The proxy that the sender left tells of it until it has finished: that must not end the wait. It may have had the
      // sender again when it was asked to finish.
      if (this.isFrom(proxy) && this.#successor !== undefined) {
        this.#host.tell(proxy, {
          kind: 'finish',
          sid: this.sid,
          generation: this.#successor.register.generation,
        })
        return false
      }
      const reason = 'the sender is attached elsewhere'
      this.#host.tell(proxy, { kind: 'refused', sid: this.sid, reason, generation, newest })
      return false
    }
    if (this.#successor?.register.generation === generation) return false
    if (upstream.kind === 'proxy' && upstream.id !== undefined && upstream.id !== proxy) {
      if (this.#host.isThere(upstream.id)) {
        this.#successor = { register, keep, since: this.#host.now() }
        this.#host.tell(upstream.id, { kind: 'finish', sid: this.sid, generation })
        return false
      }
    }
    this.#succeed(register, keep)
    return true
  }

  get #newestGeneration(): number {
    const told = this.#upstream.kind === 'proxy' ? this.#upstream.generation : -1
    return Math.max(told, this.#successor?.register.generation ?? -1)
  }

  /** The proxy that the sender left has sent all it had. */
  finished(from: Id, generation: number): void {
    if (this.isFrom(from) && this.#successor?.register.generation === generation) this.#welcome()
  }

  unregistered(proxy: Id): void {
    if (this.#upstream.kind === 'proxy' && this.#upstream.id === proxy) this.lost(proxy)
  }

  /** A peer is gone: if it was above, another takes its place. */
  lost(peer: Id): void {
    if (this.#former?.id === peer) this.#host.passOn(this, this.#release())
    if (this.#upstream.id !== peer) return
    if (this.#successor !== undefined) this.#welcome()
    else if (this.#upstream.kind === 'proxy') this.#upstream = { ...this.#upstream, id: undefined }
    else this.#join(this.#host.nextHop(this.sid), false)
  }

  /** The node above is about to leave: another takes its place before it is gone. */
  leaves(peer: Id): void {
    if (this.parent === peer) this.#join(this.#host.nextHop(this.sid), false)
  }

  /** Asks again, looks whether the root has moved, and forgets children not heard of since `before`. */
  refresh(before: number): void {
    for (const [child, heardAt] of this.#children) if (heardAt < before) this.removeChild(child)
    if (this.#host.now() - this.#since > HANDOVER_MS) this.#formerProxy = undefined
    if (this.#successor !== undefined && this.#host.now() - this.#successor.since > HANDOVER_MS)
      this.#welcome()
    if (this.#former !== undefined && this.#host.now() - this.#former.since > HANDOVER_MS)
      this.#host.passOn(this, this.#release())
    const next = this.#host.nextHop(this.sid)
    if (this.#upstream.kind === 'proxy' && next !== undefined) this.#join(next, false)
    else this.#askAll()
  }

  /** The proxy that waited is the sender's now, and told so. */
  #welcome(): void {
    const successor = this.#successor!
    this.#succeed(successor.register, successor.keep)
    this.#host.tell(successor.register.proxy, { kind: 'rooted', key: this.sid })
  }

  #succeed({ proxy, generation, allow }: Register, keep: Successor['keep']): void {
    // Who left and is back has forgotten who wanted what.
    const isNew =
      !this.isFrom(proxy) || this.#upstream.kind !== 'proxy' || this.#upstream.generation !== generation
    this.#successor = undefined
    this.#upstream = { kind: 'proxy', id: proxy, generation }
    this.#ancestors = []
    this.#allow = allow
    const isNewlyKept = keep() && this.#keep()
    if (isNew) this.#askAll()
    else if (isNewlyKept) this.#ask([noPolicy.hash])
  }

  /** Keeping is a subscription that the root itself holds. False when it does already. */
  #keep(): boolean {
    const known = this.#classes.get(noPolicy.hash)
    if (known === undefined) this.#classes.set(noPolicy.hash, { ...newClass(noPolicy), isKept: true })
    else if (known.isKept) return false
    else known.isKept = true
    return known === undefined
  }

  #keepNoMore(): void {
    const kept = this.#classes.get(noPolicy.hash)
    if (kept === undefined) return
    kept.isKept = false
    if (!isWanted(kept)) this.#classes.delete(noPolicy.hash)
  }

  get #toward(): WantToward {
    return this.#upstream.kind === 'proxy' ? 'SP' : 'SR'
  }

  #choose(): Upstream {
    const next = this.#host.nextHop(this.sid)
    return next === undefined
      ? { kind: 'proxy', id: undefined, generation: -1 }
      : { kind: 'parent', id: next }
  }

  #join(parent: Id | undefined, noRedirect: boolean): void {
    const before = this.#upstream
    this.#since = this.#host.now()
    this.#successor = undefined
    this.#keepNoMore()
    this.#upstream =
      parent === undefined ? { kind: 'proxy', id: undefined, generation: -1 } : { kind: 'parent', id: parent }
    this.#ancestors = []
    if (before.kind === 'proxy') this.#formerProxy = before.id
    if (before.kind === 'parent' && before.id !== parent && before.id !== this.#former?.id) {
      const isKept = this.#former === undefined && this.#host.isThere(before.id)
      const classes = this.#granted
      if (isKept && classes.length > 0) this.#keepFormer(before.id, classes)
      else this.#leave(before.id)
    }
    this.#askAll(noRedirect)
  }

  /** What it has by its way until now comes by that until the new one has granted it. */
  #keepFormer(id: Id, classes: readonly string[]): void {
    this.#former = {
      id,
      since: this.#host.now(),
      until: undefined,
      missing: new Set(classes),
      early: new Early(),
    }
  }

  get #granted(): string[] {
    return [...this.#classes].filter(([, { grant }]) => grant === 'granted').map(([hash]) => hash)
  }

  #askAll(noRedirect = false): void {
    this.#ask([...this.#classes.keys()], { all: true, ...(noRedirect ? { noRedirect } : {}) })
  }

  /** Asks above for classes; where there is no sender yet, they are granted from its first event on. */
  #ask(hashes: readonly string[], how: How = {}): void {
    if (hashes.length === 0) return
    const { id } = this.#upstream
    if (id === undefined) {
      // One that others have heard of is about to register here.
      const isAboutToCome = this.#host.now() - this.#since < PATIENCE_MS && this.#host.isAnnounced(this.sid)
      if (!isAboutToCome) this.#grant(hashes, this.#end, true)
      return
    }
    const specs = hashes.map((hash) => ({ hash, policy: this.#classes.get(hash)!.policy.spec }))
    const portions = portionsOf(specs, MAX_CLASSES)
    const last = portions.pop()!
    const want = { kind: 'want', toward: this.#toward, sid: this.sid } as const
    for (const classes of portions) this.#host.tell(id, { ...want, classes })
    // The last names them all, so that it can say that these are all.
    const known = portions.flat().map(({ hash }) => ({ hash }))
    this.#host.tell(id, { ...want, classes: [...known, ...last], ...how })
  }

  /** Passes on a grant that is worth more than what the classes had. */
  #grant(hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    this.#end = laterOf(this.#end, first)
    this.#grantClasses(hashes, first, isProvisional)
  }

  #grantClasses(hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    const grant = isProvisional ? 'provisional' : 'granted'
    const fresh = hashes.filter((hash) => {
      const has = this.#classes.get(hash)?.grant
      return has !== undefined && GRANTS.indexOf(has) < GRANTS.indexOf(grant)
    })
    const byChild = new Map<Id, string[]>()
    for (const hash of fresh) {
      const treeClass = this.#classes.get(hash)!
      treeClass.grant = grant
      for (const child of treeClass.children) byChild.set(child, [...(byChild.get(child) ?? []), hash])
    }
    for (const [child, granted] of byChild) this.#grantTo(child, granted, first, isProvisional)
    const local = fresh.filter((hash) => this.#classes.get(hash)!.isLocal)
    if (local.length > 0) this.#host.granted(this, local, first, isProvisional)
  }

  #grantTo(child: Id, hashes: readonly string[], first: Cursor | undefined, isProvisional: boolean): void {
    this.#host.tell(child, {
      kind: 'granted',
      sid: this.sid,
      hashes,
      ancestors: this.#ancestors,
      ...(first === undefined ? {} : { first }),
      ...(this.#allow === undefined ? {} : { allow: this.#allow }),
      ...(isProvisional ? { provisional: true } : {}),
    })
  }

  /** The class a child wants; undefined when it was told that it cannot have it. */
  #classOfChild(child: Id, spec: ClassSpec): TreeClass | undefined {
    let treeClass = this.#classes.get(spec.hash)
    try {
      treeClass ??= this.#classFor(this.#host.compile(spec))
    } catch (error) {
      this.#deny(child, spec.hash, error instanceof Error ? error.message : String(error))
      return undefined
    }
    if (treeClass === undefined) {
      this.#deny(child, spec.hash, `the sender has ${MAX_CLASSES} different policies already`)
      return undefined
    }
    if (!treeClass.children.has(child)) {
      treeClass.children.add(child)
      this.#host.addChildClass(this.sid, child, treeClass.policy)
    }
    return treeClass
  }

  #deny(child: Id, hash: string, reason: string): void {
    this.#host.tell(child, { kind: 'denied', sid: this.sid, hashes: [hash], reason })
  }

  /** The class of a policy, a new one if there may be one more. */
  #classFor(policy: Policy): TreeClass | undefined {
    const known = this.#classes.get(policy.hash)
    if (known !== undefined) return known
    if (this.#wanted >= MAX_CLASSES) return undefined
    const treeClass = newClass(policy)
    this.#classes.set(policy.hash, treeClass)
    return treeClass
  }

  /** How many classes receivers want. */
  get #wanted(): number {
    let wanted = 0
    for (const treeClass of this.#classes.values()) if (isWanted(treeClass)) wanted++
    return wanted
  }

  /** What the child has and did not name any more. */
  #removeOthers(child: Id, specs: readonly ClassSpec[]): void {
    const named = new Set(specs.map(({ hash }) => hash))
    const others = [...this.#classes].filter(
      ([hash, { children }]) => children.has(child) && !named.has(hash),
    )
    if (others.length > 0)
      this.unwant(
        child,
        others.map(([hash]) => hash),
      )
  }

  /** Classes that nobody wants leave, here and above. */
  #prune(hashes: readonly string[]): void {
    const unwanted = hashes.filter((hash) => {
      const treeClass = this.#classes.get(hash)
      return treeClass !== undefined && !treeClass.isKept && !isWanted(treeClass)
    })
    if (unwanted.length === 0) return
    for (const hash of unwanted) {
      this.#classes.delete(hash)
      this.#former?.missing.delete(hash)
    }
    const { id } = this.#upstream
    if (id !== undefined)
      this.#host.tell(id, { kind: 'unwant', toward: this.#toward, sid: this.sid, hashes: unwanted })
  }

  /** Sends a joiner to the nearest child when there are enough. */
  #redirect(joiner: Id): boolean {
    if (this.#children.size < MAX_CHILDREN) return false
    const [to] = [...this.#children.keys()].sort((a, b) => compareDistance(joiner, a, b))
    this.#host.tell(joiner, { kind: 'redirect', sid: this.sid, to: to! })
    return true
  }
}

function newClass(policy: Policy): TreeClass {
  return { policy, children: new Set(), grant: 'none', isLocal: false, isKept: false }
}

/** Whether anybody below, or a receiver of this node, wants it. */
function isWanted({ children, isLocal }: TreeClass): boolean {
  return children.size > 0 || isLocal
}
