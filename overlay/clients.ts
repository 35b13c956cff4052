// The clients of a node as it sees them (MHOST, PACK section 3): attached, detached, departed. It tells them of other
// nodes, and sends them on to those when it is about to leave, or has more of them than it wants.
import type { ControlMessage, NodeInfo } from './control.ts'
import type { Id } from './id.ts'
import { controlLimits } from './wire/limits.ts'

export type ClientState = 'attached' | 'detached' | 'departed'

export interface ClientsHost {
  /** How full the node is: 1 is full. */
  readonly load: number
  /** The other nodes, as far as this one has heard. */
  members(): readonly NodeInfo[]
  tell(client: Id, message: ControlMessage): void
  random(): number
  /** Told of every change of a client's state. */
  changed(client: Id, state: ClientState): void
}

/** Nodes that a client is told of, drawn from so many that have the most room. */
const TOLD_NODES = 8
const POOL_NODES = 32
/** Who is crowded sends clients to nodes that are less full than this. */
const HAS_ROOM = 0.8
/** Clients that are sent on at the same time do not all go to the node that is the least full. */
const LOAD_BLUR = 0.2
/** Those that stay are told again every so many refreshes. */
const TELL_EVERY = 6

export class Clients {
  readonly #host: ClientsHost
  readonly #max: number
  /** Who attached last is the last. */
  readonly #states = new Map<Id, Exclude<ClientState, 'departed'>>()
  #attached = 0
  #isLeaving = false
  #pool: readonly NodeInfo[] | undefined
  #refreshes = 0

  constructor(host: ClientsHost, max: number) {
    this.#host = host
    this.#max = max
  }

  /** How many there are, attached or not. */
  get size(): number {
    return this.#states.size
  }

  /** How many are attached, of those that may be. */
  get fill(): number {
    return this.#max === 0 ? 1 : this.#attached / this.#max
  }

  become(client: Id, state: ClientState): void {
    const before = this.#states.get(client)
    if (before === state || (before === undefined && state !== 'attached')) return
    if (before === 'attached') this.#attached--
    this.#states.delete(client)
    if (state !== 'departed') this.#states.set(client, state)
    this.#host.changed(client, state)
    if (state !== 'attached') return
    this.#attached++
    this.#tell(client, this.#isLeaving || this.#attached > this.#max)
  }

  /** From now on all clients are sent on. */
  leave(): void {
    this.#isLeaving = true
    this.refresh()
  }

  /** Looks where there is room, and tells those that are to go again, and now and then the others. */
  refresh(): void {
    this.#pool = undefined
    let toSendOn = this.#isLeaving ? this.#attached : Math.max(0, this.#attached - this.#max)
    const isTurn = this.#refreshes++ % TELL_EVERY === 0
    if (toSendOn === 0 && !isTurn) return
    for (const [client, state] of [...this.#states].reverse()) {
      if (state !== 'attached' || (toSendOn === 0 && !isTurn)) continue
      this.#tell(client, toSendOn > 0)
      if (toSendOn > 0) toSendOn--
    }
  }

  #tell(client: Id, isSentOn: boolean): void {
    this.#pool ??= this.#roomiest(this.#host.members(), POOL_NODES).map(tellable)
    const nodes = this.#roomiest(this.#pool, TOLD_NODES)
    const isTakenIn = this.#isLeaving || nodes.some(({ load }) => load < HAS_ROOM)
    const move = isSentOn && isTakenIn && nodes.length > 0 ? { move: true } : {}
    this.#host.tell(client, { kind: 'others', load: this.#host.load, nodes, ...move })
  }

  #roomiest(nodes: readonly NodeInfo[], count: number): readonly NodeInfo[] {
    const blurred = nodes.map((node) => ({ node, load: node.load + LOAD_BLUR * this.#host.random() }))
    const sorted = blurred.sort((a, b) => a.load - b.load).slice(0, count)
    return sorted.map(({ node }) => node)
  }
}

/** A node announces whatever addresses its machine has; a message to a client has room for some. */
function tellable({ id, addresses, load }: NodeInfo): NodeInfo {
  const fitting = addresses.filter(({ length }) => length <= controlLimits.address)
  return { id, addresses: fitting.slice(0, controlLimits.addresses), load }
}
