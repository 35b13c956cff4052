// Packing a list of events at once, for those who have no buffer: what `Packing` does, with its defaults.
import { seeded } from './chance.ts'
import { type DecodedEvent, DecodedEvents } from './decoded.ts'
import type { Digest } from './digest.ts'
import { Packing, type PackSurroundings } from './pack.ts'
import type { Policy } from './policy.ts'

/**
 * The level, the top one unless told, and what packing asks of its surroundings: `now` is the latest publish time
 * unless told, `random` the same chance every time, `buffer` is "pack".
 */
export interface PackOptions extends Partial<PackSurroundings> {
  readonly level?: number
}

/** The packed queue in order: the entries that survive, and the digests where the others stood. Never the worst case. */
export function pack<E extends DecodedEvent>(
  policy: Policy,
  events: readonly E[],
  { level = policy.top, ...given }: PackOptions = {},
): (E | Digest)[] {
  if (!Number.isInteger(level) || level < 0 || level > policy.top)
    throw new RangeError(`level ${level}, expected a whole number from 0 to ${policy.top}`)
  const surroundings = { now: latestOf(events), random: seeded(1), buffer: 'pack', ...given }
  const { kept, digests } = new Packing(policy, new DecodedEvents(events), new Map(), surroundings)
    .climb(level)
    .finish()
  const items: (E | Digest)[] = []
  for (let i = 0; i < kept.length; i++) {
    for (const digest of digests.get(i) ?? []) items.push(digest)
    items.push(events[kept[i]!]!)
  }
  for (const digest of digests.get(kept.length) ?? []) items.push(digest)
  return items
}

function latestOf(events: readonly DecodedEvent[]): number {
  let latest = Number.NEGATIVE_INFINITY
  for (const { time } of events) latest = Math.max(latest, time)
  return latest
}
