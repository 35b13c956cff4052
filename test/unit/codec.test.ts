import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Block } from '../../buffers/block.ts'
import { BodyReader, BodyWriter, MAX_BODY_BYTES, type Schema } from '../../buffers/codec.ts'
import { seeded } from '../../policies/chance.ts'
import { SpillwayError } from '../../policies/error.ts'
import type { Attributes, Value } from '../../policies/event.ts'

const wellFormedText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.toWellFormed()),
  fc.string({ unit: 'grapheme-ascii', minLength: 20, maxLength: 30 }),
  fc.constantFrom('', '\ufeffmark', '\ufeff', '\0', 'é'.repeat(24), 'x'.repeat(24), 'x'.repeat(25)),
  fc.integer({ min: 1, max: 150 }).map((length) => '東京🚲'.repeat(length)),
)
const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.constantFrom(2 ** 31 - 1, 2 ** 31, 1 - 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32, 2 ** 53, -(2 ** 53)),
  fc.constantFrom(Number.MIN_VALUE, Number.MAX_VALUE, Number.EPSILON, 63, 64, -64, -65, 8191, 8192),
)
const scalar = fc.oneof(number, wellFormedText, fc.boolean(), fc.uint8Array({ maxLength: 200 }))
const value: fc.Arbitrary<Value> = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 6 }),
  fc.constant([]),
  fc.constant(undefined),
)
const event = fc
  .uniqueArray(fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('__proto__', 'constructor')), {
    maxLength: 6,
  })
  .chain((tags) =>
    fc.tuple(
      fc.constant({ tags } satisfies Schema),
      fc.tuple(...tags.map(() => value)).map((values) => recordOf(tags, values)),
    ),
  )

function recordOf(tags: readonly string[], values: readonly Value[]): Attributes {
  const attributes: Record<string, Value> = Object.create(null)
  tags.forEach((tag, i) => {
    attributes[tag] = values[i]
  })
  return attributes
}

function decoded(schema: Schema, body: Uint8Array): Attributes {
  return new BodyReader(body).attributes(schema, 0, body.length)
}

/** What comes back of one value. */
function roundTrip(one: unknown): Value {
  const schema = { tags: ['a'] }
  return decoded(schema, new BodyWriter().encode(schema, { a: one as Value }).slice()).a
}

describe('a body', () => {
  it('comes back as it was, whatever the values', () => {
    const writer = new BodyWriter()
    fc.assert(
      fc.property(event, ([schema, attributes]) => {
        const body = writer.encode(schema, attributes).slice()
        expect(Object.entries(decoded(schema, body))).toStrictEqual(Object.entries(attributes))
      }),
      { numRuns: 2_000 },
    )
  })

  it('gives the same values by column as whole, in whatever order the tags are asked for', () => {
    const writer = new BodyWriter()
    fc.assert(
      fc.property(event, fc.array(fc.nat(7), { maxLength: 5 }), ([schema, attributes], places) => {
        const block = new Block(schema, 1)
        for (let seq = 1; seq <= 3; seq++) block.append(seq, 0, writer.encode(schema, attributes))
        const tags = [...new Set(places.map((place) => schema.tags[place] ?? 'a tag that nobody has'))]
        const whole = block.attributes(1)
        expect(block.columns(tags)).toStrictEqual(tags.map((tag) => Array(3).fill(whole[tag])))
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([0, -0, 1, -1, 2 ** 31 - 1, 1 - 2 ** 31, -(2 ** 31), 2 ** 31, 2 ** 53 - 1, Number.NaN])(
    'keeps the number %s',
    (one) => {
      expect(Object.is(roundTrip(one), one)).toBe(true)
    },
  )

  it('keeps a byte order mark at the beginning of a text', () => {
    expect(roundTrip('\ufeffshort')).toBe('\ufeffshort')
    expect(roundTrip(`\ufeff${'long'.repeat(20)}`)).toBe(`\ufeff${'long'.repeat(20)}`)
  })

  it('has a replacement character where a text had half a surrogate pair', () => {
    expect(roundTrip('a\ud83d')).toBe('a\ufffd')
    expect(roundTrip('\udeb2b')).toBe('\ufffdb')
  })

  it('comes back also where a text ends just where the memory of the writer ends', () => {
    const schema = { tags: ['a', 'b'] }
    for (let before = 190; before < 260; before++) {
      for (let length = 23; length <= 26; length++) {
        const attributes = { a: new Uint8Array(before), b: 'x'.repeat(length) }
        expect(decoded(schema, new BodyWriter().encode(schema, attributes)).b).toBe(attributes.b)
      }
    }
  })

  it('takes a whole number in as few bytes as it needs', () => {
    const schema = { tags: ['a'] }
    const writer = new BodyWriter()
    const bytesOf = (a: number) => writer.encode(schema, { a }).length
    expect([63, -64, 64, -65, 8191, 8192, 2 ** 31 - 1, 0.5].map(bytesOf)).toEqual([2, 2, 3, 3, 3, 4, 6, 9])
  })

  it('takes null, what is not there and what is only inherited as missing', () => {
    const inherited = Object.create({ a: 1 }) as Attributes
    const schema = { tags: ['a'] }
    const writer = new BodyWriter()
    for (const attributes of [{ a: null }, { a: undefined }, {}, inherited]) {
      expect(decoded(schema, writer.encode(schema, attributes).slice()).a).toBeUndefined()
    }
  })

  it('leaves out what the schema does not name', () => {
    const schema = { tags: ['a'] }
    const body = new BodyWriter().encode(schema, { b: 'not named', a: 1 })
    expect(decoded(schema, body)).toStrictEqual(recordOf(['a'], [1]))
  })

  it('leaves missing members out of sets', () => {
    expect(roundTrip([1, undefined, null, 2])).toEqual([1, 2])
  })

  it('gives bytes that are a copy, also out of a Node buffer', () => {
    const schema = { tags: ['a'] }
    const body = Buffer.from(new BodyWriter().encode(schema, { a: new Uint8Array([1, 2, 3]) }))
    const bytes = decoded(schema, body).a
    body.fill(0)
    expect(bytes).toStrictEqual(new Uint8Array([1, 2, 3]))
  })

  it('is read between its offsets and no further', () => {
    const schema = { tags: ['a', 'b'] }
    const body = new BodyWriter().encode(schema, { a: 'first', b: 'second' })
    expect(() => new BodyReader(body).attributes(schema, 0, body.length - 1)).toThrow(RangeError)
    expect(() => new BodyReader(body).attributes({ tags: ['a', 'b', 'c'] }, 0, body.length)).toThrow(
      RangeError,
    )
  })
})

describe('an event that cannot be encoded', () => {
  const writer = new BodyWriter()
  const schema = { tags: ['a', 'b'] }

  function refusal(attributes: unknown): string {
    try {
      writer.encode(schema, attributes as Attributes)
    } catch (error) {
      expect(error).toBeInstanceOf(SpillwayError)
      expect((error as SpillwayError).code).toBe('EVENT_INVALID')
      return (error as Error).message
    }
    throw new Error('it was encoded')
  }

  it.each([
    ['a date', new Date(0)],
    ['a big integer', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('a')],
    ['an object', { nested: 1 }],
    ['a Set', new Set([1])],
    ['an array buffer', new ArrayBuffer(4)],
    ['other typed arrays', new Float64Array(1)],
    ['a set in a set', [[1]]],
    ['an object in a set', [{}]],
  ])('is refused for %s', (_name, a) => {
    expect(refusal({ a, b: 1 })).toMatch(/^the event has a value of type \w+, expected a number, text/)
  })

  it.each([
    ['long text', 'x'.repeat(MAX_BODY_BYTES)],
    ['text that is long in UTF-8 only', '東'.repeat(MAX_BODY_BYTES / 2)],
    ['many bytes', new Uint8Array(MAX_BODY_BYTES)],
    ['a large set', Array(MAX_BODY_BYTES).fill(1)],
    ['a set of long texts', Array(100).fill('x'.repeat(1_000))],
  ])('is refused for %s', (_name, a) => {
    expect(refusal({ a, b: 1 })).toBe(`the event has more than 65536 bytes, expected a smaller event`)
    expect(refusal({ a: 1, b: a })).toMatch(/more than 65536 bytes/)
  })

  it('may have just the largest size', () => {
    const text = 'x'.repeat(MAX_BODY_BYTES - 5)
    const one = { tags: ['a', 'b'] }
    const body = writer.encode(one, { a: text })
    expect(body.length).toBe(MAX_BODY_BYTES)
    expect(decoded(one, body).a).toBe(text)
    expect(() => writer.encode(one, { a: `${text}x` })).toThrow(SpillwayError)
  })

  it('stops writing soon after it has become too large', () => {
    let read = 0
    const members = new Proxy(Array(1_000).fill('x'.repeat(60_000)), {
      get: (target, key, receiver) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) read++
        return Reflect.get(target, key, receiver)
      },
    })
    refusal({ a: members })
    expect(read).toBeLessThan(10)
  })

  it('leaves the writer usable', () => {
    refusal({ a: Symbol('a') })
    expect(decoded(schema, writer.encode(schema, { a: 1, b: 'two' }))).toStrictEqual(
      recordOf(['a', 'b'], [1, 'two']),
    )
  })
})

describe('a malformed body', () => {
  const schema = { tags: ['a', 'b', 'c', 'd', 'e'] }
  const samples = [
    { a: 1, b: 'text', c: new Uint8Array([1, 2, 3]), d: [1, 'two', true, 2.5], e: 0.5 },
    { a: [], b: 'a long text that goes to the decoder', c: -7, d: 'é', e: [new Uint8Array(9), 'x'] },
    { a: undefined, b: false, c: 2 ** 31, d: [], e: Number.NaN },
  ].map((attributes) => new BodyWriter().encode(schema, attributes).slice())

  /** A body with some bytes changed, cut off or added. */
  function mutated(body: Uint8Array, random: () => number): Uint8Array {
    const below = (limit: number) => Math.floor(random() * limit)
    const bytes = [...body]
    for (let changes = 1 + below(3); changes > 0; changes--) {
      const at = below(bytes.length + 1)
      switch (below(4)) {
        case 0:
          bytes[Math.min(at, bytes.length - 1)] = below(256)
          break
        case 1:
          bytes[Math.min(at, bytes.length - 1)] = below(9)
          break
        case 2:
          bytes.length = at
          break
        default:
          bytes.splice(at, 0, below(256))
      }
    }
    return Uint8Array.from(bytes, (byte) => byte ?? 0)
  }

  function outcomeOf(read: () => unknown): 'read' | 'refused' {
    try {
      read()
      return 'read'
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return 'refused'
    }
  }

  it('throws a RangeError or is read, in 100,000 random mutations, whole and by column', () => {
    const random = seeded(7)
    const outcomes = { read: 0, refused: 0 }
    for (let i = 0; i < 100_000; i++) {
      const body = mutated(samples[i % samples.length]!, random)
      const whole = outcomeOf(() => decoded(schema, body))
      outcomes[whole]++
      const last = outcomeOf(() => new BodyReader(body).pick([4], [[]], 0, 0, body.length))
      // Skipping refuses exactly what reading refuses.
      if (last !== whole) expect.fail(`${last} by column, ${whole} as a whole: ${body}`)
    }
    expect(outcomes.read).toBeGreaterThan(10_000)
    expect(outcomes.refused).toBeGreaterThan(10_000)
  })

  it.each([
    ['nothing at all', []],
    ['an unknown kind', [8]],
    ['an unknown kind of member', [7, 1, 8]],
    ['a set in a set', [7, 1, 7, 0]],
    ['a text that ends too early', [5, 3, 97, 98]],
    ['bytes that end too early', [6, 1]],
    ['half a number', [3, 0, 0, 0]],
    ['a count that does not end', [4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ['a set of more members than the body has bytes', [7, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0]],
    ['a text longer than any body', [5, 0xff, 0xff, 0xff, 0xff, 0x7f]],
  ])('with %s is refused', (_name, bytes) => {
    const body = Uint8Array.from(bytes)
    expect(() => decoded({ tags: ['a'] }, body)).toThrow(RangeError)
    const skipped = () => new BodyReader(Uint8Array.from([...bytes, 0])).pick([1], [[]], 0, 0, bytes.length)
    expect(skipped).toThrow(RangeError)
  })

  it('of sets within sets is refused at the first of them', () => {
    const body = new Uint8Array(MAX_BODY_BYTES).fill(7)
    for (let i = 1; i < body.length; i += 2) body[i] = 1
    expect(() => new BodyReader(body).pick([1], [[]], 0, 0, body.length)).toThrow('unknown kind 7')
  })
})
