// What a poll of a sender's root means to whoever pulls: which items, where to go on, and how to go easy on the root.

import { positionOf } from '../../buffers/block.ts'
import { type Cursor, type Item, nextAfter } from '../../buffers/item.ts'
import type { PollOutcome } from '../../overlay/client.ts'
import { SpillwayError } from '../../policies/error.ts'
import type { Answer, Overloaded } from './source.ts'

/** Whoever began before there was such a sender gets it from its first event on. */
export const BEFORE_THE_SENDER: Cursor = { epoch: 0, seq: 1 }

/** The answer, with events one by one. Throws REFUSED, or UNREACHABLE when there was none. */
export function answerOf(outcome: PollOutcome, since: Cursor | undefined): Answer<Item, Cursor> | Overloaded {
  switch (outcome.kind) {
    case 'items': {
      const { items, first, more, phaseAdjustmentMs, desynchronisationMs } = outcome
      const each = items.flatMap(apart)
      const publishedAt = each.flatMap(timesOf)
      const next = each.reduce(placeAfter, since ?? first)
      return { kind: 'answer', items: each, next, more, publishedAt, phaseAdjustmentMs, desynchronisationMs }
    }
    case 'unknown':
      return { kind: 'answer', items: [], next: since ?? BEFORE_THE_SENDER }
    case 'busy':
      return { kind: 'overloaded', retryAfterMs: outcome.retryAfterMs }
    case 'denied':
      throw new SpillwayError('REFUSED', outcome.reason)
    case 'failed':
      throw new SpillwayError('UNREACHABLE', outcome.reason)
    case 'backlog':
      throw new SpillwayError('UNREACHABLE', 'that is no answer to a poll')
  }
}

/** Each event on its own, so that it counts as delivered when it is. */
function apart(item: Item): Item[] {
  if (item.kind !== 'events') return [item]
  return Array.from({ length: item.to - item.from }, (_, i) => {
    return { ...item, from: item.from + i, to: item.from + i + 1 }
  })
}

function placeAfter(place: Cursor, item: Item): Cursor {
  if (item.kind === 'marker') return { epoch: item.epoch, seq: item.highest + 1 }
  return nextAfter(item) ?? place
}

function timesOf(item: Item): number[] {
  if (item.kind === 'events') return [item.block.time(positionOf(item, item.from))]
  return item.kind === 'digest' ? [item.toTime] : []
}
