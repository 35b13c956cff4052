// Filters that look at no attribute (PACK section 2): LATEST EVERY RANDOM, and RATE AGE beyond the paper.
import { defineFilter, type FilterDefinition, type Select } from '../filter.ts'

export const thinningFilters: readonly FilterDefinition[] = [
  defineFilter({
    name: 'LATEST',
    summary: 'keeps the last `window` events',
    attribute: false,
    parameters: { window: { type: 'count' } },
    keep: ({ window }) => latest(window),
  }),
  defineFilter({
    name: 'EVERY',
    summary: 'keeps one event in `n`, beginning with the first',
    attribute: false,
    parameters: { n: { type: 'count' } },
    keep: ({ n }) => every(n),
    drop: ({ n }) => everyOther(n),
  }),
  defineFilter({
    name: 'RANDOM',
    summary: 'drops each event with a chance of `fraction`',
    attribute: false,
    parameters: { fraction: { type: 'fraction' } },
    keep: ({ fraction }) => random(fraction),
  }),
  defineFilter({
    name: 'RATE',
    summary: 'keeps an event when fewer than `n` were kept in the `interval` ms of publish time before it',
    attribute: false,
    parameters: { n: { type: 'count' }, interval: { type: 'duration' } },
    check: ({ interval }) => (interval > 0 ? undefined : 'interval="0", expected a time above 0'),
    keep: ({ n, interval }) => rate(n, interval),
  }),
  defineFilter({
    name: 'AGE',
    summary: 'keeps events published at most `max` ms ago',
    attribute: false,
    parameters: { max: { type: 'duration' } },
    keep: ({ max }) => age(max),
  }),
]

function latest(window: number): Select {
  return (_values, input, count, output) => {
    const kept = Math.min(window, count)
    for (let i = 0; i < kept; i++) output[i] = input[count - kept + i]!
    return kept
  }
}

function every(step: number): Select {
  return (_values, input, count, output) => {
    let n = 0
    for (let i = 0; i < count; i += step) output[n++] = input[i]!
    return n
  }
}

/** The complement of `every`, without a list of what that would have kept. */
function everyOther(step: number): Select {
  return (_values, input, count, output) => {
    let n = 0
    for (let i = 0, next = 0; i < count; i++) {
      if (i === next) next += step
      else output[n++] = input[i]!
    }
    return n
  }
}

function random(fraction: number): Select {
  return (_values, input, count, output, _events, surroundings) => {
    let n = 0
    for (let i = 0; i < count; i++) if (surroundings.random() >= fraction) output[n++] = input[i]!
    return n
  }
}

/**
 * An event is kept when fewer than `limit` were kept in the `intervalMs` before it, its own time included. Time
 * that falls by an interval or more is a clock that was set: what was kept by the old time says nothing.
 */
function rate(limit: number, intervalMs: number): Select {
  return (_values, input, count, output, events) => {
    let n = 0
    let restart = 0
    for (let i = 0; i < count; i++) {
      const position = input[i]!
      const time = events.time(position)
      if (n > 0 && events.time(output[n - 1]!) - time >= intervalMs) restart = n
      if (n - restart >= limit && time - events.time(output[n - limit]!) < intervalMs) continue
      output[n++] = position
    }
    return n
  }
}

function age(maxMs: number): Select {
  return (_values, input, count, output, events, { now }) => {
    let n = 0
    for (let i = 0; i < count; i++) if (now - events.time(input[i]!) <= maxMs) output[n++] = input[i]!
    return n
  }
}
