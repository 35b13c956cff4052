// What the cores of nodes and clients ask of the world, and what they are told. libp2p is behind it in
// `overlay/libp2p/`, a simulator with a virtual clock in `test/sim/`; the core cannot tell which.
import type { Uint8ArrayList } from 'uint8arraylist'
import type { Id } from './id.ts'

/** A peer has one stream for each. Frames of a stream arrive in order or not at all. */
export type Stream = 'control' | 'data'

/** What is sent at once: bytes, or a list of them that belong together. Nobody may write them any more. */
export type Frame = Uint8Array | Uint8ArrayList

/** Who is at the other end of a connection; the transport has made sure of its key. */
export interface Peer {
  readonly id: Id
  /** A member of the overlay, or a host of endpoints. */
  readonly kind: 'node' | 'client'
  /** The multihash bytes of its peer id. */
  readonly key: Uint8Array
}

export interface Timer {
  cancel(): void
}

export interface Surroundings {
  /** Who this is. */
  readonly self: Peer
  /** In milliseconds. */
  now(): number
  /** A number in [0, 1). */
  random(): number
  after(delayMs: number, call: () => void): Timer
  /**
   * Sends a frame to a connected peer; to one that is not it does nothing. What was sent may be lost when the
   * connection breaks, and only then.
   */
  send(peer: Id, stream: Stream, frame: Frame): void
  /** Connects to a node; `connected` or `disconnected` tells the outcome. Does nothing when connected. */
  dial(peer: Id): void
  hangUp(peer: Id): void
  /** Up to so many nodes that are known here, without this one, the closest to the key first. */
  closest(key: Id, count: number): readonly Id[]
  /** The node is dead: it leaves the table until it is heard of again. */
  forget(peer: Id): void
}

/** A core: it never throws for what a peer sent, and does nothing by itself. */
export interface Core {
  connected(peer: Peer): void
  /** Also told when dialling failed. */
  disconnected(peer: Id): void
  received(peer: Id, stream: Stream, frame: Uint8Array): void
}
