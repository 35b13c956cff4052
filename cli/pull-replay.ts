// `spillway replay`: what a schedule would have done with a source whose publish times are known.
import { failureError, jitterError } from '../endpoints/pull/goodness-of-fit.ts'
import { fitModel } from '../endpoints/pull/publishing-model.ts'
import {
  type Figures,
  figuresOf,
  type Latency,
  latencyOf,
  replay,
  replayApart,
} from '../endpoints/pull/replay.ts'
import { replayRounds } from '../endpoints/pull/replay-rounds.ts'
import type { Chance } from '../endpoints/pull/schedule.ts'
import { seeded } from '../policies/chance.ts'
import { writeLine } from './json-lines.ts'
import { command, InputError, type Io, UsageError, wholeNumber, write } from './options.ts'
import { fixedMs, MULTI_NAMES, multiScheduleOf, NAMES, scheduleOf } from './pull-schedule.ts'
import { columns, numberOf, readTraces, seconds, TRACE, type Trace } from './pull-traces.ts'

const NAME = 'replay'
/** Without --schedule. */
const USUAL = ['dpt-a', 'dpt-n', 'dpt-l', 'best']
/** Of a fixed interval in all its runs: some minutes. What learns backs off, and polls seldom in a long outage. */
const MOST_POLLS = 1e9

export const replayCommand = command(
  {
    name: NAME,
    operand: 'TRACE…',
    paragraph:
      `Replays the publish times of sources against polling schedules. ${TRACE} One poll returns one reading and says ` +
      'whether there is more; the pull that follows at once is a poll of its own. It prints how many readings were published, ' +
      'polls, hits, hit percentage, and the latency from publication to poll in seconds: median, mean, standard deviation, ' +
      '95th percentile.',
    options: {
      schedule: {
        value: 'NAME',
        many: true,
        help:
          `${NAMES.join(', ')} or fixed:SECONDS; with --multi ${MULTI_NAMES.join(', ')} or fixed:SECONDS. dpt-l:printed ` +
          `is the algorithm as the paper prints it. ${USUAL.join(', ')} if not given, with --multi mdpt.`,
      },
      multi: {
        value: 'M',
        help: 'Replay all traces as one republisher that needs new readings of M sources: republishing latency, and hit percentage of its rounds.',
      },
      candidates: {
        value: 'C',
        help: 'With --multi: wait until so many sources are expected. M if not given.',
      },
      fit: { help: 'Print the publishing model fitted to each trace, and how well it fits.' },
      apart: {
        help: 'Leave outages over ten periods out: the polls in them, and readings until the schedule caught up.',
      },
      phase: {
        value: 'SECONDS',
        help: 'When a fixed interval begins after the first reading; random (by the seed) if not given.',
      },
      runs: {
        value: 'N',
        help: 'With a random phase: so many runs of each fixed interval; prints best, mean and worst by mean latency.',
      },
      seed: { value: 'S', help: 'The seed of all chance. 1 if not given.' },
      json: { help: 'Write a JSON object a line.' },
    },
    example: [
      'npx spillway publish-model --count 2000 > sensor.txt',
      'npx spillway replay sensor.txt --schedule dpt-n --schedule best --schedule fixed:300',
    ],
    exits: { 0: 'replayed', 1: 'a trace could not be read' },
  },
  async ({ operands, options }, io) => {
    const settings: Settings = {
      seed: wholeNumber(NAME, 'seed', options.seed ?? '1', 0, 2 ** 32 - 1, 'a whole number below 2^32'),
      phaseMs: phaseOf(options.phase),
      runs: wholeNumber(NAME, 'runs', options.runs ?? '1', 1, 100_000, 'a whole number from 1'),
      isApart: options.apart,
      isJson: options.json,
    }
    const names = options.schedule.flatMap((name) => name.split(',')).filter(Boolean)
    // What is wrong with a name is said before a long trace is read.
    check(names, options.multi !== undefined)
    const traces = await readTraces(NAME, operands, io)
    checkPolls(traces, names, settings)
    if (options.fit) return fitEach(traces, settings, io)
    if (options.multi !== undefined)
      return replayTogether(traces, names, options.multi, options.candidates, settings, io)
    return replayEach(traces, names, settings, io)
  },
)

interface Settings {
  readonly seed: number
  /** Undefined for a random one. */
  readonly phaseMs: number | undefined
  readonly runs: number
  readonly isApart: boolean
  readonly isJson: boolean
}

function phaseOf(given: string | undefined): number | undefined {
  if (given === undefined || given === 'random') return undefined
  return 1000 * numberOf(NAME, 'phase', given, (value) => value >= 0, 'random, or seconds from 0')
}

function check(names: readonly string[], isMulti: boolean): void {
  const options = { sources: 1, trigger: 1, candidates: 1 }
  for (const name of names)
    if (isMulti) multiScheduleOf(NAME, name, Math.random, () => 0, options)
    else scheduleOf(NAME, name, Math.random, () => 0)
}

/** A short interval and a long trace are a command that never ends. */
function checkPolls(traces: readonly Trace[], names: readonly string[], { runs }: Settings): void {
  for (const name of names)
    for (const { name: trace, times } of traces) {
      const polls = (runs * (times.at(-1)! - times[0]!)) / (fixedMs(NAME, name) ?? Number.POSITIVE_INFINITY)
      if (polls > MOST_POLLS)
        throw new UsageError(
          NAME,
          `--schedule: ${name} polls ${trace} ${polls.toExponential(0)} times, at most ${MOST_POLLS.toExponential(0)}`,
        )
    }
}

/** What is printed of one schedule on one trace; latencies in seconds. */
interface Row {
  readonly trace?: string
  readonly schedule: string
  readonly run?: 'best' | 'mean' | 'worst'
  readonly published: number
  readonly polls: number
  readonly hits: number
  readonly hitPercent: number
  readonly latency: Latency
}

async function replayEach(
  traces: readonly Trace[],
  names: readonly string[],
  settings: Settings,
  io: Io,
): Promise<number> {
  const rows: Row[] = []
  for (const { name: trace, times } of traces) {
    const named = traces.length > 1 ? { trace } : {}
    for (const schedule of names.length > 0 ? names : USUAL)
      for (const row of rowsOf(times, schedule, settings)) {
        rows.push({ ...named, ...row })
        if (settings.isJson) await writeLine(io, rows.at(-1))
      }
  }
  if (!settings.isJson) await write(io.stdout, tableOf(rows))
  return 0
}

function rowsOf(times: readonly number[], schedule: string, settings: Settings): Row[] {
  const random = seeded(settings.seed)
  const isFixed = fixedMs(NAME, schedule) !== undefined
  const once = (): Figures => {
    const made = scheduleOf(NAME, schedule, random, (ms) => settings.phaseMs ?? random() * ms)
    return figuresOf(settings.isApart ? replayApart(times, made) : replay(times, made))
  }
  if (!isFixed || settings.runs === 1) return [{ schedule, ...shown(once()) }]
  const runs = Array.from({ length: settings.runs }, once).sort((a, b) => a.latency.mean - b.latency.mean)
  return [
    { schedule, run: 'best', ...shown(runs[0]!) },
    { schedule, run: 'mean', ...shown(meanOf(runs)) },
    { schedule, run: 'worst', ...shown(runs.at(-1)!) },
  ]
}

function meanOf(runs: readonly Figures[]): Figures {
  const mean = (of: (run: Figures) => number) => runs.reduce((sum, run) => sum + of(run), 0) / runs.length
  return {
    published: runs[0]!.published,
    polls: mean(({ polls }) => polls),
    hits: mean(({ hits }) => hits),
    hitPercent: mean(({ hitPercent }) => hitPercent),
    latency: {
      median: mean(({ latency }) => latency.median),
      mean: mean(({ latency }) => latency.mean),
      stddev: mean(({ latency }) => latency.stddev),
      p95: mean(({ latency }) => latency.p95),
    },
  }
}

function shown({ published, polls, hits, hitPercent, latency }: Figures) {
  return { published, polls, hits, hitPercent: rounded(hitPercent), latency: inSeconds(latency) }
}

function inSeconds({ median, mean, stddev, p95 }: Latency): Latency {
  return { median: seconds(median), mean: seconds(mean), stddev: seconds(stddev), p95: seconds(p95) }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

function tableOf(rows: readonly Row[]): string {
  const isNamed = rows.some(({ trace }) => trace !== undefined)
  const head = ['schedule', 'published', 'polls', 'hits', 'hit %', 'median s', 'mean s', 'stddev s', '95 % s']
  const cells = rows.map(({ trace, schedule, run, published, polls, hits, hitPercent, latency }) => [
    ...(isNamed ? [trace!] : []),
    run === undefined ? schedule : `${schedule} ${run}`,
    ...[published, polls, hits].map((count) => String(Math.round(count))),
    hitPercent.toFixed(1),
    ...[latency.median, latency.mean, latency.stddev, latency.p95].map((value) => value.toFixed(2)),
  ])
  return columns([[...(isNamed ? ['trace'] : []), ...head], ...cells])
}

async function replayTogether(
  traces: readonly Trace[],
  names: readonly string[],
  multi: string,
  given: string | undefined,
  settings: Settings,
  io: Io,
): Promise<number> {
  const sources = traces.length
  const trigger = wholeNumber(
    NAME,
    'multi',
    multi,
    1,
    sources,
    `a whole number from 1 to the ${sources} traces`,
  )
  const candidates = wholeNumber(
    NAME,
    'candidates',
    given ?? multi,
    trigger,
    sources,
    `a whole number from ${trigger} to ${sources}`,
  )
  const times = traces.map((trace) => trace.times)
  const rows = (names.length > 0 ? names : ['mdpt']).map((schedule) => {
    const random: Chance = seeded(settings.seed)
    const phase = (ms: number) => settings.phaseMs ?? random() * ms
    const made = multiScheduleOf(NAME, schedule, random, phase, { sources, trigger, candidates })
    const { rounds, republished, polls, latenciesMs } = replayRounds(times, trigger, made)
    const hitPercent = rounded((100 * republished) / rounds)
    return { schedule, rounds, republished, polls, hitPercent, latency: inSeconds(latencyOf(latenciesMs)) }
  })
  if (settings.isJson) for (const row of rows) await writeLine(io, row)
  else await write(io.stdout, multiTable(rows))
  return 0
}

interface MultiRow {
  readonly schedule: string
  readonly rounds: number
  readonly republished: number
  readonly polls: number
  readonly hitPercent: number
  readonly latency: Latency
}

function multiTable(rows: readonly MultiRow[]): string {
  const head = [
    'schedule',
    'rounds',
    'republished',
    'polls',
    'hit %',
    'median s',
    'mean s',
    'stddev s',
    '95 % s',
  ]
  const cells = rows.map(({ schedule, rounds, republished, polls, hitPercent, latency }) => [
    schedule,
    ...[rounds, republished, polls].map(String),
    hitPercent.toFixed(1),
    ...[latency.median, latency.mean, latency.stddev, latency.p95].map((value) => value.toFixed(2)),
  ])
  return columns([head, ...cells])
}

async function fitEach(traces: readonly Trace[], { isJson }: Settings, io: Io): Promise<number> {
  const fits = traces.map(({ name, times }) => {
    const model = fitModel(times)
    if (model === undefined)
      throw new InputError(`${name}: expected at least three publish times to fit a model`)
    const { markov, geometric, noFailure } = failureError(model)
    const jitter = jitterError(times, model.intervalMs)
    return {
      ...(traces.length > 1 ? { trace: name } : {}),
      interval: seconds(model.intervalMs),
      pss: round4(model.pss),
      pfs: round4(model.pfs),
      jitter: seconds(model.jitterMs),
      outages: model.outages,
      bursts: model.bursts,
      failures: model.failures,
      chiSquared: { markov: rounded(markov), geometric: rounded(geometric), noFailure: rounded(noFailure) },
      kolmogorovSmirnov: { laplace: round4(jitter.laplace), normal: round4(jitter.normal) },
    }
  })
  if (isJson) for (const one of fits) await writeLine(io, one)
  else await write(io.stdout, fitTable(fits))
  return 0
}

function round4(value: number): number {
  return Math.round(value * 1e4) / 1e4
}

function fitTable(fits: readonly (Record<string, unknown> & { trace?: string })[]): string {
  const text = (value: unknown): string => {
    if (Array.isArray(value)) return value.join(' ')
    if (typeof value !== 'object' || value === null) return String(value)
    return Object.entries(value)
      .map(([name, one]) => `${name} ${one}`)
      .join(', ')
  }
  const tables = fits.map((one) =>
    Object.entries(one)
      .map(([name, value]) => `${name.padEnd(18)}${text(value)}\n`)
      .join(''),
  )
  return tables.join('\n')
}
