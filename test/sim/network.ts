// Peers under a virtual clock: each has a core, told what happens by plain calls, and asks its `Life` for the world.
// A crash ends a life, a restart begins another with the same key. The core cannot tell it from libp2p.
import assert from 'node:assert/strict'
import type { Id } from '../../overlay/id.ts'
import type { Core, Peer, Stream } from '../../overlay/surroundings.ts'
import { seeded } from '../../policies/chance.ts'
import { Clock } from './clock.ts'
import { fraction, mix, Trace } from './hash.ts'
import { Dial, Life, SimPeer } from './peer.ts'
import { type Frame, type LinkOptions, Pipe, type PipeOwner } from './pipe.ts'
import { type TableOptions, Tables, type TableWorld } from './tables.ts'

export interface NetworkOptions extends Omit<LinkOptions, 'latencyMs'> {
  readonly seed: number
  /** One way; each pair of peers has its own between the two. */
  readonly latencyMs: readonly [number, number]
  /** Dialling takes two round trips, and fails after so long. */
  readonly dialTimeoutMs: number
  /** How long a partition stays silent before the transport breaks its connections; infinite for never. */
  readonly detectionMs: number
  readonly tables: Partial<TableOptions>
  /** Told a line for everything but frames. */
  readonly log?: (line: string) => void
}

export const NETWORK_DEFAULTS: NetworkOptions = {
  seed: 1,
  latencyMs: [2, 40],
  jitterMs: 2,
  bytesPerSecond: 125_000_000,
  hiddenBytes: 65_536,
  waitingBytes: 4_194_304,
  overheadBytes: 40,
  dialTimeoutMs: 3_000,
  detectionMs: Number.POSITIVE_INFINITY,
  tables: {},
}

/** What went over the network so far. */
export interface NetworkStatistics {
  frames: number
  bytes: number
  controlFrames: number
  controlBytes: number
  /** Frames that were sent and will not arrive. */
  lostFrames: number
  dials: number
  failedDials: number
  connections: number
}

/** How a peer's or a pair's links differ from the others. */
export type LinkChange = Partial<
  Pick<LinkOptions, 'latencyMs' | 'jitterMs' | 'bytesPerSecond' | 'hiddenBytes'>
>

/** What is added to the trace. */
const TRACED = { control: 1, data: 2, connected: 3, disconnected: 4, started: 5, ended: 6 } as const

/** Partitions at a time: each is a bit of a peer's sides. */
export const MAX_PARTITIONS = 30
/** Peers a network can have, so that a pair of them is one exact number. */
const MAX_PEERS = 2 ** 24

export class Network implements PipeOwner, TableWorld {
  readonly clock = new Clock()
  readonly options: NetworkOptions
  readonly tables: Tables
  readonly trace = new Trace()
  readonly statistics: NetworkStatistics = {
    frames: 0,
    bytes: 0,
    controlFrames: 0,
    controlBytes: 0,
    lostFrames: 0,
    dials: 0,
    failedDials: 0,
    connections: 0,
  }
  readonly random: () => number
  readonly peers: SimPeer[] = []
  healedAt = Number.NEGATIVE_INFINITY
  /** Whose core is running, for what is said when it throws. */
  #acting: SimPeer | undefined
  readonly #byId = new Map<Id, SimPeer>()
  readonly #byName = new Map<string, SimPeer>()
  readonly #pairs = new Map<number, LinkChange>()
  readonly #silencedPairs = new Set<number>()
  /** Pipes that wait until their ends reach each other again. */
  #unreachable: Pipe[] = []
  #partitions = 0

  constructor(options: Partial<NetworkOptions> = {}) {
    this.options = { ...NETWORK_DEFAULTS, ...options }
    this.random = seeded(mix(this.options.seed, 0x6e6574))
    this.tables = new Tables(this, mix(this.options.seed, 0x746162), this.options.tables)
  }

  // Peers.

  /** Adds a host and starts it. A node that is added before time passes is in every table at once. */
  add(name: string, kind: Peer['kind'], makeCore: SimPeer['makeCore']): SimPeer {
    assert(!this.#byName.has(name), `two peers are named ${name}`)
    assert(this.peers.length < MAX_PEERS, 'too many peers')
    const peer = new SimPeer(this.peers.length, name, kind, makeCore)
    this.peers.push(peer)
    this.#byId.set(peer.id, peer)
    this.#byName.set(name, peer)
    this.start(peer)
    return peer
  }

  find(idOrName: Id | string): SimPeer | undefined {
    return this.#byId.get(idOrName) ?? this.#byName.get(idOrName)
  }

  peer(idOrName: Id | string): SimPeer {
    const peer = this.find(idOrName)
    assert(peer !== undefined, `no peer ${idOrName}`)
    return peer
  }

  /** Starts a host that is down, with a new core. */
  start(peer: SimPeer): void {
    assert(peer.life === undefined, `${peer.name} is up`)
    const life = new Life(this, peer, mix(mix(this.options.seed, peer.number), ++peer.lives))
    peer.life = life
    const { now } = this.clock
    if (peer.self.kind === 'node') this.tables.join(peer.id, now === 0 ? Number.NEGATIVE_INFINITY : now)
    this.#note('started', peer, peer)
    this.#acting = peer
    life.core = peer.makeCore(life, peer.lives)
  }

  /**
   * The process is gone with all its state. What had left its kernel arrives, then the others see a clean close;
   * of a silent crash (the host lost its power) they see nothing.
   */
  crash(peer: SimPeer, { silent = false } = {}): void {
    this.#endLife(peer, (pipe) => {
      pipe.loseUnsent()
      if (!silent) pipe.close()
    })
  }

  /** The process ends in order: what it sent arrives. */
  stop(peer: SimPeer): void {
    this.#endLife(peer, (pipe) => pipe.close())
  }

  /** Whether the peer takes what arrives. What it does not take piles up at the senders' side. */
  setReading(peer: SimPeer, isReading: boolean): void {
    peer.isReading = isReading
    if (!isReading) return
    for (const pipe of peer.blocked.splice(0)) pipe.unblock(0)
  }

  /** The process stands still, as after SIGSTOP. */
  pause(peer: SimPeer): void {
    peer.isPaused = true
    peer.isReading = false
  }

  resume(peer: SimPeer): void {
    peer.isPaused = false
    for (const call of peer.deferred.splice(0)) this.clock.after(0, call)
    this.setReading(peer, true)
  }

  // Links.

  /** Changes all links of a peer; without a change they are as they were. */
  changePeer(peer: SimPeer, change: LinkChange = {}): void {
    peer.change = change
    for (const pipe of peer.life?.pipes.values() ?? []) this.#relink(pipe)
  }

  /** Changes the link between two peers; this counts more than the peers' own changes. */
  changeLink(a: SimPeer, b: SimPeer, change: LinkChange = {}): void {
    this.#pairs.set(pairOf(a, b), change)
    const pipe = a.life?.pipes.get(b.id)
    if (pipe !== undefined) this.#relink(pipe)
  }

  /** Breaks a connection: everything on its way is lost, and both ends are told. */
  breakLink(a: SimPeer, b: SimPeer): void {
    for (const pipe of [a.life?.pipes.get(b.id), b.life?.pipes.get(a.id)]) if (pipe) this.#abort(pipe)
  }

  /** What is on its way from one peer to another, in bytes. */
  insideLink(from: SimPeer, to: SimPeer): { inside: number; hidden: number; waiting: number } {
    const pipe = from.life?.pipes.get(to.id)
    return { inside: pipe?.inside ?? 0, hidden: pipe?.hidden ?? 0, waiting: pipe?.waiting ?? 0 }
  }

  /** Silence between these peers and all others, until it is healed. Returns what to heal it with. */
  partition(group: readonly SimPeer[]): number {
    const free = ~this.#partitions
    const bit = free & -free
    assert(bit > 0 && bit < 2 ** MAX_PARTITIONS, 'too many partitions at a time')
    this.#partitions |= bit
    for (const peer of group) peer.sides |= bit
    this.#breakAfterDetection(() => (this.#partitions & bit) !== 0)
    return bit
  }

  heal(partition: number): void {
    this.#partitions &= ~partition
    for (const peer of this.peers) peer.sides &= ~partition
    this.#reachAgain()
  }

  /** Silence between two peers only. */
  silence(a: SimPeer, b: SimPeer): void {
    this.#silencedPairs.add(pairOf(a, b))
    this.#breakAfterDetection(() => this.#silencedPairs.has(pairOf(a, b)))
  }

  unsilence(a: SimPeer, b: SimPeer): void {
    this.#silencedPairs.delete(pairOf(a, b))
    this.#reachAgain()
  }

  /** Nothing reaches this peer, and nothing of it reaches anybody, until it rejoins: a phone without coverage. */
  isolate(peer: SimPeer): void {
    peer.isIsolated = true
    this.#breakAfterDetection(() => peer.isIsolated)
  }

  rejoin(peer: SimPeer): void {
    if (!peer.isIsolated) return
    peer.isIsolated = false
    this.#reachAgain()
  }

  /** All partitions heal, all links are as at first, and who stands still or does not read goes on. */
  healAll(): void {
    this.#silencedPairs.clear()
    for (const peer of this.peers) peer.isIsolated = false
    this.heal(this.#partitions)
    this.#pairs.clear()
    for (const peer of this.peers) {
      this.changePeer(peer)
      if (peer.isPaused) this.resume(peer)
      else if (!peer.isReading) this.setReading(peer, true)
    }
  }

  /** Runs until this time. What a core throws is thrown, with the time and the peer. */
  runUntil(timeMs: number): void {
    try {
      this.clock.runUntil(timeMs)
    } catch (cause) {
      const where = `seed ${this.options.seed}, at ${this.clock.now} ms, ${this.#acting?.name ?? 'nobody'}`
      throw new Error(`${where}: ${cause instanceof Error ? cause.message : cause}`, { cause })
    }
  }

  // What a life asks.

  dial(life: Life, id: Id): void {
    if (!life.isAlive || id === life.self.id || life.pipes.has(id) || life.dials.has(id)) return
    this.statistics.dials++
    const target = this.#byId.get(id)
    const latencyMs = target === undefined ? 0 : this.#linkOf(life.peer, target).latencyMs
    const dial = new Dial(this, life, id, this.clock.now + this.options.dialTimeoutMs)
    life.dials.set(id, dial)
    // The dialler learns of it after two round trips; the other side half a round trip before.
    this.clock.schedule(dial, this.clock.now + 3 * latencyMs)
  }

  hangUp(life: Life, id: Id): void {
    const dial = life.dials.get(id)
    if (dial !== undefined) this.#endDial(dial)
    const pipe = life.pipes.get(id)
    if (pipe === undefined) return
    pipe.isOpen = false
    life.pipes.delete(id)
    this.#note('disconnected', life.peer, pipe.to.peer)
    pipe.close()
  }

  // What a dial or a timer asks.

  /** The dial has reached the other side. False when there is nobody to take it. */
  accept(dial: Dial): boolean {
    const { peer } = dial.life
    const target = this.#byId.get(dial.to)
    const life = target?.life
    if (target === undefined || life === undefined || target.self.kind !== 'node') return false
    if (!target.isReading || peer.isPaused || !this.isReachable(peer.id, target.id)) return false
    // A connection that only this side still believes in.
    const stale = life.pipes.get(peer.id)
    if (stale !== undefined) {
      stale.cut()
      this.#tellDisconnected(stale)
    }
    const crossing = life.dials.get(peer.id)
    if (crossing !== undefined) this.#endDial(crossing)
    const link = this.#linkOf(peer, target)
    const back = new Pipe(this, life, dial.life, link)
    dial.pipe = new Pipe(this, dial.life, life, link)
    dial.pipe.twin = back
    back.twin = dial.pipe
    back.send('opened', NO_BYTES)
    this.#tellConnected(back)
    return true
  }

  failed(dial: Dial): void {
    this.whenRunning(dial.life, () => {
      if (dial.life.dials.get(dial.to) !== dial) return
      this.#endDial(dial)
      this.statistics.failedDials++
      this.#act(dial.life).disconnected(dial.to)
    })
  }

  /** The peer's core is about to run. */
  acts(peer: SimPeer): void {
    this.#acting = peer
  }

  /** Does it now, or when the process goes on, or never when it has ended. */
  whenRunning(life: Life, call: () => void): void {
    if (!life.isAlive) return
    if (life.peer.isPaused) life.peer.deferred.push(() => this.whenRunning(life, call))
    else call()
  }

  // What a pipe asks.

  isBlocked(pipe: Pipe): boolean {
    const { peer } = pipe.to
    if (!peer.isReading) {
      peer.blocked.push(pipe)
      return true
    }
    if (this.#reach(pipe.from.peer, peer)) return false
    this.#unreachable.push(pipe)
    return true
  }

  arrived(pipe: Pipe, frame: Frame): void {
    switch (frame.kind) {
      case 'control':
      case 'data':
        this.#arrivedData(pipe, frame.kind, frame.bytes)
        break
      case 'opened':
        this.#arrivedOpened(pipe)
        break
      case 'closed':
        this.#arrivedClosed(pipe)
        break
    }
  }

  lost(_pipe: Pipe, frames: number): void {
    this.statistics.lostFrames += frames
  }

  overflowed(pipe: Pipe): void {
    this.#abort(pipe)
  }

  // What the tables ask.

  now(): number {
    return this.clock.now
  }

  isReachable(from: Id, to: Id): boolean {
    return this.#reach(this.#byId.get(from)!, this.#byId.get(to)!)
  }

  // Arrivals.

  #arrivedData(pipe: Pipe, stream: Stream, bytes: Uint8Array): void {
    const { from, to, twin } = pipe
    if (!twin.isOpen) {
      this.#refuse(pipe)
      return
    }
    const { statistics } = this
    statistics.frames++
    statistics.bytes += bytes.length
    if (stream === 'control') {
      statistics.controlFrames++
      statistics.controlBytes += bytes.length
    }
    to.peer.receivedFrames++
    this.trace.add(TRACED[stream], this.clock.now, from.peer.number, to.peer.number)
    this.trace.bytes(bytes)
    this.#acting = to.peer
    to.core.received(from.peer.self.id, stream, bytes)
  }

  #arrivedOpened(pipe: Pipe): void {
    const dial = pipe.to.dials.get(pipe.from.self.id)
    if (dial?.pipe !== pipe.twin) {
      this.#refuse(pipe)
      return
    }
    this.#endDial(dial, true)
    this.statistics.connections++
    this.#tellConnected(pipe.twin)
  }

  #arrivedClosed(pipe: Pipe): void {
    if (pipe.twin.isOpen) {
      this.#tellDisconnected(pipe.twin)
      return
    }
    const dial = pipe.to.dials.get(pipe.from.self.id)
    if (dial !== undefined && dial.pipe === pipe.twin) this.failed(dial)
  }

  /** A frame reached an end that is closed: a kernel that is up answers so. */
  #refuse(pipe: Pipe): void {
    this.statistics.lostFrames++
    if (pipe.to.peer.life !== undefined) pipe.twin.close()
  }

  /** The core at the pipe's beginning is told. */
  #tellConnected(pipe: Pipe): void {
    const { from, to } = pipe
    pipe.isOpen = true
    from.pipes.set(to.self.id, pipe)
    if (to.self.kind === 'node') this.tables.meet(from.self.id, to.self.id)
    this.#note('connected', from.peer, to.peer)
    this.#act(from).connected(to.self)
  }

  #tellDisconnected(pipe: Pipe): void {
    const { from, to } = pipe
    pipe.isOpen = false
    from.pipes.delete(to.self.id)
    this.#note('disconnected', from.peer, to.peer)
    this.#act(from).disconnected(to.self.id)
  }

  #act(life: Life): Core {
    this.#acting = life.peer
    return life.core
  }

  // Ends.

  /** This side's transport gives the connection up: what is on its way is lost, and its core is told. */
  #abort(pipe: Pipe): void {
    if (pipe.isClosing) return
    pipe.cut()
    pipe.close()
    // Never within a call of the core's own.
    this.clock.after(0, () => {
      this.whenRunning(pipe.from, () => {
        if (pipe.isOpen) this.#tellDisconnected(pipe)
      })
    })
  }

  #endLife(peer: SimPeer, end: (pipe: Pipe) => void): void {
    const { life } = peer
    assert(life !== undefined, `${peer.name} is down`)
    life.isAlive = false
    peer.life = undefined
    peer.isPaused = false
    peer.deferred = []
    for (const pipe of life.pipes.values()) {
      pipe.isOpen = false
      end(pipe)
    }
    life.pipes.clear()
    for (const dial of life.dials.values()) this.#endDial(dial)
    if (peer.self.kind === 'node') this.tables.died(peer.id, this.clock.now)
    this.setReading(peer, true)
    this.#note('ended', peer, peer)
  }

  /** The dial is over; without success, a connection that was on its way ends. */
  #endDial(dial: Dial, isSuccess = false): void {
    dial.life.dials.delete(dial.to)
    this.clock.cancel(dial)
    if (!isSuccess) dial.pipe?.close()
  }

  #breakAfterDetection(isStill: () => boolean): void {
    if (this.options.detectionMs === Number.POSITIVE_INFINITY) return
    this.clock.after(this.options.detectionMs, () => {
      if (!isStill()) return
      for (const { life } of this.peers) {
        for (const pipe of life?.pipes.values() ?? []) {
          if (!this.#reach(pipe.from.peer, pipe.to.peer)) this.#abort(pipe)
        }
      }
    })
  }

  #reachAgain(): void {
    this.healedAt = this.clock.now
    const pipes = this.#unreachable
    this.#unreachable = []
    for (const pipe of pipes) pipe.unblock(pipe.link.latencyMs)
  }

  #reach(a: SimPeer, b: SimPeer): boolean {
    if (a.sides !== b.sides || a.isIsolated || b.isIsolated) return false
    return this.#silencedPairs.size === 0 || !this.#silencedPairs.has(pairOf(a, b))
  }

  #linkOf(a: SimPeer, b: SimPeer): LinkOptions {
    const { latencyMs, jitterMs, bytesPerSecond, hiddenBytes, waitingBytes, overheadBytes } = this.options
    const [low, high] = latencyMs
    const pair = pairOf(a, b)
    const base =
      low + (high - low) * fraction(mix(mix(this.options.seed, pair % MAX_PEERS), pair / MAX_PEERS))
    const link = { latencyMs: base, jitterMs, bytesPerSecond, hiddenBytes, waitingBytes, overheadBytes }
    return { ...link, ...a.change, ...b.change, ...slowest(a.change, b.change), ...this.#pairs.get(pair) }
  }

  #relink(pipe: Pipe): void {
    const link = this.#linkOf(pipe.from.peer, pipe.to.peer)
    pipe.link = link
    pipe.twin.link = link
  }

  #note(what: keyof typeof TRACED, a: SimPeer, b: SimPeer): void {
    this.trace.add(TRACED[what], this.clock.now, a.number, b.number)
    const { log } = this.options
    if (log === undefined) return
    log(`${this.clock.now.toFixed(3)} ${a.name} ${what}${a === b ? '' : ` ${b.name}`}`)
  }
}

const NO_BYTES = new Uint8Array(0)

function pairOf(a: SimPeer, b: SimPeer): number {
  return Math.min(a.number, b.number) * MAX_PEERS + Math.max(a.number, b.number)
}

/** Of two peers' changes the slower counts. */
function slowest(a: LinkChange, b: LinkChange): LinkChange {
  const slow: { latencyMs?: number; bytesPerSecond?: number } = {}
  if (a.latencyMs !== undefined && b.latencyMs !== undefined)
    slow.latencyMs = Math.max(a.latencyMs, b.latencyMs)
  if (a.bytesPerSecond !== undefined && b.bytesPerSecond !== undefined) {
    slow.bytesPerSecond = Math.min(a.bytesPerSecond, b.bytesPerSecond)
  }
  return slow
}
