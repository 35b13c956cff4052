// The items of an answer to a poll, on their way through control streams (`docs/wire.md`): a data frame as text, in pieces,
// because a large one would hold up heartbeats on a slow link. Nodes on the way pass pieces on and look into none.
import { concatBytes } from '@noble/hashes/utils.js'
import type { Item } from '../buffers/item.ts'
import type { Id } from './id.ts'
import { FrameDecoder, FrameEncoder } from './wire/data-frame.ts'
import { invalidFrame } from './wire/frame-error.ts'
import { controlLimits } from './wire/limits.ts'

/** Bytes of a piece; as base64 it is a third longer. */
const PIECE_BYTES = (controlLimits.piece / 4) * 3

/** The items as pieces, none for no items. */
export function piecesOf(sid: Id, items: readonly Item[], bytes: number): string[] {
  if (items.length === 0) return []
  const part = { slot: { buffer: 'RRB', sender: sid }, rid: undefined, taken: { items } }
  const frame = new FrameEncoder().encode({ number: 1, bytes, parts: [part] }).subarray()
  const pieces: string[] = []
  for (let at = 0; at < frame.length; at += PIECE_BYTES) {
    pieces.push(btoa(String.fromCharCode(...frame.subarray(at, at + PIECE_BYTES))))
  }
  return pieces
}

/** The items of all pieces of an answer. Throws FRAME_INVALID. */
export function itemsOf(sid: Id, pieces: readonly string[]): readonly Item[] {
  if (pieces.length === 0) return []
  const { parts } = new FrameDecoder().decode(concatBytes(...pieces.map(bytesOf)))
  const [part] = parts
  if (parts.length !== 1 || part!.sender !== sid) throw invalidFrame('is no answer to what was asked')
  return part!.items
}

function bytesOf(piece: string): Uint8Array {
  return Uint8Array.from(atob(piece), (character) => character.charCodeAt(0))
}
