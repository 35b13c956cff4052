// Who has a client: attachments that are old, stolen, doubled, or told by a clock that is wrong.
import { describe, expect, it } from 'vitest'
import type { ControlMessage, RoutedMessage } from '../../overlay/control.ts'
import { type Id, idOfEndpoint } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Surroundings } from '../../overlay/surroundings.ts'
import { encodeControl } from '../../overlay/wire/control-frame.ts'
import { Network } from './network.ts'
import { Client } from './overlay.ts'
import type { SimReceiver } from './scenario.ts'
import { Stranger } from './stranger.ts'

const DAY_MS = 86_400_000
/** Clocks say that so much has passed since 1970. */
const NOW_MS = 20_000 * DAY_MS
const NODES = 5

/** The same world with a clock that is ahead, or behind. */
function withClock(surroundings: Surroundings, aheadMs: number): Surroundings {
  return {
    self: surroundings.self,
    now: () => surroundings.now() + aheadMs,
    random: () => surroundings.random(),
    after: (delayMs, call) => surroundings.after(delayMs, call),
    send: (peer, stream, frame) => surroundings.send(peer, stream, frame),
    dial: (peer) => surroundings.dial(peer),
    hangUp: (peer) => surroundings.hangUp(peer),
    closest: (key, count) => surroundings.closest(key, count),
    forget: (peer) => surroundings.forget(peer),
  }
}

interface Life {
  readonly proxy: Id
  readonly aheadMs: number
}

/** Nodes, a client that sends, a client that receives, and one that is hostile. */
class Scene {
  readonly network = new Network({ seed: 11 })
  readonly nodes = Array.from({ length: NODES }, (_, i) => this.#node(`n${i}`))
  /** How the clients' next lives begin. */
  readonly next: Record<'sender' | 'receiver', Life> = {
    sender: { proxy: this.id('n0'), aheadMs: NOW_MS },
    receiver: { proxy: this.id('n1'), aheadMs: NOW_MS },
  }
  readonly sid = this.endpoint('sender', 'pulse')
  stranger!: Stranger
  sender!: Client
  receiver!: Client
  /** The numbers that the receiver's lives got. */
  readonly lives: number[][] = []
  #subscription!: SimReceiver
  #published = 0

  constructor() {
    this.network.add('stranger', 'client', (surroundings) => {
      this.stranger = new Stranger(surroundings, this.id('n1'))
      return this.stranger
    })
    this.network.add('sender', 'client', (surroundings, life) => {
      this.sender = this.#client(surroundings, this.next.sender, life)
      this.sender.open('pulse', ['n'])
      this.#published = 0
      return this.sender
    })
    this.network.add('receiver', 'client', (surroundings, life) => {
      this.receiver = this.#client(surroundings, this.next.receiver, life)
      this.lives.push([])
      this.#subscription = this.receiver.subscribe({ sid: this.sid, name: 'r' }, () => {})
      return this.receiver
    })
    this.run(8_000)
  }

  id(name: string): Id {
    return this.network.peer(name).id
  }

  endpoint(client: string, name: string): Id {
    return idOfEndpoint(new TextEncoder().encode(client), name)
  }

  run(ms: number): void {
    this.network.runUntil(this.network.clock.now + ms)
  }

  restart(client: 'sender' | 'receiver', life: Life): void {
    this.next[client] = life
    const peer = this.network.peer(client)
    this.network.crash(peer)
    this.network.start(peer)
  }

  publish(count: number): void {
    for (let i = 0; i < count; i++) this.sender.publish('pulse', { n: ++this.#published })
  }

  /** Publishes some events a while, and returns what this life of the receiver has got so far. */
  serves(count: number): readonly number[] {
    this.publish(count)
    this.run(3_000)
    for (let one = this.#subscription.take(); one !== undefined; one = this.#subscription.take())
      if (one.kind === 'event') this.lives.at(-1)!.push(one.seq)
    return this.lives.at(-1)!
  }

  /** One that says nothing is hung up on: it comes back to be heard. */
  dial(): Stranger {
    this.stranger.dial(this.id('n1'))
    this.run(500)
    expect(this.stranger.isConnected).toBe(true)
    return this.stranger
  }

  /** What all nodes have for clients. */
  get held(): number {
    return this.nodes.reduce((sum, node) => {
      const { rings: _, ...counts } = (node.life!.core as OverlayNode).counts
      return sum + Object.values(counts).reduce((all, count) => all + count, 0)
    }, 0)
  }

  #client(surroundings: Surroundings, { proxy, aheadMs }: Life, life: number): Client {
    return new Client(withClock(surroundings, aheadMs), { proxies: [proxy], life })
  }

  #node(name: string) {
    return this.network.add(name, 'node', (surroundings) => {
      const directory = { announce() {}, senders: () => [] }
      return new OverlayNode(Object.assign(surroundings, { directory, members: () => [] }))
    })
  }
}

function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

describe('a client with another key', () => {
  it('cannot claim a receiver, nor a sender, nor end their attachment', () => {
    const scene = new Scene()
    const { sid } = scene
    const rid = scene.endpoint('receiver', 'r')
    scene.serves(10)
    const stranger = scene.dial()
    const generation = Number.MAX_SAFE_INTEGER
    stranger.say({ kind: 'subscribe', sid, rid, name: 'r', policy: { levels: [] }, generation })
    stranger.say({ kind: 'open', sid, name: 'pulse', tags: ['n'], epoch: 9, next: 1, generation })
    stranger.say({ kind: 'unsubscribe', sid, rid })
    stranger.say({ kind: 'close', sid })
    stranger.say({ kind: 'detach', generation })
    scene.run(10_000)
    expect(stranger.heard.filter(({ kind }) => kind === 'refused')).toMatchObject([{ rid }, { sid }])
    expect(stranger.dataFrames).toBe(0)
    expect(scene.serves(10)).toEqual(upTo(20))
  })

  it('cannot speak as a node that has the client', () => {
    const scene = new Scene()
    const { sid } = scene
    const rid = scene.endpoint('receiver', 'r')
    scene.serves(10)
    const stranger = scene.dial()
    const proxy = scene.id('stranger')
    const generation = Number.MAX_SAFE_INTEGER
    const subscribe: RoutedMessage = {
      kind: 'subscribe',
      sid,
      rid,
      proxy,
      owner: scene.id('receiver'),
      policy: { levels: [] },
      generation,
    }
    const register: RoutedMessage = { kind: 'register', sid, proxy, generation }
    for (const [key, message] of [
      [rid, subscribe],
      [sid, register],
    ] as const)
      stranger.say({ kind: 'route', key, hops: 0, origin: proxy, message })
    stranger.say({ kind: 'collect', sid, rid, to: proxy, generation })
    stranger.say({ kind: 'finish', sid, generation })
    scene.run(10_000)
    expect(stranger.dataFrames).toBe(0)
    expect(scene.serves(10)).toEqual(upTo(20))
  })
})

describe('an attachment that is over', () => {
  it('does not end the one that counts', () => {
    const scene = new Scene()
    scene.serves(10)
    const rid = scene.endpoint('receiver', 'r')
    const node = scene.network.peer('n1').life!.core
    // The same client says again what it said before.
    const generation = NOW_MS - 1
    node.received(scene.id('receiver'), 'control', encodeControl({ kind: 'detach', generation }))
    expect(scene.serves(10)).toEqual(upTo(20))
    scene.run(30_000)
    expect(scene.serves(10)).toEqual(upTo(30))
    // A node that still believes it has the client tells so.
    const { sid } = scene
    const from = scene.nodes[3]!
    const owner = scene.id('receiver')
    const old = {
      kind: 'subscribe',
      sid,
      rid,
      proxy: from.id,
      owner,
      policy: { levels: [] },
      generation,
    } as const
    const message: ControlMessage = { kind: 'route', key: rid, hops: 0, origin: from.id, message: old }
    for (const { life } of scene.nodes) life!.core.received(from.id, 'control', encodeControl(message))
    scene.run(1_000)
    expect(scene.serves(10)).toEqual(upTo(40))
  })

  it('is settled between two nodes that both believe they have the client: without loss, without doubling', () => {
    const scene = new Scene()
    scene.serves(10)
    for (const [client, node] of [
      ['receiver', 'n1'],
      ['sender', 'n0'],
    ] as const)
      scene.network.silence(scene.network.peer(client), scene.network.peer(node))
    scene.publish(10)
    scene.run(500)
    scene.receiver.attach(scene.id('n2'))
    scene.sender.attach(scene.id('n3'))
    expect(scene.serves(10)).toEqual(upTo(30))
    // The former ones find out, or are told.
    scene.run(10_000)
    expect(scene.serves(10)).toEqual(upTo(40))
    scene.network.healAll()
    scene.receiver.attach(scene.id('n1'))
    scene.sender.attach(scene.id('n0'))
    expect(scene.serves(10)).toEqual(upTo(50))
  })
})

describe('a client whose clock', () => {
  const clocks: [string, number, number][] = [
    ['went back a day', NOW_MS, NOW_MS - DAY_MS],
    ['was a hundred years ahead', NOW_MS + 36_500 * DAY_MS, NOW_MS],
    ['is in 1970', NOW_MS, 0],
  ]
  const places: [string, string, string][] = [
    ['the same node', 'n0', 'n1'],
    ['another', 'n2', 'n3'],
  ]
  const both = clocks.flatMap((clock) => places.map((place) => [...clock, ...place] as const))

  it.each(both)(
    '%s (%i to %i) attaches at %s, started again without a memory',
    (_what, before, after, ...rest) => {
      const [, senderAt, receiverAt] = rest
      const scene = new Scene()
      scene.restart('sender', { proxy: scene.id('n0'), aheadMs: before })
      scene.restart('receiver', { proxy: scene.id('n1'), aheadMs: before })
      scene.run(8_000)
      expect(scene.serves(10)).toEqual(upTo(10))
      scene.restart('receiver', { proxy: scene.id(receiverAt), aheadMs: after })
      scene.run(1_000)
      expect(scene.serves(10)).toEqual(upTo(20, 11))
      scene.restart('sender', { proxy: scene.id(senderAt), aheadMs: after })
      scene.run(1_000)
      expect(scene.serves(10).slice(10)).toEqual(upTo(10))
      // And goes on being attached.
      scene.run(30_000)
      expect(scene.serves(10).slice(20)).toEqual(upTo(20, 11))
    },
  )
})

describe('a generation as large as there can be', () => {
  it('harms nobody but who told it, and is forgotten with the lease', () => {
    const scene = new Scene()
    const { sid } = scene
    const rid = scene.endpoint('stranger', 'mine')
    const own = scene.endpoint('stranger', 'own')
    const generation = Number.MAX_SAFE_INTEGER
    scene.serves(10)
    scene.run(30_000)
    const before = scene.held
    const stranger = scene.dial()
    const subscribe = { kind: 'subscribe', sid, rid, name: 'mine', policy: { levels: [] } } as const
    stranger.say({ ...subscribe, generation })
    stranger.say({ kind: 'open', sid: own, name: 'own', tags: ['n'], epoch: 1, next: 1, generation })
    scene.run(3_000)
    expect(stranger.heard.map(({ kind }) => kind)).toContain('subscribed')
    expect(scene.serves(10)).toEqual(upTo(20))
    expect(scene.held).toBeGreaterThan(before)
    scene.network.crash(scene.network.peer('stranger'), { silent: true })
    scene.run(60_000)
    expect(scene.held).toBe(before)
    scene.network.start(scene.network.peer('stranger'))
    scene.run(1_000)
    scene.stranger.say({ ...subscribe, generation: 1 })
    scene.run(1_000)
    expect(scene.stranger.heard.map(({ kind }) => kind)).toContain('subscribed')
  })
})

describe('a node that is told of a client it does not have', () => {
  it('keeps nothing of it, and says that it has nothing', () => {
    const scene = new Scene()
    const [node, other] = [scene.nodes[4]!, scene.nodes[3]!]
    const sid = scene.endpoint('nobody', 's')
    const rid = scene.endpoint('nobody', 'r')
    const core = node.life!.core as OverlayNode
    // A connection between the two.
    ;(other.life!.core as OverlayNode).tell(node.id, { kind: 'ping', at: 0 })
    scene.run(1_000)
    const before = core.counts
    const told: ControlMessage[] = [
      { kind: 'subscribed', sid, rid },
      { kind: 'rooted', key: sid },
      { kind: 'rooted', key: rid },
      { kind: 'collect', sid, rid, to: other.id, generation: 7 },
      { kind: 'collected', sid, rid, generation: 7 },
      { kind: 'finish', sid, generation: 7 },
      { kind: 'finished', sid, generation: 7 },
      { kind: 'refused', sid, rid, reason: 'over', generation: 7, newest: 9 },
      { kind: 'refused', sid, reason: 'over', generation: 7, newest: 9 },
      { kind: 'unwant', toward: 'SP', sid, hashes: [] },
      { kind: 'granted', sid, hashes: [], ancestors: [] },
    ]
    const sent = node.sentFrames
    for (const message of told) core.received(other.id, 'control', encodeControl(message))
    expect(node.sentFrames - sent).toBe(2)
    expect(core.counts).toEqual(before)
    scene.run(30_000)
    expect(scene.serves(10)).toEqual(upTo(10))
  })
})
