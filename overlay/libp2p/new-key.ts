// Keys without a file: new ones, and those that follow from bytes that somebody keeps.
import { generateKeyPair, generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import type { Key } from './key.ts'

export function newKey(): Promise<Key> {
  return generateKeyPair('Ed25519')
}

/** The same 32 bytes make the same key. */
export function keyOfSeed(seed: Uint8Array): Promise<Key> {
  return generateKeyPairFromSeed('Ed25519', seed)
}
