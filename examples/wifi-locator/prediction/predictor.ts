// Where a station goes next (PACK section 7, the location-prediction service): an order-k Markov model of what came
// after the last access points, each station's own first, then everybody's, with ever shorter memory. Its memory is
// bounded: what was used least recently is forgotten.
import { Recent } from '../recent.ts'

export interface PredictorOptions {
  /** How many of the last places count. */
  readonly order?: number
  readonly maxContexts?: number
}

/** How often it was right, of those moves before which it said something. */
export interface Score {
  readonly moves: number
  readonly predicted: number
  readonly top1: number
  readonly top3: number
}

export interface Prediction {
  readonly place: string
  /** Of what it has seen there, from 0 to 1. */
  readonly share: number
}

/** With two places, predictors of campus moves are as good as with more. */
const ORDER = 2
const MAX_CONTEXTS = 60_000
/** Places kept after a context; the rarest goes. */
const MAX_NEXT = 12
const MAX_STATIONS = 20_000
const SHOWN = 3
/** A place name is not expected to have it. */
const SEPARATOR = '\u0000'

/** How often each place came next. */
interface Context {
  total: number
  readonly next: Map<string, number>
}

export class Predictor {
  readonly #order: number
  readonly #contexts: Recent<Context>
  readonly #paths = new Recent<readonly string[]>(MAX_STATIONS)
  #moves = 0
  #predicted = 0
  #top1 = 0
  #top3 = 0

  constructor({ order = ORDER, maxContexts = MAX_CONTEXTS }: PredictorOptions = {}) {
    this.#order = order
    this.#contexts = new Recent(maxContexts)
  }

  get score(): Score {
    return { moves: this.#moves, predicted: this.#predicted, top1: this.#top1, top3: this.#top3 }
  }

  /** How many contexts it remembers. */
  get contexts(): number {
    return this.#contexts.size
  }

  /** A station is seen at a place: judges what was predicted, then learns. The same place again is no move. */
  seen(station: string, place: string): void {
    const path = this.#paths.get(station) ?? []
    if (path.at(-1) === place) return
    if (path.length > 0) {
      this.#judge(this.predict(station), place)
      for (const key of contextsOf(station, path)) this.#learn(key, place)
    }
    this.#paths.set(station, [...path, place].slice(-this.#order))
  }

  /** The likeliest next places, at most three; none for a station that was not seen yet. */
  predict(station: string): Prediction[] {
    const path = this.#paths.get(station) ?? []
    for (const key of contextsOf(station, path)) {
      const context = this.#contexts.get(key)
      if (context === undefined) continue
      return [...context.next]
        .sort(([, a], [, b]) => b - a)
        .slice(0, SHOWN)
        .map(([place, count]) => ({ place, share: count / context.total }))
    }
    return []
  }

  #judge(predictions: readonly Prediction[], place: string): void {
    this.#moves++
    if (predictions.length === 0) return
    this.#predicted++
    const at = predictions.findIndex((one) => one.place === place)
    if (at === 0) this.#top1++
    if (at >= 0) this.#top3++
  }

  #learn(key: string, place: string): void {
    const context = this.#contexts.get(key) ?? { total: 0, next: new Map() }
    context.total++
    context.next.set(place, (context.next.get(place) ?? 0) + 1)
    if (context.next.size > MAX_NEXT) {
      const [rarest, count] = [...context.next].reduce((least, one) => (one[1] < least[1] ? one : least))
      context.next.delete(rarest)
      context.total -= count
    }
    this.#contexts.set(key, context)
  }
}

/** The station's own contexts, the longest first, then those of everybody. */
function contextsOf(station: string, path: readonly string[]): string[] {
  const suffixes = path.map((_, i) => path.slice(i).join(SEPARATOR))
  return [
    ...suffixes.map((suffix) => `${station}${SEPARATOR}${suffix}`),
    ...suffixes.map((suffix) => SEPARATOR + suffix),
  ]
}
