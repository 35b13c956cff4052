import { expect, it } from 'vitest'
import type { Id } from '../../overlay/id.ts'
import type { Core, Peer, Stream, Surroundings } from '../../overlay/surroundings.ts'
import { Network, type NetworkOptions } from './network.ts'
import type { SimPeer } from './peer.ts'

/** A core that writes down what it is told. */
class Scribe implements Core {
  readonly surroundings: Surroundings
  readonly told: string[] = []
  onReceived: (peer: Id, frame: Uint8Array) => void = () => {}
  onConnected: (peer: Id) => void = () => {}
  onDisconnected: (peer: Id) => void = () => {}
  readonly #nameOf: (id: Id) => string

  constructor(surroundings: Surroundings, nameOf: (id: Id) => string) {
    this.surroundings = surroundings
    this.#nameOf = nameOf
  }

  connected(peer: Peer): void {
    this.#tell(`+${this.#nameOf(peer.id)}`)
    this.onConnected(peer.id)
  }

  disconnected(peer: Id): void {
    this.#tell(`-${this.#nameOf(peer)}`)
    this.onDisconnected(peer)
  }

  received(peer: Id, stream: Stream, frame: Uint8Array): void {
    this.#tell(`${stream} ${frame[0]}`)
    this.onReceived(peer, frame)
  }

  #tell(what: string): void {
    this.told.push(`${Math.round(this.surroundings.now() * 10) / 10} ${what}`)
  }
}

/** No jitter, 10 ms one way, no overhead: times can be told by hand. */
const PLAIN: Partial<NetworkOptions> = {
  latencyMs: [10, 10],
  jitterMs: 0,
  overheadBytes: 0,
  dialTimeoutMs: 1_000,
}

interface Stage {
  network: Network
  a: SimPeer
  b: SimPeer
  core(peer: SimPeer): Scribe
  /** Sends frames whose first byte is a number. */
  send(from: SimPeer, to: SimPeer, numbers: readonly number[], bytes?: number, stream?: Stream): void
}

function stage(
  options: Partial<NetworkOptions> = {},
  names = ['a', 'b'],
  kind: Peer['kind'] = 'node',
): Stage {
  const network = new Network({ ...PLAIN, ...options })
  const nameOf = (id: Id) => network.peer(id).name
  const [a, b] = names.map((name) =>
    network.add(name, kind, (surroundings) => new Scribe(surroundings, nameOf)),
  )
  const core = (peer: SimPeer) => peer.life!.core as Scribe
  const send: Stage['send'] = (from, to, numbers, bytes = 1, stream = 'data') => {
    for (const number of numbers)
      core(from).surroundings.send(to.id, stream, new Uint8Array(bytes).fill(number))
  }
  return { network, a: a!, b: b!, core, send }
}

/** Two nodes that are connected; what they were told so far is forgotten. */
function connectedStage(options: Partial<NetworkOptions> = {}): Stage {
  const built = stage(options)
  built.core(built.a).surroundings.dial(built.b.id)
  built.network.runUntil(100)
  built.core(built.a).told.length = 0
  built.core(built.b).told.length = 0
  return built
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

it('connects after two round trips; the other side knows half a round trip before', () => {
  const { network, a, b, core } = stage()
  core(a).surroundings.dial(b.id)
  network.runUntil(1_000)
  expect(core(a).told).toEqual(['40 +b'])
  expect(core(b).told).toEqual(['30 +a'])
})

it('delivers what was sent in the moment of connecting after the news of the connection', () => {
  const { network, a, b, core, send } = stage()
  core(b).onConnected = () => send(b, a, [7])
  core(a).surroundings.dial(b.id)
  network.runUntil(1_000)
  expect(core(a).told).toEqual(['40 +b', '40 data 7'])
})

it('makes one connection of two dials at a time', () => {
  for (const secondAt of [0, 5, 29, 31, 39]) {
    const { network, a, b, core } = stage()
    core(a).surroundings.dial(b.id)
    network.runUntil(secondAt)
    core(b).surroundings.dial(a.id)
    network.runUntil(5_000)
    expect(core(a).told.map((line) => line.split(' ')[1])).toEqual(['+b'])
    expect(core(b).told.map((line) => line.split(' ')[1])).toEqual(['+a'])
    expect(a.life!.pipes.get(b.id)!.twin).toBe(b.life!.pipes.get(a.id))
  }
})

it('fails to dial the dead, the cut off, the stuck, clients and strangers, after a timeout', () => {
  for (const what of ['dead', 'cut off', 'stuck', 'client', 'stranger']) {
    const { network, a, b, core } = stage({}, ['a', 'b'], what === 'client' ? 'client' : 'node')
    if (what === 'dead') network.crash(b)
    if (what === 'cut off') network.partition([b])
    if (what === 'stuck') network.setReading(b, false)
    core(a).surroundings.dial(what === 'stranger' ? a.id.replace(/^./, 'x') : b.id)
    const told = core(a).told
    if (what === 'stranger') core(a).disconnected = () => told.push('1000 -b')
    network.runUntil(5_000)
    expect([what, ...told]).toEqual([what, '1000 -b'])
  }
})

it('keeps frames in order under jitter', () => {
  const { network, a, b, core, send } = connectedStage({ jitterMs: 50 })
  for (const number of upTo(100)) {
    send(a, b, [number])
    network.runUntil(network.clock.now + 1)
  }
  network.runUntil(2_000)
  expect(core(b).told.map((line) => Number(line.split(' ')[2]))).toEqual(upTo(100))
})

it('takes 40 s for 250,000 bytes at 50 kbit/s', () => {
  const { network, a, b, core, send } = connectedStage()
  network.changeLink(a, b, { bytesPerSecond: 50_000 / 8 })
  send(a, b, upTo(100), 2_500)
  network.runUntil(60_000)
  expect(core(b).told[0]).toBe('510 data 0')
  expect(core(b).told.at(-1)).toBe('40110 data 99')
})

it('counts the overhead of each frame', () => {
  const { network, a, b, core, send } = connectedStage({ overheadBytes: 100 })
  network.changePeer(a, { bytesPerSecond: 1_000 })
  send(a, b, upTo(10), 100)
  network.runUntil(5_000)
  expect(core(b).told.at(-1)).toBe('2110 data 9')
})

it('hides as many bytes as it may; the rest waits, and there control overtakes data', () => {
  const { network, a, b, core, send } = connectedStage({ hiddenBytes: 1_000, bytesPerSecond: 1_000 })
  send(a, b, upTo(30), 100)
  expect(network.insideLink(a, b)).toEqual({ inside: 3_000, hidden: 1_000, waiting: 2_000 })
  send(a, b, [99], 100, 'control')
  network.runUntil(10_000)
  const order = core(b).told.map((line) => line.split(' ').slice(1).join(' '))
  expect(order.indexOf('control 99')).toBe(10)
  expect(order.filter((line) => line.startsWith('data'))).toEqual(upTo(30).map((number) => `data ${number}`))
  expect(network.insideLink(a, b)).toEqual({ inside: 0, hidden: 0, waiting: 0 })
})

it('loses the hidden and the waiting bytes in a crash, and then looks like a clean close', () => {
  const { network, a, b, core, send } = connectedStage({ hiddenBytes: 1_000, bytesPerSecond: 1_000 })
  send(a, b, upTo(30), 100)
  network.runUntil(network.clock.now + 450)
  network.crash(a)
  network.runUntil(60_000)
  expect(core(b).told).toEqual([...upTo(4).map((number) => `${210 + 100 * number} data ${number}`), '560 -a'])
  expect(network.statistics.lostFrames).toBe(26)
})

it('delivers everything that was sent before hanging up, and tells only the other side', () => {
  const { network, a, b, core, send } = connectedStage({ hiddenBytes: 1_000, bytesPerSecond: 1_000 })
  send(a, b, upTo(30), 100)
  send(b, a, [5])
  core(a).surroundings.hangUp(b.id)
  send(a, b, [77])
  network.runUntil(60_000)
  expect(core(b).told).toHaveLength(31)
  expect(core(b).told.at(-1)).toBe('3110 -a')
  expect(core(a).told).toEqual([])
})

it('loses what is on its way when a link breaks, and tells both', () => {
  const { network, a, b, core, send } = connectedStage()
  send(a, b, [1])
  network.runUntil(105)
  network.breakLink(a, b)
  network.runUntil(1_000)
  expect(core(a).told).toEqual(['105 -b'])
  expect(core(b).told).toEqual(['105 -a'])
})

it('is silent in a partition, and delivers in order after it healed', () => {
  const { network, a, b, core, send } = connectedStage()
  send(a, b, [1])
  network.runUntil(105)
  const partition = network.partition([a])
  send(a, b, [2])
  send(b, a, [3])
  network.runUntil(100_000)
  expect(core(a).told).toEqual([])
  expect(core(b).told).toEqual([])
  network.heal(partition)
  send(a, b, [4])
  network.runUntil(101_000)
  expect(core(b).told).toEqual(['100010 data 1', '100010 data 2', '100010 data 4'])
  expect(core(a).told).toEqual(['100010 data 3'])
})

it('breaks the connections of a partition after the detection time, when there is one', () => {
  const { network, a, b, core, send } = connectedStage({ detectionMs: 500 })
  const partition = network.partition([a])
  send(a, b, [2])
  network.runUntil(1_000)
  expect(core(a).told).toEqual(['600 -b'])
  expect(core(b).told).toEqual(['600 -a'])
  network.heal(partition)
  core(b).surroundings.dial(a.id)
  network.runUntil(2_000)
  expect(core(a).told.at(-1)).toBe('1030 +b')
  expect(core(b).told.at(-1)).toBe('1040 +a')
})

it('hears of a hang-up during a partition only after it healed', () => {
  const { network, a, b, core } = connectedStage()
  const partition = network.partition([a])
  core(a).surroundings.hangUp(b.id)
  network.runUntil(1_000)
  expect(core(b).told).toEqual([])
  network.heal(partition)
  network.runUntil(2_000)
  expect(core(b).told).toEqual(['1010 -a'])
})

it('replaces a connection that only one side still believes in', () => {
  const { network, a, b, core, send } = connectedStage()
  network.crash(a, { silent: true })
  network.runUntil(1_000)
  expect(core(b).told).toEqual([])
  network.start(a)
  core(a).surroundings.dial(b.id)
  network.runUntil(1_100)
  send(b, a, [1])
  network.runUntil(2_000)
  expect(core(b).told).toEqual(['1030 -a', '1030 +a'])
  expect(core(a).told).toEqual(['1040 +b', '1110 data 1'])
})

it('answers a frame to a life that has ended with a close, once the host is up again', () => {
  const { network, a, b, core, send } = connectedStage()
  network.crash(a, { silent: true })
  send(b, a, [1])
  network.runUntil(1_000)
  expect(core(b).told).toEqual([])
  network.start(a)
  send(b, a, [2])
  network.runUntil(2_000)
  expect(core(b).told).toEqual(['1020 -a'])
  expect(core(a).told).toEqual([])
})

it('ends the timers of a life with it, and restarts with a new core and the same key', () => {
  const { network, a, core } = stage()
  const first = core(a)
  const { id } = a
  first.surroundings.after(50, () => first.told.push('late'))
  expect(a.life!.timers).toBe(1)
  network.crash(a)
  network.runUntil(10)
  network.start(a)
  network.runUntil(100)
  expect(first.told).toEqual([])
  expect(core(a)).not.toBe(first)
  expect(core(a).surroundings.self.id).toBe(id)
  expect(a.lives).toBe(2)
})

it('piles up the frames for a peer that does not read at the sender, and delivers them when it reads again', () => {
  const { network, a, b, core, send } = connectedStage({ hiddenBytes: 1_000 })
  network.setReading(b, false)
  for (const number of upTo(50)) {
    send(a, b, [number], 100)
    network.runUntil(network.clock.now + 10)
  }
  const { inside, waiting } = network.insideLink(a, b)
  expect(inside).toBe(5_000)
  expect(waiting).toBe(4_000)
  send(b, a, [9])
  network.runUntil(2_000)
  expect(core(b).told).toEqual([])
  expect(core(a).told).toHaveLength(1)
  network.setReading(b, true)
  network.runUntil(3_000)
  expect(core(b).told.map((line) => Number(line.split(' ')[2]))).toEqual(upTo(50))
})

it('aborts a connection on which more waits than the write buffers take', () => {
  const { network, a, b, core, send } = connectedStage({ hiddenBytes: 1_000, waitingBytes: 10_000 })
  network.setReading(b, false)
  for (const number of upTo(200)) {
    send(a, b, [number], 100)
    network.runUntil(network.clock.now + 10)
  }
  expect(core(a).told.map((line) => line.split(' ')[1])).toEqual(['-b'])
  network.setReading(b, true)
  network.runUntil(10_000)
  expect(core(b).told.at(-1)).toMatch(/-a$/)
})

it('stands still when it is paused: timers are late, nothing is read, then everything follows in order', () => {
  const { network, a, b, core, send } = connectedStage()
  const { surroundings, told } = core(b)
  surroundings.after(100, () => told.push(`${surroundings.now()} first`))
  surroundings.after(200, () => told.push(`${surroundings.now()} second`))
  const cancelled = surroundings.after(250, () => told.push('never'))
  network.pause(b)
  send(a, b, [1])
  network.runUntil(1_000)
  cancelled.cancel()
  expect(told).toEqual([])
  network.resume(b)
  network.runUntil(1_100)
  expect(told).toEqual(['1000 first', '1000 second', '1000 data 1'])
})

it('knows what it is at when a core throws', () => {
  const { network, a, core } = stage({ seed: 42 })
  core(a).surroundings.after(5, () => {
    throw new Error('a bug')
  })
  expect(() => network.runUntil(10)).toThrow('seed 42, at 5 ms, a: a bug')
})

/** Nodes that dial some others and answer frames a number of times. */
function gossip(seed: number, nodes: number, hops: number): Network {
  const network = new Network({ seed })
  const nameOf = (id: Id) => network.peer(id).name
  for (let i = 0; i < nodes; i++) {
    network.add(`n${i}`, 'node', (surroundings) => {
      const scribe = new Scribe(surroundings, nameOf)
      scribe.told.push = () => 0
      scribe.onConnected = (peer) => surroundings.send(peer, 'data', new Uint8Array(64).fill(hops))
      scribe.onReceived = (peer, frame) => {
        if (frame[0]! === 0) return
        const answer = new Uint8Array(64).fill(frame[0]! - 1)
        surroundings.send(
          surroundings.random() < 0.1 ? peer : randomOf(network, scribe, peer),
          'data',
          answer,
        )
      }
      surroundings.after(surroundings.random() * 100, () => {
        for (const peer of surroundings.closest(surroundings.self.id, 8)) surroundings.dial(peer)
      })
      return scribe
    })
  }
  return network
}

function randomOf(network: Network, scribe: Scribe, otherwise: Id): Id {
  const pipes = network.peer(scribe.surroundings.self.id).life!.pipes
  const at = Math.floor(scribe.surroundings.random() * Math.min(4, pipes.size))
  let i = 0
  for (const id of pipes.keys()) if (i++ === at) return id
  return otherwise
}

it('gives the same trace for the same seed, and another for another', () => {
  const traces = [1, 1, 2].map((seed) => {
    const network = gossip(seed, 30, 20)
    network.runUntil(20_000)
    expect(network.statistics.frames).toBeGreaterThan(1_000)
    return `${network.trace.hash} ${network.trace.length}`
  })
  expect(traces[0]).toBe(traces[1])
  expect(traces[0]).not.toBe(traces[2])
})

it('carries a million frames between 1,000 nodes in some seconds', () => {
  const network = gossip(5, 1_000, 110)
  const start = performance.now()
  network.runUntil(60_000)
  const seconds = (performance.now() - start) / 1_000
  const { frames, connections } = network.statistics
  console.log(
    `1,000 nodes, ${connections} connections, ${frames} frames in ${seconds.toFixed(2)} s: ` +
      `${Math.round(frames / seconds).toLocaleString('en')} frames a second`,
  )
  expect(frames).toBeGreaterThan(1_000_000)
  expect(seconds).toBeLessThan(45)
}, 60_000)
