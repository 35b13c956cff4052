import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import { compilePolicy } from '../../policies/compile.ts'
import { type DecodedEvent, DecodedEvents } from '../../policies/decoded.ts'
import { countOf, type Digest } from '../../policies/digest.ts'
import type { Value } from '../../policies/event.ts'
import { type Packed, Packing, type Riding } from '../../policies/pack.ts'
import { pack } from '../../policies/pack-events.ts'
import { type FilterSpec, noPolicy, type Policy, type PolicySpec } from '../../policies/policy.ts'

const SUMMARY = ['COUNT', 'SUM', 'MIN', 'MAX', 'MEAN', 'QUANTILES']

/** A queue as a node holds it: events, and the digests that ride on them. */
interface Queue {
  readonly entries: readonly DecodedEvent[]
  readonly riding: Riding
}

interface PackOptions {
  readonly level?: number
  readonly worstCase?: boolean
  readonly buffer?: string
  readonly seed?: number
}

function packed(policy: Policy, queue: Queue, options: PackOptions = {}): Packed {
  const { level = policy.top, worstCase = false, buffer = 'SPB', seed = 1 } = options
  const surroundings = { now: 50_000, random: seeded(seed), buffer }
  const packing = new Packing(policy, new DecodedEvents(queue.entries), queue.riding, surroundings).climb(
    level,
  )
  return (worstCase ? packing.worstCase() : packing).finish()
}

/** The queue that a pack leaves, as the next hop gets it. */
function after(queue: Queue, { kept, digests }: Packed): Queue {
  return { entries: [...kept].map((position) => queue.entries[position]!), riding: digests }
}

function repacked(policy: Policy, queue: Queue, options: PackOptions = {}): Queue {
  return after(queue, packed(policy, queue, options))
}

/** Events and digests in the order of the queue. */
function itemsOf({ entries, riding }: Queue): (DecodedEvent | Digest)[] {
  const items: (DecodedEvent | Digest)[] = []
  for (let i = 0; i <= entries.length; i++) items.push(...(riding.get(i) ?? []), ...entries.slice(i, i + 1))
  return items
}

function digestsOf(queue: Queue): Digest[] {
  return itemsOf(queue).filter((item) => 'kind' in item)
}

/** `5` for an event, `3-4` for a digest. */
function sketch(queue: Queue): string {
  return itemsOf(queue)
    .map((item) => ('kind' in item ? `${item.from}-${item.to}` : `${item.seq}`))
    .join(' ')
}

function queueOf(seqs: readonly number[], { epoch = 1, v }: { epoch?: number; v?: Value } = {}): Queue {
  const entries = seqs.map((seq) => ({ epoch, seq, time: seq * 100, event: { v: v ?? seq } }))
  return { entries, riding: new Map() }
}

function joined(...queues: readonly Queue[]): Queue {
  const entries: DecodedEvent[] = []
  const riding = new Map<number, readonly Digest[]>()
  for (const queue of queues) {
    for (const [at, digests] of queue.riding) {
      const place = at + entries.length
      riding.set(place, [...(riding.get(place) ?? []), ...digests])
    }
    entries.push(...queue.entries)
  }
  return { entries, riding }
}

/** A policy each of whose levels drops the events with these numbers. */
function dropping(...levels: readonly (readonly number[])[]): Policy {
  const filters = levels.map((seqs): FilterSpec[] => [{ name: 'INSET', mode: 'drop', value: seqs }])
  return compilePolicy({ attribute: 'v', summary: SUMMARY, levels: filters })
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe('packing, as in Figure 3', () => {
  // One policy for all hops: level 1 drops 3 and 6, as upstream did; level 2 also 2; level 3 all between 1 and 8.
  const policy = dropping([3, 6], [2], [4, 5, 7])
  const upstream = repacked(policy, queueOf(range(1, 8)), { level: 1 })

  it('puts a digest where a dropped event stood', () => {
    expect(sketch(upstream)).toBe('1 2 3-3 4 5 6-6 7 8')
  })

  it('updates a digest with the event dropped just before it', () => {
    const queue = repacked(policy, upstream, { level: 2 })
    expect(sketch(queue)).toBe('1 2-3 4 5 6-6 7 8')
    expect(policy.show(digestsOf(queue)[0]!).digest).toMatchObject({
      COUNT: 2,
      SUM: 5,
      MIN: 2,
      MAX: 3,
      MEAN: 2.5,
    })
  })

  it('updates a digest with the event dropped just after it', () => {
    const other = dropping([3], [4])
    const queue = repacked(other, repacked(other, queueOf(range(1, 5)), { level: 1 }), { level: 2 })
    expect(sketch(queue)).toBe('1 2 3-4 5')
    expect(other.show(digestsOf(queue)[0]!).digest).toMatchObject({ COUNT: 2, SUM: 7 })
  })

  it('combines everything between two survivors into one digest', () => {
    const queue = repacked(policy, upstream, { level: 3 })
    expect(sketch(queue)).toBe('1 2-7 8')
    expect(policy.show(digestsOf(queue)[0]!)).toMatchObject({
      digest: { COUNT: 6, SUM: 27, MIN: 2, MAX: 7, MEAN: 4.5 },
      from: 2,
      to: 7,
      count: 6,
    })
  })

  it('leaves the digests of the queue it packs as they were', () => {
    const before = structuredClone(digestsOf(upstream))
    repacked(policy, upstream, { level: 3, buffer: 'RRB' })
    repacked(policy, upstream, { worstCase: true })
    expect(digestsOf(upstream)).toEqual(before)
  })

  it('lets a digest trail when nothing survives behind it', () => {
    const trailing = dropping([2, 3])
    const queue = repacked(trailing, queueOf(range(1, 3)))
    expect(sketch(queue)).toBe('1 2-3')
    expect([...queue.riding.keys()]).toEqual([1])
    expect(sketch(repacked(trailing, queue))).toBe('1 2-3')
  })

  it('keeps a queue of nothing but a digest, and an empty one', () => {
    const only = repacked(policy, queueOf([3]))
    expect(sketch(only)).toBe('3-3')
    expect(sketch(repacked(policy, only))).toBe('3-3')
    expect(sketch(repacked(policy, queueOf([])))).toBe('')
    expect(sketch(repacked(policy, queueOf([]), { worstCase: true }))).toBe('')
  })

  it('gives a digest the publish times of its first and last event', () => {
    expect(digestsOf(repacked(policy, upstream, { level: 3 }))[0]).toMatchObject({
      fromTime: 200,
      toTime: 700,
    })
    expect(digestsOf(upstream)[0]).toMatchObject({ fromTime: 300, toTime: 300 })
  })
})

describe('a digest covers one contiguous range:', () => {
  const all = dropping(range(1, 20))

  it('a hole in the sequence splits it', () => {
    const queue = repacked(all, queueOf([1, 2, 4, 5, 9]))
    expect(sketch(queue)).toBe('1-2 4-5 9-9')
    expect(digestsOf(queue).map((digest) => all.show(digest).digest.SUM)).toEqual([3, 9, 9])
  })

  it('a hole between two digests keeps them apart, and one that fills it joins them', () => {
    const first = repacked(all, queueOf([1, 2]))
    const last = repacked(all, queueOf([4, 5]))
    expect(sketch(repacked(all, joined(first, last)))).toBe('1-2 4-5')
    expect(sketch(repacked(all, joined(first, queueOf([3]), last)))).toBe('1-5')
  })

  it('an epoch splits it, even where the numbers go on', () => {
    const queue = repacked(all, joined(queueOf([1, 2]), queueOf([3, 4], { epoch: 2 })))
    expect(digestsOf(queue).map(({ epoch, from, to }) => [epoch, from, to])).toEqual([
      [1, 1, 2],
      [2, 3, 4],
    ])
  })

  it('a digest of another policy stays as it is, and splits what is around it', () => {
    const other = compilePolicy({ levels: [[{ name: 'EVERY', n: 1, mode: 'drop' }]] })
    const foreign = repacked(other, queueOf([3, 4]))
    const queue = repacked(all, joined(queueOf([1, 2]), foreign, queueOf([5])))
    expect(sketch(queue)).toBe('1-2 3-4 5-5')
    expect(digestsOf(queue)[1]).toEqual(digestsOf(foreign)[0])
    expect(digestsOf(queue).map(({ policy }) => policy)).toEqual([all.hash, other.hash, all.hash])
    expect(digestsOf(queue).map((digest) => all.show(digest).digest.SUM)).toEqual([3, undefined, 5])
    expect(all.show(digestsOf(queue)[1]!)).toMatchObject({ digest: { COUNT: 2 }, from: 3, to: 4, count: 2 })
  })
})

describe('the causes of a digest', () => {
  const policy = dropping([2, 5], [3], [4])

  it('say at which level how many events were dropped', () => {
    const [digest] = digestsOf(repacked(policy, queueOf(range(1, 6))))
    expect(digest?.causes).toEqual([
      { buffer: 'SPB', level: 1, count: 2 },
      { buffer: 'SPB', level: 2, count: 1 },
      { buffer: 'SPB', level: 3, count: 1 },
    ])
  })

  it('are summed for each buffer and level, over hops', () => {
    const one = repacked(policy, queueOf(range(1, 6)), { level: 1, buffer: 'SPB' })
    const two = repacked(policy, one, { level: 3, buffer: 'RRB' })
    expect(sketch(two)).toBe('1 2-5 6')
    expect(digestsOf(two)[0]!.causes).toEqual([
      { buffer: 'RRB', level: 2, count: 1 },
      { buffer: 'RRB', level: 3, count: 1 },
      { buffer: 'SPB', level: 1, count: 2 },
    ])
  })

  it('stand in one order, by buffer, then level, the worst case last', () => {
    const queue = joined(
      repacked(policy, queueOf([1]), { worstCase: true, buffer: 'A' }),
      repacked(policy, queueOf([2]), { buffer: 'B' }),
      repacked(policy, queueOf([3, 4, 5]), { buffer: 'A' }),
    )
    expect(digestsOf(repacked(policy, queue))[0]!.causes).toEqual([
      { buffer: 'A', level: 1, count: 1 },
      { buffer: 'A', level: 2, count: 1 },
      { buffer: 'A', level: 3, count: 1 },
      { buffer: 'A', level: 'worst-case', count: 1 },
      { buffer: 'B', level: 1, count: 1 },
    ])
  })

  it('say worst-case for what no level dropped, and the level for the rest', () => {
    const queue = repacked(policy, queueOf(range(1, 6)), { worstCase: true })
    expect(sketch(queue)).toBe('1-6')
    expect(digestsOf(queue)[0]!.causes.map(({ level, count }) => [level, count])).toEqual([
      [1, 2],
      [2, 1],
      [3, 1],
      ['worst-case', 2],
    ])
  })
})

describe('the worst case', () => {
  it('leaves one digest for each epoch and each side of a hole', () => {
    const policy = dropping([2])
    const upstream = repacked(policy, queueOf(range(1, 4)))
    const queue = joined(upstream, queueOf([6, 7]), queueOf([1, 2], { epoch: 2 }))
    const digests = digestsOf(repacked(policy, queue, { worstCase: true }))
    expect(digests.map(({ epoch, from, to }) => [epoch, from, to])).toEqual([
      [1, 1, 4],
      [1, 6, 7],
      [2, 1, 2],
    ])
  })

  it('of a receiver without a policy is one COUNT digest', () => {
    const queue = repacked(noPolicy, queueOf(range(1, 5)), { level: 0, worstCase: true })
    const [digest, ...rest] = digestsOf(queue)
    expect(rest).toEqual([])
    expect(noPolicy.show(digest!)).toEqual({
      digest: { COUNT: 5 },
      from: 1,
      to: 5,
      count: 5,
      causes: [{ buffer: 'SPB', level: 'worst-case', count: 5 }],
    })
  })

  it('does not happen by itself to a receiver without a policy', () => {
    expect(sketch(repacked(noPolicy, queueOf(range(1, 3)), { level: 0 }))).toBe('1 2 3')
  })
})

describe('a pack', () => {
  it('tells its observer what each filter saw and kept', () => {
    const policy = compilePolicy({
      levels: [
        [
          { name: 'EVERY', n: 2 },
          { name: 'LATEST', window: 3 },
        ],
        [{ name: 'LATEST', window: 1 }],
      ],
    })
    const seen: number[][] = []
    const observe = (...numbers: number[]) => void seen.push(numbers)
    const surroundings = { now: 0, random: seeded(1), buffer: 'SPB', observe }
    new Packing(policy, new DecodedEvents(queueOf(range(1, 10)).entries), new Map(), surroundings).climb(2)
    expect(seen).toEqual([
      [1, 1, 10, 5],
      [1, 2, 5, 3],
      [2, 1, 3, 1],
    ])
  })
})

// Laws, over generated policies and queues.

const attribute = fc.constantFrom('v', 'w')
const value = fc.integer({ min: -3, max: 3 })
const window = fc.integer({ min: 1, max: 12 })
const mode = fc.constantFrom('keep' as const, 'drop' as const)

/** Filters of which packing twice is packing once. */
const idempotent: fc.Arbitrary<FilterSpec> = fc.oneof(
  fc.record({ name: fc.constantFrom('GT', 'GE', 'EQ', 'NE', 'LT', 'LE'), attribute, mode, value }),
  fc.record({
    name: fc.constant('INSET'),
    attribute,
    mode,
    value: fc.array(value, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ name: fc.constantFrom('FIRST', 'LAST'), attribute, value: fc.array(value, { minLength: 1 }) }),
  fc.record({ name: fc.constantFrom('UNIQ', 'GUNIQ'), attribute }),
  fc.record({ name: fc.constant('DELTA'), attribute, change: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ name: fc.constant('LATEST'), window }),
  fc.record({ name: fc.constant('LATESTBY'), attribute, window }),
  fc.record({ name: fc.constant('RATE'), n: window, interval: fc.integer({ min: 1, max: 5000 }) }),
)

/** Filters that ask for no chance. */
const certain: fc.Arbitrary<FilterSpec> = fc.oneof(
  idempotent,
  fc.record({ name: fc.constant('EVERY'), mode, n: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ name: fc.constant('AGE'), mode, max: fc.integer({ min: 0, max: 60_000 }) }),
)

const anyFilter: fc.Arbitrary<FilterSpec> = fc.oneof(
  certain,
  fc.record({ name: fc.constant('RANDOM'), mode, fraction: fc.constantFrom(0, 0.2, 0.5, 1) }),
)

function policies(filter: fc.Arbitrary<FilterSpec>, maxLevels = 4): fc.Arbitrary<Policy> {
  const level = fc.array(filter, { minLength: 1, maxLength: 2 })
  return fc
    .array(level, { minLength: 1, maxLength: maxLevels })
    .map((levels): PolicySpec => ({ attribute: 'v', summary: SUMMARY, levels }))
    .map((spec) => compilePolicy(spec))
}

const reading: fc.Arbitrary<Value> = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -3, max: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom<Value[]>(null, undefined, Number.NaN, 'text', [1, 2]) },
)

/** Queues fresh from the sender, with holes and epochs. */
const fresh: fc.Arbitrary<Queue> = fc
  .array(
    fc.record({
      v: reading,
      w: reading,
      hole: fc.constantFrom(0, 0, 0, 0, 0, 1, 3),
      restart: fc.constantFrom(false, false, false, false, false, false, false, false, true),
      step: fc.integer({ min: 0, max: 3000 }),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    let [epoch, seq, time] = [1, 0, 0]
    const entries = steps.map(({ v, w, hole, restart, step }) => {
      epoch += restart ? 1 : 0
      seq = (restart ? 0 : seq) + 1 + hole
      time += step
      return { epoch, seq, time, event: { v, w } }
    })
    return { entries, riding: new Map() }
  })

/** A policy, a queue part of which another hop has packed before, and the queue as it was before that. */
function scenes(filter: fc.Arbitrary<FilterSpec>) {
  return fc
    .record({
      policy: policies(filter),
      original: fresh,
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      seed: fc.nat(),
    })
    .map(({ policy, original, part, seed }) => {
      const at = Math.floor(part * original.entries.length)
      const first = { entries: original.entries.slice(0, at), riding: new Map() }
      const rest = { entries: original.entries.slice(at), riding: new Map() }
      const queue = joined(
        repacked(policy, first, { seed, level: 1 + (seed % policy.top), buffer: 'RPB' }),
        rest,
      )
      return { policy, original, queue, seed }
    })
}

/** `epoch:seq` for every number that a queue accounts for, in its order. */
function covered(queue: Queue): string[] {
  return itemsOf(queue).flatMap((item) => {
    const seqs = 'kind' in item ? range(item.from, item.to) : [item.seq]
    return seqs.map((seq) => `${item.epoch}:${seq}`)
  })
}

/** The original events that a digest stands for, digested at once. */
function digestedAtOnce(policy: Policy, original: Queue, digest: Digest): readonly unknown[] {
  const inside = ({ epoch, seq }: DecodedEvent) =>
    epoch === digest.epoch && seq >= digest.from && seq <= digest.to
  const events = new DecodedEvents(original.entries.filter(inside))
  return policy.digesters.map(({ definition, attribute }) => {
    const state = definition.create()
    const [values = []] = attribute === undefined ? [] : events.columns([attribute])
    definition.add(state, values, 0, events.length, events)
    return state
  })
}

describe('pack', () => {
  const policy = dropping([3, 6], [2])
  const { entries } = queueOf(range(1, 8))
  const sketchOf = (items: readonly (DecodedEvent | Digest)[]) =>
    items.map((item) => ('event' in item ? `${item.seq}` : `${item.from}-${item.to}`)).join(' ')

  it('gives the survivors themselves, and digests where the others stood, at the end too', () => {
    const items = pack(policy, entries, { level: 1 })
    expect(sketchOf(items)).toBe('1 2 3-3 4 5 6-6 7 8')
    expect(items[0]).toBe(entries[0])
    expect(sketchOf(pack(dropping([8]), entries))).toBe('1 2 3 4 5 6 7 8-8')
  })

  it('packs at the top unless told, and never goes as far as the worst case', () => {
    expect(sketchOf(pack(policy, entries))).toBe('1 2-3 4 5 6-6 7 8')
    expect(pack(noPolicy, entries)).toEqual(entries)
    expect(pack(policy, [])).toEqual([])
  })

  it('takes the latest publish time for now, and the same chance every time', () => {
    const filters = (filter: FilterSpec) => compilePolicy({ levels: [[filter]] })
    const aged = filters({ name: 'AGE', max: 200 })
    expect(sketchOf(pack(aged, entries))).toBe('1-5 6 7 8')
    expect(sketchOf(pack(aged, entries, { now: 900 }))).toBe('1-6 7 8')
    const halved = filters({ name: 'RANDOM', fraction: 0.5 })
    expect(pack(halved, entries)).toEqual(pack(halved, entries, { random: seeded(1) }))
  })

  it.each([-1, 3, 0.5, Number.NaN])('refuses level %d of a policy with two', (level) => {
    expect(() => pack(policy, entries, { level })).toThrow('from 0 to 2')
  })
})

describe('laws of packing:', () => {
  it('survivors are a subsequence of the input', () => {
    fc.assert(
      fc.property(scenes(anyFilter), ({ policy, queue, seed }) => {
        const { kept } = packed(policy, queue, { seed })
        expect([...kept].every((position, i) => i === 0 || position > kept[i - 1]!)).toBe(true)
        expect([...kept].every((position) => position < queue.entries.length)).toBe(true)
      }),
    )
  })

  it('survivors and digests cover the input exactly once and in order, and nothing of a hole', () => {
    fc.assert(
      fc.property(scenes(anyFilter), fc.boolean(), ({ policy, original, queue, seed }, worstCase) => {
        expect(covered(queue)).toEqual(covered(original))
        expect(covered(repacked(policy, queue, { seed, worstCase }))).toEqual(covered(original))
      }),
    )
  })

  it('two digests are never neighbours that could be one', () => {
    fc.assert(
      fc.property(scenes(anyFilter), ({ policy, queue, seed }) => {
        const items = itemsOf(repacked(policy, queue, { seed }))
        items.forEach((item, i) => {
          const next = items[i + 1]
          if (next === undefined || !('kind' in item) || !('kind' in next)) return
          expect(item.epoch === next.epoch && item.to + 1 === next.from).toBe(false)
        })
      }),
    )
  })

  it('a digest of digests equals the digest of everything below it, over three hops', () => {
    fc.assert(
      fc.property(scenes(anyFilter), fc.boolean(), ({ policy, original, queue, seed }, worstCase) => {
        const hops = [queue]
        hops.push(repacked(policy, hops[0]!, { level: 1, seed, buffer: 'SRB' }))
        hops.push(repacked(policy, hops[1]!, { seed, buffer: 'RRB', worstCase }))
        for (const hop of hops) {
          for (const digest of digestsOf(hop)) {
            expect(digest.states).toEqual(digestedAtOnce(policy, original, digest))
          }
        }
      }),
    )
  })

  it('causes sum to the count, one for each buffer and level', () => {
    fc.assert(
      fc.property(scenes(anyFilter), fc.boolean(), ({ policy, queue, seed }, worstCase) => {
        for (const digest of digestsOf(repacked(policy, queue, { seed, worstCase }))) {
          expect(digest.causes.reduce((sum, { count }) => sum + count, 0)).toBe(countOf(digest))
          const keys = digest.causes.map(({ buffer, level }) => `${buffer} ${level}`)
          expect(new Set(keys).size).toBe(keys.length)
        }
      }),
    )
  })

  it('the times of a digest are those of its first and last event', () => {
    fc.assert(
      fc.property(scenes(anyFilter), ({ policy, original, queue, seed }) => {
        const times = new Map(original.entries.map(({ epoch, seq, time }) => [`${epoch}:${seq}`, time]))
        for (const { epoch, from, to, fromTime, toTime } of digestsOf(repacked(policy, queue, { seed }))) {
          expect([fromTime, toTime]).toEqual([times.get(`${epoch}:${from}`), times.get(`${epoch}:${to}`)])
        }
      }),
    )
  })

  it('packing twice at one level is packing once, for a filter of which that is true', () => {
    fc.assert(
      fc.property(policies(idempotent, 1), fresh, (policy, queue) => {
        fc.pre(policy.levels[0]!.length === 1)
        const once = repacked(policy, queue)
        expect(itemsOf(repacked(policy, once, { buffer: 'RRB' }))).toEqual(itemsOf(once))
      }),
      { numRuns: 300 },
    )
  })

  it('a higher level never keeps more, and keeps nothing that a lower one dropped', () => {
    fc.assert(
      fc.property(scenes(anyFilter), ({ policy, queue, seed }) => {
        for (let level = 1; level <= policy.top; level++) {
          const below = new Set(packed(policy, queue, { seed, level: level - 1 }).kept)
          expect([...packed(policy, queue, { seed, level }).kept].every((one) => below.has(one))).toBe(true)
        }
      }),
    )
  })

  it('climbing step by step is climbing at once', () => {
    fc.assert(
      fc.property(scenes(certain), ({ policy, queue }) => {
        const surroundings = { now: 50_000, random: seeded(1), buffer: 'SPB' }
        const packing = new Packing(policy, new DecodedEvents(queue.entries), queue.riding, surroundings)
        for (let level = 1; level <= policy.top; level++) packing.climb(level)
        expect(packing.climb(1).finish()).toEqual(packed(policy, queue))
        expect(() => packing.climb(1)).toThrow('after finish()')
      }),
    )
  })

  it('the same seed gives the same result', () => {
    fc.assert(
      fc.property(scenes(anyFilter), ({ policy, queue, seed }) => {
        expect(packed(policy, queue, { seed })).toEqual(packed(policy, queue, { seed }))
      }),
    )
  })

  it('the events and digests of the queue are not changed', () => {
    fc.assert(
      fc.property(scenes(anyFilter), ({ policy, queue, seed }) => {
        const before = structuredClone(itemsOf(queue))
        packed(policy, queue, { seed, worstCase: true })
        expect(itemsOf(queue)).toEqual(before)
      }),
    )
  })
})
