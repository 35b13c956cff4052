// A simulated host, the lives of its process, and what a life has under way: its dials and its timers.
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { type Id, idOfPeer } from '../../overlay/id.ts'
import type { Core, Frame, Peer, Stream, Surroundings, Timer } from '../../overlay/surroundings.ts'
import { seeded } from '../../policies/chance.ts'
import { Entry } from './clock.ts'
import type { LinkChange, Network } from './network.ts'
import type { Pipe } from './pipe.ts'

/** A simulated host: it outlives its process. */
export class SimPeer {
  readonly number: number
  readonly name: string
  readonly self: Peer
  readonly makeCore: (surroundings: Surroundings, life: number) => Core
  /** Undefined while it is down. */
  life: Life | undefined
  lives = 0
  /** A bit for each partition: peers reach each other when they are on the same sides of all. */
  sides = 0
  /** Whether it reaches nobody. */
  isIsolated = false
  /** Whether it takes what arrives. */
  isReading = true
  /** Whether its process stands still: it does not read, and its timers are late. */
  isPaused = false
  change: LinkChange = {}
  sentFrames = 0
  receivedFrames = 0
  /** Pipes that wait until it reads again. */
  blocked: Pipe[] = []
  /** What is to be done when it runs again. */
  deferred: (() => void)[] = []

  constructor(number: number, name: string, kind: Peer['kind'], makeCore: SimPeer['makeCore']) {
    this.number = number
    this.name = name
    const key = utf8ToBytes(name)
    this.self = { id: idOfPeer(key), kind, key }
    this.makeCore = makeCore
  }

  get id(): Id {
    return this.self.id
  }
}

/** One life of a peer's process: what its core asks. When it ends, its timers are dead. */
export class Life implements Surroundings {
  readonly peer: SimPeer
  readonly random: () => number
  readonly pipes = new Map<Id, Pipe>()
  readonly dials = new Map<Id, Dial>()
  core!: Core
  isAlive = true
  /** Timers that have neither fired nor been cancelled. */
  timers = 0
  readonly #network: Network

  constructor(network: Network, peer: SimPeer, seed: number) {
    this.#network = network
    this.peer = peer
    this.random = seeded(seed)
  }

  get self(): Peer {
    return this.peer.self
  }

  now(): number {
    return this.#network.clock.now
  }

  after(delayMs: number, call: () => void): Timer {
    const timer = new LifeTimer(this.#network, this, call)
    if (!this.isAlive) return timer
    this.timers++
    this.#network.clock.schedule(timer, this.#network.clock.now + delayMs)
    return timer
  }

  send(peer: Id, stream: Stream, frame: Frame): void {
    const pipe = this.pipes.get(peer)
    if (pipe === undefined) return
    this.peer.sentFrames++
    pipe.send(stream, frame.subarray())
  }

  dial(peer: Id): void {
    this.#network.dial(this, peer)
  }

  /** Everything sent before still arrives. The core that hangs up is not told that it is disconnected. */
  hangUp(peer: Id): void {
    this.#network.hangUp(this, peer)
  }

  /** A client is not in the overlay and knows no nodes but those it was made with. */
  closest(key: Id, count: number): readonly Id[] {
    if (this.peer.self.kind === 'client') return []
    return this.#network.tables.closest(this.peer.id, key, count)
  }

  forget(peer: Id): void {
    if (this.peer.self.kind === 'node') this.#network.tables.forget(this.peer.id, peer)
  }
}

/** A dial: first on its way to the other side, then waiting for the answer or for the time to give up. */
export class Dial extends Entry {
  readonly life: Life
  readonly to: Id
  /** The dialler's pipe, once the other side has accepted. */
  pipe: Pipe | undefined
  readonly #network: Network
  readonly #givesUpAt: number
  #isWaiting = false

  constructor(network: Network, life: Life, to: Id, givesUpAt: number) {
    super()
    this.#network = network
    this.life = life
    this.to = to
    this.#givesUpAt = givesUpAt
  }

  override fire(): void {
    if (this.#isWaiting) {
      this.#network.failed(this)
      return
    }
    this.#isWaiting = true
    this.#network.clock.schedule(this, this.#givesUpAt)
    this.#network.accept(this)
  }
}

/** A core's timer: it dies with the life that set it. */
class LifeTimer extends Entry implements Timer {
  readonly #network: Network
  readonly #life: Life
  #call: (() => void) | undefined

  constructor(network: Network, life: Life, call: () => void) {
    super()
    this.#network = network
    this.#life = life
    this.#call = call
  }

  cancel(): void {
    if (this.#call === undefined) return
    this.#call = undefined
    this.#life.timers--
    this.#network.clock.cancel(this)
  }

  override fire(): void {
    const life = this.#life
    if (life.isAlive && life.peer.isPaused) this.#network.whenRunning(life, () => this.fire())
    else if (life.isAlive) this.#run()
  }

  #run(): void {
    const call = this.#call
    if (call === undefined) return
    this.#call = undefined
    this.#life.timers--
    this.#network.acts(this.#life.peer)
    call()
  }
}
