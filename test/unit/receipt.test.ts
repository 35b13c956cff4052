import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Gap, MAX_EPOCHS, MAX_OPEN_GAPS, Receipt } from '../../buffers/receipt.ts'
import { digest, receive, Stream } from './buffers.ts'

const first = { epoch: 1, seq: 1 }

/** A receipt from number 1 on that has seen events 1 to `seq`. */
function receiptAt(seq: number, onGap?: (gap: Gap) => void): Receipt {
  const receipt = new Receipt(first, onGap)
  for (let i = 1; i <= seq; i++) receipt.event(1, i)
  return receipt
}

function marker(highest: number, options: { epoch?: number; end?: boolean } = {}) {
  return { kind: 'marker', epoch: options.epoch ?? 1, highest, end: options.end ?? false } as const
}

function gap(from: number, to: number, epoch = 1): Gap {
  return { kind: 'gap', epoch, from, to }
}

describe('a receipt', () => {
  it('accounts for what is delivered and digested', () => {
    const receipt = new Receipt(first)
    const stream = new Stream()
    expect(receive(receipt, [stream.publish(3), digest(4, 9), stream.skip(6).publish()])).toBe(
      '1 2 3 d4-9 10',
    )
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 10, delivered: 4, digested: 6, gaps: 0 }])
    expect(receipt.cursor).toEqual({ epoch: 1, seq: 11 })
    expect([receipt.missing, receipt.late, receipt.isEnded]).toEqual([[], 0, false])
  })

  it('expects 1 of the first epoch it sees when nobody said where it begins', () => {
    const receipt = new Receipt()
    expect([receipt.cursor, receipt.epochs]).toEqual([undefined, []])
    receipt.event(5, 3)
    expect(receipt.epochs).toEqual([{ epoch: 5, first: 1, last: 3, delivered: 1, digested: 0, gaps: 2 }])
    expect(receipt.missing).toEqual([gap(1, 2, 5)])
  })

  it('begins where the subscription was told that it begins', () => {
    const receipt = new Receipt({ epoch: 3, seq: 40 })
    expect(receipt.cursor).toEqual({ epoch: 3, seq: 40 })
    expect(receipt.epochs).toEqual([{ epoch: 3, first: 40, last: 39, delivered: 0, digested: 0, gaps: 0 }])
    expect(receipt.event(3, 39)).toBe(false)
    expect(receipt.event(3, 40)).toBe(true)
    expect(receipt.late).toBe(1)
  })
})

describe('a gap', () => {
  it('is found between two items, and told once', () => {
    const told: Gap[] = []
    const receipt = receiptAt(2, (one) => told.push(one))
    receipt.event(1, 5)
    receipt.digest(digest(8, 9))
    expect(told).toEqual([gap(3, 4), gap(6, 7)])
    expect(receipt.missing).toEqual(told)
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 9, delivered: 3, digested: 2, gaps: 4 }])
  })

  it('is found behind the last item when a marker says that there was more', () => {
    const receipt = receiptAt(2)
    receipt.marker(marker(5))
    receipt.marker(marker(5))
    receipt.marker(marker(4))
    expect(receipt.missing).toEqual([gap(3, 5)])
    expect(receipt.cursor).toEqual({ epoch: 1, seq: 6 })
  })

  it('is not found by a marker of what arrived', () => {
    const receipt = receiptAt(2)
    receipt.marker(marker(2))
    expect(receipt.missing).toEqual([])
  })

  it('is found at the end, and not after it', () => {
    const receipt = receiptAt(2)
    receipt.marker(marker(4, { end: true }))
    expect([receipt.isEnded, receipt.missing]).toEqual([true, [gap(3, 4)]])
  })
})

describe('what was accounted for before', () => {
  it('is dropped and counted as late', () => {
    const receipt = receiptAt(5)
    expect(receipt.event(1, 5)).toBe(false)
    expect(receipt.event(1, 1)).toBe(false)
    expect(receipt.digest(digest(2, 5))).toBeUndefined()
    expect(receipt.late).toBe(6)
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 5, delivered: 5, digested: 0, gaps: 0 }])
  })

  it('is dropped also when it was missing: only repair takes a gap back', () => {
    const receipt = receiptAt(2)
    receipt.event(1, 5)
    expect(receipt.event(1, 3)).toBe(false)
    expect(receipt.missing).toEqual([gap(3, 4)])
  })

  it('is cut off a digest that has more, which says how much that was', () => {
    const receipt = receiptAt(5)
    const given = digest(3, 8)
    expect(receipt.digest(given)).toEqual({ ...given, from: 6, overlaps: 3 })
    expect(given.from).toBe(3)
    expect(receipt.late).toBe(3)
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 8, delivered: 5, digested: 3, gaps: 0 }])
  })

  it('leaves a digest as it is that begins just behind it', () => {
    const receipt = receiptAt(5)
    for (const given of [digest(6, 8), digest(9, 9)]) expect(receipt.digest(given)).toBe(given)
  })
})

describe('a digest that straddles the first number', () => {
  it('is not delivered, and the stream begins behind it', () => {
    const receipt = new Receipt({ epoch: 1, seq: 5 })
    expect(receipt.digest(digest(3, 8))).toBeUndefined()
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 9, last: 8, delivered: 0, digested: 0, gaps: 0 }])
    receipt.event(1, 9)
    expect(receipt.epochs).toMatchObject([{ first: 9, last: 9, delivered: 1, gaps: 0 }])
  })

  it('is only late when it ends before it', () => {
    const receipt = new Receipt({ epoch: 1, seq: 5 })
    expect(receipt.digest(digest(1, 4))).toBeUndefined()
    expect(receipt.cursor).toEqual({ epoch: 1, seq: 5 })
    expect(receipt.late).toBe(4)
  })

  it('is delivered when it begins there', () => {
    const receipt = new Receipt({ epoch: 1, seq: 5 })
    expect(receipt.digest(digest(5, 8))).toEqual(digest(5, 8))
    expect(receipt.epochs).toMatchObject([{ first: 5, digested: 4 }])
  })
})

describe('a new epoch', () => {
  it('begins at 1 and closes the one before', () => {
    const receipt = receiptAt(3)
    receipt.event(2, 2)
    expect(receipt.event(1, 4)).toBe(false)
    expect(receipt.digest(digest(4, 5))).toBeUndefined()
    receipt.marker(marker(9))
    expect(receipt.late).toBe(3)
    expect(receipt.missing).toEqual([gap(1, 1, 2)])
    expect(receipt.epochs).toEqual([
      { epoch: 1, first: 1, last: 3, delivered: 3, digested: 0, gaps: 0 },
      { epoch: 2, first: 1, last: 2, delivered: 1, digested: 0, gaps: 1 },
    ])
  })

  it('can begin with a digest or a marker', () => {
    const receipt = receiptAt(3)
    receipt.digest(digest(1, 4, { epoch: 2 }))
    receipt.marker(marker(2, { epoch: 3 }))
    expect(receipt.epochs.map(({ epoch, last, gaps }) => [epoch, last, gaps])).toEqual([
      [1, 3, 0],
      [2, 4, 0],
      [3, 2, 2],
    ])
  })

  it('takes back that the sender ended', () => {
    const receipt = receiptAt(3)
    receipt.marker(marker(3, { end: true }))
    receipt.event(2, 1)
    expect(receipt.isEnded).toBe(false)
    receipt.marker(marker(3, { end: true }))
    expect(receipt.isEnded).toBe(false)
    receipt.marker(marker(1, { epoch: 2, end: true }))
    expect(receipt.isEnded).toBe(true)
  })
})

describe('repair', () => {
  it('turns a gap into something delivered, wholly or in part', () => {
    const receipt = receiptAt(2)
    receipt.event(1, 8)
    expect(receipt.repair(1, 5)).toBe(true)
    expect(receipt.missing).toEqual([gap(3, 4), gap(6, 7)])
    expect(receipt.repair(1, 3)).toBe(true)
    expect(receipt.repair(1, 7)).toBe(true)
    expect(receipt.missing).toEqual([gap(4, 4), gap(6, 6)])
    expect(receipt.repair(1, 4)).toBe(true)
    expect(receipt.missing).toEqual([gap(6, 6)])
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 8, delivered: 7, digested: 0, gaps: 1 }])
    expect(receipt.cursor).toEqual({ epoch: 1, seq: 9 })
  })

  it('is refused for what is not missing', () => {
    const receipt = receiptAt(2)
    receipt.event(1, 5)
    for (const [epoch, seq] of [
      [1, 2],
      [1, 5],
      [1, 6],
      [2, 3],
      [1, 3.5],
    ] as const)
      expect(receipt.repair(epoch, seq)).toBe(false)
    expect(receipt.repair(1, 3)).toBe(true)
    expect(receipt.repair(1, 3)).toBe(false)
  })

  it('reaches back into older epochs', () => {
    const receipt = receiptAt(2)
    receipt.marker(marker(4, { end: true }))
    receipt.event(2, 1)
    expect(receipt.repair(1, 4)).toBe(true)
    expect(receipt.epochs[0]).toEqual({ epoch: 1, first: 1, last: 4, delivered: 3, digested: 0, gaps: 1 })
  })
})

describe('a digest of what was missing', () => {
  it('turns its gap into something digested', () => {
    const receipt = receiptAt(2)
    receipt.event(1, 20)
    const found = digest(5, 9)
    expect(receipt.repairDigest(found)).toBe(found)
    expect(receipt.missing).toEqual([gap(3, 4), gap(10, 19)])
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 20, delivered: 3, digested: 5, gaps: 12 }])
    expect(receipt.cursor).toEqual({ epoch: 1, seq: 21 })
  })

  it('counts only what was still missing of it', () => {
    const receipt = receiptAt(2)
    receipt.event(1, 10)
    receipt.repair(1, 5)
    receipt.repair(1, 9)
    expect(receipt.repairDigest(digest(2, 9))).toMatchObject({ from: 3, to: 8, overlaps: 3 })
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 10, delivered: 5, digested: 5, gaps: 0 }])
    expect([receipt.missing, receipt.late]).toEqual([[], 3])
  })

  it('is refused when nothing of it was missing', () => {
    const receipt = receiptAt(4)
    expect(receipt.repairDigest(digest(2, 3))).toBeUndefined()
    expect(receipt.repairDigest(digest(5, 9))).toBeUndefined()
    expect(receipt.repairDigest(digest(0, 3))).toBeUndefined()
    expect(receipt.epochs).toEqual([{ epoch: 1, first: 1, last: 4, delivered: 4, digested: 0, gaps: 0 }])
  })
})

describe('numbers that cannot be', () => {
  it.each([
    [1, 0],
    [1, -3],
    [1, 1.5],
    [1, Number.NaN],
    [1, Number.MAX_SAFE_INTEGER],
    [Number.NaN, 3],
    [1.5, 3],
  ])('change nothing and are counted: epoch %d, number %d', (epoch, seq) => {
    const receipt = receiptAt(2)
    const before = receipt.epochs
    expect(receipt.event(epoch, seq)).toBe(false)
    expect(receipt.digest(digest(seq, seq, { epoch }))).toBeUndefined()
    expect([receipt.epochs, receipt.missing, receipt.late, receipt.malformed]).toEqual([before, [], 0, 2])
  })

  it('are a digest that ends before it begins, and a marker below 0', () => {
    const receipt = receiptAt(2)
    expect(receipt.digest(digest(9, 8))).toBeUndefined()
    receipt.marker(marker(-1, { end: true }))
    expect([receipt.cursor, receipt.isEnded, receipt.malformed]).toEqual([{ epoch: 1, seq: 3 }, false, 2])
  })

  it('are not the marker of a sender that has published nothing', () => {
    const receipt = receiptAt(2)
    receipt.marker(marker(0, { epoch: 2 }))
    expect([receipt.cursor, receipt.malformed]).toEqual([{ epoch: 2, seq: 1 }, 0])
  })
})

describe('the limits of a receipt', () => {
  it('remember so many gaps; of more, the oldest are only counted', () => {
    const receipt = new Receipt(first)
    for (let i = 1; i <= MAX_OPEN_GAPS + 5; i++) receipt.event(1, 2 * i)
    expect(receipt.missing.length).toBe(MAX_OPEN_GAPS)
    expect(receipt.missing[0]).toEqual(gap(11, 11))
    expect(receipt.epochs[0]!.gaps).toBe(MAX_OPEN_GAPS + 5)
    expect(receipt.repair(1, 1)).toBe(false)
  })

  it('remember so many gaps also when repair makes two of one', () => {
    const receipt = new Receipt(first)
    receipt.marker(marker(10 * MAX_OPEN_GAPS))
    for (let seq = 2; receipt.repair(1, seq) && seq < 4 * MAX_OPEN_GAPS; seq += 2) {
      expect(receipt.missing.length).toBeLessThanOrEqual(MAX_OPEN_GAPS)
    }
    expect(receipt.missing.length).toBe(MAX_OPEN_GAPS)
  })

  it('remember so many epochs, and of those that are forgotten no gaps either', () => {
    const receipt = new Receipt(first)
    for (let epoch = 1; epoch <= MAX_EPOCHS + 3; epoch++) receipt.event(epoch, 2)
    expect(receipt.epochs.length).toBe(MAX_EPOCHS)
    expect(receipt.epochs[0]!.epoch).toBe(4)
    expect(receipt.missing.length).toBe(MAX_EPOCHS)
    expect(receipt.missing[0]).toEqual(gap(1, 1, 4))
    expect(receipt.repair(3, 1)).toBe(false)
    expect(receipt.repair(4, 1)).toBe(true)
  })
})

describe('whatever arrives,', () => {
  const { MAX_SAFE_INTEGER } = Number
  const odd = fc.constantFrom(
    ...[0, -1, -7, 0.5, 2.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    ...[MAX_SAFE_INTEGER, MAX_SAFE_INTEGER + 1, 2 ** 60, -(2 ** 60)],
  )
  const seq = fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 1, arbitrary: odd },
  )
  const epoch = fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 3 }) },
    { weight: 1, arbitrary: odd },
  )
  const arrival = fc.oneof(
    fc.record({ kind: fc.constant('event' as const), epoch, seq }),
    fc.record({ kind: fc.constant('digest' as const), epoch, from: seq, to: seq }),
    fc.record({ kind: fc.constant('marker' as const), epoch, highest: seq, end: fc.boolean() }),
    fc.record({ kind: fc.constant('repair' as const), epoch, seq }),
    fc.record({ kind: fc.constant('found' as const), epoch, from: seq, to: seq }),
  )
  const start = fc.option(
    fc.record({ epoch: fc.integer({ min: 1, max: 2 }), seq: fc.integer({ min: 1, max: 9 }) }),
    {
      nil: undefined,
    },
  )

  it('delivered + digested + gaps = last - first + 1, nothing twice, in order, and gaps are what is missing', () => {
    fc.assert(
      fc.property(start, fc.array(arrival, { maxLength: 60, size: 'max' }), (begin, arrivals) => {
        const receipt = new Receipt(begin)
        let last = { epoch: Number.NEGATIVE_INFINITY, seq: 0 }
        const delivered = new Set<string>()
        const advance = (epoch: number, from: number, to: number) => {
          const isAhead = epoch > last.epoch || (epoch === last.epoch && from > last.seq)
          expect(isAhead && to >= from).toBe(true)
          last = { epoch, seq: to }
        }
        for (const one of arrivals) {
          if (one.kind === 'event') {
            if (receipt.event(one.epoch, one.seq)) advance(one.epoch, one.seq, one.seq)
          } else if (one.kind === 'digest') {
            const accepted = receipt.digest(digest(one.from, one.to, { epoch: one.epoch }))
            if (accepted !== undefined) advance(accepted.epoch, accepted.from, accepted.to)
          } else if (one.kind === 'marker') receipt.marker(one)
          else if (one.kind === 'found') receipt.repairDigest(digest(one.from, one.to, { epoch: one.epoch }))
          else if (receipt.repair(one.epoch, one.seq)) {
            expect(delivered.has(`${one.epoch} ${one.seq}`)).toBe(false)
            delivered.add(`${one.epoch} ${one.seq}`)
          }
          let gaps = 0
          for (const account of receipt.epochs) {
            for (const count of Object.values(account)) expect(Number.isSafeInteger(count)).toBe(true)
            const { first, last, delivered, digested, gaps: missing } = account
            expect(Math.min(delivered, digested, missing)).toBeGreaterThanOrEqual(0)
            expect(delivered + digested + missing).toBe(last - first + 1)
            gaps += missing
          }
          expect(receipt.missing.reduce((sum, { from, to }) => sum + to - from + 1, 0)).toBe(gaps)
          expect(receipt.late).toBeGreaterThanOrEqual(0)
        }
      }),
      { numRuns: 700 },
    )
  })
})
