// How the commands reach the overlay: the options they share, and what those hold. libp2p is loaded only when a command
// really connects, so that help and mistakes in the options cost nothing.
import { readFile } from 'node:fs/promises'
import { checkAddresses, type Use } from '../endpoints/address.ts'
import type { Client } from '../endpoints/client.ts'
import { SpillwayError } from '../policies/error.ts'
import { type Io, UsageError } from './options.ts'

/** Where a client attaches. */
export const AT = {
  value: 'ADDR',
  required: true,
  many: true,
  help: 'Address of a node, as `spillway node` prints it. Of several, the first that answers, and the others when it is gone.',
} as const

export const CLIENT_KEY = {
  value: 'FILE',
  help:
    "The file with this client's key, made if it is not there. IDs of senders follow from it; without it there is a new " +
    'key, and so a new ID, each time. A key belongs to one running client at a time.',
} as const

export const PSK = {
  value: 'FILE',
  help: 'A file with 64 hex digits, the same for all nodes and clients of a private overlay: openssl rand -hex 32 > FILE.',
} as const

export interface Attachment {
  readonly at: readonly string[]
  readonly key: string | undefined
  readonly psk: string | undefined
  /** As `connect` has it. */
  readonly roams?: boolean
}

/** A client, and what is known of its node. */
export interface Attached {
  readonly client: Client
  readonly node: NodeWatch
}

/**
 * A client at one of the addresses; stderr is told when its node is gone, and when one is there again. The signal ends
 * the attempt, not the client. Throws UNREACHABLE or KEY_INVALID, or UsageError when they are no addresses.
 */
export async function attach(
  command: string,
  { at, key, psk, roams = true }: Attachment,
  io: Io,
  signal: AbortSignal,
): Promise<Attached> {
  checkOption(command, 'at', () => checkAddresses('dial', at))
  const shared = psk === undefined ? {} : { psk: await readPsk(psk) }
  const { connect } = await import('../endpoints/machine.ts')
  const attempt = new AbortController()
  const giveUp = () => attempt.abort(signal.reason)
  signal.addEventListener('abort', giveUp)
  if (signal.aborted) giveUp()
  const own = key === undefined ? {} : { key }
  const node = new NodeWatch(io, key !== undefined)
  const attachment = (isAttached: boolean) => node.told(isAttached)
  try {
    return {
      client: await connect(at, { ...own, ...shared, roams, attachment, signal: attempt.signal }),
      node,
    }
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** A node that is lost sooner than this after it was found, */
const SHORT_STAY_MS = 1_000
/** so many times in a row, has somebody else of the same name: of two connections of one key it keeps the newer. */
const SHORT_STAYS = 3

/** Whether a client has its node. Says on stderr when that changes. */
export class NodeWatch {
  readonly #io: Io
  readonly #hasKey: boolean
  readonly #listeners = new Set<() => void>()
  #isAttached = false
  #wasAttached = false
  #attachedAt = 0
  #shortStays = 0

  constructor(io: Io, hasKey: boolean) {
    this.#io = io
    this.#hasKey = hasKey
  }

  get isAttached(): boolean {
    return this.#isAttached
  }

  /** Told by the client. */
  told(isAttached: boolean): void {
    if (isAttached === this.#isAttached) return
    this.#isAttached = isAttached
    if (isAttached) this.#attached()
    else this.#detached()
    for (const listener of [...this.#listeners]) listener()
  }

  /** Calls back when it changes; returns how to end that. */
  whenChanged(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves when there is a node; rejects with the signal's reason. */
  async attached(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#isAttached) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = () => reject(signal.reason)
    const forget = this.whenChanged(resolve)
    signal.addEventListener('abort', abort)
    await promise.finally(() => {
      forget()
      signal.removeEventListener('abort', abort)
    })
  }

  #attached(): void {
    this.#attachedAt = performance.now()
    if (this.#wasAttached && !this.#isContended) this.#io.stderr.write('a node is there again\n')
    this.#wasAttached = true
  }

  #detached(): void {
    const wasShort = performance.now() - this.#attachedAt < SHORT_STAY_MS
    this.#shortStays = wasShort && this.#hasKey ? this.#shortStays + 1 : 0
    if (this.#shortStays === SHORT_STAYS)
      this.#io.stderr.write(
        'another client with this key seems to be connected; a key belongs to one running client at a time\n',
      )
    if (!this.#isContended) this.#io.stderr.write('the node is gone; trying again until one answers\n')
  }

  /** Said once: the two throw each other out for as long as they run. */
  get #isContended(): boolean {
    return this.#shortStays >= SHORT_STAYS
  }
}

/** Mistakes in the addresses that an option has, as wrong use. */
export function checkAddressOption(
  command: string,
  option: string,
  use: Use,
  addresses: readonly string[],
): void {
  checkOption(command, option, () => checkAddresses(use, addresses))
}

/** What a check of an option's value throws, as wrong use of that option. */
export function checkOption(command: string, option: string, check: () => void): void {
  try {
    check()
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    throw new UsageError(command, `--${option}: ${error.message}`)
  }
}

/** The 32 bytes of a pre-shared key: hex digits, alone or as the last line of a libp2p swarm key. */
export async function readPsk(file: string): Promise<Uint8Array> {
  const advice = `expected a file with 64 hex digits; make one with: openssl rand -hex 32 > ${file}`
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new SpillwayError('KEY_INVALID', `${file}: cannot be read (${cause.code}), ${advice}`, { cause })
  })
  const digits = text.trim().split('\n').at(-1)!
  if (/^[\da-f]{64}$/i.test(digits)) return Buffer.from(digits, 'hex')
  throw new SpillwayError('KEY_INVALID', `${file}: ${advice}`)
}
