// What somebody would write by hand in place of the two benchmark policies: the filters of all levels fused
// into one loop, the digesters into another. The same result as packing, to the last cause: its yardstick.
import type { RE2JS } from 're2js'
import type { Cause, Digest } from '../policies/digest.ts'
import type { Events, Value } from '../policies/event.ts'

/** Decoded events as a hop has them: a column for each attribute, beside their numbers and times. */
export class Columns implements Events {
  readonly length: number
  readonly values: Readonly<Record<string, readonly Value[]>>
  /** Without a hole, as they come from a sender. */
  readonly #firstSeq = 1
  readonly #times: Float64Array

  constructor(values: Readonly<Record<string, readonly Value[]>>, times: Float64Array) {
    this.length = times.length
    this.values = values
    this.#times = times
  }

  epoch(): number {
    return 1
  }

  seq(position: number): number {
    return this.#firstSeq + position
  }

  time(position: number): number {
    return this.#times[position]!
  }

  columns(tags: readonly string[]): readonly (readonly Value[])[] {
    return tags.map((tag) => this.values[tag]!)
  }
}

/** A packed queue, in order: positions of events, and digests. */
export type Fused = (number | Digest)[]

/** Figure 2 at level 3: DELTA 5, drop WITHIN 50 to 100, LATEST 10; digests of MEAN and COUNT. */
export function fusedWard(events: Columns, policy: string): Fused {
  const dropped = new Uint8Array(events.length)
  const pulses = events.values.PulseRate!
  const latest: number[] = []
  let reference = Number.NaN
  for (let i = 0; i < events.length; i++) {
    const value = pulses[i]
    if (typeof value === 'number') {
      if (Math.abs(value - reference) < 5) {
        dropped[i] = 1
        continue
      }
      if (!Number.isNaN(value)) reference = value
      if (value >= 50 && value <= 100) {
        dropped[i] = 2
        continue
      }
    }
    dropped[i] = 3
    latest.push(i)
  }
  for (const i of latest.slice(-10)) dropped[i] = 0
  return collect(events, dropped, 3, policy, pulses)
}

/** Section 7's six levels: EQ, drop INSET, drop MATCH, FIRST, GUNIQ, drop EVERY 3; digests of COUNT. */
export function fusedLocator(events: Columns, accessPoint: RE2JS, policy: string): Fused {
  const dropped = new Uint8Array(events.length)
  const types = events.values.type!
  const actions = events.values.action!
  const hosts = events.values.host!
  const points = events.values.ap!
  const seen = new Set<unknown>()
  let departed = false
  let passed = 0
  for (let i = 0; i < events.length; i++) {
    const action = actions[i]
    const host = hosts[i]
    if (types[i] !== 'Info') dropped[i] = 1
    else if (action === 'Authenticated' || action === 'roamed') dropped[i] = 2
    else if (typeof host === 'string' && accessPoint.test(host)) dropped[i] = 3
    else {
      if (
        action === 'Deauthenticated' ||
        action === 'Disassociated' ||
        action === 'left' ||
        action === 'expired'
      ) {
        if (departed) {
          dropped[i] = 4
          continue
        }
        departed = true
      }
      const size = seen.size
      if (seen.add(points[i]).size === size) dropped[i] = 5
      else if (passed++ % 3 === 0) dropped[i] = 6
    }
  }
  return collect(events, dropped, 6, policy)
}

/** Survivors with digests between them; `dropped` is the level that dropped each event, 0 for none. */
function collect(
  events: Columns,
  dropped: Uint8Array,
  top: number,
  policy: string,
  averaged?: readonly Value[],
): Fused {
  const queue: Fused = []
  const levels = new Array<number>(top + 1).fill(0)
  for (let i = 0; i < events.length; ) {
    if (dropped[i] === 0) {
      queue.push(i++)
      continue
    }
    const first = i
    let count = 0
    let sum = 0
    let error = 0
    levels.fill(0)
    for (; i < events.length && dropped[i] !== 0; i++) {
      if (events.seq(i) - events.seq(first) !== i - first) break
      levels[dropped[i]!]!++
      if (averaged === undefined) continue
      const value = averaged[i]
      if (typeof value !== 'number' || Number.isNaN(value)) continue
      const next = sum + value
      const part = next - sum
      error += sum - (next - part) + (value - part)
      sum = next
      count++
    }
    const states = averaged === undefined ? [] : [[count, sum, error]]
    queue.push({
      kind: 'digest',
      policy,
      epoch: 1,
      from: events.seq(first),
      to: events.seq(i - 1),
      fromTime: events.time(first),
      toTime: events.time(i - 1),
      causes: causesOf(levels),
      states,
    })
  }
  return queue
}

function causesOf(levels: readonly number[]): Cause[] {
  const causes: Cause[] = []
  for (let level = 1; level < levels.length; level++) {
    const count = levels[level]!
    if (count > 0) causes.push({ buffer: 'bench', level, count })
  }
  return causes
}
