// Where it runs in a page of a browser: keys are bytes, and clients connect over WebSockets.
import { keyOfSeed, newKey } from '../overlay/libp2p/new-key.ts'
import { createTransport } from '../overlay/libp2p/page.ts'
import { Client, type ConnectOptions } from './client.ts'
import { checkKeyBytes, type LoadEdge } from './start.ts'

/** In a page `key` is 32 bytes, which the page keeps if it wants the same IDs the next time. */
export type PageOptions = ConnectOptions<Uint8Array>

/**
 * Connects to a node of the overlay, the first of these addresses that answers; they are those that nodes have for
 * WebSockets. When the node is gone later, the client tries them all again until one answers. Throws ADDRESS_INVALID,
 * KEY_INVALID, OPTION_INVALID or UNREACHABLE.
 */
export function connect(address: string | readonly string[], options: PageOptions = {}): Promise<Client> {
  return Client.connect(address, options, page)
}

function page(seed: Uint8Array | undefined): LoadEdge {
  if (seed !== undefined) checkKeyBytes('a key', seed)
  return async () => ({ key: await (seed === undefined ? newKey() : keyOfSeed(seed)), createTransport })
}
