// The contract of every polling schedule: told the time and the outcome of a poll, it answers when to poll next.
// Schedules are pure: the same code drives live pulls, the replay of traces and simulation. All times are
// milliseconds on the poller's clock.

/** What a poll found. */
export type Outcome = Hit | Miss

/** The poll brought something new. */
export interface Hit {
  readonly kind: 'hit'
  /** When each new reading was published: at least one, ascending, none after the poll. */
  readonly publishedAt: readonly number[]
  /** Whether the source has more already, so that the next poll can follow at once. */
  readonly more: boolean
  /** The source asks that the next poll be spread over so long a time (DPT section 6.4). */
  readonly desynchronisationMs: number
  /** How long the source took to answer. */
  readonly responseMs: number
}

/** The poll brought nothing new. */
export interface Miss {
  readonly kind: 'miss'
  /** `empty`: the source has nothing new. `overloaded`: it refused. `failed`: it did not answer, or with an error. */
  readonly reason: 'empty' | 'overloaded' | 'failed'
  readonly responseMs: number
}

/** When to poll one source. */
export interface Schedule {
  /** When to poll for the first time: never before `now`. */
  first(now: number): number
  /** Told what the poll at `now` found; answers when to poll next: never before `now`, Infinity for never again. */
  next(now: number, outcome: Outcome): number
}

/** A poll of several sources at one time, named by their index; `at` is Infinity for never again. */
export interface Round {
  readonly at: number
  readonly sources: readonly number[]
}

/** When to poll which of several sources. */
export interface MultiSchedule {
  first(now: number): Round
  /** Told what each source of the last round answered, in the order of its `sources`. */
  next(now: number, outcomes: readonly Outcome[]): Round
  /** The sources whose data is to be republished after the last round, if the schedule knows of such a thing. */
  readonly ready?: readonly number[]
}

/** Chance: numbers in [0, 1). */
export type Chance = () => number

/** The usual hit: one reading, nothing more, no wish to be desynchronised. */
export function hit(publishedAt: number, more = false, desynchronisationMs = 0): Hit {
  return { kind: 'hit', publishedAt: [publishedAt], more, desynchronisationMs, responseMs: 0 }
}

/** The usual miss: the source has nothing new. */
export function miss(reason: Miss['reason'] = 'empty'): Miss {
  return { kind: 'miss', reason, responseMs: 0 }
}

/** A schedule of several sources that has only one, as a schedule of that one. */
export function alone(schedule: MultiSchedule): Schedule {
  return {
    first: (now) => schedule.first(now).at,
    next: (now, outcome) => schedule.next(now, [outcome]).at,
  }
}
