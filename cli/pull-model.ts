// `spillway publish-model`: a trace of the publishing model.
import { generateTrace } from '../endpoints/pull/publishing-model.ts'
import { seeded } from '../policies/chance.ts'
import { command, wholeNumber, write } from './options.ts'
import { numberOf } from './pull-traces.ts'

const NAME = 'publish-model'
/** Of a period or its jitter: thirty years, so that the longest trace can be replayed. */
const LONGEST_SECONDS = 1e9

export const publishModel = command(
  {
    name: NAME,
    paragraph:
      'Writes the publish times of a modelled sensor in seconds from 0 on, one a line, for "spillway replay": a period, ' +
      'failures that come in a row (a two-state Markov chain), and Laplace jitter.',
    options: {
      interval: { value: 'SECONDS', help: 'The period. 300 if not given.' },
      pss: { value: 'P', help: 'The probability to publish after a success. 0.95 if not given.' },
      pfs: { value: 'P', help: 'The probability to publish after a failure. 0.8 if not given.' },
      jitter: {
        value: 'SECONDS',
        help: 'The standard deviation of the jitter of an interval. 5 if not given.',
      },
      count: { value: 'N', help: 'How many readings. 10000 if not given.' },
      seed: { value: 'S', help: 'The same seed gives the same trace. 1 if not given.' },
    },
    example: [
      'npx spillway publish-model --interval 300 --pss 0.95 --pfs 0.8 --jitter 5 --count 10000 --seed 1 > sensor.txt',
    ],
    exits: { 0: 'written', 1: 'the work failed' },
  },
  async ({ options }, io) => {
    const positive = (value: number) => value > 0 && value <= LONGEST_SECONDS
    const share = (value: number) => value > 0 && value <= 1
    const model = {
      intervalMs:
        1000 *
        numberOf(
          NAME,
          'interval',
          options.interval ?? '300',
          positive,
          `seconds above 0, at most ${LONGEST_SECONDS}`,
        ),
      pss: numberOf(NAME, 'pss', options.pss ?? '0.95', (p) => p >= 0 && p <= 1, 'a probability'),
      pfs: numberOf(NAME, 'pfs', options.pfs ?? '0.8', share, 'a probability above 0'),
      jitterMs:
        1000 *
        numberOf(
          NAME,
          'jitter',
          options.jitter ?? '5',
          (value) => value === 0 || positive(value),
          `seconds from 0 to ${LONGEST_SECONDS}`,
        ),
    }
    const count = wholeNumber(
      NAME,
      'count',
      options.count ?? '10000',
      1,
      10_000_000,
      'a whole number from 1 to 10,000,000',
    )
    const seed = wholeNumber(NAME, 'seed', options.seed ?? '1', 0, 2 ** 32 - 1, 'a whole number below 2^32')
    const trace = generateTrace(model, count, seeded(seed))
    for (let from = 0; from < trace.length; from += CHUNK)
      await write(
        io.stdout,
        trace
          .slice(from, from + CHUNK)
          .map((at) => `${(at / 1000).toFixed(3)}\n`)
          .join(''),
      )
    return 0
  },
)

/** Lines written at a time. */
const CHUNK = 10_000
