// Starting on libp2p: what was given is checked first, and whatever goes wrong has a code and says what to do.
import type { Transport, TransportOptions } from '../overlay/libp2p/transport.ts'
import type { Core } from '../overlay/surroundings.ts'
import { SpillwayError } from '../policies/error.ts'
import { checkAddresses } from './address.ts'
import { checkType, inWords as shown } from './options.ts'

/** As `TransportOptions`, but for the key, which is a file here. */
export interface StartOptions<C extends Core> {
  readonly kind: 'node' | 'client'
  makeCore: TransportOptions<C>['makeCore']
  readonly listen?: readonly string[] | undefined
  readonly join?: readonly string[] | undefined
  readonly key?: string | undefined
  readonly psk?: Uint8Array | undefined
  readonly allowPeers?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}

const PSK_BYTES = 32

/**
 * Resolves when a node listens, or when a client is connected. Throws ADDRESS_INVALID, KEY_INVALID, LISTEN_FAILED,
 * UNREACHABLE, or the signal's reason.
 */
export async function start<C extends Core>(options: StartOptions<C>): Promise<Transport<C>> {
  const { kind, listen = [], join = [], key, psk, signal, ...rest } = options
  signal?.throwIfAborted()
  checkAddresses('listen', listen)
  checkAddresses('dial', join)
  checkPsk(psk)
  checkType('key', key, 'string', 'the name of a file')
  // libp2p takes half a second to load; those who only pack do not wait for it.
  const [{ loadKey }, { createTransport }] = await Promise.all([
    import('../overlay/libp2p/key.ts'),
    import('../overlay/libp2p/transport.ts'),
  ])
  const own = await loadKey(key).catch((cause) => {
    throw new SpillwayError('KEY_INVALID', `${key}: ${wrongWithKey(cause)}`, { cause })
  })
  try {
    return await createTransport(defined({ ...rest, kind, listen, join, key: own, psk, signal }))
  } catch (cause) {
    signal?.throwIfAborted()
    if (kind === 'node')
      throw new SpillwayError('LISTEN_FAILED', wrongWithListening(listen, cause as Error), { cause })
    throw new SpillwayError('UNREACHABLE', `no node answers at ${join.join(', ')}: ${reasonOf(cause)}`, {
      cause,
    })
  }
}

function checkPsk(psk: Uint8Array | undefined): void {
  if (psk === undefined || (psk instanceof Uint8Array && psk.length === PSK_BYTES)) return
  throw new SpillwayError(
    'KEY_INVALID',
    `a pre-shared key of ${psk instanceof Uint8Array ? `${psk.length} bytes` : `another kind: ${shown(psk)}`}, expected ${PSK_BYTES} bytes; make one with crypto.randomBytes(${PSK_BYTES})`,
  )
}

function wrongWithKey({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'expected a file in a folder that is there, and there is no such folder'
  if (code === 'EISDIR') return 'expected a file with a key, got a folder'
  if (code !== undefined) return `expected a file with a key, but it cannot be read or made: ${message}`
  return 'expected a file with a key that Spillway made, got something else; a file that is not there is made'
}

/** What may be undefined left out. */
function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}

/** As libp2p lists them, each with its stack. */
const LISTEN_ERROR = /^\s+(\/\S+): \w*Error: (.*)$/gm

function wrongWithListening(listen: readonly string[], { message }: Error): string {
  const each = Array.from(message.matchAll(LISTEN_ERROR), ([, address, reason = '']) => {
    return `${address}: ${inWords(reason)}`
  })
  return each.length > 0 ? each.join('; ') : `${listen.join(', ')}: ${inWords(message)}`
}

/** What libp2p and the system say, and what that means to someone who starts a node or a client. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/EADDRINUSE/, 'the address is in use; expected a free port, or 0 for any'],
  [/EADDRNOTAVAIL/, 'expected an address of this machine, or /ip4/0.0.0.0 for all of them'],
  [/EACCES/, 'this user may not listen there; expected a port from 1024'],
  [/ECONNREFUSED/, 'nobody listens there'],
  [/ENOTFOUND|EAI_AGAIN/, 'there is no host of that name'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no way to that host'],
  [/Unexpected Peer|UnexpectedPeer/i, 'another peer answers there than the one after /p2p/'],
  [
    /Missing newline|protocol selection|multistream|Message length|utf-?8|encoded data/i,
    'what answers there cannot be understood: no node, or one side may have a pre-shared key that the other has not',
  ],
  [
    /timeout|timed out|aborted/i,
    'no answer in time; one side may have a pre-shared key that the other has not, or they differ',
  ],
  [
    /ECONNRESET|EPIPE|closed|reset|end of|EOF/i,
    'it hung up: no node of Spillway, a full one, or one side has a pre-shared key that the other has not',
  ],
]

function inWords(reason: string): string {
  return MEANINGS.find(([pattern]) => pattern.test(reason))?.[1] ?? reason
}

/** The innermost cause that says something. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  return inner instanceof Error && inner.message !== '' ? reasonOf(inner) : inWords(message)
}
