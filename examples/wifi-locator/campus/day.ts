// The rhythm of a day on the generated campus: where people go at which hour, and for how long they stay.
import type { Use } from './ground.ts'

export type Kind = 'student' | 'staff' | 'fixed'
/** A building of some use, or home: a student's own residence, and off the campus for staff. */
export type Goal = Use | 'home'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS

type Weights = Readonly<Partial<Record<Goal, number>>>

interface Phase {
  /** Until this hour of the day. */
  readonly until: number
  readonly student: Weights
  readonly staff: Weights
}

/** From midnight on. Lunch and dinner draw crowds to few buildings, which is when access points are slowest. */
const PHASES: readonly Phase[] = [
  { until: 7, student: { home: 1 }, staff: { home: 1 } },
  { until: 9, student: { home: 5, dining: 3, academic: 2 }, staff: { home: 3, office: 5, academic: 2 } },
  {
    until: 11.7,
    student: { academic: 11, library: 3, home: 3, sports: 1, dining: 1 },
    staff: { office: 5, academic: 5 },
  },
  {
    until: 13.5,
    student: { dining: 4, academic: 4, home: 4, library: 3 },
    staff: { dining: 3, office: 5, academic: 4 },
  },
  {
    until: 17,
    student: { academic: 8, library: 5, home: 4, sports: 2 },
    staff: { office: 5, academic: 5, library: 1 },
  },
  { until: 19.5, student: { dining: 6, home: 7, sports: 4, library: 3 }, staff: { home: 8, office: 2 } },
  { until: 23, student: { home: 10, library: 6, academic: 2, dining: 1 }, staff: { home: 1 } },
  { until: 24, student: { home: 1 }, staff: { home: 1 } },
]

/** Between the hours at which people sleep. */
const MORNING = 7
const NIGHT = 23
/** Classes change so often; people leave some minutes before and after. */
const CLASS_MS = 30 * MINUTE_MS
const CLASS_SPREAD_MS = 6 * MINUTE_MS

/** The hour of the day, with its fraction, where the campus is. */
export function hourOf(at: number): number {
  const date = new Date(at)
  return date.getHours() + date.getMinutes() / 60 + date.getSeconds() / 3_600
}

/** Whether people sleep. */
export function isNight(at: number): boolean {
  const hour = hourOf(at)
  return hour < MORNING || hour >= NIGHT
}

/** Where somebody goes at this time. */
export function goalAt(kind: 'student' | 'staff', at: number, random: () => number): Goal {
  const hour = hourOf(at)
  const weights = Object.entries(PHASES.find(({ until }) => hour < until)![kind]) as [Goal, number][]
  let left = random() * weights.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [goal, weight] of weights) {
    left -= weight
    if (left < 0) return goal
  }
  return 'home'
}

/** When somebody who arrives at this time goes on: when classes change, or in the morning. */
export function leavesAt(at: number, random: () => number): number {
  if (isNight(at)) {
    const untilMorning = ((MORNING + 24 - hourOf(at)) % 24) * HOUR_MS
    return at + untilMorning + random() * 3 * HOUR_MS
  }
  const classes = 1 + Math.floor(3 * random())
  const change = Math.ceil(at / CLASS_MS) * CLASS_MS + (classes - 1) * CLASS_MS
  return Math.max(at + 5 * MINUTE_MS, change + (random() + random() - 1) * CLASS_SPREAD_MS)
}
