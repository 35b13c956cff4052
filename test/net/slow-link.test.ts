// A real link of 50 kbit/s that gets a third more than it takes: the queue stands above the transport, where policies
// reach it. `SLOW_LINK_S=120` for the long run; figures and what was aimed at are in bench/README.md.
import { availableParallelism, loadavg } from 'node:os'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PolicySpec } from '../../policies/policy.ts'
import { LINK_BYTES_PER_SECOND, runSlowLink, type SlowLinkRun, slowLinkRefusal } from './slow-link.ts'

const SECONDS = Number(process.env.SLOW_LINK_S ?? 30)
/** It has to be full, and packed often, within the time. */
const QUEUE_ITEMS = SECONDS < 60 ? 50 : 100
/** About 250 bytes on the wire, with all headers. */
const PAYLOAD_BYTES = 145
const EVERY_MS = 30
const HALF_A_SECOND_BYTES = LINK_BYTES_PER_SECOND / 2

const RANDOM: PolicySpec = { levels: [0.1, 0.25, 0.5].map((fraction) => [{ name: 'RANDOM', fraction }]) }
const LATEST: PolicySpec = { levels: [[{ name: 'LATEST', window: 10 }]] }

/** Processes that wait for a processor let the link run dry: then times say nothing about it. */
const MOST_LOAD = 2 * availableParallelism()

const refusal = slowLinkRefusal()
const title = 'on 50 kbit/s'

describe.skipIf(refusal !== undefined)(refusal === undefined ? title : `${title}: ${refusal}`, () => {
  let dropTail: SlowLinkRun
  let random: SlowLinkRun
  let latest: SlowLinkRun
  let busy: string | undefined

  beforeAll(
    async () => {
      ;[dropTail, random, latest] = await Promise.all([run('t'), run('r', RANDOM), run('l', LATEST)])
      const [load] = loadavg()
      if (load! > MOST_LOAD) busy = `the machine has too much to do, load ${load!.toFixed(1)}`
      print({ 'drop-tail': dropTail, 'RANDOM 10, 25, 50 %': random, 'LATEST 10': latest })
    },
    (SECONDS + 60) * 1_000,
  )

  test('at most half a second of the link hides in the transport', ({ skip }) => {
    skip(busy !== undefined, busy)
    for (const { sent } of [dropTail, random, latest])
      expect(mostHidden(sent)).toBeLessThan(HALF_A_SECOND_BYTES)
  })

  test('the link is used up', ({ skip }) => {
    skip(busy !== undefined, busy)
    for (const { link } of [dropTail, random, latest])
      expect(link.bytes / (LINK_BYTES_PER_SECOND * SECONDS)).toBeGreaterThan(0.9)
  })

  test('policies lose what the link does not take, and receipts say so exactly', () => {
    for (const { sent, received } of [random, latest]) {
      const { delivered, digested, gaps, first, last } = received.receipt[0]!
      expect({ first, last, gaps }).toEqual({ first: 1, last: sent.published, gaps: 0 })
      expect(delivered).toBe(received.latenciesMs.length)
      expect(delivered + digested).toBe(sent.made)
      expect(digested).toBeGreaterThan(sent.made / 10)
    }
  })

  test('events come sooner than from a queue that drops what does not fit', ({ skip }) => {
    skip(busy !== undefined, busy)
    // In 30 s there are a dozen packs, from level 1 on: chance has more of a say.
    expect(medianLatency(random) / medianLatency(dropTail)).toBeLessThan(SECONDS < 60 ? 0.9 : 0.85)
    expect(medianLatency(latest) / medianLatency(dropTail)).toBeLessThan(0.65)
  })
})

function run(name: string, policy?: PolicySpec): Promise<SlowLinkRun> {
  const load = {
    queueItems: QUEUE_ITEMS,
    everyMs: EVERY_MS,
    forMs: SECONDS * 1_000,
    payloadBytes: PAYLOAD_BYTES,
  }
  return runSlowLink(name, policy === undefined ? load : { ...load, policy })
}

function print(runs: Readonly<Record<string, SlowLinkRun>>): void {
  const base = medianLatency(Object.values(runs)[0]!)
  for (const [name, one] of Object.entries(runs)) {
    const { sent, received, link } = one
    const events = received.latenciesMs.length
    console.log(
      `${name}: ${events} of ${sent.made} events and ${received.digests} digests,`,
      `median ${Math.round(medianLatency(one))} ms (${(medianLatency(one) / base).toFixed(2)} of drop-tail),`,
      `p95 ${Math.round(quantile(received.latenciesMs, 0.95))} ms;`,
      `hidden ${inMs(quantile(sent.samples.map(hidden), 0.5))} ms, at most ${inMs(mostHidden(sent))} ms;`,
      `${Math.round(link.bytes / events)} bytes an event`,
    )
  }
}

function medianLatency({ received }: SlowLinkRun): number {
  return quantile(received.latenciesMs, 0.5)
}

function mostHidden({ samples }: SlowLinkRun['sent']): number {
  return Math.max(...samples.map(hidden))
}

/** What a policy does not reach any more. */
function hidden({ streamBytes, kernelBytes }: SlowLinkRun['sent']['samples'][number]): number {
  return streamBytes + kernelBytes
}

function inMs(bytes: number): number {
  return Math.round((bytes / LINK_BYTES_PER_SECOND) * 1_000)
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)]!
}
