// What the roles of a node ask of the node they are played on.
import type { Item } from '../buffers/item.ts'
import type { Link } from '../buffers/link.ts'
import type { Policy, PolicySpec } from '../policies/policy.ts'
import type { ControlMessage, RoutedMessage } from './control.ts'
import type { Id } from './id.ts'

export interface Host {
  readonly id: Id
  /** In milliseconds. */
  now(): number
  /** The link that leads to a peer, or to this node itself. */
  linkTo(peer: Id): Link
  /** Tells a peer, or this node itself. */
  tell(peer: Id, message: ControlMessage): void
  /** Hands items to a receiver whose proxy is this node itself. */
  handOver(receiver: string, rid: string | undefined, items: readonly Item[]): void
  /** Sends towards the root of a key, which answers with `rooted`. */
  route(key: Id, message: RoutedMessage): void
  /** The live node closest to the key, if there is one closer than this node. */
  nextHop(key: Id): Id | undefined
  /** The live node that is closest to the key besides this one. */
  standIn(key: Id): Id | undefined
  /** Whether this node has heard that there is such a sender. */
  isAnnounced(sid: Id): boolean
  /** Whether a peer is connected, or this node itself. */
  isThere(peer: Id): boolean
  /** Whether a peer, or this node itself, is about to leave. */
  isLeaving(peer: Id): boolean
  /** Compiles a policy, once. Throws POLICY_INVALID or POLICY_LIMIT. */
  compile(spec: PolicySpec): Policy
}

/** What somebody left behind with another node is waited for so long. */
export const HANDOVER_MS = 15_000

/** Soft state is told again this often, and goes when it was not told for `LEASE_MS`. */
export const REFRESH_MS = 5_000
export const LEASE_MS = 20_000
