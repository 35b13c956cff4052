// Digests (PACK section 2, "Policy execution"): what stands where a contiguous run of dropped events stood.
import type { Shown, State } from './digester.ts'
import type { Events, Value } from './event.ts'
import type { Policy } from './policy.ts'

/** How many events were dropped in which buffer, at which level of the policy or for which reason. */
export interface Cause {
  readonly buffer: string
  /** The level whose filters dropped them; `worst-case` when no level freed anything. */
  readonly level: number | 'worst-case'
  readonly count: number
}

/**
 * The summary of the dropped events `from` to `to` of one epoch: exactly those, without a hole. Digests are
 * shared between queues and never change; merging makes a new one.
 */
export interface Digest {
  readonly kind: 'digest'
  /** Hash of the policy whose digesters made the states. */
  readonly policy: string
  readonly epoch: number
  readonly from: number
  readonly to: number
  /** Publish times of the first and the last event, in milliseconds. */
  readonly fromTime: number
  readonly toTime: number
  readonly causes: readonly Cause[]
  /** One state for each digester of the policy, in its order. */
  readonly states: readonly State[]
}

/** How many events a digest counts. */
export function countOf(digest: Digest): number {
  return digest.to - digest.from + 1
}

/** A digest as people and scripts see it; `digest` has COUNT and a key for each digester of the policy. */
export interface ShownDigest {
  readonly digest: { readonly [name: string]: Shown }
  readonly from: number
  readonly to: number
  readonly count: number
  readonly causes: readonly Cause[]
}

/** Makes the digests of runs of dropped events and earlier digests, given in queue order. */
export class DigestRun {
  readonly #policy: Policy
  readonly #buffer: string
  readonly #level: number
  readonly #columns: ReadonlyMap<string, readonly Value[]>
  /** How many events of the open digest had passed 0, 1, 2, … levels when they were dropped. */
  readonly #dropped: number[] = []
  #done: Digest[] = []
  #open: OpenDigest | undefined

  /** `level` is the one packed at: what passed it was dropped by the worst case. */
  constructor(policy: Policy, buffer: string, level: number, columns: ReadonlyMap<string, readonly Value[]>) {
    this.#policy = policy
    this.#buffer = buffer
    this.#level = level
    this.#columns = columns
    for (let passed = 0; passed <= level; passed++) this.#dropped.push(0)
  }

  /** Adds the dropped events at positions `from` to `to - 1`; `passed` says how many levels each had passed. */
  events(events: Events, passed: Uint8Array, from: number, to: number): void {
    for (let start = from; start < to; ) {
      const end = endOfContiguous(events, start, to)
      const open = this.#openFor(events.epoch(start), events.seq(start), events.time(start))
      open.to = events.seq(end - 1)
      open.toTime = events.time(end - 1)
      const { digesters } = this.#policy
      for (let d = 0; d < digesters.length; d++) {
        const { attribute, definition } = digesters[d]!
        definition.add(
          open.states[d],
          attribute === undefined ? [] : this.#columns.get(attribute)!,
          start,
          end,
          events,
        )
      }
      countPassed(passed, start, end, this.#dropped)
      start = end
    }
  }

  /** Adds an earlier digest. One that another policy made stays as it is. */
  digest(digest: Digest): void {
    if (digest.policy !== this.#policy.hash) {
      this.#close()
      this.#done.push(digest)
      return
    }
    const open = this.#openFor(digest.epoch, digest.from, digest.fromTime)
    open.to = digest.to
    open.toTime = digest.toTime
    this.#policy.digesters.forEach(({ definition }, i) => {
      definition.merge(open.states[i], digest.states[i])
    })
    open.causes.push(...digest.causes)
  }

  /** The digests of the run that ends here; the next run may begin. */
  finish(): readonly Digest[] {
    this.#close()
    const done = this.#done
    this.#done = []
    return done
  }

  /** The open digest if this number continues it, otherwise a new one: a digest never spans a hole. */
  #openFor(epoch: number, seq: number, time: number): OpenDigest {
    if (this.#open?.epoch === epoch && this.#open.to + 1 === seq) return this.#open
    this.#close()
    const states: State[] = []
    for (const { definition } of this.#policy.digesters) states.push(definition.create())
    this.#open = { epoch, from: seq, to: seq, fromTime: time, toTime: time, states, causes: [] }
    return this.#open
  }

  #close(): void {
    if (this.#open === undefined) return
    const { epoch, from, to, fromTime, toTime, states, causes } = this.#open
    const inherited = causes.length > 0
    for (let passed = 0; passed <= this.#level; passed++) {
      const level = passed === this.#level ? 'worst-case' : passed + 1
      const count = this.#dropped[passed]!
      if (count > 0) causes.push({ buffer: this.#buffer, level, count })
      this.#dropped[passed] = 0
    }
    this.#done.push({
      kind: 'digest',
      policy: this.#policy.hash,
      epoch,
      from,
      to,
      fromTime,
      toTime,
      causes: inherited ? summed(causes) : causes,
      states,
    })
    this.#open = undefined
  }
}

interface OpenDigest {
  readonly epoch: number
  readonly from: number
  to: number
  readonly fromTime: number
  toTime: number
  readonly states: State[]
  readonly causes: Cause[]
}

const lanes = new Uint32Array(4 * 256)

/** Adds to `counts` how often each of its indexes occurs in a part of `passed`. */
function countPassed(passed: Uint8Array, from: number, to: number, counts: number[]): void {
  let i = from
  if (to - from >= 64) {
    // Four counters for each value take turns: with one, every step waits for the step before.
    lanes.fill(0, 0, 4 * counts.length)
    for (; i + 3 < to; i += 4) {
      lanes[4 * passed[i]!]!++
      lanes[4 * passed[i + 1]! + 1]!++
      lanes[4 * passed[i + 2]! + 2]!++
      lanes[4 * passed[i + 3]! + 3]!++
    }
    for (let value = 0; value < counts.length; value++) {
      const lane = 4 * value
      counts[value]! += lanes[lane]! + lanes[lane + 1]! + lanes[lane + 2]! + lanes[lane + 3]!
    }
  }
  for (; i < to; i++) counts[passed[i]!]!++
}

/** The position after the longest run from `start` whose numbers have no hole. */
function endOfContiguous(events: Events, start: number, to: number): number {
  const epoch = events.epoch(start)
  const seq = events.seq(start)
  // Numbers rise within an epoch, so looking at both ends is enough where there is no hole.
  if (events.epoch(to - 1) === epoch && events.seq(to - 1) - seq === to - 1 - start) return to
  let end = start + 1
  while (end < to && events.epoch(end) === epoch && events.seq(end) - seq === end - start) end++
  return end
}

/** One cause for each buffer and level, in a fixed order, so that equal digests have equal causes. */
function summed(causes: readonly Cause[]): readonly Cause[] {
  const sums: { -readonly [K in keyof Cause]: Cause[K] }[] = []
  for (const { buffer, level, count } of causes) {
    const sum = sums.find((other) => other.level === level && other.buffer === buffer)
    if (sum === undefined) sums.push({ buffer, level, count })
    else sum.count += count
  }
  return sums.length === 1 ? sums : sums.sort(compareCauses)
}

function compareCauses(a: Cause, b: Cause): number {
  if (a.buffer !== b.buffer) return a.buffer < b.buffer ? -1 : 1
  return rankOf(a.level) - rankOf(b.level)
}

/** The worst case comes after all levels. */
function rankOf(level: Cause['level']): number {
  return level === 'worst-case' ? Number.POSITIVE_INFINITY : level
}
