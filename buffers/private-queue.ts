// A queue with a policy (PACK sections 4 and 5): when it is full its policy packs it, at the level its own
// ladder says. In a local buffer it belongs to a receiver; in a remote one to a policy class behind a link, or
// to one receiver that was away.
import type { Digest } from '../policies/digest.ts'
import { Ladder } from '../policies/ladder.ts'
import { Packing, type PackSurroundings, type Pass, type Riding } from '../policies/pack.ts'
import type { Policy } from '../policies/policy.ts'
import { positionOf, type Run } from './block.ts'
import { digestBytes, epochOf, type Item, itemBytes, type Marker } from './item.ts'
import { Queue, type QueueBounds, type QueueSurroundings } from './queue.ts'
import { DecodedBlocks, QueuedEvents } from './queued-events.ts'

/** A pack that goes on. */
interface Attempt {
  readonly events: QueuedEvents
  readonly riding: Riding
  /** What the markers cost, which stay. */
  readonly markerBytes: number
  readonly packing: Packing
  /** What each filter did, if somebody is told. */
  readonly passes: readonly Pass[]
}

/** What a pack leaves, without the markers, and how many events there were before and after. */
interface Outcome {
  readonly items: Item[]
  readonly markerBytes: number
  readonly before: number
  readonly after: number
  readonly passes: readonly Pass[]
}

export class PrivateQueue extends Queue {
  readonly policy: Policy
  readonly #ladder: Ladder
  /** What a digest of this queue is expected to cost: the average of its last pack; before that, an empty one. */
  #digestBytes: number | undefined

  constructor(
    policy: Policy,
    bounds: QueueBounds,
    surroundings: QueueSurroundings,
    ladder: Ladder = new Ladder(policy.top),
  ) {
    super(bounds, surroundings)
    this.policy = policy
    this.#ladder = ladder
  }

  /** The level of the last pack. */
  get level(): number {
    return this.#ladder.level
  }

  /** Puts items at the end; packs as often as they do not fit. */
  enqueue(items: readonly Item[]): void {
    for (const item of items) {
      if (item.kind === 'events') this.enqueueRun(item)
      else {
        this.append(item)
        this.packIfOver()
      }
    }
  }

  /** Puts the events of a run at the end; packs as often as they do not fit. */
  enqueueRun(run: Run): void {
    let rest = run
    for (;;) {
      const end = this.endOfFit(rest)
      if (end > rest.from) this.appendRun(rest, end)
      if (end === rest.to) return
      rest = { ...rest, from: end }
      const position = positionOf(rest, end)
      const cost = rest.block.cost(position, position + 1)
      if (this.pinnedBytes + cost <= this.bounds.bytes && this.pack(cost)) continue
      // It is larger than the queue, or what is on its way takes all the room: it alone is dropped.
      this.#digest({ ...rest, to: end + 1 })
      if (end + 1 === rest.to) return
      rest = { ...rest, from: end + 1 }
    }
  }

  /**
   * Packs at the level of the ladder, or as many levels higher as it takes to make room for one more event of
   * so many bytes; after the top everything is dropped. Whether there is room then.
   */
  pack(bytes = 0, decoded = new DecodedBlocks()): boolean {
    if (this.isEmpty) return this.hasRoom(bytes)
    const { top } = this.policy
    let level = this.#ladder.request(this.surroundings.now())
    while (level <= top) {
      const attempt = this.#packing(decoded)
      attempt.packing.climb(level)
      while (level <= top && !this.#wouldFit(attempt, bytes)) {
        if (++level <= top) attempt.packing.climb(level)
      }
      this.#ladder.climbed(level)
      if (level > top) break
      this.#put(outcomeOf(attempt), level)
      if (this.hasRoom(bytes)) return true
      // The digests weigh more than they were expected to.
      level++
    }
    this.#dropAll(decoded)
    return this.hasRoom(bytes)
  }

  /** Whether one more event of so many bytes fits. */
  hasRoom(bytes: number): boolean {
    return this.roomItems >= 1 && this.roomBytes >= bytes
  }

  /** The digests that all that waits would become; nothing is dropped. */
  preview(): readonly Digest[] {
    return worstCase(this.#packing(new DecodedBlocks())).packing.finish().digests.get(0) ?? []
  }

  packIfOver(): void {
    if (this.isOver) this.pack()
  }

  /** The ladder does not move: it learns from overflows only. */
  relieve(decoded = new DecodedBlocks()): boolean {
    if (this.isEmpty) return false
    const attempt = this.#packing(decoded)
    const { events, packing } = attempt
    let { level } = this.#ladder
    packing.climb(level)
    while (level < this.policy.top && packing.count === events.length) packing.climb(++level)
    if (packing.count < events.length && this.#putIfLighter(outcomeOf(attempt), level)) return true
    return this.#putIfLighter(outcomeOf(worstCase(this.#packing(decoded))), 0)
  }

  /** Events that find no room become a digest at the end. */
  #digest(run: Run): void {
    const events = new QueuedEvents([run], new DecodedBlocks())
    const packing = new Packing(this.policy, events, new Map(), this.#packSurroundings)
    for (const digest of packing.worstCase().finish().digests.get(0) ?? []) this.append(digest)
    this.packIfOver()
  }

  /** Everything that waits becomes one digest, or one for each epoch and on each side of a hole. */
  #dropAll(decoded = new DecodedBlocks()): void {
    this.#put(outcomeOf(worstCase(this.#packing(decoded))), 0)
    if (this.isOver) this.#forget()
  }

  #packing(decoded: DecodedBlocks): Attempt {
    const runs: Run[] = []
    const riding = new Map<number, Digest[]>()
    let markerBytes = 0
    let at = 0
    for (const item of this.items) {
      if (item.kind === 'events') {
        runs.push(item)
        at += item.to - item.from
      } else if (item.kind === 'digest') {
        const riders = riding.get(at)
        if (riders === undefined) riding.set(at, [item])
        else riders.push(item)
      } else markerBytes += itemBytes(item)
    }
    const events = new QueuedEvents(runs, decoded)
    const passes: Pass[] = []
    const observe = (level: number, filter: number, seen: number, kept: number) =>
      void passes.push({ level, filter, seen, kept })
    const told = this.surroundings.packed === undefined ? {} : { observe }
    const packing = new Packing(this.policy, events, riding, { ...this.#packSurroundings, ...told })
    return { events, riding, markerBytes, packing, passes }
  }

  get #packSurroundings(): PackSurroundings {
    const { surroundings } = this
    return { buffer: surroundings.buffer, now: surroundings.now(), random: () => surroundings.random() }
  }

  /** Whether the survivors so far, their digests and one more event of so many bytes would fit. */
  #wouldFit({ events, riding, markerBytes, packing }: Attempt, bytes: number): boolean {
    const { survivors } = packing
    if (this.pinnedEvents + survivors.length + 1 > this.bounds.items) return false
    this.#digestBytes ??= leastDigestBytes(this.policy)
    const digests = this.#digestBytes * digestsAmong(survivors, events.length, riding)
    return this.pinnedBytes + events.cost(survivors) + digests + markerBytes + bytes <= this.bounds.bytes
  }

  #putIfLighter(outcome: Outcome, level: number): boolean {
    let bytes = outcome.markerBytes
    for (const item of outcome.items) bytes += itemBytes(item)
    if (bytes >= this.bytes) return false
    this.#put(outcome, level)
    return true
  }

  #put({ items, before, after, passes }: Outcome, level: number): void {
    for (const item of this.items) if (item.kind === 'marker') insertMarker(items, item)
    this.replace(items)
    this.#learnDigestBytes(items)
    this.surroundings.packed?.(this, level, before, after, passes)
  }

  #learnDigestBytes(items: readonly Item[]): void {
    let bytes = 0
    let count = 0
    for (const item of items) {
      if (item.kind !== 'digest') continue
      bytes += itemBytes(item)
      count++
    }
    if (count > 0) this.#digestBytes = bytes / count
  }

  /**
   * The oldest digests go until the rest fits, then the markers of older epochs. Only a stream full of holes or
   * of epochs comes to this, where digests cannot merge, or one item on its way that leaves no room for a digest;
   * what they counted becomes a gap at the receiver.
   */
  #forget(): void {
    let over = -this.roomBytes
    const newest = this.items.at(-1)
    const without = (kind: Item['kind'], items: readonly Item[]) =>
      items.filter((item) => {
        if (over <= 0 || item.kind !== kind || (kind === 'marker' && item === newest)) return true
        over -= itemBytes(item)
        return false
      })
    this.replace(without('marker', without('digest', this.items)))
  }
}

function worstCase(attempt: Attempt): Attempt {
  attempt.packing.worstCase()
  return attempt
}

/** Ends the pack. */
function outcomeOf({ events, packing, markerBytes, passes }: Attempt): Outcome {
  const { kept, digests } = packing.finish()
  const items = itemsOf(events.runsOf(kept), digests)
  return { items, markerBytes, before: events.length, after: kept.length, passes }
}

/** Runs with the digests between them: those at i stand before the i-th event. */
function itemsOf(runs: readonly Run[], digests: Riding): Item[] {
  const items: Item[] = []
  let at = 0
  for (const run of runs) {
    let { from } = run
    for (let i = run.from; digests.size > 0 && i < run.to; i++, at++) {
      const standing = digests.get(at)
      if (standing === undefined) continue
      if (i > from) items.push({ ...run, from, to: i })
      items.push(...standing)
      from = i
    }
    items.push({ ...run, from })
  }
  items.push(...(digests.get(at) ?? []))
  return items
}

/** Behind everything of its epoch, instead of an earlier marker. */
function insertMarker(items: Item[], marker: Marker): void {
  let at = items.length
  while (at > 0 && epochOf(items[at - 1]!) > marker.epoch) at--
  const last = items[at - 1]
  if (last?.kind === 'marker' && last.epoch === marker.epoch) items[at - 1] = marker
  else items.splice(at, 0, marker)
}

/** In how many places before, between and behind the survivors of so many events there are digests. */
function digestsAmong(survivors: Uint32Array, length: number, riding: Riding): number {
  const riders = [...riding.keys()]
  let digests = 0
  let next = 0
  for (let i = 0, r = 0; i <= survivors.length; i++) {
    const to = i < survivors.length ? survivors[i]! : length
    const isRiding = r < riders.length && riders[r]! <= to
    if (to > next || isRiding) digests++
    while (r < riders.length && riders[r]! <= to) r++
    next = to + 1
  }
  return digests
}

/** What a digest of this policy costs when its states are empty and it has one cause. */
function leastDigestBytes({ digesters }: Policy): number {
  const states = digesters.map(({ definition }) => definition.create())
  return digestBytes({ causes: [{ buffer: '', level: 0, count: 0 }], states })
}
