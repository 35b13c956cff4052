// Starting on libp2p: what was given is checked first, and whatever goes wrong has a code and says what to do.
import type { Key } from '../overlay/libp2p/key.ts'
import type { Transport, TransportOptions } from '../overlay/libp2p/transport.ts'
import type { Core } from '../overlay/surroundings.ts'
import { SpillwayError } from '../policies/error.ts'
import { checkAddresses } from './address.ts'
import { inWords as shown } from './options.ts'

/** As `TransportOptions`, but for the key, which comes with the edge. */
export interface StartOptions<C extends Core> {
  readonly kind: 'node' | 'client'
  makeCore: TransportOptions<C>['makeCore']
  readonly listen?: readonly string[] | undefined
  readonly join?: readonly string[] | undefined
  readonly psk?: Uint8Array | undefined
  readonly allowPeers?: readonly string[] | undefined
  /** What a node tells the others of itself: 0 is idle, 1 is full. */
  load?: (() => number) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Where it runs: what differs between a machine and a page of a browser. */
export interface Edge {
  readonly key: Key
  createTransport<C extends Core>(options: TransportOptions<C>): Promise<Transport<C>>
}

/** libp2p takes half a second to load; those who only pack do not wait for it. Rejects with KEY_INVALID. */
export type LoadEdge = () => Promise<Edge>

const KEY_BYTES = 32

/**
 * Resolves when a node listens, or when a client is connected. Throws ADDRESS_INVALID, KEY_INVALID, LISTEN_FAILED,
 * UNREACHABLE, or the signal's reason.
 */
export async function start<C extends Core>(options: StartOptions<C>, load: LoadEdge): Promise<Transport<C>> {
  const { kind, listen = [], join = [], psk, signal, ...rest } = options
  signal?.throwIfAborted()
  checkAddresses('listen', listen)
  checkAddresses('dial', join)
  checkPsk(psk)
  const { key, createTransport } = await load()
  try {
    return await createTransport(defined({ ...rest, kind, listen, join, key, psk, signal }))
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
  if (psk !== undefined) checkKeyBytes('a pre-shared key', psk)
}

/** Throws KEY_INVALID for what is not 32 bytes. */
export function checkKeyBytes(what: string, key: unknown): void {
  if (key instanceof Uint8Array && key.length === KEY_BYTES) return
  const got = key instanceof Uint8Array ? `of ${key.length} bytes` : `of another kind: ${shown(key)}`
  throw new SpillwayError(
    'KEY_INVALID',
    `${what} ${got}, expected ${KEY_BYTES} bytes; make one with crypto.getRandomValues(new Uint8Array(${KEY_BYTES}))`,
  )
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
  [
    /no valid addresses/i,
    'it cannot be dialled from here; a page of a browser reaches WebSockets only, addresses with /ws or /wss',
  ],
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
