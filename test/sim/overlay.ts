// The overlay's own cores in scenarios.
import { positionOf } from '../../buffers/block.ts'
import type { Cursor, Item } from '../../buffers/item.ts'
import type { PrivateQueue } from '../../buffers/private-queue.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import type { Schedule } from '../../endpoints/pull/schedule.ts'
import { ClientCore } from '../../overlay/client.ts'
import type { NodeInfo } from '../../overlay/control.ts'
import type { Id } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Peer, Stream, Surroundings } from '../../overlay/surroundings.ts'
import { compilePolicy } from '../../policies/compile.ts'
import type { Attributes } from '../../policies/event.ts'
import { noPolicy } from '../../policies/policy.ts'
import { type Asking, Puller } from './puller.ts'
import type {
  ClientContext,
  MakeClient,
  MakeNode,
  SimClient,
  SimReceiver,
  SimSubscription,
} from './scenario.ts'
import type { Taken } from './witness.ts'

/** A client that lost its proxy tries the next after so long. */
const REATTACH_MS = 500
/** Of the nodes that it was told of, a client remembers so many. */
const MAX_PROXIES = 16
/** Of the other nodes, a node knows so many by gossip. */
const KNOWN_MEMBERS = 8
const QUEUE_ITEMS = 1_000
const QUEUE_BYTES = 1_000_000

export const makeNode: MakeNode = (surroundings, { directory }) => {
  const node = new OverlayNode(withDirectory(surroundings, directory))
  return Object.assign(node, {
    figures: () => ({ queues: node.budget.queues.size }),
    held: () => ({ ...node.counts, rings: 0 }),
    place(sid: Id) {
      const tree = node.forest.find(sid)
      return tree && { parent: tree.parent, children: [...tree.children].length }
    },
  })
}

export const makeClient: MakeClient = (surroundings, context) => new Client(surroundings, context)

export class Client implements SimClient {
  readonly hasReceipts = false
  readonly #surroundings: Surroundings
  #proxies: readonly Id[]
  readonly #core: ClientCore
  readonly #receivers = new Map<string, Receiver>()
  readonly #drained = new Map<Id, () => void>()
  readonly #pullers = new Map<number, Puller>()
  readonly #epoch: number
  #requests = 0
  #turn = 0
  #isAsleep = false

  constructor(surroundings: Surroundings, { proxies, life }: ClientContext) {
    this.#surroundings = surroundings
    this.#proxies = proxies
    this.#epoch = life
    this.#core = new ClientCore(surroundings, {
      subscribed: (sid, rid, first) => this.#receivers.get(sid + rid)?.subscribed(first),
      refused: (sid, rid, reason) => this.#receivers.get(sid + (rid ?? ''))?.refused(reason),
      items: (sid, rid) => this.#receivers.get(sid + rid)?.available(),
      drained: (sid) => this.#drained.get(sid)?.(),
      polled: (request, outcome) => this.#pullers.get(request)?.polled(request, outcome),
      detached: () => this.#next(),
      others: (nodes, move) => this.#others(nodes, move),
    })
    this.#core.attach(proxies[0]!)
  }

  open(name: string, tags: readonly string[]): void {
    this.#core.open(name, { tags, epoch: this.#epoch })
  }

  publish(name: string, event: Attributes): Cursor {
    const sid = this.#core.endpoint(name)
    this.#core.publish(sid, event)
    return { epoch: this.#epoch, seq: this.#core.published(sid) }
  }

  end(name: string, drained?: () => void): void {
    const sid = this.#core.endpoint(name)
    if (drained !== undefined) this.#drained.set(sid, drained)
    this.#core.end(sid)
  }

  subscribe(
    { sid, name, policy, queueItems = QUEUE_ITEMS, pullEveryMs }: SimSubscription,
    available: () => void,
  ): SimReceiver {
    if (pullEveryMs !== undefined)
      return this.pull(sid, new FixedInterval(pullEveryMs, 0, this.#surroundings.random), available)
    const compiled = policy === undefined ? noPolicy : compilePolicy(policy)
    const bounds = { items: queueItems, bytes: QUEUE_BYTES }
    const { rid, queue } = this.#core.subscribe(sid, name, compiled, bounds)
    const receiver = new Receiver(queue, available)
    this.#receivers.set(sid + rid, receiver)
    return receiver
  }

  pull(sid: Id, schedule: Schedule, available: () => void = () => {}): Puller {
    const asking: Asking = {
      begin: (puller) => {
        this.#pullers.set(++this.#requests, puller)
        return this.#requests
      },
      poll: (request, since) => this.#core.poll(request, sid, since),
      forget: (request) => {
        this.#pullers.delete(request)
        this.#core.forget(request)
      },
    }
    return new Puller(this.#surroundings, asking, schedule, available)
  }

  attach(proxy: Id): void {
    this.#isAsleep = false
    this.#core.attach(proxy)
  }

  detach(): void {
    this.#isAsleep = true
    this.#core.detach()
  }

  sleep(): void {
    this.#isAsleep = true
  }

  connected(peer: Peer): void {
    if (this.#isAsleep) this.#surroundings.hangUp(peer.id)
    else this.#core.connected(peer)
  }

  disconnected(peer: Id): void {
    this.#core.disconnected(peer)
  }

  received(peer: Id, stream: Stream, frame: Uint8Array): void {
    this.#core.received(peer, stream, frame)
  }

  #others(nodes: readonly NodeInfo[], move: boolean): void {
    this.#proxies = [...new Set([...this.#proxies, ...nodes.map(({ id }) => id)])].slice(-MAX_PROXIES)
    if (move && nodes.length > 0) this.#core.attach(nodes[0]!.id)
  }

  #next(): void {
    this.#surroundings.after(REATTACH_MS, () => {
      if (this.#core.isAttached || this.#isAsleep) return
      this.#turn = (this.#turn + 1) % this.#proxies.length
      this.#core.attach(this.#proxies[this.#turn]!)
    })
  }
}

class Receiver implements SimReceiver {
  readonly available: () => void
  readonly #queue: PrivateQueue
  readonly #ready: Taken[] = []
  #isSubscribed = false

  constructor(queue: PrivateQueue, available: () => void) {
    this.#queue = queue
    this.available = available
  }

  subscribed(first: Cursor | undefined): void {
    if (this.#isSubscribed) return
    this.#isSubscribed = true
    this.#ready.push({ kind: 'subscribed', first })
    this.available()
  }

  refused(reason: string): void {
    this.#ready.push({ kind: 'refused', reason })
    this.available()
  }

  take(): Taken | undefined {
    if (this.#ready.length === 0 && this.#isSubscribed) this.#fetch()
    return this.#ready.shift()
  }

  #fetch(): void {
    const taken = this.#queue.take(1)
    if (taken === undefined) return
    this.#queue.acknowledge(taken)
    for (const item of taken.items) this.#ready.push(...takenOf(item))
  }
}

function takenOf(item: Item): Taken[] {
  if (item.kind !== 'events') return [item]
  const { block, from, to } = item
  return Array.from({ length: to - from }, (_, i) => {
    const position = positionOf(item, from + i)
    return {
      kind: 'event',
      epoch: block.epoch,
      seq: block.seq(position),
      time: block.time(position),
      attributes: block.attributes(position),
    }
  })
}

function withDirectory<D>(
  surroundings: Surroundings,
  directory: D,
): Surroundings & { readonly directory: D; members(): readonly NodeInfo[] } {
  const members = () =>
    surroundings.closest(surroundings.self.id, KNOWN_MEMBERS).map((id) => ({ id, addresses: [id], load: 0 }))
  return Object.assign(surroundings, { directory, members })
}
