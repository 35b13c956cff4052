import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareText, identityOf, isMissing, type Value } from '../../policies/event.ts'
import { anyValue } from './filter-contract.ts'

/** Equality as the design has it, written the slow way. */
function equal(a: Value, b: Value): boolean {
  if (isMissing(a) || isMissing(b)) return isMissing(a) && isMissing(b)
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0
  }
  if (typeof a === 'object' && typeof b === 'object') {
    return (
      a.every((x: Value) => b.some((y: Value) => equal(x, y))) &&
      b.every((y: Value) => a.some((x: Value) => equal(x, y)))
    )
  }
  return a === b
}

function same(a: Value, b: Value): boolean {
  return identityOf(a) === identityOf(b)
}

describe('isMissing', () => {
  it('says yes to null, undefined and NaN, and to nothing else', () => {
    for (const value of [null, undefined, Number.NaN]) expect(isMissing(value)).toBe(true)
    for (const value of [0, -0, '', 'NaN', false, Infinity, [], [Number.NaN], new Uint8Array()]) {
      expect(isMissing(value)).toBe(false)
    }
  })
})

describe('identityOf', () => {
  it('is one for all missing values', () => {
    expect(same(null, undefined)).toBe(true)
    expect(same(null, Number.NaN)).toBe(true)
    expect(same(null, 'null')).toBe(false)
    expect(same(undefined, 'undefined')).toBe(false)
    expect(same(Number.NaN, 'NaN')).toBe(false)
    expect(same(null, [])).toBe(false)
  })

  it('tells a number, a string and a boolean apart that look alike', () => {
    expect(same(1, '1')).toBe(false)
    expect(same(true, 'true')).toBe(false)
    expect(same(0, false)).toBe(false)
    expect(same([1], ['1'])).toBe(false)
    expect(same([true], ['true'])).toBe(false)
  })

  it('has one zero', () => {
    expect(same(0, -0)).toBe(true)
    expect(same([0], [-0])).toBe(true)
  })

  it('takes sets irrespective of order and repetition', () => {
    expect(same([1, 2], [2, 1])).toBe(true)
    expect(same([1, 1, 2], [2, 1])).toBe(true)
    expect(same([1, 2], [1, 2, 3])).toBe(false)
    expect(same(['a,b'], ['a', 'b'])).toBe(false)
    expect(same(['a","b'], ['a', 'b'])).toBe(false)
    for (const between of [',string', ',string:', ',string1', ',string1:', 'string1:']) {
      expect(same([`a${between}b`], ['a', 'b'])).toBe(false)
    }
  })

  it('tells a set of one from its member, and the empty set from everything', () => {
    expect(same(['a'], 'a')).toBe(false)
    expect(same([], '')).toBe(false)
    expect(same([], [''])).toBe(false)
  })

  it('tells an infinity in a set from its opposite', () => {
    expect(same([Infinity], [-Infinity])).toBe(false)
    expect(same([Infinity], [Number.NaN])).toBe(false)
  })

  it('takes bytes by content, and never for a string or a set', () => {
    const bytes = Uint8Array.of(1, 255)
    expect(same(bytes, Uint8Array.of(1, 255))).toBe(true)
    expect(same(bytes, Uint8Array.of(1, 254))).toBe(false)
    expect(same(bytes, '01ff')).toBe(false)
    expect(same(bytes, [1, 255])).toBe(false)
    expect(same([bytes], [Uint8Array.of(1, 255)])).toBe(true)
    expect(same(new Uint8Array(20_000).fill(7), new Uint8Array(20_000).fill(7))).toBe(true)
    expect(same(new Uint8Array(20_000), new Uint8Array(20_001))).toBe(false)
  })

  it('cannot be imitated by a string', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const identity = identityOf(value)
        if (typeof identity === 'string' && typeof value !== 'string')
          expect(same(identity, value)).toBe(false)
      }),
    )
  })

  it('is the same exactly for equal values', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        expect(same(a, b)).toBe(equal(a, b))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('compareText', () => {
  it('orders by code point where UTF-16 does not: an astral character comes after U+FFFF', () => {
    expect('\u{10000}' < '\uffff').toBe(true)
    expect(compareText('\u{10000}', '\uffff')).toBeGreaterThan(0)
    expect(compareText('\ue000', '\u{1f600}')).toBeLessThan(0)
    expect(compareText('\u{1f600}', '\u{1f601}')).toBeLessThan(0)
    expect(compareText('\u{1f600}', '\u{20000}')).toBeLessThan(0)
  })

  it('puts a prefix first and capitals before small letters', () => {
    expect(compareText('a', 'ab')).toBeLessThan(0)
    expect(compareText('', '')).toBe(0)
    expect(compareText('Z', 'a')).toBeLessThan(0)
    expect(compareText('10', '9')).toBeLessThan(0)
  })

  it('agrees with comparing the code points one by one', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.string({
        unit: fc.constantFrom('a', '\uffff', '\ud7ff', '\ue000', '\u{10000}', '\u{10ffff}'),
        maxLength: 5,
      }),
    )
    fc.assert(
      fc.property(text, text, (a, b) => {
        const x = [...a].map((character) => character.codePointAt(0)!)
        const y = [...b].map((character) => character.codePointAt(0)!)
        const at = x.findIndex((code, i) => code !== y[i])
        const expected = at === -1 ? x.length - y.length : x[at]! - (y[at] ?? -1)
        expect(Math.sign(compareText(a, b))).toBe(Math.sign(expected))
      }),
      { numRuns: 1000 },
    )
  })
})
