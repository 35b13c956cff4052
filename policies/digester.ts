// The contract of a digester (PACK section 2): a summary of dropped events that stays small and merges.
import type { Events, Value } from './event.ts'

/** Plain data that can be copied and sent: numbers, strings, booleans, null, bytes, and arrays of those. */
export type State = unknown

/** What a receiver is shown of a digester: JSON. */
export type Shown = number | string | boolean | null | readonly Shown[] | { readonly [key: string]: Shown }

/**
 * A digester's state is a plain value that only `add` and `merge` change, and only their first argument.
 * Merging is associative, in queue order; merging into a fresh state copies. A state has a bounded size.
 * Missing values are skipped.
 */
export interface DigesterDefinition<S = State> {
  /** Upper case by custom. */
  readonly name: string
  /** One line for people: what the digester tells; `attribute` in backquotes is shown as the one it reads. */
  readonly summary: string
  /** Whether the digester reads an attribute, so that the policy must name one. */
  readonly attribute: boolean
  create(): S
  /** Adds the events at positions `from` to `to - 1`; they follow what the state has already. */
  add(state: S, values: readonly Value[], from: number, to: number, events: Events): void
  /** Adds what `later` covers, which follows what `state` has already. */
  merge(state: S, later: S): void
  /** What the receiver is shown. */
  show(state: S): Shown
}

/** A digester definition with its state type inferred. */
export function defineDigester<S>(definition: DigesterDefinition<S>): DigesterDefinition {
  return definition as unknown as DigesterDefinition
}
