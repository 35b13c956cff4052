// Options that an application hands in. JavaScript takes whatever it is given; a misspelt option must not be a default.
import type { QueueBounds } from '../buffers/queue.ts'
import { SpillwayError } from '../policies/error.ts'
import { suggestion } from '../policies/suggestion.ts'

/** Less would be packed away before it could be sent: an event alone may have 64 KiB. */
export const MIN_BUDGET_BYTES = 1_048_576

const BOUNDS: readonly string[] = ['items', 'bytes'] satisfies (keyof QueueBounds)[]
/** Of Ed25519, which is what Spillway makes, and what else libp2p has. */
const PEER_ID = /^(?:12D3KooW[1-9A-HJ-NP-Za-km-z]{44}|(?!12D3KooW)[1-9A-HJ-NP-Za-km-z]{46,70})$/

/** Throws OPTION_INVALID when there are other options than these. */
export function checkOptions(call: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null)
    throw invalid(`${call}: expected an object of options, got ${inWords(given)}`)
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    const expected = suggestion(name, known) || `, expected ${known.join(', ')}`
    throw invalid(`${call}: unknown option "${name}"${expected}`)
  }
}

/** Throws OPTION_INVALID for bounds that no queue can have. */
export function checkQueue(call: string, queue: Partial<QueueBounds> | undefined): void {
  if (queue === undefined) return
  checkOptions(`${call}: queue`, queue, BOUNDS)
  checkWhole(`${call}: queue.items`, queue.items, 1)
  checkWhole(`${call}: queue.bytes`, queue.bytes, 1)
}

/** Throws OPTION_INVALID for what is given and no whole number from `low`. */
export function checkWhole(option: string, value: number | undefined, low: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= low)) return
  throw invalid(`${option}: expected a whole number from ${low}, got ${inWords(value)}`)
}

/** Throws OPTION_INVALID for what is given and no list of texts. */
export function checkList(option: string, value: readonly string[] | undefined): void {
  if (value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'))) return
  throw invalid(`${option}: expected a list of texts, got ${inWords(value)}`)
}

/** Throws OPTION_INVALID for what is no peer id. */
export function checkPeers(peers: readonly string[]): void {
  const wrong = peers.find((peer) => !PEER_ID.test(peer))
  if (wrong === undefined) return
  throw invalid(
    `expected a peer id, as it stands after /p2p/ in the addresses of a node, got ${inWords(wrong)}`,
  )
}

/** Throws OPTION_INVALID for what is given and none of these. */
export function checkChoice(option: string, value: unknown, known: readonly string[]): void {
  if (value === undefined || known.includes(value as string)) return
  throw invalid(`${option}: expected ${known.join(' or ')}, got ${inWords(value)}`)
}

/** Throws OPTION_INVALID for what is given and not of this type. */
export function checkType(
  option: string,
  value: unknown,
  type: 'string' | 'function' | 'boolean',
  what: string,
): void {
  if (value === undefined || typeof value === type) return
  throw invalid(`${option}: expected ${what}, got ${inWords(value)}`)
}

const SHOWN_CHARACTERS = 40

/** A value that was not expected, short enough for a message. */
export function inWords(value: unknown): string {
  if (typeof value === 'string') return `the text ${quoted(value)}`
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Uint8Array) return 'bytes'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

/** A name as it was given, short enough for a message. */
export function quoted(name: unknown): string {
  if (typeof name !== 'string') return inWords(name)
  return JSON.stringify(name.length <= SHOWN_CHARACTERS ? name : `${name.slice(0, SHOWN_CHARACTERS)}…`)
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('OPTION_INVALID', message)
}
