// Faults as plain data: a schedule is made from a seed, can be printed, shortened by hand and replayed.
import { seeded } from '../../policies/chance.ts'
import type { Network } from './network.ts'

/** What happens to peers, by their names. One that does not apply (a crash of what is down) does nothing. */
export type Fault =
  /** `silent`: the host loses its power, and nobody sees a close. */
  | { readonly at: number; readonly kind: 'crash'; readonly peer: string; readonly silent?: boolean }
  | { readonly at: number; readonly kind: 'restart'; readonly peer: string }
  /** Silence between the group and everyone else, until `heal` of the same name. */
  | {
      readonly at: number
      readonly kind: 'partition'
      readonly name: string
      readonly group: readonly string[]
    }
  | { readonly at: number; readonly kind: 'heal'; readonly name: string }
  /** All links of the peer are slow, until `fast`. */
  | {
      readonly at: number
      readonly kind: 'slow'
      readonly peer: string
      readonly bytesPerSecond: number
      readonly latencyMs: number
    }
  | { readonly at: number; readonly kind: 'fast'; readonly peer: string }
  /** The peer reads nothing, until `unstick`. */
  | { readonly at: number; readonly kind: 'stick' | 'unstick'; readonly peer: string }
  /** The process stands still, until `resume`. */
  | { readonly at: number; readonly kind: 'pause' | 'resume'; readonly peer: string }
  /** A connection of the peer is reset, if it has one; `pick` in [0, 1) says which. */
  | { readonly at: number; readonly kind: 'break'; readonly peer: string; readonly pick: number }
  /** A node that was never there, or is down, joins; one leaves in order. */
  | { readonly at: number; readonly kind: 'join' | 'leave'; readonly peer: string }
  /** A client attaches to another node. */
  | { readonly at: number; readonly kind: 'move'; readonly peer: string; readonly to: string }
  /** A client is away, until it wakes: it asked, its connection is cut and nobody dials, or nothing reaches it. */
  | { readonly at: number; readonly kind: 'sleep'; readonly peer: string; readonly how: SleepKind }
  /** It attaches to a node, this one or another. */
  | { readonly at: number; readonly kind: 'wake'; readonly peer: string; readonly to: string }

export type SleepKind = 'asked' | 'cut' | 'silent'

/** What a scenario does for faults that are more than the network's. */
export interface FaultStage {
  readonly network: Network
  join(name: string): void
  leave(name: string): void
  move(client: string, to: string): void
  sleep(client: string, how: SleepKind): void
  wake(client: string, to: string): void
}

/** Applies faults; it remembers which partition has which name. */
export class FaultInjector {
  readonly #stage: FaultStage
  readonly #partitions = new Map<string, number>()

  constructor(stage: FaultStage) {
    this.#stage = stage
  }

  /** Does the fault now, whatever its time. */
  apply(fault: Fault): void {
    const { network } = this.#stage
    network.options.log?.(`${network.clock.now.toFixed(3)} fault ${JSON.stringify(fault)}`)
    switch (fault.kind) {
      case 'partition':
        this.#partition(fault.name, fault.group)
        return
      case 'heal':
        this.#heal(fault.name)
        return
      case 'join':
        this.#stage.join(fault.peer)
        return
      case 'leave':
        this.#stage.leave(fault.peer)
        return
      case 'move':
        this.#stage.move(fault.peer, fault.to)
        return
      case 'sleep':
        this.#stage.sleep(fault.peer, fault.how)
        return
      case 'wake':
        this.#stage.wake(fault.peer, fault.to)
        return
      default:
        this.#applyToPeer(fault)
    }
  }

  #partition(name: string, group: readonly string[]): void {
    if (this.#partitions.has(name)) return
    const { network } = this.#stage
    const peers = group.map((member) => network.find(member)).filter((peer) => peer !== undefined)
    this.#partitions.set(name, network.partition(peers))
  }

  #heal(name: string): void {
    const partition = this.#partitions.get(name)
    if (partition === undefined) return
    this.#partitions.delete(name)
    this.#stage.network.heal(partition)
  }

  #applyToPeer(fault: Extract<Fault, { peer: string }>): void {
    const { network } = this.#stage
    const peer = network.find(fault.peer)
    if (peer === undefined) return
    const isUp = peer.life !== undefined
    switch (fault.kind) {
      case 'crash':
        if (isUp) network.crash(peer, { silent: fault.silent === true })
        break
      case 'restart':
        if (!isUp) network.start(peer)
        break
      case 'slow':
        network.changePeer(peer, { bytesPerSecond: fault.bytesPerSecond, latencyMs: fault.latencyMs })
        break
      case 'fast':
        network.changePeer(peer)
        break
      case 'stick':
        if (isUp && !peer.isPaused) network.setReading(peer, false)
        break
      case 'unstick':
        if (!peer.isPaused) network.setReading(peer, true)
        break
      case 'pause':
        if (isUp) network.pause(peer)
        break
      case 'resume':
        if (peer.isPaused) network.resume(peer)
        break
      case 'break': {
        const pipes = [...(peer.life?.pipes.values() ?? [])]
        const pipe = pipes[Math.floor(fault.pick * pipes.length)]
        if (pipe !== undefined) network.breakLink(peer, pipe.to.peer)
      }
    }
  }
}

/** Faults that come from a seed, by how often each is chosen. */
export type FaultMix = Partial<
  Record<
    'crash' | 'silentCrash' | 'partition' | 'slow' | 'stick' | 'pause' | 'break' | 'join' | 'leave' | 'move',
    number
  >
>

export const MIXED: FaultMix = {
  crash: 4,
  silentCrash: 1,
  partition: 2,
  slow: 2,
  stick: 1,
  pause: 1,
  break: 3,
  join: 1,
  leave: 1,
  move: 1,
}

export interface FaultPlan {
  readonly seed: number
  readonly nodes: readonly string[]
  readonly clients: readonly string[]
  readonly fromMs: number
  readonly untilMs: number
  /** The mean time between two faults. */
  readonly everyMs: number
  /** The mean time a fault lasts. */
  readonly lastingMs: number
  readonly mix?: FaultMix
  /** Whether clients crash, too: their senders begin a new epoch then, their receivers a new receipt. */
  readonly crashClients?: boolean
}

/** The part of all nodes that may be down or cut off at a time: the rest must be able to go on. */
const MAX_DOWN = 1 / 3
const MAX_PARTITIONS = 3

/** A schedule of mixed faults, in the order of time; each ends before `untilMs`. */
export function seededFaults(plan: FaultPlan): Fault[] {
  return new FaultMaker(plan).make()
}

class FaultMaker {
  readonly #plan: FaultPlan
  readonly #random: () => number
  readonly #faults: Fault[] = []
  readonly #weights: readonly [keyof FaultMix, number][]
  /** Peers that have a fault, until when. */
  readonly #busy = new Map<string, number>()
  readonly #nodes: string[]
  /** When the partitions of now end. */
  #partitions: number[] = []
  #made = 0

  constructor(plan: FaultPlan) {
    this.#plan = plan
    this.#random = seeded(plan.seed ^ 0x66617574)
    this.#nodes = [...plan.nodes]
    this.#weights = Object.entries(plan.mix ?? MIXED) as [keyof FaultMix, number][]
  }

  make(): Fault[] {
    const { fromMs, untilMs, everyMs } = this.#plan
    for (let at = fromMs + this.#spread(everyMs); at < untilMs; at += this.#spread(everyMs)) {
      this.#one(Math.round(at))
    }
    return this.#faults.sort((a, b) => a.at - b.at)
  }

  #one(at: number): void {
    for (const [peer, until] of this.#busy) if (until <= at) this.#busy.delete(peer)
    this.#partitions = this.#partitions.filter((until) => until > at)
    const kind = this.#kind()
    const end = Math.min(this.#plan.untilMs, Math.round(at + this.#spread(this.#plan.lastingMs)))
    switch (kind) {
      case 'partition':
        this.#partition(at, end)
        return
      case 'join': {
        const peer = `n${this.#plan.nodes.length + this.#made++}`
        this.#nodes.push(peer)
        this.#faults.push({ at, kind, peer })
        return
      }
      case 'move':
        this.#move(at)
        return
      default:
        this.#lasting(kind, at, end)
    }
  }

  #lasting(kind: Exclude<keyof FaultMix, 'partition' | 'join' | 'move'>, at: number, end: number): void {
    const endsLife = kind === 'crash' || kind === 'silentCrash' || kind === 'leave'
    const peer = this.#free(!(endsLife && (kind === 'leave' || this.#plan.crashClients !== true)))
    if (peer === undefined) return
    this.#busy.set(peer, end)
    switch (kind) {
      case 'crash':
      case 'silentCrash':
        this.#faults.push({ at, kind: 'crash', peer, ...(kind === 'crash' ? {} : { silent: true }) })
        this.#faults.push({ at: end, kind: 'restart', peer })
        break
      case 'slow': {
        const bytesPerSecond = Math.round(2_000 * 50 ** this.#random())
        const latencyMs = Math.round(20 + 300 * this.#random())
        this.#faults.push({ at, kind, peer, bytesPerSecond, latencyMs }, { at: end, kind: 'fast', peer })
        break
      }
      case 'stick':
        this.#faults.push({ at, kind, peer }, { at: end, kind: 'unstick', peer })
        break
      case 'pause':
        this.#faults.push({ at, kind, peer }, { at: end, kind: 'resume', peer })
        break
      case 'break':
        this.#faults.push({ at, kind, peer, pick: Math.round(this.#random() * 999) / 1_000 })
        break
      case 'leave':
        this.#faults.push({ at, kind, peer }, { at: end, kind: 'join', peer })
        break
    }
  }

  #partition(at: number, end: number): void {
    if (this.#partitions.length >= MAX_PARTITIONS) return
    this.#partitions.push(end)
    const name = `p${this.#made++}`
    const size = 1 + Math.floor((this.#random() * this.#nodes.length) / 2)
    const group = this.#shuffled(this.#nodes).slice(0, size)
    for (const client of this.#plan.clients)
      if (this.#random() < size / this.#nodes.length) group.push(client)
    this.#faults.push({ at, kind: 'partition', name, group }, { at: end, kind: 'heal', name })
  }

  #move(at: number): void {
    const { clients } = this.#plan
    if (clients.length === 0) return
    const peer = clients[Math.floor(this.#random() * clients.length)]!
    const to = this.#nodes[Math.floor(this.#random() * this.#nodes.length)]!
    this.#faults.push({ at, kind: 'move', peer, to })
  }

  /** A peer without a fault; undefined when too many nodes have one. */
  #free(withClients: boolean): string | undefined {
    const busy = this.#nodes.filter((node) => this.#busy.has(node)).length
    const nodes = busy + 1 > this.#nodes.length * MAX_DOWN ? [] : this.#nodes
    const peers = (withClients ? [...nodes, ...this.#plan.clients] : nodes).filter(
      (one) => !this.#busy.has(one),
    )
    return peers[Math.floor(this.#random() * peers.length)]
  }

  #kind(): keyof FaultMix {
    const sum = this.#weights.reduce((total, [, weight]) => total + weight, 0)
    let at = this.#random() * sum
    for (const [kind, weight] of this.#weights) {
      at -= weight
      if (at < 0) return kind
    }
    return this.#weights[0]![0]
  }

  /** Exponential, of this mean. */
  #spread(mean: number): number {
    return -Math.log(1 - this.#random()) * mean
  }

  #shuffled(names: readonly string[]): string[] {
    const shuffled = [...names]
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = Math.floor(this.#random() * (i + 1))
      ;[shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!]
    }
    return shuffled
  }
}
