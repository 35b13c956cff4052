// IDs (PACK section 3): 256 bits, as 64 hex digits. Nodes and endpoints share one space; the root of an endpoint
// is the live node whose ID is closest to its own by XOR.
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'

/** 64 lower-case hex digits. */
export type Id = string

const ID = /^[0-9a-f]{64}$/

export function isId(text: unknown): text is Id {
  return typeof text === 'string' && ID.test(text)
}

/** The ID of a node or client, of its peer id's multihash bytes: the same as kad-dht's. */
export function idOfPeer(key: Uint8Array): Id {
  return bytesToHex(sha256(key))
}

/** The ID of a client's endpoint: only who has the peer's key can attach with it. */
export function idOfEndpoint(key: Uint8Array, name: string): Id {
  return bytesToHex(sha256(concatBytes(key, utf8ToBytes(name))))
}

/** Negative when `a` is closer to the key than `b`, positive when it is farther, 0 when they are the same. */
export function compareDistance(key: Id, a: Id, b: Id): number {
  for (let i = 0; i < key.length; i++) {
    const x = digit(a, i)
    const y = digit(b, i)
    if (x !== y) return (x ^ digit(key, i)) - (y ^ digit(key, i))
  }
  return 0
}

function digit(id: Id, i: number): number {
  const unit = id.charCodeAt(i)
  return unit <= 0x39 ? unit - 0x30 : unit - 0x57
}
