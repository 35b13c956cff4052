// When a sensor is awake: told, or learnt from polls that were answered and polls that were not. EasiCrawl leaves the
// second for later (section VII).
import type { Window } from './crawl-timeline.ts'

/** When a sensor is awake. */
export interface SleepPlan {
  /** The windows in which it is awake, or may be, between two times. */
  awake(from: number, to: number): Window[]
  /** Told that it answered, or was seen to have published, at a time; or that it did not answer. */
  heard(at: number, isAwake: boolean): void
}

/** A sensor that is always awake. */
export const alwaysAwake: SleepPlan = { awake: (from, to) => [[from, to]], heard() {} }

/** A sleep plan that is known: these windows, which come again every `cycleMs` if that is given. */
export function knownSleep(windows: readonly Window[], cycleMs?: number): SleepPlan {
  return {
    awake(from, to) {
      if (cycleMs === undefined) return windows.filter(([start, end]) => start < to && end > from)
      return cyclesBetween(from, to, cycleMs).flatMap((cycle) =>
        windows.map(([start, end]): Window => [cycle * cycleMs + start, cycle * cycleMs + end]),
      )
    },
    heard() {},
  }
}

/** What is heard in a slot says half as much of the next one, and so on to this distance. */
const REACH_SLOTS = 3
/** After a cycle evidence counts this much: a plan that changed is learnt anew. */
const MEMORY = 0.8
/** A slot is taken as awake from this probability on; below one half, so that doubt is worth a poll. */
const WORTH = 0.45

/** A sleep plan that comes again every cycle (a day, say) and is learnt, in slots of a cycle. */
export class LearntSleep implements SleepPlan {
  readonly #cycleMs: number
  readonly #slotMs: number
  readonly #evidence: { awake: number; asleep: number; cycle: number }[]

  constructor(cycleMs: number, slots: number) {
    this.#cycleMs = cycleMs
    this.#slotMs = cycleMs / slots
    this.#evidence = Array.from({ length: slots }, () => ({ awake: 0, asleep: 0, cycle: 0 }))
  }

  heard(at: number, isAwake: boolean): void {
    const cycle = Math.floor(at / this.#cycleMs)
    const evidence = this.#evidence[this.#slotOf(at)]!
    const fading = MEMORY ** Math.max(0, cycle - evidence.cycle)
    evidence.awake = evidence.awake * fading + (isAwake ? 1 : 0)
    evidence.asleep = evidence.asleep * fading + (isAwake ? 0 : 1)
    evidence.cycle = Math.max(cycle, evidence.cycle)
  }

  awake(from: number, to: number): Window[] {
    const windows: Window[] = []
    const first = Math.floor(from / this.#slotMs)
    for (let slot = first; slot * this.#slotMs < to; slot++) {
      const at = slot * this.#slotMs
      if (this.probability(at + this.#slotMs / 2) < WORTH) continue
      const start = Math.max(from, at)
      const end = Math.min(to, at + this.#slotMs)
      const last = windows.at(-1)
      if (last !== undefined && last[1] === start) windows[windows.length - 1] = [last[0], end]
      else windows.push([start, end])
    }
    return windows
  }

  /** How likely it is awake at a time: one half where nothing is known. */
  probability(at: number): number {
    const cycle = Math.floor(at / this.#cycleMs)
    let [awake, asleep] = [1, 1]
    for (let distance = -REACH_SLOTS; distance <= REACH_SLOTS; distance++) {
      const evidence = this.#evidence[this.#slotOf(at + distance * this.#slotMs)]!
      const weight = 0.5 ** Math.abs(distance) * MEMORY ** Math.max(0, cycle - evidence.cycle)
      awake += weight * evidence.awake
      asleep += weight * evidence.asleep
    }
    return awake / (awake + asleep)
  }

  #slotOf(at: number): number {
    const slots = this.#evidence.length
    return ((Math.floor(at / this.#slotMs) % slots) + slots) % slots
  }
}

function cyclesBetween(from: number, to: number, cycleMs: number): number[] {
  const first = Math.floor(from / cycleMs)
  return Array.from({ length: Math.floor(to / cycleMs) - first + 1 }, (_, i) => first + i)
}
