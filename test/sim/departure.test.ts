// Who departs leaves nothing: what nodes and clients have is counted.
import { describe, expect, it } from 'vitest'
import { ClientCore } from '../../overlay/client.ts'
import { idOfEndpoint } from '../../overlay/id.ts'
import { OverlayNode } from '../../overlay/node.ts'
import { KEEP_MS } from '../../overlay/sender-root.ts'
import { compilePolicy } from '../../policies/compile.ts'
import { noPolicy } from '../../policies/policy.ts'
import { Network } from './network.ts'
import { POLICIES } from './seeded-scenario.ts'

const NODES = 12
const RECEIVERS = 20
const BOUNDS = { items: 100, bytes: 100_000 }

/** Senders and receivers that all have something, and are everywhere. */
class Crowd {
  readonly network = new Network({ seed: 23 })
  readonly nodes = Array.from({ length: NODES }, (_, i) => this.#node(i))
  readonly senders = [0, 1].map((i) => this.#client(`s${i}`, i))
  readonly receivers = Array.from({ length: RECEIVERS }, (_, i) => this.#client(`r${i}`, i % NODES))
  readonly sids = [0, 1].map((i) => idOfEndpoint(new TextEncoder().encode(`s${i}`), 'pulse'))
  readonly rids: string[] = []

  constructor() {
    this.run(1_000)
    for (const core of this.senders) core.open('pulse', { tags: ['value', 'kind'], epoch: 1 })
    this.receivers.forEach((core, i) => {
      const spec = POLICIES[i % POLICIES.length]
      const policy = spec === undefined ? noPolicy : compilePolicy(spec)
      this.rids.push(core.subscribe(this.sids[i % 2]!, 'r', policy, BOUNDS).rid)
      core.poll(1, this.sids[i % 2]!, undefined)
    })
    this.run(5_000)
    for (let n = 0; n < 200; n++) {
      this.senders.forEach((core, i) => {
        core.publish(this.sids[i]!, { value: n, kind: 'info' })
      })
      this.run(20)
    }
  }

  run(ms: number): void {
    this.network.runUntil(this.network.clock.now + ms)
  }

  /** Each receiver is somewhere else, and leaves something where it was. */
  move(): void {
    this.receivers.forEach((core, i) => {
      core.attach(this.network.peer(`n${(i + 5) % NODES}`).id)
    })
    this.run(150)
  }

  /** What all nodes have, by kind. */
  get counts(): Record<string, number> {
    const sums: Record<string, number> = {}
    for (const { life } of this.nodes) {
      const timers = life!.timers - 1
      for (const [what, count] of Object.entries({ ...(life!.core as OverlayNode).counts, timers }))
        sums[what] = (sums[what] ?? 0) + count
    }
    return sums
  }

  #node(i: number) {
    return this.network.add(`n${i}`, 'node', (surroundings) => {
      const directory = { announce() {}, senders: () => [] }
      return new OverlayNode(Object.assign(surroundings, { directory, members: () => [] }))
    })
  }

  #client(name: string, at: number): ClientCore {
    let core!: ClientCore
    this.network.add(name, 'client', (surroundings) => {
      core = new ClientCore(surroundings, {})
      core.attach(this.network.peer(`n${at}`).id)
      return core
    })
    return core
  }
}

/** Nothing of anything but rings. */
const nothing = {
  clients: 0,
  buffers: 0,
  queues: 0,
  queuedBytes: 0,
  unacknowledgedBytes: 0,
  waitingMessages: 0,
  cursors: 0,
  trees: 0,
  senders: 0,
  receivers: 0,
  rooted: 0,
  mirrors: 0,
  polls: 0,
  timers: 0,
}

describe('when all clients have departed', () => {
  it.each(['in order', 'by a crash', 'without a word', 'in the middle of a move', 'detached'])(
    '%s, no node has anything of them but rings',
    (how) => {
      const crowd = new Crowd()
      const { network } = crowd
      const before = crowd.counts
      for (const what of [
        'clients',
        'buffers',
        'queues',
        'cursors',
        'trees',
        'senders',
        'receivers',
        'rooted',
      ])
        expect(before[what], what).toBeGreaterThan(0)
      if (how === 'in the middle of a move') crowd.move()
      if (how === 'detached') for (const core of [...crowd.senders, ...crowd.receivers]) core.detach()
      if (how !== 'detached') {
        for (const peer of network.peers.filter(({ self }) => self.kind === 'client')) {
          if (how === 'in order') network.stop(peer)
          else network.crash(peer, { silent: how === 'without a word' })
        }
      }
      crowd.run(60_000)
      expect(crowd.counts).toEqual({ ...nothing, rings: expect.any(Number) })
      expect(crowd.counts.rings).toBeGreaterThan(0)
    },
  )

  it('an hour later there are not even rings', () => {
    const crowd = new Crowd()
    const { network } = crowd
    for (const peer of network.peers) if (peer.self.kind === 'client') network.crash(peer)
    crowd.run(KEEP_MS + 60_000)
    expect(crowd.counts).toEqual({ ...nothing, rings: 0 })
  })

  it('and one that was away comes back, everything of it is there again', () => {
    const crowd = new Crowd()
    const { queues: _, queuedBytes: __, unacknowledgedBytes: ___, ...before } = crowd.counts
    for (const core of [...crowd.senders, ...crowd.receivers]) core.detach()
    crowd.run(60_000)
    expect(crowd.counts).toMatchObject(nothing)
    for (const core of [...crowd.senders, ...crowd.receivers]) core.attach(core.proxy!)
    crowd.run(10_000)
    const { queues: ____, queuedBytes: _____, unacknowledgedBytes: ______, ...after } = crowd.counts
    expect({ ...after, polls: 0 }).toMatchObject({ ...before, polls: 0, cursors: expect.any(Number) })
  })
})

describe('a client', () => {
  it('has nothing of subscriptions and senders that were closed, and neither has the overlay', () => {
    const crowd = new Crowd()
    crowd.receivers.forEach((core, i) => {
      core.unsubscribe(crowd.sids[i % 2]!, crowd.rids[i]!)
      core.forget(1)
    })
    crowd.senders.forEach((core, i) => {
      core.end(crowd.sids[i]!)
    })
    // Senders that ended say for two minutes more how much there was.
    crowd.run(150_000)
    const none = { senders: 0, subscriptions: 0, polls: 0, buffers: 0, queues: 0, queuedBytes: 0, cursors: 0 }
    for (const core of [...crowd.senders, ...crowd.receivers]) expect(core.counts).toEqual(none)
    const clients = crowd.senders.length + RECEIVERS
    const { polls, ...counts } = crowd.counts
    expect(counts).toEqual({ ...counts, ...nothingBut(clients) })
    // Who polls is remembered as long as it is attached, by its rate.
    expect(polls).toBeLessThanOrEqual(clients)
  })
})

function nothingBut(clients: number) {
  const { polls: _, ...rest } = nothing
  return { ...rest, clients }
}
