// What every schedule promises, ours or a user's: call `scheduleContract` inside a test file.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { replay } from '../../endpoints/pull/replay.ts'
import { type Chance, hit, miss, type Outcome, type Schedule } from '../../endpoints/pull/schedule.ts'
import { seeded } from '../../policies/chance.ts'

export interface ScheduleCase {
  readonly name: string
  make(random: Chance): Schedule
  /** A schedule that may stop polling: a plan that ran out, a level without checks. */
  readonly canEnd?: boolean
}

const START = 1_700_000_000_000

/** What a poll found, told by when the last reading was published before it. */
const outcomes = fc.oneof(
  fc.record({
    kind: fc.constant('hit'),
    ageMs: fc.nat(300_000),
    more: fc.boolean(),
    spreadMs: fc.nat(20_000),
  }),
  fc.record({ kind: fc.constantFrom('empty', 'overloaded', 'failed'), ageMs: fc.nat(1000) }),
)
type Told = { kind: string; ageMs: number; more?: boolean; spreadMs?: number }

function outcomeOf(now: number, last: number, { kind, ageMs, more, spreadMs }: Told): Outcome {
  if (kind !== 'hit') return { ...miss(kind as 'empty'), responseMs: ageMs }
  return hit(Math.max(last, now - ageMs), more, spreadMs)
}

/** The times at which it polls, told these outcomes. */
function times(schedule: Schedule, told: readonly Told[]): number[] {
  const polled = [schedule.first(START)]
  let last = START - 400_000
  for (const one of told) {
    const now = polled.at(-1)!
    if (now === Number.POSITIVE_INFINITY) break
    const outcome = outcomeOf(now, last, one)
    if (outcome.kind === 'hit') last = outcome.publishedAt[0]!
    polled.push(schedule.next(now, outcome))
  }
  return polled
}

/** Registers the suite of one schedule. */
export function scheduleContract({ name, make, canEnd = false }: ScheduleCase): void {
  describe(name, () => {
    it('never goes back, and never polls twice at one time for nothing', () => {
      fc.assert(
        fc.property(fc.array(outcomes, { maxLength: 120 }), fc.nat(), (told, seed) => {
          const polled = times(make(seeded(seed)), told)
          for (const [i, at] of polled.entries()) {
            expect(at).toBeGreaterThanOrEqual(i === 0 ? START : polled[i - 1]!)
            if (i > 0 && told[i - 1]!.kind !== 'hit') expect(at).toBeGreaterThan(polled[i - 1]!)
            if (!canEnd) expect(at).toBeLessThan(Number.POSITIVE_INFINITY)
          }
        }),
      )
    })

    it('gives the same times for the same chance and outcomes', () => {
      fc.assert(
        fc.property(fc.array(outcomes, { maxLength: 60 }), fc.nat(), (told, seed) => {
          expect(times(make(seeded(seed)), told)).toEqual(times(make(seeded(seed)), told))
        }),
      )
    })

    it('pulls at once what is there already, but for the spread the source asks for', () => {
      const schedule = make(seeded(1))
      const now = schedule.first(START)
      if (now === Number.POSITIVE_INFINITY) return
      expect(schedule.next(now, hit(now - 5_000, true))).toBe(now)
      const spread = schedule.next(now, hit(now - 1_000, true, 10_000))
      expect(spread).toBeLessThanOrEqual(now + 10_000)
    })

    it('fetches every reading of a source with jitter, misses, bursts and an outage', () => {
      if (canEnd) return
      const random = seeded(7)
      const trace: number[] = []
      for (let at = START; trace.length < 400; ) {
        trace.push(at, ...(random() < 0.05 ? [at, at + 200] : []))
        at += 120_000 + Math.round(random() * 4_000) + (random() < 0.1 ? 120_000 : 0)
        if (trace.length === 200) at += 40 * 3_600_000
      }
      const { hits, published } = replay(trace, make(seeded(2)))
      expect(hits).toBe(published)
    })

    it('does not busy itself while the source is away', () => {
      const schedule = make(seeded(3))
      let now = schedule.first(START)
      for (let i = 0; i < 50 && now < Number.POSITIVE_INFINITY; i++) now = schedule.next(now, miss('failed'))
      expect(now - START).toBeGreaterThan(50_000)
    })
  })
}
