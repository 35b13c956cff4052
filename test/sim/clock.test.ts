import { expect, it } from 'vitest'
import { seeded } from '../../policies/chance.ts'
import { Clock, Entry } from './clock.ts'

it('fires in the order of time, and in the order of scheduling among equal times', () => {
  const clock = new Clock()
  const random = seeded(1)
  const fired: { at: number; i: number }[] = []
  for (let i = 0; i < 5_000; i++) {
    const at = Math.floor(random() * 50)
    clock.after(at, () => fired.push({ at, i }))
  }
  clock.runUntil(100)
  expect(fired).toHaveLength(5_000)
  expect(fired).toEqual([...fired].sort((a, b) => a.at - b.at || a.i - b.i))
  expect(clock.now).toBe(100)
})

it('fires what is scheduled for now while it fires, and nothing after the end', () => {
  const clock = new Clock()
  const fired: string[] = []
  clock.after(10, () => {
    fired.push(`a at ${clock.now}`)
    clock.after(0, () => fired.push(`b at ${clock.now}`))
    clock.after(0.5, () => fired.push('c'))
  })
  clock.runUntil(10)
  expect(fired).toEqual(['a at 10', 'b at 10'])
  expect(clock.pending).toBe(1)
})

it('does not fire what was cancelled, also when it is scheduled again', () => {
  const clock = new Clock()
  class Bell extends Entry {
    rings: number[] = []
    override fire(): void {
      this.rings.push(clock.now)
    }
  }
  const bell = new Bell()
  clock.schedule(bell, 5)
  clock.cancel(bell)
  clock.schedule(bell, 8)
  clock.cancel(bell)
  clock.cancel(bell)
  clock.schedule(bell, 7)
  clock.runUntil(20)
  expect(bell.rings).toEqual([7])
  expect(clock.pending).toBe(0)
})

it('is the same as a sorted list under random scheduling and cancelling', () => {
  const clock = new Clock()
  const random = seeded(2)
  const expected: { at: number; i: number }[] = []
  const fired: { at: number; i: number }[] = []
  for (let i = 0; i < 20_000; i++) {
    const at = Math.floor(random() * 1_000)
    const call = clock.after(at, () => fired.push({ at, i }))
    if (random() < 0.8) call.cancel()
    else expected.push({ at, i })
  }
  expect(clock.pending).toBe(expected.length)
  clock.runUntil(1_000)
  expect(fired).toEqual(expected.sort((a, b) => a.at - b.at || a.i - b.i))
})

it('takes millions of timers, most of them cancelled, in a moment', () => {
  const clock = new Clock()
  const random = seeded(3)
  const start = performance.now()
  let fired = 0
  for (let i = 0; i < 2_000_000; i++) {
    const call = clock.after(random() * 10_000, () => fired++)
    if (i % 4 !== 0) call.cancel()
  }
  clock.runUntil(10_000)
  const ms = performance.now() - start
  console.log(`2,000,000 timers, of which 500,000 fired: ${ms.toFixed(0)} ms`)
  expect(fired).toBe(500_000)
  expect(ms).toBeLessThan(10_000)
})
