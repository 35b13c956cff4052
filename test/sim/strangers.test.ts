// Clients that do what they must not: the node goes on serving the others.
import { concatBytes } from '@noble/hashes/utils.js'
import { describe, expect, it } from 'vitest'
import { BlockWriter } from '../../buffers/block.ts'
import { BodyWriter } from '../../buffers/codec.ts'
import type { Item } from '../../buffers/item.ts'
import { ClientCore } from '../../overlay/client.ts'
import { type Id, idOfEndpoint, idOfPeer } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import type { Peer, Stream } from '../../overlay/surroundings.ts'
import { encodeControl } from '../../overlay/wire/control-frame.ts'
import { FrameEncoder } from '../../overlay/wire/data-frame.ts'
import { MAX_FRAME_BYTES } from '../../overlay/wire/limits.ts'
import { seeded } from '../../policies/chance.ts'
import { compilePolicy } from '../../policies/compile.ts'
import type { Cause, Digest } from '../../policies/digest.ts'
import type { State } from '../../policies/digester.ts'
import { mutated } from '../unit/wire-frames.ts'
import { Network } from './network.ts'
import { makeClient } from './overlay.ts'
import type { SimClient, SimReceiver } from './scenario.ts'
import { Stranger } from './stranger.ts'
import type { Taken } from './witness.ts'

/** A node with a sender, a receiver, and a stranger. */
class Scene {
  readonly network = new Network({ seed: 5 })
  readonly node = this.network.add('n0', 'node', (surroundings) => {
    const directory = { announce() {}, senders: () => [] }
    return new OverlayNode(Object.assign(surroundings, { directory, members: () => [] }))
  })
  readonly sender = this.#client('sender')
  readonly receiver = this.#client('receiver')
  readonly sid = idOfEndpoint(this.#key('sender'), 'pulse')
  readonly taken: Taken[] = []
  stranger!: Stranger
  #subscription!: SimReceiver

  constructor() {
    this.network.add('stranger', 'client', (surroundings) => {
      this.stranger = new Stranger(surroundings, this.node.id)
      return this.stranger
    })
    this.run(1_000)
    this.sender.open('pulse', ['v'])
    this.#subscription = this.receiver.subscribe({ sid: this.sid, name: 'r' }, () => {})
    this.run(2_000)
  }

  get core(): OverlayNode {
    return this.node.life!.core as OverlayNode
  }

  run(ms: number): void {
    this.network.runUntil(this.network.clock.now + ms)
  }

  /** Publishes so many events and returns how many the receiver got, in order and without a hole. */
  serves(events: number): number {
    for (let i = 0; i < events; i++) this.sender.publish('pulse', { v: i })
    this.run(3_000)
    for (let one = this.#subscription.take(); one !== undefined; one = this.#subscription.take())
      this.taken.push(one)
    const seqs = this.taken.flatMap((one) => (one.kind === 'event' ? [one.seq] : []))
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
    return seqs.length
  }

  #client(name: string): SimClient {
    let core!: SimClient
    this.network.add(name, 'client', (surroundings) => {
      core = makeClient(surroundings, { proxies: [this.node.id], life: 1 })
      return core
    })
    return core
  }

  #key(name: string): Uint8Array {
    return this.network.peer(name).self.key
  }
}

const anId = 'ab'.repeat(32)

/** Bytes of a data frame's version, number, and where its part goes; and of a new name. */
const HEAD_BYTES = 3
const NAME_BYTES = 33

/** One mutation or two. The node remembers what a header named, and says it again and again: those are a few. */
function mutation(sample: Uint8Array, stream: Stream, random: () => number): Uint8Array {
  const head = sample[HEAD_BYTES + NAME_BYTES] === 0 ? HEAD_BYTES + NAME_BYTES : HEAD_BYTES + 2 * NAME_BYTES
  const kept = sample.subarray(0, stream === 'data' && random() < 0.99 ? head : 0)
  let rest: Uint8Array = sample.subarray(kept.length)
  for (let n = random() * 2; n > 0 && rest.length > 0; n--) rest = mutated(rest, random)
  return concatBytes(kept, rest)
}

/** A client without a network, which is back at once when it was hung up on, and has a sender that is wanted. */
class Rogue {
  readonly #scene: Scene
  readonly #peer: Peer
  readonly #policy = compilePolicy({
    attribute: 'v',
    summary: ['LAST'],
    levels: [[{ name: 'GT', value: 1 }]],
  })
  readonly #sid: Id
  #malformed = -1
  #generation = 0

  constructor(scene: Scene) {
    this.#scene = scene
    const key = new Uint8Array(34).fill(7)
    this.#peer = { id: idOfPeer(key), kind: 'client', key }
    this.#sid = idOfEndpoint(key, 'rogue')
  }

  get hash(): string {
    return this.#policy.hash
  }

  /** Its sender is wanted by the receiver, whose items are returned when asked for. */
  subscribed(): () => Taken[] {
    this.say(encodeControl({ kind: 'ping', at: 0 }), 'control')
    this.#scene.run(1_000)
    const name = 'of the rogue'
    const receiver = this.#scene.receiver.subscribe(
      { sid: this.#sid, name, policy: this.#policy.spec },
      () => {},
    )
    this.#scene.run(1_000)
    this.say(this.#granted(), 'control')
    this.#scene.run(1_000)
    const take = () => {
      const taken: Taken[] = []
      for (let one = receiver.take(); one !== undefined; one = receiver.take()) taken.push(one)
      return taken
    }
    expect(take()).toEqual([expect.objectContaining({ kind: 'subscribed' })])
    return take
  }

  say(frame: Uint8Array, stream: Stream = 'data'): void {
    const { core } = this.#scene
    if (this.#malformed !== core.malformed) this.#connect(core)
    core.received(this.#peer.id, stream, frame)
  }

  #connect(core: OverlayNode): void {
    this.#malformed = core.malformed
    core.connected(this.#peer)
    const open = {
      sid: this.#sid,
      name: 'rogue',
      tags: ['v'],
      epoch: 1,
      next: 1,
      generation: ++this.#generation,
    }
    for (const message of [
      { kind: 'resume', cursors: [], last: true },
      { kind: 'open', ...open },
    ] as const)
      core.received(this.#peer.id, 'control', encodeControl(message))
    core.received(this.#peer.id, 'control', this.#granted())
  }

  #granted(): Uint8Array {
    return encodeControl({
      kind: 'granted',
      sid: this.#sid,
      hashes: [this.hash],
      first: { epoch: 1, seq: 1 },
      ancestors: [],
    })
  }

  digest(from: number, to: number, states: State[], causes?: readonly Cause[]): Digest {
    const all = causes ?? [{ buffer: 'SPB', level: 1, count: to - from + 1 }]
    return {
      kind: 'digest',
      policy: this.hash,
      epoch: 1,
      from,
      to,
      fromTime: 1,
      toTime: 2,
      causes: all,
      states,
    }
  }

  /** A frame of its sender as the first of a stream would be. */
  data(rid: string | undefined, ...items: Item[]): Uint8Array {
    const part = { slot: { buffer: 'SPB', sender: this.#sid }, rid, taken: { items } }
    return new FrameEncoder().encode({ number: 1, bytes: 100, parts: [part] }).subarray()
  }

  dataSamples(): Uint8Array[] {
    const schema = { tags: ['v'] }
    const run = (seq: number) =>
      new BlockWriter().write(schema, 1, seq, 0, new BodyWriter().encode(schema, { v: seq }))
    const marker: Item = { kind: 'marker', epoch: 1, highest: 9, end: false }
    return [
      this.data(undefined, run(1), run(2)),
      this.data(this.hash, run(3)),
      this.data(this.hash, this.digest(4, 5, [[1]])),
      this.data(this.hash, this.digest(6, 6, [['a text']]), run(7)),
      this.data(undefined, run(8), marker),
      this.data(this.hash, { ...marker, end: true }),
    ]
  }

  controlSamples(): Uint8Array[] {
    const rid = idOfEndpoint(this.#peer.key, 'x')
    const policy = { levels: [] }
    return [
      this.#granted(),
      encodeControl({ kind: 'list', request: 1 }),
      encodeControl({ kind: 'ack', number: 1 }),
      encodeControl({ kind: 'subscribe', sid: this.#scene.sid, rid, name: 'x', policy, generation: 1 }),
      encodeControl({ kind: 'unsubscribe', sid: this.#scene.sid, rid }),
      encodeControl({ kind: 'open', sid: anId, name: 'x', tags: ['v'], epoch: 1, next: 1, generation: 1 }),
    ]
  }
}

describe('a stranger', () => {
  it("cannot open another's sender", () => {
    const scene = new Scene()
    scene.stranger.say({
      kind: 'open',
      sid: scene.sid,
      name: 'pulse',
      tags: ['v'],
      epoch: 9,
      next: 1,
      generation: 9e9,
    })
    scene.run(1_000)
    expect(scene.stranger.heard).toContainEqual(expect.objectContaining({ kind: 'refused', sid: scene.sid }))
    expect(scene.serves(10)).toBe(10)
  })

  it("cannot publish as another's sender", () => {
    const scene = new Scene()
    const body = new BodyWriter().encode({ tags: ['v'] }, { v: 666 })
    const run = new BlockWriter().write({ tags: ['v'] }, 1, 1, 0, body)
    const part = { slot: { buffer: 'SPB', sender: scene.sid }, rid: undefined, taken: { items: [run] } }
    scene.stranger.send(
      'data',
      new FrameEncoder().encode({ number: 1, bytes: 100, parts: [part] }).subarray(),
    )
    expect(scene.serves(10)).toBe(10)
    expect(scene.taken.some((one) => one.kind === 'event' && one.attributes?.v === 666)).toBe(false)
  })

  it("cannot cancel another's subscription, nor close its sender", () => {
    const scene = new Scene()
    const rid = idOfEndpoint(scene.network.peer('receiver').self.key, 'r')
    scene.stranger.say({ kind: 'unsubscribe', sid: scene.sid, rid })
    scene.stranger.say({ kind: 'close', sid: scene.sid })
    expect(scene.serves(10)).toBe(10)
  })

  it("cannot subscribe with another's receiver", () => {
    const scene = new Scene()
    const rid = idOfEndpoint(scene.network.peer('receiver').self.key, 'r')
    scene.stranger.say({
      kind: 'subscribe',
      sid: scene.sid,
      rid,
      name: 'r',
      policy: { levels: [] },
      generation: 9e9,
    })
    scene.run(1_000)
    expect(scene.stranger.heard).toContainEqual(expect.objectContaining({ kind: 'refused', rid }))
    expect(scene.serves(10)).toBe(10)
  })

  it('is not heard when it speaks as a node', () => {
    const scene = new Scene()
    const { sid } = scene
    scene.stranger.say({ kind: 'want', toward: 'SP', sid, classes: [], all: true })
    scene.stranger.say({ kind: 'unwant', toward: 'SP', sid, hashes: [anId] })
    scene.stranger.say({ kind: 'rooted', key: sid })
    scene.stranger.say({ kind: 'redirect', sid, to: anId })
    scene.stranger.say({ kind: 'refused', sid, reason: 'because', generation: 1 })
    scene.stranger.say({ kind: 'polled', request: 1, path: [scene.node.id], answer: { kind: 'unknown' } })
    const message = { kind: 'unregister', sid, proxy: scene.node.id } as const
    scene.stranger.say({ kind: 'route', key: sid, hops: 0, origin: anId, message })
    expect(scene.serves(10)).toBe(10)
  })

  it('may poll without end: it is told to come again, and the others are served', () => {
    const scene = new Scene()
    const { sid, stranger } = scene
    for (let request = 0; request < 5_000; request++) {
      stranger.say({ kind: 'poll', request, sid })
      stranger.say({ kind: 'poll', request, sid: anId, since: { epoch: 9e15, seq: 9e15 } })
      if (request % 500 === 0) scene.run(100)
    }
    expect(scene.serves(10)).toBe(10)
    const kinds = stranger.heard.flatMap((one) => (one.kind === 'polled' ? [one.answer.kind] : []))
    expect(kinds).toHaveLength(10_000)
    expect(new Set(kinds)).toEqual(new Set(['items', 'unknown', 'busy']))
  })

  it('cannot poll for another client', () => {
    const scene = new Scene()
    const owner = scene.network.peer('receiver').id
    const message = { kind: 'poll', request: 1, sid: scene.sid, owner, path: [scene.node.id] } as const
    scene.stranger.say({ kind: 'route', key: scene.sid, hops: 0, origin: scene.node.id, message })
    scene.run(1_000)
    expect(scene.stranger.heard.some(({ kind }) => kind === 'polled')).toBe(false)
  })

  it('may acknowledge what it did not get, to no avail', () => {
    const scene = new Scene()
    for (const number of [0, 1, 1e9, Number.MAX_SAFE_INTEGER]) scene.stranger.say({ kind: 'ack', number })
    expect(scene.serves(10)).toBe(10)
  })

  it('gets nothing of a sender that does not allow it', () => {
    const scene = new Scene()
    let owner!: ClientCore
    scene.network.add('owner', 'client', (surroundings) => {
      owner = new ClientCore(surroundings, {})
      owner.attach(scene.node.id)
      return owner
    })
    scene.run(1_000)
    const sid = owner.open('secret', { tags: ['v'], epoch: 1, allow: [scene.network.peer('receiver').id] })
    const rid = idOfEndpoint(scene.network.peer('stranger').self.key, 'mine')
    scene.stranger.say({ kind: 'subscribe', sid, rid, name: 'mine', policy: { levels: [] }, generation: 1 })
    const allowed = scene.receiver.subscribe({ sid, name: 'ours' }, () => {})
    scene.run(1_000)
    owner.publish(sid, { v: 1 })
    scene.run(1_000)
    expect(scene.stranger.heard).toContainEqual(expect.objectContaining({ kind: 'refused', sid, rid }))
    expect(scene.stranger.dataFrames).toBe(0)
    expect([allowed.take(), allowed.take()].map((one) => one?.kind)).toEqual(['subscribed', 'event'])
  })

  it('cannot stop a node with a digest as long as a frame, or with one of causes that nobody has', () => {
    const scene = new Scene()
    const rogue = new Rogue(scene)
    const taken = rogue.subscribed()
    const long = rogue.digest(1, 1, [['x'.repeat(MAX_FRAME_BYTES - 220)]])
    const causes = Array.from({ length: 256 }, (_, i) => ({ buffer: `${i}`, level: 1, count: 1 }))
    rogue.say(rogue.data(rogue.hash, long))
    rogue.say(rogue.data(rogue.hash, rogue.digest(2, 257, [['x']], causes)))
    rogue.say(rogue.data(rogue.hash, rogue.digest(258, 258, [['x']])))
    scene.run(2_000)
    expect(scene.core.malformed).toBe(0)
    expect(taken()).toEqual([expect.objectContaining({ kind: 'digest', from: 258 })])
    expect(scene.serves(10)).toBe(10)
  })

  it('is hung up on for mutated frames, 70,000 of data and 30,000 of control, and the others are served', () => {
    const scene = new Scene()
    const rogue = new Rogue(scene)
    const taken = rogue.subscribed()
    const random = seeded(99)
    let mutations = 0
    for (const [stream, samples, count] of [
      ['data', rogue.dataSamples(), 70_000],
      ['control', rogue.controlSamples(), 30_000],
    ] as const) {
      for (let i = 0; i < count; i++) {
        rogue.say(mutation(samples[i % samples.length]!, stream, random), stream)
        mutations++
        if (i % 100 === 0) scene.run(20)
      }
    }
    expect(mutations).toBe(100_000)
    expect(scene.core.malformed).toBeGreaterThan(20_000)
    // Not all of them were refused.
    expect(taken().length).toBeGreaterThan(10)
    expect(scene.serves(10)).toBe(10)
  })
})
