// Who is in the overlay: every node announces its addresses and its load every few seconds, and that it leaves.
// The larger the overlay, the less often, so that the messages of all nodes together stay few.
import { setTimeout as sleep } from 'node:timers/promises'
import type { PeerId } from '@libp2p/interface'
import { type Id, idOfPeer } from '../id.ts'
import { Expiring } from './expiring.ts'
import { type Gossip, isDuration, TOPICS } from './gossip.ts'
import type { TransportLimits } from './limits.ts'

export interface Member {
  readonly id: Id
  /** Multiaddrs without the peer id. */
  readonly addresses: readonly string[]
  /** What its node says of itself: 0 is idle, 1 is full. */
  readonly load: number
}

export interface MembershipInit {
  readonly self: Id
  readonly gossip: Gossip
  readonly limits: TransportLimits
  now(): number
  addresses(): readonly string[]
  load(): number
  heard(from: PeerId, member: Member, isChanged: boolean): void
  /** It left, or has not been heard of for some announcements. */
  gone(id: Id): void
}

interface Announcement {
  readonly addresses: readonly string[]
  readonly load: number
  /** It holds so long; 0 says goodbye. */
  readonly forMs: number
}

export class Membership {
  readonly #init: MembershipInit
  readonly #members: Expiring<Id, Member>
  #timer: NodeJS.Timeout | undefined

  constructor(init: MembershipInit) {
    this.#init = init
    this.#members = new Expiring(init.limits.knownNodes)
  }

  start(): void {
    this.#init.gossip.subscribe(TOPICS.members, parse, (from, message) => this.#heard(from, message))
    this.#announce()
  }

  /** Everyone that is there, this node too. */
  members(): Member[] {
    this.#expire()
    return [this.#self(), ...this.#members.values()]
  }

  others(): Member[] {
    this.#expire()
    return this.#members.values()
  }

  /** Says goodbye; gossipsub drops what a peer said last when its connection closes at once. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    await this.#publish({ ...this.#self(), forMs: 0 })
    if (this.#members.size > 0) await sleep(this.#init.limits.goodbyeMs)
  }

  #announce(): void {
    this.#expire()
    const { announceMs, announceGapMs } = this.#init.limits
    const everyMs = Math.max(announceMs, announceGapMs * this.#members.size)
    void this.#publish({ ...this.#self(), forMs: KEEP * everyMs })
    this.#timer = setTimeout(() => this.#announce(), everyMs)
  }

  #self(): Member {
    return { id: this.#init.self, addresses: this.#init.addresses(), load: this.#init.load() }
  }

  async #publish({ addresses, load, forMs }: Announcement): Promise<void> {
    let data: Uint8Array
    let shown = addresses.length
    do data = Buffer.from(JSON.stringify({ addresses: addresses.slice(0, shown), load, forMs }))
    while (data.length > this.#init.limits.gossipBytes && shown-- > 0)
    await this.#init.gossip.publish(TOPICS.members, data)
  }

  #heard(from: PeerId, { addresses, load, forMs }: Announcement): void {
    const id = idOfPeer(from.toMultihash().bytes)
    if (id === this.#init.self) return
    if (forMs === 0) {
      this.#members.delete(id)
      this.#init.gone(id)
      return
    }
    const known = this.#members.get(id)
    const isChanged = known?.addresses.join() !== addresses.join()
    const member = { id, addresses, load }
    this.#members.set(id, member, this.#init.now() + forMs)
    this.#init.heard(from, member, isChanged)
  }

  #expire(): void {
    for (const id of this.#members.expire(this.#init.now())) this.#init.gone(id)
  }
}

/** Three announcements may get lost. */
const KEEP = 3.5

function parse(json: unknown): Announcement | undefined {
  const { addresses, load, forMs } = json as Record<string, unknown>
  const isText = (value: unknown) => typeof value === 'string'
  if (!Array.isArray(addresses) || !addresses.every(isText)) return undefined
  if (!Number.isFinite(load) || !isDuration(forMs)) return undefined
  return { addresses, load: load as number, forMs }
}
