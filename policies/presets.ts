// Policies for the three usual kinds of stream, to start from. Each is a plain object that can be changed.
import { type CompileOptions, compilePolicy } from './compile.ts'
import type { Policy, PolicySpec } from './policy.ts'
import { PolicyError, quoted } from './policy-error.ts'
import { suggestion } from './suggestion.ts'

export type PresetName = 'telemetry' | 'alerts' | 'state'

/** Presets by name; each makes a policy for one attribute. */
export const presets: Readonly<Record<PresetName, (attribute: string) => PolicySpec>> = Object.freeze({
  telemetry,
  alerts,
  state,
})

/** Compiles a preset for an attribute. Throws POLICY_INVALID when there is none of that name. */
export function presetPolicy(name: string, attribute: string, options: CompileOptions = {}): Policy {
  if (Object.hasOwn(presets, name)) return compilePolicy(presets[name as PresetName](attribute), options)
  const names = Object.keys(presets)
  const near = typeof name === 'string' ? suggestion(name, names) : ''
  throw new PolicyError('POLICY_INVALID', [
    `preset: unknown preset ${quoted(name)}${near}, expected ${names.join(', ')}`,
  ])
}

/**
 * Numeric measurements: what repeats goes first, then the stream is thinned out evenly, to a half and to an eighth,
 * and last only the newest ten stay. Digests tell the mean, the extremes and the last value of what went.
 */
function telemetry(attribute: string): PolicySpec {
  return {
    attribute,
    summary: ['MEAN', 'MIN', 'MAX', 'LAST'],
    levels: [
      [{ name: 'UNIQ' }],
      [{ name: 'EVERY', n: 2 }],
      [{ name: 'EVERY', n: 4 }],
      [{ name: 'LATEST', window: 10 }],
    ],
  }
}

/**
 * Alerts, where each distinct one is to survive as long as possible: repeats in a row go first, then bursts beyond
 * ten a second, and at last all but the first of each. Digests tell how many went and how many different ones.
 */
function alerts(attribute: string): PolicySpec {
  return {
    attribute,
    summary: ['DISTINCT', 'LAST'],
    levels: [[{ name: 'UNIQ' }], [{ name: 'RATE', n: 10, interval: 1000 }], [{ name: 'GUNIQ' }]],
  }
}

/**
 * State by key, where a newer event replaces an older one of the same key: `attribute` is the key. The newest three
 * of each key stay, then the newest one, then the newest hundred keys. Digests tell how many updates of how many keys went.
 */
function state(attribute: string): PolicySpec {
  return {
    attribute,
    summary: ['DISTINCT'],
    levels: [
      [{ name: 'LATESTBY', window: 3 }],
      [{ name: 'LATESTBY', window: 1 }],
      [{ name: 'LATEST', window: 100 }],
    ],
  }
}
