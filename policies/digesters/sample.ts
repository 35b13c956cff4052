// SAMPLE: a uniform sample without chance. Every event has a priority, a hash of its epoch and number, and the
// events with the lowest are kept (bottom-k: Cohen and Kaplan, "Summarizing data using bottom-k sketches",
// PODC 2007, section 1), so that every hop that sees the same events keeps the same sample.
import { defineDigester } from '../digester.ts'
import { isMissing } from '../event.ts'
import { hashNumber } from './distinct.ts'
import { type Excerpt, excerptOf, showExcerpt } from './first-last.ts'

/** Values in a sample: a handful to look at, 2 KiB of the longest strings. */
export const SAMPLE_SIZE = 8

/** One event of the sample. Never changes, so states may share it. */
type Entry = readonly [priority: number, epoch: number, seq: number, value: Excerpt]

/** Entries by rising priority, at most SAMPLE_SIZE. */
export const SAMPLE = defineDigester<Entry[]>({
  name: 'SAMPLE',
  summary: `a uniform sample of ${SAMPLE_SIZE} values, in order`,
  attribute: true,
  create: () => [],
  add(state, values, from, to, events) {
    for (let i = from; i < to; i++) {
      const value = values[i]
      if (isMissing(value)) continue
      const epoch = events.epoch(i)
      const seq = events.seq(i)
      const priority = priorityOf(epoch, seq)
      if (hasRoom(state, priority)) insert(state, [priority, epoch, seq, excerptOf(value)])
    }
  },
  merge(state, later) {
    for (const entry of later) {
      if (hasRoom(state, entry[0])) insert(state, entry)
    }
  },
  show: (state) => [...state].sort(inSequence).map((entry) => showExcerpt(entry[3])),
})

/** The hash by which an event is in a sample or not: 53 bits. */
export function priorityOf(epoch: number, seq: number): number {
  return hashNumber(seq, hashNumber(epoch, 0))
}

function hasRoom(state: readonly Entry[], priority: number): boolean {
  return state.length < SAMPLE_SIZE || priority <= state[SAMPLE_SIZE - 1]![0]
}

function insert(state: Entry[], entry: Entry): void {
  let place = state.length
  while (place > 0 && byPriority(entry, state[place - 1]!) < 0) place--
  state.splice(place, 0, entry)
  if (state.length > SAMPLE_SIZE) state.pop()
}

/** Events of equal priority go by sequence, so that the sample does not depend on the order of merging. */
function byPriority(a: Entry, b: Entry): number {
  return a[0] - b[0] || inSequence(a, b)
}

function inSequence(a: Entry, b: Entry): number {
  return a[1] - b[1] || a[2] - b[2]
}
