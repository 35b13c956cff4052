// `docs/wire.md` says what the code does: its examples, its messages and its limits.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyWriter, MAX_BODY_BYTES } from '../../buffers/codec.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'
import { type DataFrame, FrameDecoder, FrameEncoder } from '../../overlay/wire/data-frame.ts'
import * as limits from '../../overlay/wire/limits.ts'
import { policyLimits } from '../../policies/limits.ts'
import { blockOf, idOf, outgoing, runOf, said } from './wire-frames.ts'
import { answers, messages, routed } from './wire-messages.ts'

const page = readFileSync(new URL('../../docs/wire.md', import.meta.url), 'utf8')

/** The bytes of the page's examples: the pairs of hex digits at the beginning of each line. */
const [ack, first, second] = [...page.matchAll(/```hex\n(.*?)```/gs)].map(([, example]) => {
  const pairs = example!.split('\n').map((line) => /^([0-9a-f]{2} ?)*/.exec(line)![0])
  return Uint8Array.from(Buffer.from(pairs.join('').replaceAll(' ', ''), 'hex'))
})

/** Rows of the page's tables whose first cell is a name in backquotes, as name and second cell. */
function rowsOf(heading: string): [string, string][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading))!
  return [...section.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, name, cell]) => [name!, cell!])
}

const schema = { tags: ['PulseRate'] }
const body = (PulseRate: number) => new BodyWriter().encode(schema, { PulseRate }).slice()
const part = { toward: 'SR' as const, sender: idOf(0xa1) }
const policy = idOf(0xb2)

const firstFrame: DataFrame = {
  number: 1,
  parts: [
    {
      ...part,
      rid: undefined,
      items: [
        runOf(
          blockOf(schema, 5, [
            { seq: 41, time: 1000, body: body(72) },
            { seq: 42, time: 1250, body: body(71) },
          ]),
        ),
        { kind: 'marker', epoch: 5, highest: 42, end: false },
      ],
    },
  ],
}

const secondFrame: DataFrame = {
  number: 2,
  parts: [
    {
      ...part,
      rid: policy,
      items: [
        {
          kind: 'digest',
          policy,
          epoch: 5,
          from: 43,
          to: 45,
          fromTime: 1500,
          toTime: 2000.5,
          causes: [
            { buffer: 'SPB', level: 1, count: 2 },
            { buffer: 'SRB', level: 'worst-case', count: 1 },
          ],
          states: [[3, 214.5, 0]],
        },
        { kind: 'marker', epoch: 5, highest: 45, end: true },
      ],
    },
  ],
}

describe('the page on the wire', () => {
  it('has the bytes of a control frame', () => {
    expect(encodeControl({ kind: 'ack', number: 2 })).toStrictEqual(ack)
    expect(decodeControl(ack!)).toStrictEqual({ kind: 'ack', number: 2 })
  })

  it('has the bytes of two data frames of one stream', () => {
    const encoder = new FrameEncoder()
    expect(encoder.encode(outgoing(firstFrame)).slice()).toStrictEqual(first)
    expect(encoder.encode(outgoing(secondFrame)).slice()).toStrictEqual(second)
    const decoder = new FrameDecoder()
    expect(said(decoder.decode(first!))).toStrictEqual(said(firstFrame))
    expect(said(decoder.decode(second!))).toStrictEqual(said(secondFrame))
  })

  it('has every kind of message with its fields', () => {
    const arbitraries = [...Object.entries(messages), ...Object.entries(routed), ...Object.entries(answers)]
    const fieldsOf = ([kind, arbitrary]: (typeof arbitraries)[number]) => {
      const samples: object[] = fc.sample<object>(arbitrary as fc.Arbitrary<object>, {
        seed: 1,
        numRuns: 200,
      })
      const keys = new Set(samples.flatMap(Object.keys))
      const marked = [...keys].map((key) =>
        samples.every((one) => key in one) ? `\`${key}\`` : `\`${key}?\``,
      )
      return [kind, marked.filter((field) => field !== '`kind`').join(' ') || 'none']
    }
    expect(rowsOf('Control frames')).toStrictEqual(expect.arrayContaining(arbitraries.map(fieldsOf)))
    const kinds = rowsOf('Control frames').filter(([, cell]) => /^(`|none$)/.test(cell))
    expect(kinds).toHaveLength(arbitraries.length)
  })

  it('has every limit with its value', () => {
    const { controlLimits, WIRE_VERSION, MIN_KEPT_EVENTS, MAX_KEPT_HEADS, ...frames } = limits
    const { levels, digesters } = policyLimits
    const expected = { ...frames, MAX_BODY_BYTES, levels, digesters, ...controlLimits }
    const actual = rowsOf('Limits').map(([name, value]) => [name, Number(value.replaceAll(',', ''))])
    expect(Object.fromEntries(actual)).toStrictEqual(expected)
  })
})
