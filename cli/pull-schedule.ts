// The names of schedules on the command line.
import { Best } from '../endpoints/pull/best.ts'
import { Dpt, type DptOptions, type DptVariant } from '../endpoints/pull/dpt.ts'
import { FixedInterval } from '../endpoints/pull/fixed-interval.ts'
import { FixedRounds, Mdpt, type RepublishingSchedule } from '../endpoints/pull/mdpt.ts'
import type { Chance, Schedule } from '../endpoints/pull/schedule.ts'
import { suggestion } from '../policies/suggestion.ts'
import { UsageError } from './options.ts'

const VARIANTS: Readonly<Record<string, DptVariant>> = { a: 'aggressive', n: 'normal', l: 'lazy' }

/** Schedules of one source; `bimodal-a` and so on learn two periods, `:printed` is Algorithm 2 to the letter. */
export const NAMES = ['dpt-a', 'dpt-n', 'dpt-l', 'bimodal-a', 'bimodal-n', 'bimodal-l', 'best'] as const
/** Schedules of several sources: tracked by `best`, or by DPT-L as in the paper. */
export const MULTI_NAMES = ['mdpt', 'mdpt-l'] as const

/** A schedule by name; `phaseOf` is asked for the phase of a fixed interval, and `firstPeriodMs` is guessed; milliseconds. */
export function scheduleOf(
  command: string,
  name: string,
  random: Chance,
  phaseOf: (intervalMs: number) => number,
  firstPeriodMs?: number,
): Schedule {
  const intervalMs = fixedMs(command, name)
  if (intervalMs !== undefined) return new FixedInterval(intervalMs, phaseOf(intervalMs), random)
  const [base = '', form] = name.split(':')
  const [, family, letter = ''] = /^(dpt|bimodal)-([anl])$/.exec(base) ?? []
  const isKnown = form === undefined || (form === 'printed' && family !== undefined)
  if (!isKnown) throw unknown(command, name, NAMES)
  const known = firstPeriodMs === undefined ? {} : { firstPeriodMs }
  if (base === 'best') return new Best(random, known)
  if (family === undefined) throw unknown(command, name, NAMES)
  const options: DptOptions = {
    ...known,
    bimodal: family === 'bimodal',
    nextDelayBias: form === undefined ? 'intended' : 'printed',
  }
  return new Dpt(VARIANTS[letter]!, random, options)
}

export interface MultiOptions {
  readonly sources: number
  readonly trigger: number
  readonly candidates: number
}

/** A schedule of several sources by name. */
export function multiScheduleOf(
  command: string,
  name: string,
  random: Chance,
  phaseOf: (intervalMs: number) => number,
  { sources, trigger, candidates }: MultiOptions,
): RepublishingSchedule {
  const intervalMs = fixedMs(command, name)
  if (intervalMs !== undefined) return new FixedRounds(sources, trigger, intervalMs, phaseOf(intervalMs))
  const options = { trigger, candidates }
  if (name === 'mdpt') return new Mdpt(sources, random, { ...options, track: () => new Best(random) })
  if (name === 'mdpt-l') return new Mdpt(sources, random, options)
  throw unknown(command, name, MULTI_NAMES)
}

/** Clocks, and traces, are in whole milliseconds. */
const LEAST_SECONDS = 0.001

/** The interval of `fixed:SECONDS`; undefined for another schedule. */
export function fixedMs(command: string, name: string): number | undefined {
  const [, seconds] = /^fixed:(.*)$/.exec(name) ?? []
  if (seconds === undefined) return undefined
  const given = seconds.trim() === '' ? Number.NaN : Number(seconds)
  if (given >= LEAST_SECONDS && Number.isFinite(given)) return given * 1000
  throw new UsageError(
    command,
    `--schedule: expected fixed:SECONDS above 0, at least ${LEAST_SECONDS}, got "${name}"`,
  )
}

function unknown(command: string, name: string, names: readonly string[]): UsageError {
  const guess = suggestion(name, [...names]) || `, expected ${names.join(', ')} or fixed:SECONDS`
  return new UsageError(command, `--schedule: unknown schedule "${name}"${guess}`)
}
