// Where an item of a part ends. The item behind it usually goes on just there, and then says only how it differs:
// where a policy drops at random, digests and runs of an event or two take turns, and heads would be most of both.
import { positionOf } from '../../buffers/block.ts'
import type { Item } from '../../buffers/item.ts'

export interface Place {
  readonly epoch: number
  /** The number behind the item's last one. */
  readonly next: number
  /** Publish time of the item's last event. */
  readonly time: number
}

/** Differences between times beyond this are not written as varints: doubled they would not be safe integers. */
const MAX_TIME_DELTA = 2 ** 52 - 1

/** The place behind an item; a marker has none of its own. */
export function placeBehind(item: Item, before: Place | undefined): Place | undefined {
  switch (item.kind) {
    case 'events': {
      const last = positionOf(item, item.to - 1)
      const { block } = item
      return { epoch: block.epoch, next: block.seq(last) + 1, time: block.time(last) }
    }
    case 'digest':
      return { epoch: item.epoch, next: item.to + 1, time: item.toTime }
    case 'marker':
      return before
  }
}

/** Whether what begins here can be told by its difference to what ended at the place. */
export function follows(
  before: Place | undefined,
  epoch: number,
  first: number,
  time: number,
): before is Place {
  return before?.epoch === epoch && before.next === first && isDelta(before.time, time)
}

/** Whether a time can be told by its difference to another. */
export function isDelta(before: number, time: number): boolean {
  return (
    Number.isSafeInteger(before) && Number.isSafeInteger(time) && Math.abs(time - before) <= MAX_TIME_DELTA
  )
}
