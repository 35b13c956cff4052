import { expect, test } from 'vitest'
import { encodeControl } from '../../overlay/wire/control-frame.ts'
import { controlLimits } from '../../overlay/wire/limits.ts'
import { portionsOf } from '../../overlay/wire/portions.ts'

test('nothing is one portion', () => {
  expect(portionsOf([], 10)).toEqual([[]])
})

test('a portion has at most so many entries, in order', () => {
  expect(portionsOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]])
})

test('the largest policies, of the longest characters, fit a message', () => {
  const hash = 'a'.repeat(64)
  const classes = Array.from({ length: controlLimits.classes }, () => {
    return { hash, policy: { levels: [], name: '€'.repeat(controlLimits.policy - 100) } }
  })
  const portions = portionsOf(classes, controlLimits.classes)
  expect(portions.flat()).toEqual(classes)
  for (const portion of portions) {
    encodeControl({ kind: 'want', toward: 'SR', sid: hash, classes: portion as never })
  }
})
