// `spillway crawl`: when to crawl sensors that sleep, under a budget (EasiCrawl).
import {
  type CrawlMethod,
  type CrawlProblem,
  type CrawlSolution,
  type Sensor,
  solveCrawl,
} from '../endpoints/pull/crawl-budget.ts'
import type { Window } from '../endpoints/pull/crawl-timeline.ts'
import { seeded } from '../policies/chance.ts'
import { writeLine } from './json-lines.ts'
import { command, InputError, UsageError, wholeNumber, write } from './options.ts'
import { columns, contentOf } from './pull-traces.ts'

const NAME = 'crawl'
const METHODS: readonly string[] = ['dp', 'greedy', 'random'] satisfies CrawlMethod[]

export const crawl = command(
  {
    name: NAME,
    operand: 'PROBLEM.json',
    paragraph:
      'Plans when to crawl sensors that are awake only in given windows, so that the expected latency of their events is ' +
      'least. A problem is {"horizon":T,"step":E,"budget":N,"sensors":[{"id":"a","rate":0.2,"weight":1,"maxCrawls":9,' +
      '"awake":[[0,40],[60,100]]}]}, - is stdin; weight is 1 and maxCrawls the budget if not given. Candidate times are the ' +
      'multiples of the step inside awake windows and the end of each window; the last awake instant is always crawled. ' +
      'It prints the crawl times of each sensor, the expected sum of the latencies of its events, and the weighted sum.',
    options: {
      method: { value: 'NAME', help: 'dp, the optimum; greedy; or random. dp if not given.' },
      seed: { value: 'S', help: 'The seed of random. 1 if not given.' },
      json: { help: 'Write one JSON object.' },
    },
    example: [
      `echo '{"horizon":100,"step":5,"budget":4,"sensors":[{"id":"a","rate":0.2,"awake":[[0,40],[60,100]]}]}' > problem.json`,
      'npx spillway crawl problem.json',
    ],
    exits: { 0: 'planned', 1: 'the problem is wrong or has no plan' },
  },
  async ({ operands: [file], options }, io) => {
    const method = options.method ?? 'dp'
    if (!METHODS.includes(method))
      throw new UsageError(NAME, `--method: expected ${METHODS.join(', ')}, got "${method}"`)
    const seed = wholeNumber(NAME, 'seed', options.seed ?? '1', 0, 2 ** 32 - 1, 'a whole number below 2^32')
    const problem = problemOf(file, await contentOf(file, io))
    const solution = solved(file, problem, method as CrawlMethod, seed)
    if (options.json) await writeLine(io, solution)
    else await write(io.stdout, tableOf(solution))
    return 0
  },
)

function solved(file: string, problem: CrawlProblem, method: CrawlMethod, seed: number): CrawlSolution {
  try {
    return solveCrawl(problem, method, seeded(seed))
  } catch (error) {
    if (error instanceof RangeError) throw new InputError(`${file}: ${error.message}`)
    throw error
  }
}

function tableOf({ sensors, expectedLatency }: CrawlSolution): string {
  const rows = sensors.map(({ id, crawls, expectedLatency: latency }) => [
    id,
    String(crawls.length),
    number(latency),
    crawls.map(number).join(' '),
  ])
  const [head, ...lines] = columns([
    ['sensor', 'crawls', 'expected latency'],
    ...rows.map((row) => row.slice(0, 3)),
  ]).split('\n')
  const shown = lines.slice(0, -1).map((line, i) => `${line}  at ${rows[i]![3]}`)
  return [head, ...shown, `weighted sum of expected latencies: ${number(expectedLatency)}`, ''].join('\n')
}

function number(value: number): string {
  return String(Math.round(value * 1e6) / 1e6)
}

function problemOf(file: string, content: string): CrawlProblem {
  let given: unknown
  try {
    given = JSON.parse(content)
  } catch (error) {
    throw new InputError(`${file}: ${(error as Error).message}`)
  }
  const mistakes: string[] = []
  const problem = new ProblemReader(mistakes).read(given)
  if (mistakes.length > 0) throw new InputError(...mistakes.map((mistake) => `${file}: ${mistake}`))
  return problem
}

/** Reads a problem and collects what is wrong with it. */
class ProblemReader {
  readonly #mistakes: string[]

  constructor(mistakes: string[]) {
    this.#mistakes = mistakes
  }

  read(given: unknown): CrawlProblem {
    const { horizon, step, budget, sensors, ...others } = objectOf(given)
    for (const name of Object.keys(others)) this.#mistakes.push(`unknown "${name}"`)
    const read = {
      horizon: this.#number('horizon', horizon, (value) => value > 0, 'a number above 0'),
      step: this.#number('step', step, (value) => value > 0, 'a number above 0'),
      budget: this.#number('budget', budget, isCount, 'a whole number from 1'),
    }
    if (!Array.isArray(sensors) || sensors.length === 0) {
      this.#mistakes.push('expected sensors, a list of at least one')
      return { ...read, sensors: [] }
    }
    const list = sensors.map((sensor, i) => this.#sensor(sensor, `sensors[${i}]`, read.budget))
    const ids = list.map(({ id }) => id)
    for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) < i)))
      this.#mistakes.push(`two sensors have the id "${id}"`)
    return { ...read, sensors: list }
  }

  #sensor(given: unknown, at: string, budget: number): Sensor {
    const { id, rate, weight = 1, maxCrawls = budget, awake, ...others } = objectOf(given)
    for (const name of Object.keys(others)) this.#mistakes.push(`${at}: unknown "${name}"`)
    if (typeof id !== 'string' && typeof id !== 'number') this.#mistakes.push(`${at}.id: expected a name`)
    return {
      id: String(id),
      rate: this.#number(`${at}.rate`, rate, (value) => value >= 0, 'a number from 0'),
      weight: this.#number(`${at}.weight`, weight, (value) => value >= 0, 'a number from 0'),
      maxCrawls: this.#number(`${at}.maxCrawls`, maxCrawls, isCount, 'a whole number from 1'),
      awake: this.#windows(`${at}.awake`, awake),
    }
  }

  #windows(at: string, given: unknown): Window[] {
    const windows = Array.isArray(given) ? given : []
    const isRight = windows.every(
      (window) =>
        Array.isArray(window) &&
        window.length === 2 &&
        window.every(Number.isFinite) &&
        window[0] < window[1],
    )
    if (!Array.isArray(given) || !isRight)
      this.#mistakes.push(`${at}: expected windows [[from, to], …] with from < to`)
    return isRight ? windows : []
  }

  #number(at: string, given: unknown, isRight: (value: number) => boolean, expected: string): number {
    if (typeof given === 'number' && Number.isFinite(given) && isRight(given)) return given
    this.#mistakes.push(`${at}: expected ${expected}, got ${JSON.stringify(given) ?? 'nothing'}`)
    return 1
  }
}

function objectOf(given: unknown): Record<string, unknown> {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? { ...given } : {}
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1
}
