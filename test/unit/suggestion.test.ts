// Which known word a misspelt one is taken for.
import { expect, it } from 'vitest'
import { nearest, suggestion } from '../../policies/suggestion.ts'

it.each([
  ['hihg', ['low', 'high'], 'high'],
  ['dorp', ['keep', 'drop'], 'drop'],
  ['DETLA', ['DELTA', 'DATA'], 'DELTA'],
  ['pulserate', ['Pulse', 'PulseRate'], 'PulseRate'],
  ['chage', ['change'], 'change'],
  ['levell', ['level'], 'level'],
  ['QUANTIELS', ['QUANTILES'], 'QUANTILES'],
])('takes %s of %j for %s', (word, known, meant) => {
  expect(nearest(word, known)).toBe(meant)
})

it.each([
  ['upper', ['low', 'high']],
  ['max', []],
  ['x'.repeat(65), ['x'.repeat(64)]],
])('takes %j for none of %j when it is far from all', (word, known) => {
  expect(nearest(word, known)).toBeUndefined()
  expect(suggestion(word, known)).toBe('')
})
