// Where it runs on a machine, that is in Node: keys are files, and clients connect over TCP and WebSockets.
import { SpillwayError } from '../policies/error.ts'
import { Client, type ConnectOptions } from './client.ts'
import { checkType } from './options.ts'
import type { LoadEdge } from './start.ts'

/**
 * Connects to a node of the overlay, the first of these addresses that answers. When the node is gone later, the
 * client tries them all again until one answers. Throws ADDRESS_INVALID, KEY_INVALID, OPTION_INVALID or UNREACHABLE.
 */
export function connect(address: string | readonly string[], options: ConnectOptions = {}): Promise<Client> {
  return Client.connect(address, options, machine)
}

/** The edge of a machine. `key` is a file; throws OPTION_INVALID for what cannot be one. */
export function machine(key: string | undefined): LoadEdge {
  checkType('key', key, 'string', 'the name of a file')
  return async () => {
    const [{ loadKey }, { createTransport }] = await Promise.all([
      import('../overlay/libp2p/key.ts'),
      import('../overlay/libp2p/machine.ts'),
    ])
    const own = await loadKey(key).catch((cause) => {
      throw new SpillwayError('KEY_INVALID', `${key}: ${wrongWithKey(cause)}`, { cause })
    })
    return { key: own, createTransport }
  }
}

function wrongWithKey({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'expected a file in a folder that is there, and there is no such folder'
  if (code === 'EISDIR') return 'expected a file with a key, got a folder'
  if (code !== undefined) return `expected a file with a key, but it cannot be read or made: ${message}`
  return 'expected a file with a key that Spillway made, got something else; a file that is not there is made'
}
