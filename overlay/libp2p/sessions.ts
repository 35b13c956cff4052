// Who has a session with whom. A peer that is dialled gets two streams, greets them, and is connected when both
// are greeted back. When two nodes dial each other at once, both see both offers, and the one of the smaller ID is
// taken; an offer of which nothing has left yet gives way at once.
import type { Connection, Stream as Libp2pStream, PeerId } from '@libp2p/interface'
import { type Id, idOfPeer } from '../id.ts'
import type { Core, Frame, Peer, Stream } from '../surroundings.ts'
import { FramedStream, type FramedStreamLimits, type StreamEnd } from './framed-stream.ts'
import { type Greeting, newRun } from './greeting.ts'
import type { TransportCounters, TransportLimits } from './limits.ts'
import { protocolOf, Session, STREAMS, type Streams } from './session.ts'
import { Twins } from './twins.ts'

export interface SessionsInit {
  readonly self: Peer
  readonly limits: TransportLimits
  readonly counters: TransportCounters
  /** A connection to a node, an open one if there is any. */
  connect(node: Id, signal: AbortSignal): Promise<Connection>
  /** Whether the peer may be what it says it is. */
  admits(peer: PeerId, kind: Peer['kind']): boolean
  /** A node has a session now. */
  met(node: PeerId): void
}

/** Both streams of an inbound session, greeted by the other side and not yet by us. */
export interface Offer {
  readonly peer: Peer
  readonly connection: Connection
  readonly streams: Streams
  readonly greeting: Greeting
}

interface Attempt {
  /** 0 as long as nothing of it can have reached the peer. */
  number: number
  connection: Connection | undefined
  /** The core asked for it, and waits for the outcome. */
  isAsked: boolean
  readonly giveUp: AbortController
  readonly outcome: PromiseWithResolvers<void>
  /** Offers that lost the tie against this attempt; the peer takes them back when it takes ours. */
  readonly held: Offer[]
}

type State =
  | { readonly kind: 'reaching'; readonly attempt: Attempt }
  | { readonly kind: 'open'; readonly session: Session }

export class Sessions {
  readonly #init: SessionsInit
  readonly #core: Core
  readonly #states = new Map<Id, State>()
  readonly #twins: Twins
  readonly #run = newRun()
  #attempts = 0
  #isStopped = false

  constructor(init: SessionsInit, core: Core) {
    this.#init = init
    this.#core = core
    this.#twins = new Twins(init.limits, init.counters, (offer) => this.#offered(offer))
  }

  has(peer: Id): boolean {
    return this.#states.has(peer)
  }

  /** Whether the peer's session, or an attempt at one, is on this connection. */
  isOn(peer: Id, connection: Connection): boolean {
    const state = this.#states.get(peer)
    if (state === undefined) return false
    return connection === (state.kind === 'open' ? state.session.connection : state.attempt.connection)
  }

  send(peer: Id, stream: Stream, frame: Frame): void {
    const state = this.#states.get(peer)
    if (state?.kind === 'open') state.session.send(stream, frame)
  }

  /** The core is told the outcome. */
  dial(node: Id): void {
    void this.reach(node).catch(() => {})
    const state = this.#states.get(node)
    if (state?.kind === 'reaching') state.attempt.isAsked = true
  }

  /** Resolves when there is a session, rejects when it cannot be had. */
  reach(node: Id): Promise<void> {
    const state = this.#states.get(node)
    if (state?.kind === 'open') return Promise.resolve()
    if (state !== undefined) return state.attempt.outcome.promise
    if (this.#isStopped) return Promise.reject(new Error('stopped'))
    const attempt = newAttempt()
    this.#states.set(node, { kind: 'reaching', attempt })
    void this.#reach(node, attempt)
    return attempt.outcome.promise
  }

  /**
   * What was sent still leaves, if the peer takes it soon; if it does not even answer, nobody is there, and the
   * connection goes, too. The core is told nothing: it knows.
   */
  hangUp(peer: Id): void {
    const state = this.#states.get(peer)
    this.#states.delete(peer)
    if (state?.kind === 'open') void this.#close(state.session)
    else if (state !== undefined) giveUp(state.attempt, new Error('hung up'))
  }

  /** Takes a stream that a peer opened. */
  accept(kind: Peer['kind'], stream: Stream, raw: Libp2pStream, connection: Connection): void {
    if (this.#isStopped || !this.#init.admits(connection.remotePeer, kind)) {
      this.#init.counters.refusedPeers++
      raw.abort(new Error('not allowed'))
      return
    }
    const framed = new FramedStream(raw, this.#streamLimits(kind, 0))
    void this.#twins.arrived({ peer: peerOf(connection.remotePeer, kind), connection, stream, framed })
  }

  /** What was sent still leaves, if the peers take it before the signal. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#isStopped = true
    this.#twins.stop()
    const states = [...this.#states.values()]
    this.#states.clear()
    for (const state of states) if (state.kind === 'reaching') giveUp(state.attempt, new Error('stopped'))
    const sessions = states.flatMap((state) => (state.kind === 'open' ? [state.session] : []))
    await Promise.all(
      sessions.map(async (session) => {
        await session.close(signal)
        // With the connection goes what the peer has got and not read: it answers when it has read all.
        await session.isAnswered(signal)
      }),
    )
  }

  async #close(session: Session): Promise<void> {
    const signal = AbortSignal.timeout(this.#init.limits.closeMs)
    await session.close(signal)
    if (await session.isAnswered(signal)) return
    const { peer, connection } = session
    const state = this.#states.get(peer.id)
    const isInUse = state?.kind === 'open' && state.session.connection === connection
    if (!isInUse) connection.abort(new Error('nobody answers'))
  }

  #streamLimits(kind: Peer['kind'], earlyBytes: number): FramedStreamLimits {
    const { frameBytes, unsentBytes, stalledMs, burstBytes, clientBurstBytes } = this.#init.limits
    const most = kind === 'node' ? burstBytes : clientBurstBytes
    return { frameBytes, unsentBytes, stalledMs, burstBytes: most, earlyBytes }
  }

  async #reach(node: Id, attempt: Attempt): Promise<void> {
    try {
      const session = await this.#open(node, attempt)
      if (attempt.giveUp.signal.aborted) session.abort()
      else this.#establish(session)
      attempt.outcome.resolve()
    } catch (error) {
      if (!attempt.giveUp.signal.aborted) this.#failed(node, attempt, error)
    } finally {
      for (const offer of attempt.held) this.#decline(offer)
    }
  }

  #failed(node: Id, attempt: Attempt, error: unknown): void {
    this.#init.counters.failedDials++
    this.#states.delete(node)
    attempt.outcome.reject(error)
    if (attempt.isAsked) this.#tell(() => this.#core.disconnected(node))
  }

  /** Starts again when the connection goes away under it, as one of two does after a simultaneous dial. */
  async #open(node: Id, attempt: Attempt): Promise<Session> {
    const { dialMs, dialTries } = this.#init.limits
    const signal = AbortSignal.any([attempt.giveUp.signal, AbortSignal.timeout(dialMs)])
    for (let tries = 1; ; tries++) {
      const connection = await this.#init.connect(node, signal)
      signal.throwIfAborted()
      attempt.number = ++this.#attempts
      attempt.connection = connection
      try {
        return await this.#greet(connection, attempt, signal)
      } catch (error) {
        // It may be open on our side only; the next dial must not get it again.
        if (signal.aborted && !attempt.giveUp.signal.aborted) connection.abort(new Error('nobody answers'))
        if (tries >= dialTries || signal.aborted || connection.status === 'open') throw error
      }
    }
  }

  async #greet(connection: Connection, attempt: Attempt, signal: AbortSignal): Promise<Session> {
    const streams = await this.#openStreams(connection, signal)
    const abort = () => abortAll(streams)
    signal.addEventListener('abort', abort, { once: true })
    try {
      for (const stream of STREAMS) streams[stream].greet({ run: this.#run, attempt: attempt.number })
      const [theirs] = await Promise.all([streams.control.greeting, streams.data.greeting])
      signal.throwIfAborted()
      return new Session(peerOf(connection.remotePeer, 'node'), connection, streams, theirs)
    } catch (error) {
      abort()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async #openStreams(connection: Connection, signal: AbortSignal): Promise<Streams> {
    const protocols = STREAMS.map((stream) => protocolOf(this.#init.self.kind, stream))
    const opened = await Promise.allSettled(
      protocols.map((protocol) => connection.newStream(protocol, { signal })),
    )
    const failed = opened.find((result) => result.status === 'rejected')
    if (failed !== undefined) {
      for (const result of opened) if (result.status === 'fulfilled') result.value.abort(failed.reason)
      throw failed.reason
    }
    const [control, data] = opened.map((result) => {
      const { value } = result as PromiseFulfilledResult<Libp2pStream>
      return new FramedStream(value, this.#streamLimits('node', this.#init.limits.burstBytes))
    })
    return { control: control!, data: data! }
  }

  #offered(offer: Offer): void {
    const { id } = offer.peer
    const state = this.#states.get(id)
    if (state?.kind === 'open' && isSettled(offer.greeting, state.session.theirs)) this.#decline(offer)
    else if (state?.kind === 'reaching' && this.#wins(state.attempt, id)) state.attempt.held.push(offer)
    else this.#take(offer)
  }

  /** Only streams that may be at the other side already can lose or win. */
  #wins(attempt: Attempt, peer: Id): boolean {
    return attempt.number > 0 && this.#init.self.id < peer
  }

  #take(offer: Offer): void {
    const { id } = offer.peer
    const before = this.#states.get(id)
    if (before?.kind === 'open') this.#over(before.session)
    const state = this.#states.get(id)
    if (state?.kind === 'reaching') giveUp(state.attempt)
    for (const stream of STREAMS) offer.streams[stream].greet({ run: this.#run, attempt: this.#attempts })
    this.#establish(new Session(offer.peer, offer.connection, offer.streams, offer.greeting))
  }

  #decline(offer: Offer): void {
    this.#init.counters.strayStreams++
    abortAll(offer.streams)
  }

  #establish(session: Session): void {
    const { peer, connection } = session
    this.#states.set(peer.id, { kind: 'open', session })
    if (peer.kind === 'node') this.#init.met(connection.remotePeer)
    this.#tell(() => this.#core.connected(peer))
    session.start({
      received: (_, stream, frame) => this.#received(peer.id, stream, frame),
      ended: (ended, end) => this.#ended(ended, end),
    })
  }

  #received(peer: Id, stream: Stream, frame: Uint8Array): void {
    try {
      this.#core.received(peer, stream, frame)
    } catch (error) {
      surface(error)
    }
  }

  #ended(session: Session, end: StreamEnd): void {
    const { counters } = this.#init
    if (end === 'malformed') counters.malformedFrames++
    if (end === 'overfull') {
      counters.overfullPeers++
      session.connection.abort(new Error('the peer does not read'))
    }
    this.#over(session)
  }

  #over(session: Session): void {
    const { id } = session.peer
    session.abort()
    const state = this.#states.get(id)
    if (state?.kind !== 'open' || state.session !== session) return
    this.#states.delete(id)
    this.#tell(() => this.#core.disconnected(id))
  }

  #tell(call: () => void): void {
    if (this.#isStopped) return
    try {
      call()
    } catch (error) {
      surface(error)
    }
  }
}

export function peerOf(peer: PeerId, kind: Peer['kind']): Peer {
  const key = peer.toMultihash().bytes
  return { id: idOfPeer(key), kind, key }
}

function newAttempt(): Attempt {
  const outcome = Promise.withResolvers<void>()
  outcome.promise.catch(() => {})
  return {
    number: 0,
    connection: undefined,
    isAsked: false,
    giveUp: new AbortController(),
    outcome,
    held: [],
  }
}

/** Without a reason there is a session by another way. */
function giveUp(attempt: Attempt, reason?: Error): void {
  attempt.giveUp.abort()
  if (reason === undefined) attempt.outcome.resolve()
  else attempt.outcome.reject(reason)
}

function isSettled(offered: Greeting, settled: Greeting): boolean {
  return offered.run === settled.run && offered.attempt <= settled.attempt
}

function abortAll(streams: Streams): void {
  for (const stream of STREAMS) streams[stream].abort()
}

/** A core that throws has a broken invariant; that is nobody's stream's fault and must not look like it. */
function surface(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
