// The key of a node or client: it signs its connections, and its IDs follow from it.
import { randomUUID } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { privateKeyFromProtobuf, privateKeyToProtobuf } from '@libp2p/crypto/keys'
import type { PrivateKey } from '@libp2p/interface'
import { newKey } from './new-key.ts'

/** Nobody outside `overlay/libp2p/` looks into it. */
export type Key = PrivateKey

/**
 * The key in this file; a new Ed25519 key, readable by its owner only, where there is no file yet. Without a file
 * name a new key each time. Throws when the file is there and holds no key.
 */
export async function loadKey(file?: string): Promise<Key> {
  if (file === undefined) return newKey()
  return (await readKey(file)) ?? (await makeKey(file))
}

async function readKey(file: string): Promise<Key | undefined> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return privateKeyFromProtobuf(Buffer.from(text.trim(), 'base64'))
  } catch (cause) {
    throw new Error(`${file} does not hold a private key`, { cause })
  }
}

/** Written aside and then linked, so that of two processes that start at once both read the same whole key. */
async function makeKey(file: string): Promise<Key> {
  const key = await newKey()
  const text = `${Buffer.from(privateKeyToProtobuf(key)).toString('base64')}\n`
  const aside = `${file}.${randomUUID()}`
  await writeFile(aside, text, { mode: 0o600, flag: 'wx' })
  try {
    await link(aside, file)
    return key
  } catch (error) {
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(file) : undefined
    if (other === undefined) throw error
    return other
  } finally {
    await unlink(aside)
  }
}
