import { expect, it } from 'vitest'
import { compareDistance, type Id, idOfPeer } from '../../overlay/id.ts'
import { Tables } from './tables.ts'

const idOf = (name: string) => idOfPeer(new TextEncoder().encode(name))

class World {
  time = 0
  healedAt = Number.NEGATIVE_INFINITY
  cutOff = new Set<Id>()
  now(): number {
    return this.time
  }
  isReachable(from: Id, to: Id): boolean {
    return this.cutOff.has(from) === this.cutOff.has(to)
  }
}

function network(count: number, options = {}): { world: World; tables: Tables; ids: Id[] } {
  const world = new World()
  const tables = new Tables(world, 7, options)
  const ids = Array.from({ length: count }, (_, i) => idOf(`n${i}`))
  for (const id of ids) tables.join(id, Number.NEGATIVE_INFINITY)
  return { world, tables, ids }
}

function closestOf(ids: readonly Id[], key: Id): Id {
  return ids.reduce((best, id) => (compareDistance(key, id, best) < 0 ? id : best))
}

/** Walks from table to table, each hop closer to the key. */
function greedy(tables: Tables, start: Id, key: Id): { root: Id; hops: number } {
  let at = start
  for (let hops = 0; ; hops++) {
    const [next] = tables.closest(at, key, 1)
    if (next === undefined || compareDistance(key, next, at) >= 0) return { root: at, hops }
    at = next
  }
}

/** How many leading bits two IDs share. */
function commonBits(a: Id, b: Id): number {
  const difference = BigInt(`0x${a}`) ^ BigInt(`0x${b}`)
  return 256 - (difference === 0n ? 0 : difference.toString(2).length)
}

it('has at most 20 nodes a bucket, and all of a bucket that has no more', () => {
  const { tables, ids } = network(500)
  for (const own of ids.slice(0, 20)) {
    const table = new Set(tables.tableOf(own))
    expect(table.has(own)).toBe(false)
    for (let bits = 0; bits < 16; bits++) {
      const bucket = ids.filter((id) => id !== own && commonBits(own, id) === bits)
      const known = bucket.filter((id) => table.has(id))
      expect(known).toHaveLength(Math.min(20, bucket.length))
    }
  }
})

it('answers the closest of its own table, the closest first', () => {
  const { tables, ids } = network(300)
  for (let i = 0; i < 50; i++) {
    const own = ids[i]!
    const key = idOf(`key ${i}`)
    const sorted = tables.tableOf(own).sort((a, b) => compareDistance(key, a, b))
    for (const count of [0, 1, 8, 20, 60, 1_000]) {
      expect(tables.closest(own, key, count)).toEqual(sorted.slice(0, count))
    }
  }
})

it('does not know the closest node of all, but greedy hops find it', () => {
  const { tables, ids } = network(1_000)
  let found = 0
  let known = 0
  let hops = 0
  const lookups = 2_000
  for (let i = 0; i < lookups; i++) {
    const key = idOf(`key ${i}`)
    const start = ids[i % ids.length]!
    const closest = closestOf(ids, key)
    const walk = greedy(tables, start, key)
    if (walk.root === closest) found++
    if (tables.closest(start, key, 1)[0] === closest) known++
    hops += walk.hops
  }
  const percent = (n: number) => `${((100 * n) / lookups).toFixed(1)} %`
  console.log(
    `1,000 nodes: greedy right in ${percent(found)}, ${hops / lookups} hops; one table in ${percent(known)}`,
  )
  expect(found / lookups).toBeGreaterThanOrEqual(0.99)
  expect(known / lookups).toBeLessThan(0.3)
})

it('learns of a node that joined after a while, and at once when it meets it', () => {
  const { world, tables, ids } = network(15, { learnMs: 1_000 })
  const late = idOf('late')
  world.time = 10_000
  tables.join(late, world.time)
  const knowing = () => ids.filter((id) => tables.tableOf(id).includes(late)).length
  expect(tables.tableOf(late)).toHaveLength(15)
  expect(knowing()).toBe(0)
  tables.meet(ids[3]!, late)
  expect(tables.tableOf(ids[3]!)).toContain(late)
  world.time += 500
  expect(knowing()).toBeGreaterThan(1)
  expect(knowing()).toBeLessThan(15)
  world.time += 500
  expect(knowing()).toBe(15)
})

it('keeps a dead node until it is forgotten, and hears of it again after it came back', () => {
  const { world, tables, ids } = network(10, { learnMs: 100, hearAgainMs: 1_000 })
  const [a, b, dead] = ids as [Id, Id, Id]
  world.time = 50_000
  tables.died(dead, world.time)
  world.time += 1_000_000
  expect(tables.tableOf(a)).toContain(dead)
  tables.forget(a, dead)
  expect(tables.tableOf(a)).not.toContain(dead)
  expect(tables.tableOf(b)).toContain(dead)
  const newcomer = idOf('newcomer')
  tables.join(newcomer, world.time)
  expect(tables.tableOf(newcomer)).not.toContain(dead)
  world.time += 1_000_000
  expect(tables.tableOf(a)).not.toContain(dead)
  tables.join(dead, world.time)
  expect(tables.tableOf(a)).not.toContain(dead)
  world.time += 2_000
  expect(tables.tableOf(a)).toContain(dead)
  expect(tables.tableOf(newcomer)).toContain(dead)
})

it('hears again of a node it took for dead, once it can be reached', () => {
  const { world, tables, ids } = network(10, { hearAgainMs: 1_000 })
  const [a, b] = ids as [Id, Id]
  world.cutOff.add(b)
  tables.forget(a, b)
  world.time = 100_000
  expect(tables.tableOf(a)).not.toContain(b)
  world.cutOff.clear()
  world.healedAt = world.time
  expect(tables.tableOf(a)).not.toContain(b)
  world.time += 2_000
  expect(tables.tableOf(a)).toContain(b)
})

it('fills the place of a forgotten node from the same bucket', () => {
  const { tables, ids } = network(200)
  const own = ids[0]!
  const before = tables.tableOf(own)
  const victim = before.find((id) => commonBits(own, id) === 0)!
  tables.forget(own, victim)
  const after = tables.tableOf(own)
  expect(after).toHaveLength(before.length)
  expect(after).not.toContain(victim)
})

it('makes 10,000 tables in some seconds', () => {
  const start = performance.now()
  const { tables, ids } = network(10_000)
  let entries = 0
  for (const id of ids) entries += tables.tableOf(id).length
  const ms = performance.now() - start
  const lookups = performance.now()
  for (let i = 0; i < 100_000; i++) tables.closest(ids[i % 10_000]!, ids[(i * 7919) % 10_000]!, 8)
  const lookupUs = ((performance.now() - lookups) * 1_000) / 100_000
  console.log(
    `10,000 tables with ${entries} entries: ${ms.toFixed(0)} ms; closest of 8: ${lookupUs.toFixed(1)} microseconds`,
  )
  expect(entries / 10_000).toBeGreaterThan(150)
  expect(ms).toBeLessThan(15_000)
})
