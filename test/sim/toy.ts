// Toy cores, to try the simulator with: no queues, no acknowledgements, no tree. Nodes route by greedy hops, the
// root of a sender sends to the proxies of its subscribers, and what is lost on the way becomes a gap, because
// clients say everything again until it is heard. Receipts are exact, and full of gaps.
import type { Cursor } from '../../buffers/item.ts'
import { type Gap, Receipt } from '../../buffers/receipt.ts'
import { compareDistance, type Id, idOfEndpoint } from '../../overlay/id.ts'
import type { Peer, Stream, Surroundings } from '../../overlay/surroundings.ts'
import type { Attributes } from '../../policies/event.ts'
import type { ClientContext, SimClient, SimNode, SimReceiver, SimSubscription } from './scenario.ts'
import type { TreePlace } from './statistics.ts'
import type { Taken } from './witness.ts'

type Message =
  | { kind: 'ping' | 'pong' }
  /** Up to the sender's root. */
  | { kind: 'event'; sid: Id; hops: number; event: ToyEvent }
  | { kind: 'wanted'; sid: Id; hops: number; proxy: Id }
  /** Client to proxy. */
  | { kind: 'want'; sid: Id }
  /** Root to proxy to client. */
  | { kind: 'down'; sid: Id; event: ToyEvent }

/** Without attributes it is a marker: so many were published. */
interface ToyEvent {
  readonly epoch: number
  readonly seq: number
  readonly time: number
  readonly attributes?: Attributes
}

const BEAT_MS = 1_000
const SILENT_MS = 3_000
const LEASE_MS = 3_500
const MAX_HOPS = 20

/** Connections with heartbeats: who is silent for too long is given up. */
abstract class ToyPeer {
  protected readonly surroundings: Surroundings
  protected readonly heardAt = new Map<Id, number>()
  readonly #waiting = new Map<Id, Message[]>()

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings
    surroundings.after(BEAT_MS * surroundings.random(), () => this.#beat())
  }

  connected(peer: Peer): void {
    this.heardAt.set(peer.id, this.surroundings.now())
    for (const message of this.#waiting.get(peer.id) ?? []) this.tell(peer.id, message)
    this.#waiting.delete(peer.id)
  }

  disconnected(peer: Id): void {
    this.heardAt.delete(peer)
    this.#waiting.delete(peer)
    this.surroundings.forget(peer)
  }

  received(peer: Id, _stream: Stream, frame: Uint8Array): void {
    this.heardAt.set(peer, this.surroundings.now())
    const message = JSON.parse(new TextDecoder().decode(frame)) as Message
    if (message.kind === 'ping') this.tell(peer, { kind: 'pong' })
    else this.handle(peer, message)
  }

  protected abstract handle(peer: Id, message: Message): void
  protected abstract beat(): void

  /** What is for a peer that is not connected waits for it. */
  protected tell(peer: Id, message: Message): void {
    if (peer === this.surroundings.self.id) {
      this.handle(peer, message)
      return
    }
    if (this.heardAt.has(peer)) {
      const stream = message.kind === 'event' || message.kind === 'down' ? 'data' : 'control'
      this.surroundings.send(peer, stream, new TextEncoder().encode(JSON.stringify(message)))
      return
    }
    this.#waiting.set(peer, [...(this.#waiting.get(peer) ?? []).slice(-100), message])
    this.surroundings.dial(peer)
  }

  #beat(): void {
    this.surroundings.after(BEAT_MS, () => this.#beat())
    const now = this.surroundings.now()
    for (const [peer, heardAt] of this.heardAt) {
      if (now - heardAt > SILENT_MS) {
        this.surroundings.hangUp(peer)
        this.disconnected(peer)
      } else if (now - heardAt >= BEAT_MS) this.tell(peer, { kind: 'ping' })
    }
    this.beat()
  }
}

export class ToyNode extends ToyPeer implements SimNode {
  /** As a proxy: who of its clients wants a sender. As a root: which proxies do. Each until when. */
  readonly #clients = new Map<Id, Map<Id, number>>()
  readonly #proxies = new Map<Id, Map<Id, number>>()

  place(sid: Id): TreePlace | undefined {
    const proxies = this.#proxies.get(sid)
    return proxies === undefined ? undefined : { parent: undefined, children: proxies.size }
  }

  figures(): Record<string, number> {
    return { clients: this.#clients.size }
  }

  protected handle(peer: Id, message: Message): void {
    const until = this.surroundings.now() + LEASE_MS
    switch (message.kind) {
      case 'event':
      case 'wanted':
        this.#route(message, until)
        break
      case 'want':
        entry(this.#clients, message.sid).set(peer, until)
        this.#route({ kind: 'wanted', sid: message.sid, hops: 0, proxy: this.surroundings.self.id }, until)
        break
      case 'down':
        for (const client of entry(this.#clients, message.sid).keys()) {
          if (this.heardAt.has(client)) this.tell(client, message)
        }
        break
    }
  }

  protected beat(): void {
    const now = this.surroundings.now()
    for (const leases of [...this.#clients.values(), ...this.#proxies.values()]) {
      for (const [peer, until] of leases) if (until < now) leases.delete(peer)
    }
    for (const [sid, proxies] of this.#proxies) if (proxies.size === 0) this.#proxies.delete(sid)
  }

  #route(message: Extract<Message, { hops: number }>, until: number): void {
    const own = this.surroundings.self.id
    const [next] = this.surroundings.closest(message.sid, 1)
    if (next !== undefined && message.hops < MAX_HOPS && compareDistance(message.sid, next, own) < 0) {
      this.tell(next, { ...message, hops: message.hops + 1 })
    } else if (message.kind === 'wanted') {
      entry(this.#proxies, message.sid).set(message.proxy, until)
    } else {
      const { sid, event } = message
      for (const proxy of this.#proxies.get(sid)?.keys() ?? []) this.tell(proxy, { kind: 'down', sid, event })
    }
  }
}

interface ToySender {
  readonly sid: Id
  readonly epoch: number
  seq: number
}

class ToyReceiver implements SimReceiver {
  readonly sid: Id
  readonly #available: () => void
  readonly #receipt: Receipt
  readonly #taken: Taken[] = [{ kind: 'subscribed' }]

  constructor(sid: Id, available: () => void) {
    this.sid = sid
    this.#available = available
    this.#receipt = new Receipt(undefined, (gap: Gap) => this.#taken.push(gap))
  }

  put({ epoch, seq, time, attributes }: ToyEvent): void {
    if (attributes === undefined) this.#receipt.marker({ kind: 'marker', epoch, highest: seq, end: false })
    else if (this.#receipt.event(epoch, seq))
      this.#taken.push({ kind: 'event', epoch, seq, time, attributes })
    this.#available()
  }

  take(): Taken | undefined {
    return this.#taken.shift()
  }
}

export class ToyClient extends ToyPeer implements SimClient {
  readonly hasReceipts = true
  readonly #proxies: readonly Id[]
  readonly #senders = new Map<string, ToySender>()
  readonly #receivers: ToyReceiver[] = []
  #attempt = 0
  #proxy: Id

  constructor(surroundings: Surroundings, { proxies }: ClientContext) {
    super(surroundings)
    this.#proxies = proxies
    this.#proxy = proxies[0]!
    surroundings.dial(this.#proxy)
  }

  open(name: string): void {
    const sid = idOfEndpoint(this.surroundings.self.key, name)
    this.#senders.set(name, { sid, epoch: 1 + Math.floor(this.surroundings.now()), seq: 0 })
  }

  publish(name: string, attributes: Attributes): Cursor {
    const sender = this.#senders.get(name)!
    const { sid, epoch } = sender
    const event = { epoch, seq: ++sender.seq, time: this.surroundings.now(), attributes }
    if (this.heardAt.has(this.#proxy)) this.tell(this.#proxy, { kind: 'event', sid, hops: 0, event })
    return event
  }

  end(_name: string): void {}

  subscribe({ sid }: SimSubscription, available: () => void): SimReceiver {
    const receiver = new ToyReceiver(sid, available)
    this.#receivers.push(receiver)
    this.#want(sid)
    return receiver
  }

  attach(proxy: Id): void {
    if (proxy === this.#proxy) return
    this.surroundings.hangUp(this.#proxy)
    super.disconnected(this.#proxy)
    this.#proxy = proxy
    this.surroundings.dial(proxy)
  }

  override disconnected(peer: Id): void {
    super.disconnected(peer)
    if (peer !== this.#proxy) return
    this.#proxy = this.#proxies[++this.#attempt % this.#proxies.length]!
    this.surroundings.dial(this.#proxy)
  }

  protected handle(_peer: Id, message: Message): void {
    if (message.kind !== 'down') return
    for (const receiver of this.#receivers) if (receiver.sid === message.sid) receiver.put(message.event)
  }

  protected beat(): void {
    if (!this.heardAt.has(this.#proxy)) return
    for (const sid of new Set(this.#receivers.map((receiver) => receiver.sid))) this.#want(sid)
    const time = this.surroundings.now()
    for (const { sid, epoch, seq } of this.#senders.values()) {
      if (seq > 0) this.tell(this.#proxy, { kind: 'event', sid, hops: 0, event: { epoch, seq, time } })
    }
  }

  #want(sid: Id): void {
    if (this.heardAt.has(this.#proxy)) this.tell(this.#proxy, { kind: 'want', sid })
  }
}

function entry(map: Map<Id, Map<Id, number>>, key: Id): Map<Id, number> {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = new Map<Id, number>()
  map.set(key, made)
  return made
}
