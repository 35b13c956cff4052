// Pulling from a sender's root, with a root that answers what it is told to, in virtual time.
import { describe, expect, test } from 'vitest'
import { BlockWriter } from '../../buffers/block.ts'
import { BodyWriter } from '../../buffers/codec.ts'
import type { Cursor, Item } from '../../buffers/item.ts'
import { FixedInterval } from '../../endpoints/pull/fixed-interval.ts'
import type { PullTrouble } from '../../endpoints/pull/pull.ts'
import type { Outcome, Schedule } from '../../endpoints/pull/schedule.ts'
import { SenderPull } from '../../endpoints/pull/sender-pull.ts'
import type { PollOutcome } from '../../overlay/client.ts'
import { VirtualClock } from './virtual-clock.ts'
import { idOf } from './wire-frames.ts'

const schema = { tags: ['n'] }
const bodies = new BodyWriter()

/** Consecutive events, published a second apart. */
function events(epoch: number, from: number, to: number): Item[] {
  const writer = new BlockWriter()
  return Array.from({ length: to - from + 1 }, (_, i) => {
    const seq = from + i
    return writer.write(schema, epoch, seq, 1_000 * seq, bodies.encode(schema, { n: seq }))
  })
}

function marker(epoch: number, highest: number): Item {
  return { kind: 'marker', epoch, highest, end: false }
}

function answer(first: Cursor, items: readonly Item[], more = false): PollOutcome {
  return { kind: 'items', items, first, more, phaseAdjustmentMs: 250, desynchronisationMs: 40 }
}

/** A pull whose polls are answered in turn, then with nothing new. */
class Scene {
  readonly clock = new VirtualClock()
  readonly asked: (Cursor | undefined)[] = []
  readonly missed: PullTrouble[] = []
  readonly told: Outcome[] = []
  readonly pull: SenderPull

  constructor(answers: readonly PollOutcome[], since?: Cursor) {
    const left = [...answers]
    const poll = async (from: Cursor | undefined) => {
      this.asked.push(from)
      return left.shift() ?? answer(from!, [])
    }
    const fixed = new FixedInterval(1_000, 0, () => 0)
    const schedule: Schedule = {
      first: (now) => fixed.first(now),
      next: (now, outcome) => {
        this.told.push(outcome)
        return fixed.next(now, outcome)
      },
    }
    const missed = (trouble: PullTrouble) => this.missed.push(trouble)
    const options = { schedule, clock: this.clock, missed, ...(since === undefined ? {} : { since }) }
    this.pull = new SenderPull(idOf(0xa1), poll, options)
  }

  async next(count: number): Promise<string> {
    const shown: string[] = []
    for (let i = 0; i < count; i++) {
      const item = await this.pull.next()
      if (item?.kind === 'event') shown.push(`${item.epoch}/${item.seq}`)
      else shown.push(item === undefined ? 'end' : `${item.kind} ${item.from}-${item.to}`)
    }
    return shown.join(' ')
  }
}

describe('a pull from a sender', () => {
  test('begins where the root says, and goes on behind what it got', async () => {
    const first = { epoch: 5, seq: 7 }
    const scene = new Scene([answer(first, events(5, 7, 7)), answer(first, events(5, 8, 9), true)])
    expect(await scene.pull.subscribed).toEqual(first)
    expect(await scene.next(3)).toBe('5/7 5/8 5/9')
    scene.pull.close()
    expect(await scene.next(1)).toBe('end')
    expect(scene.asked).toEqual([undefined, { epoch: 5, seq: 8 }])
    expect(scene.pull.receipt).toEqual([{ epoch: 5, first: 7, last: 9, delivered: 3, digested: 0, gaps: 0 }])
    expect(scene.pull.since).toEqual({ epoch: 5, seq: 10 })
  })

  test('tells the schedule when events were published, by the clock of the root', async () => {
    const scene = new Scene([answer({ epoch: 5, seq: 7 }, events(5, 7, 8), true)], { epoch: 5, seq: 7 })
    scene.clock.time = 90_000
    await scene.next(2)
    expect(scene.told).toEqual([
      { kind: 'hit', publishedAt: [88_750, 89_750], more: true, desynchronisationMs: 40, responseMs: 0 },
    ])
  })

  test('finds what is missing, also at the end, and across epochs', async () => {
    const items = [...events(5, 9, 9), marker(5, 12), ...events(6, 2, 2)]
    const scene = new Scene([answer({ epoch: 5, seq: 7 }, items)], { epoch: 5, seq: 7 })
    expect(await scene.next(5)).toBe('gap 7-8 5/9 gap 10-12 gap 1-1 6/2')
    expect(scene.pull.receipt).toMatchObject([
      { epoch: 5, first: 7, last: 12, delivered: 1, gaps: 5 },
      { epoch: 6, first: 1, last: 2, delivered: 1, gaps: 1 },
    ])
  })

  test('counts what was handed over, and no more', async () => {
    const scene = new Scene([answer({ epoch: 5, seq: 1 }, events(5, 1, 100))])
    expect(await scene.next(2)).toBe('5/1 5/2')
    scene.pull.close()
    expect(await scene.next(1)).toBe('end')
    expect(scene.pull.receipt).toMatchObject([{ first: 1, last: 2, delivered: 2 }])
  })

  test('gets a sender that was not there yet from its first event on', async () => {
    const scene = new Scene([{ kind: 'unknown' }, answer({ epoch: 0, seq: 1 }, events(5, 3, 3))])
    expect(await scene.pull.subscribed).toBeUndefined()
    expect(await scene.next(2)).toBe('gap 1-2 5/3')
    expect(scene.asked).toEqual([undefined, { epoch: 0, seq: 1 }])
  })

  test('takes what is lost or put off for a miss, and asks again from the same place', async () => {
    const first = { epoch: 5, seq: 7 }
    const failed: PollOutcome = { kind: 'failed', reason: 'the node is gone' }
    const busy: PollOutcome = { kind: 'busy', retryAfterMs: 5_500 }
    const scene = new Scene([answer(first, events(5, 7, 7)), failed, busy, answer(first, events(5, 8, 8))])
    expect(await scene.next(2)).toBe('5/7 5/8')
    expect(scene.asked.slice(1)).toEqual(Array(3).fill({ epoch: 5, seq: 8 }))
    expect(scene.missed).toMatchObject([
      { at: 1_000, reason: 'failed', error: { code: 'UNREACHABLE', message: 'the node is gone' } },
      { at: 2_000, reason: 'overloaded' },
    ])
    expect(scene.clock.time).toBe(7_500)
  })

  test('ends with REFUSED when the sender does not allow it, wherever one waits', async () => {
    const scene = new Scene([{ kind: 'denied', reason: 'not you' }])
    const refused = expect.objectContaining({ code: 'REFUSED', message: 'not you' })
    await expect(scene.pull.subscribed).rejects.toThrow(refused)
    await expect(scene.pull.next()).rejects.toThrow(refused)
  })

  test('that is closed before a root answered begins nowhere', async () => {
    const scene = new Scene([])
    scene.pull.close()
    await expect(scene.pull.subscribed).rejects.toThrow(expect.objectContaining({ code: 'CLOSED' }))
    expect(scene.pull.receipt).toEqual([])
  })
})
