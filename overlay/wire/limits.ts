// The limits of the wire (`docs/wire.md`, "Limits"). Peers may be strangers: a frame is read with memory in
// proportion to its size, and what a stream leaves behind is bounded.

/** What every frame begins with. */
export const WIRE_VERSION = 1

/** Bytes of a frame. A link fills at most 256 KiB, a quarter of its largest window, or sends one larger item. */
export const MAX_FRAME_BYTES = 1_048_576

/**
 * Parts, items, events, causes and values of states in one data frame, all together. Each may take only a byte of
 * the frame and up to some hundred of memory. What a link fills has at most half as many: none costs a queue less
 * than 8 bytes.
 */
export const MAX_FRAME_ENTRIES = 65_536

/** Names that a stream remembers, 2 MiB at most; when they are more, a part costs 32 bytes more. */
export const MAX_NAMES = 16_384

/** Schemas that a stream remembers, and the bytes they may cost together, by `schemaCost`. */
export const MAX_SCHEMAS = 4_096
export const MAX_SCHEMAS_BYTES = 1_048_576
/** What a schema costs besides its text, and the same for each of its tags: about what an object does. */
export const SCHEMA_OVERHEAD_BYTES = 32

/** Tags of a schema: an event of so many attributes is a table already. */
export const MAX_TAGS = 1_024
/** Bytes of all tags of a schema together: as many as the largest body has. */
export const MAX_TAGS_BYTES = 65_536

/** Causes of a digest: five buffers and the local one, a policy's 32 levels and its worst case are 198. */
export const MAX_CAUSES = 256
/** Bytes of a cause's buffer name that is not one of the six. */
export const MAX_BUFFER_NAME_BYTES = 64

/** Lists in lists in a digester's state; the digesters we know need 4. */
export const MAX_STATE_DEPTH = 8

/** Events of a run below which its encoding is not kept: making it again costs no more than finding it. */
export const MIN_KEPT_EVENTS = 16
/** Encodings kept for a block: links that drain at different speed cut it differently. */
export const MAX_KEPT_HEADS = 4

/** What control messages may have. Texts count characters, lists their members. */
export const controlLimits = Object.freeze({
  /** An endpoint's name. */
  name: 256,
  reason: 1_024,
  /** Characters and values of a policy as JSON; twice what a policy may have, since JSON quotes more than XML. */
  policy: 131_072,
  /** Objects in lists in objects of a policy; the language needs 5. */
  policyDepth: 8,
  /** Clients that may subscribe to a sender. */
  allow: 4_096,
  /** Policy classes of a sender, and the one of its root. */
  classes: 65,
  /** Nodes between SR and another of the tree; a tree of 10,000 nodes needs 6. */
  ancestors: 64,
  /** Hops towards a root. */
  hops: 64,
  cursors: 4_096,
  /** Of all `resume` of a connection together: what a link remembers of what a peer sent. */
  resumeCursors: 16_384,
  /** Other nodes that a client is told of, with the addresses of each. */
  nodes: 16,
  addresses: 16,
  address: 256,
  senders: 1_024,
  /** Of a poll's answer, as base64: 6 KiB, a second of a link of 50 kbit/s. */
  piece: 8_192,
  /** Pieces of an answer: the largest event has 64 KiB, and its tags as much. */
  pieces: 32,
  /** How long a root may ask to be left alone, in milliseconds: an hour. */
  waitMs: 3_600_000,
})
