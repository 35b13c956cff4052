// Control messages (PACK section 4, Procedure 1). They travel on a stream of their own and never stand in a data
// queue. On the wire each is a JSON object; `docs/wire.md` is its specification.
import type { Cursor } from '../buffers/item.ts'
import type { PolicySpec } from '../policies/policy.ts'
import type { Id } from './id.ts'

/** A policy class, by the hash of its canonical policy; the policy itself where the other side may not have it. */
export interface ClassSpec {
  readonly hash: string
  readonly policy?: PolicySpec
}

/** Where data goes, as in the paper's header field; SI is the stand-in of a receiver's root. */
export type Toward = 'SP' | 'SR' | 'RR' | 'RP' | 'RC' | 'SI'

/**
 * What a side has of what the other sends it: the next number it expects. `sender` is the name of a data part's
 * sender: a sender's ID, towards RP, RC and SI followed by the receiver's.
 */
export interface ToldCursor extends Cursor {
  readonly toward: Toward
  readonly sender: string
  readonly rid?: string
}

/** What a directory entry says of a sender. */
export interface SenderInfo {
  readonly sid: Id
  readonly name: string
  readonly owner: Id
  readonly tags: readonly string[]
}

/** What a node says of itself. */
export interface NodeInfo {
  readonly id: Id
  /** Multiaddrs without the peer id. */
  readonly addresses: readonly string[]
  /** 0 is idle, 1 is full. */
  readonly load: number
}

/** Messages between a client and its proxy. */
export type ClientMessage =
  /** C to SP: the client has this sender; `allow` limits who may subscribe, by the IDs of their clients. */
  | {
      kind: 'open'
      sid: Id
      name: string
      tags: readonly string[]
      epoch: number
      next: number
      generation: number
      allow?: readonly Id[]
    }
  | { kind: 'opened'; sid: Id }
  /** C to SP: no more will come from this sender. */
  | { kind: 'close'; sid: Id }
  /** C to RP, for one of its receivers. */
  | {
      kind: 'subscribe'
      sid: Id
      rid: Id
      name: string
      policy: PolicySpec
      /** Rises with every attachment of the client: the newer one counts. */
      generation: number
      cursor?: Cursor
      backlog?: 'digest-first'
    }
  | { kind: 'unsubscribe'; sid: Id; rid: Id }
  /** C to P: that attachment is over. What comes for the client is kept until it attaches again, here or elsewhere. */
  | { kind: 'detach'; generation: number }
  /** P to C: how full this node is, and some others. With `move`, one of them is to be attached to: this one leaves or is full. */
  | { kind: 'others'; load: number; nodes: readonly NodeInfo[]; move?: boolean }
  /** RP to C: the subscription stands, and begins here; without `first`, with the sender's first event. */
  | { kind: 'subscribed'; sid: Id; rid: Id; first?: Cursor }
  /** With a generation: that attachment is over, and a newer one counts; `newest` is that one's. */
  | { kind: 'refused'; sid: Id; rid?: Id; reason: string; generation?: number; newest?: number }
  | { kind: 'list'; request: number }
  | { kind: 'senders'; request: number; senders: readonly SenderInfo[]; last: boolean }
  /** C to RP: what does the sender's root have from `since` on? Without it: the newest event. */
  | { kind: 'poll'; request: number; sid: Id; since?: Cursor }
  /** C to RP: what does the receiver's root keep of its backlog from `since` on? With `preview`: what would all be as a digest? */
  | { kind: 'recall'; request: number; sid: Id; rid: Id; since?: Cursor; preview?: boolean }

/** Where a request goes: up the tree, to the sender's proxy, to its client (Procedure 1). */
export type WantToward = 'SR' | 'SP' | 'SC'

/** Messages along the path. Up: RP to RR, RR to SR through the tree, SR to SP, SP to C. Down: the answers. */
export type PathMessage =
  /** Towards the root of `key`, hop by hop; `hops` counts them, `origin` asked. */
  | { kind: 'route'; key: Id; hops: number; origin: Id; message: RoutedMessage }
  /** The root of a sender or receiver tells the node that asked. */
  | { kind: 'rooted'; key: Id }
  /** A node of the tree to its parent, SR to SP, SP to C: these classes are wanted; `all` of them as a refresh. */
  | {
      kind: 'want'
      toward: WantToward
      sid: Id
      classes: readonly ClassSpec[]
      all?: boolean
      noRedirect?: boolean
    }
  /** Down: these classes are installed from here up, and begin here. `allow`: whose receivers may have it. */
  | {
      kind: 'granted'
      sid: Id
      hashes: readonly string[]
      first?: Cursor
      ancestors: readonly Id[]
      allow?: readonly Id[]
      /** The sender is not known yet, nor whom it allows: the subscription stands, but gets nothing. */
      provisional?: boolean
    }
  | { kind: 'unwant'; toward: WantToward; sid: Id; hashes: readonly string[] }
  | { kind: 'denied'; sid: Id; hashes: readonly string[]; reason: string }
  /** A full node sends a joiner to one of its children. */
  | { kind: 'redirect'; sid: Id; to: Id }
  /**
   * RR to the proxy that a receiver left: what is still there goes to its new one, from the cursor on, and what another
   * root is still sending there up to `first`, where this one begins.
   */
  | { kind: 'collect'; sid: Id; rid: Id; to: Id; generation: number; cursor?: Cursor; first?: Cursor }
  /** Back: all of it is there, so that what the root kept can follow. */
  | { kind: 'collected'; sid: Id; rid: Id; generation: number }
  /** RP to RR: the receiver is away. What comes for it waits, as long as that attachment is its last. */
  | { kind: 'suspend'; sid: Id; rid: Id; generation: number }
  /** RR to the node that would be root after it: what waits for a receiver that is away comes to you as well. */
  | {
      kind: 'mirror'
      sid: Id
      rid: Id
      proxy: Id
      owner: Id
      policy: PolicySpec
      generation: number
      /** What the receiver expected next when it attached, and where it began. */
      cursor?: Cursor
      first?: Cursor
    }
  /** No more of that. Back: this node is the root now, and has it all. */
  | { kind: 'unmirror'; sid: Id; rid: Id }
  /** SR to the proxy that a sender left: it is to send what it still has. */
  | { kind: 'finish'; sid: Id; generation: number }
  /** Back: the root has all of it, so that what the new proxy has can follow. */
  | { kind: 'finished'; sid: Id; generation: number }
  /** N to its peers: it is about to leave. It is nobody's root and nobody's parent from now on, but still there. */
  | { kind: 'leave' }
  /** SR to RP, back along `path`, of which each node takes itself off, the last first; RP to C. */
  | { kind: 'polled'; request: number; path: readonly Id[]; answer: PollAnswer }

/** What a sender's root answers to a poll, and a receiver's root to a recall. */
export type PollAnswer =
  /** A piece of the items; more follow. Pieces count from 0. */
  | { kind: 'piece'; index: number; items: string }
  /** The last piece, if there are items. */
  | {
      kind: 'items'
      index: number
      items?: string
      /** Where the answer begins. */
      first: Cursor
      /** Whether there is more already. */
      more: boolean
      /** How long before the poll arrived the last of the items was published, by the root's clock. */
      phaseAdjustmentMs: number
      /** Over how long a time the next poll should be spread. */
      desynchronisationMs: number
    }
  /** To a recall: the last piece of the backlog's items, or of the preview's digests; without `items` nothing waits there. */
  | { kind: 'backlog'; index: number; items?: string }
  /** The root has not heard of such a sender, or of such a receiver. */
  | { kind: 'unknown' }
  /** Too many ask: come again after so long. */
  | { kind: 'busy'; retryAfterMs: number }
  | { kind: 'denied'; reason: string }

/** What is routed to the root of a key. */
export type RoutedMessage =
  /** SP to SR; again as a refresh. */
  | { kind: 'register'; sid: Id; proxy: Id; generation: number; allow?: readonly Id[] }
  | { kind: 'unregister'; sid: Id; proxy: Id }
  /** RP to RR; again as a refresh. `owner` is the receiver's client. */
  | {
      kind: 'subscribe'
      sid: Id
      rid: Id
      proxy: Id
      owner: Id
      policy: PolicySpec
      generation: number
      cursor?: Cursor
      /** The proxy has not been told yet that it stands. */
      pending?: boolean
      /** The receiver is detached: what comes for it waits at its root. */
      away?: boolean
      /** What waited while it was away stays at its root until it is recalled; unless told, it comes in order. */
      backlog?: 'digest-first'
    }
  /** `to`: that node is the receiver's root now. */
  | { kind: 'unsubscribe'; sid: Id; rid: Id; proxy: Id; to?: Id }
  /** RP to SR. `owner` is the client that asks; `path` the nodes that passed it on, RP first. */
  | { kind: 'poll'; request: number; sid: Id; owner: Id; path: readonly Id[]; since?: Cursor }
  /** RP to RR, as a poll. */
  | {
      kind: 'recall'
      request: number
      sid: Id
      rid: Id
      owner: Id
      path: readonly Id[]
      since?: Cursor
      preview?: boolean
    }

/** Messages of a link. */
export type LinkMessage =
  /** Every batch up to this one has been put into the next queues. */
  | { kind: 'ack'; number: number }
  | { kind: 'ping'; at: number }
  | { kind: 'pong'; at: number }
  /** Sent first on a connection: what this side expects next of what the other was sending. */
  | { kind: 'resume'; cursors: readonly ToldCursor[]; last: boolean }

export type ControlMessage = ClientMessage | PathMessage | LinkMessage
