// The directory of senders: the proxy of a sender announces it in turn with its others, again and again, for as
// long as the core refreshes it. Who does not hear of a sender for some turns drops it.
import type { SenderInfo } from '../control.ts'
import { LEASE_MS } from '../host.ts'
import { type Id, idOfPeer, isId } from '../id.ts'
import { Expiring } from './expiring.ts'
import { type Gossip, isDuration, TOPICS } from './gossip.ts'
import type { TransportLimits } from './limits.ts'

export interface DirectoryInit {
  readonly gossip: Gossip
  readonly limits: TransportLimits
  now(): number
}

interface Entry {
  readonly info: SenderInfo
  /** The node that announced it. */
  readonly by: Id
}

interface Announcement {
  readonly senders: readonly SenderInfo[]
  readonly gone: readonly Id[]
  readonly forMs: number
}

export class Directory {
  readonly #init: DirectoryInit
  readonly #others: Expiring<Id, Entry>
  readonly #own: Expiring<Id, SenderInfo>
  /** Those that this turn has not announced yet. */
  #due: Id[] = []
  #turnMs = 0
  /** How many more messages may leave in this second. */
  #budget: number
  #timer: NodeJS.Timeout | undefined

  constructor(init: DirectoryInit) {
    this.#init = init
    this.#others = new Expiring(init.limits.knownSenders)
    this.#own = new Expiring(init.limits.knownSenders)
    this.#budget = init.limits.directoryMessagesPerSecond
  }

  start(): void {
    this.#init.gossip.subscribe(TOPICS.senders, parse, (from, message) => {
      this.#heard(idOfPeer(from.toMultihash().bytes), message)
    })
    this.#timer = setInterval(() => this.#second(), 1_000)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Holds for the core's lease. A new sender is announced at once, as far as this second's messages go. */
  announce(info: SenderInfo): void {
    const isNew = this.#own.get(info.sid) === undefined
    this.#own.set(info.sid, info, this.#init.now() + LEASE_MS)
    if (!isNew) return
    this.#due.unshift(info.sid)
    this.#announceDue()
  }

  retract(sid: Id): void {
    if (!this.#own.delete(sid)) return
    void this.#publish({ senders: [], gone: [sid], forMs: 0 })
  }

  senders(): SenderInfo[] {
    this.#expire()
    const others = this.#others.values().filter(({ info }) => this.#own.get(info.sid) === undefined)
    return [...this.#own.values(), ...others.map(({ info }) => info)]
  }

  #second(): void {
    this.#budget = this.#init.limits.directoryMessagesPerSecond
    this.#expire()
    const now = this.#init.now()
    if (this.#due.length === 0 && now - this.#turnMs >= this.#init.limits.directoryMs) {
      this.#turnMs = now
      this.#due = this.#own.values().map(({ sid }) => sid)
    }
    this.#announceDue()
  }

  #announceDue(): void {
    while (this.#due.length > 0 && this.#budget > 0) {
      this.#budget--
      const senders = this.#takeDue()
      if (senders.length > 0) void this.#publish({ senders, gone: [], forMs: this.#forMs() })
    }
  }

  /** As many of those due as one message holds. */
  #takeDue(): SenderInfo[] {
    const taken: SenderInfo[] = []
    let bytes = EMPTY_BYTES
    while (this.#due.length > 0) {
      const info = this.#own.get(this.#due[0]!)
      const fitting =
        info === undefined ? undefined : shorten(info, this.#init.limits.gossipBytes - EMPTY_BYTES)
      if (fitting !== undefined) {
        bytes += Buffer.byteLength(JSON.stringify(fitting)) + 1
        if (taken.length > 0 && bytes > this.#init.limits.gossipBytes) break
        taken.push(fitting)
      }
      this.#due.shift()
    }
    return taken
  }

  /** Three turns may get lost, where a turn is at worst a message for every sender. */
  #forMs(): number {
    const { directoryMs, directoryMessagesPerSecond } = this.#init.limits
    return Math.round(3.5 * Math.max(directoryMs, (1_000 * this.#own.size) / directoryMessagesPerSecond))
  }

  #publish(announcement: Announcement): Promise<void> {
    return this.#init.gossip.publish(TOPICS.senders, Buffer.from(JSON.stringify(announcement)))
  }

  #expire(): void {
    const now = this.#init.now()
    this.#others.expire(now)
    this.#own.expire(now)
  }

  #heard(by: Id, { senders, gone, forMs }: Announcement): void {
    const untilMs = this.#init.now() + forMs
    for (const info of senders) this.#others.set(info.sid, { info, by }, untilMs)
    // The old proxy of a sender that moved does not speak for it any more.
    for (const sid of gone) if (this.#others.get(sid)?.by === by) this.#others.delete(sid)
  }
}

/** What a message has besides its senders. */
const EMPTY_BYTES = 64

/** Without the tags that a message does not hold; nothing when the name alone is too long. */
function shorten(info: SenderInfo, limitBytes: number): SenderInfo | undefined {
  for (let shown = info.tags.length; shown >= 0; shown--) {
    const { sid, name, owner, tags } = info
    const fitting = { sid, name, owner, tags: tags.slice(0, shown) }
    if (Buffer.byteLength(JSON.stringify(fitting)) < limitBytes) return fitting
  }
  return undefined
}

function parse(json: unknown): Announcement | undefined {
  const { senders, gone, forMs } = json as Record<string, unknown>
  if (!Array.isArray(senders) || !senders.every(isSenderInfo)) return undefined
  if (!Array.isArray(gone) || !gone.every(isId) || !isDuration(forMs)) return undefined
  return { senders, gone, forMs }
}

function isSenderInfo(json: unknown): json is SenderInfo {
  const { sid, name, owner, tags } = (json ?? {}) as Record<string, unknown>
  return (
    isId(sid) &&
    isId(owner) &&
    typeof name === 'string' &&
    Array.isArray(tags) &&
    tags.every((tag) => typeof tag === 'string')
  )
}
