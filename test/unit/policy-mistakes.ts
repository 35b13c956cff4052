// What the tests of the language share: a policy without mistakes, and what one with mistakes is answered with.
import { PolicyError } from '../../policies/compile.ts'

export const ward = {
  attribute: 'PulseRate',
  summary: ['MEAN', { name: 'MAX', attribute: 'Temp' }],
  levels: [
    [{ name: 'DELTA', change: 5 }],
    [{ name: 'WITHIN', mode: 'drop', low: 50, high: 100 }],
    [{ name: 'LATEST', window: 10 }],
  ],
} as const

/** The PolicyError that reading a policy throws. */
export function mistakesIn(read: () => unknown): PolicyError {
  try {
    read()
  } catch (error) {
    if (error instanceof PolicyError) return error
    throw error
  }
  throw new Error('the policy was accepted')
}
