import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ControlMessage, SenderInfo } from '../../overlay/control.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'
import { controlLimits, MAX_FRAME_BYTES, MAX_TAGS, MAX_TAGS_BYTES } from '../../overlay/wire/limits.ts'
import { SpillwayError } from '../../policies/error.ts'
import { idOf } from './wire-frames.ts'
import { messages } from './wire-messages.ts'

const frameInvalid = expect.objectContaining({ constructor: SpillwayError, code: 'FRAME_INVALID' })
const sid = idOf(1)
const rid = idOf(2)
const policy = { levels: [[{ name: 'LATEST', window: 10 }]] }

/** What arrives of anything as JSON. */
function decoded(message: unknown): ControlMessage {
  return decodeControl(frameOf(JSON.stringify(message)))
}

function frameOf(json: string, version = 1): Uint8Array {
  return new TextEncoder().encode(String.fromCharCode(version) + json)
}

describe('a control frame', () => {
  it.each(Object.keys(messages))('brings back a message of kind %s as it was', (kind) => {
    fc.assert(
      fc.property(messages[kind as ControlMessage['kind']] as fc.Arbitrary<ControlMessage>, (message) => {
        expect(decodeControl(encodeControl(message))).toStrictEqual(message)
      }),
    )
  })

  it('leaves out what this version does not know', () => {
    const known = { kind: 'subscribed', sid, rid, first: { epoch: 1, seq: 2 } }
    const later = { ...known, first: { ...known.first, later: 1 }, colour: 'red', __proto__: null }
    expect(decoded(later)).toStrictEqual(known)
  })

  it('takes fields only from the message itself', () => {
    expect(() => decodeControl(frameOf(`{"kind":"ack","__proto__":{"number":1}}`))).toThrow(frameInvalid)
    expect(() => decodeControl(frameOf(`{"__proto__":{"kind":"ack","number":1}}`))).toThrow(frameInvalid)
  })

  it('leaves a policy as it is, to be compiled elsewhere', () => {
    const strange = { levels: 'none', colour: ['red'] }
    expect(decoded(subscribe({ policy: strange }))).toMatchObject({
      policy: strange,
    })
  })

  it('is taken when it is as the refused ones below but for their fault', () => {
    expect(decoded(subscribe({}))).toStrictEqual(subscribe({}))
    expect(decoded(route({ kind: 'unregister', sid, proxy: rid }))).toMatchObject({ kind: 'route' })
    expect(decoded(open({}))).toStrictEqual(open({}))
  })

  it.each<[string, unknown]>([
    ['a kind nobody knows', { kind: 'jump', sid }],
    ['a kind that every object has', { kind: 'constructor' }],
    ['no kind', { sid }],
    ['a list', [{ kind: 'opened', sid }]],
    ['null', null],
    ['a text', 'ack'],
    ['an ID that is too short', { kind: 'opened', sid: sid.slice(1) }],
    ['an ID in upper case', { kind: 'opened', sid: idOf(0xab).toUpperCase() }],
    ['an ID that is a list', { kind: 'opened', sid: [sid] }],
    ['no ID', { kind: 'opened' }],
    ['null for what may be absent', { kind: 'refused', sid, rid: null, reason: '' }],
    ['a count that is negative', { kind: 'ack', number: -1 }],
    ['a count that is not whole', { kind: 'ack', number: 1.5 }],
    ['a count that is not safe', { kind: 'ack', number: 2 ** 53 }],
    ['a count that is a text', { kind: 'ack', number: '1' }],
    ['a flag that is a number', { kind: 'senders', request: 1, senders: [], last: 1 }],
    ['a name that is too long', subscribe({ name: 'x'.repeat(controlLimits.name + 1) })],
    ['a reason that is too long', { kind: 'refused', sid, reason: 'x'.repeat(controlLimits.reason + 1) }],
    ['a policy that is a text', subscribe({ policy: '<policy/>' })],
    ['a policy that is a list', subscribe({ policy: [] })],
    ['a policy that is too large', subscribe({ policy: { levels: 'x'.repeat(controlLimits.policy) } })],
    ['a policy of too many values', subscribe({ policy: { levels: Array(controlLimits.policy).fill(0) } })],
    ['a cursor without a number', { kind: 'subscribed', sid, rid, first: { epoch: 1 } }],
    [
      'too many classes',
      { kind: 'unwant', toward: 'SR', sid, hashes: Array(controlLimits.classes + 1).fill(rid) },
    ],
    ['a hash that is none', { kind: 'unwant', toward: 'SR', sid, hashes: ['abc'] }],
    ['a role that wants nothing', { kind: 'unwant', toward: 'RC', sid, hashes: [] }],
    ['too many hops', route({ kind: 'unregister', sid, proxy: rid }, controlLimits.hops + 1)],
    ['a message that is not routed', route({ kind: 'ack', number: 1 })],
    ['a routed message without a proxy', route({ kind: 'unregister', sid })],
    ['a way that is too long', polled({ kind: 'unknown' }, Array(controlLimits.hops + 1).fill(rid))],
    ['an answer of no kind', polled({ retryAfterMs: 1 })],
    ['an answer of an unknown kind', polled({ kind: 'later' })],
    [
      'a piece that is too long',
      polled({ kind: 'piece', index: 0, items: 'A'.repeat(controlLimits.piece + 4) }),
    ],
    ['a piece that is not base64', polled({ kind: 'piece', index: 0, items: 'AAA' })],
    ['a piece of nothing', polled({ kind: 'piece', index: 0, items: '' })],
    ['a piece too many', polled({ kind: 'piece', index: controlLimits.pieces, items: 'AAAA' })],
    ['an endless wait', polled({ kind: 'busy', retryAfterMs: controlLimits.waitMs + 1 })],
    ['an answer that begins nowhere', polled({ kind: 'items', index: 0, more: false })],
    ['a poll since an unknown place', { kind: 'poll', request: 1, sid, since: 7 }],
    ['a routed poll of nobody', route({ kind: 'poll', request: 1, sid, path: [] })],
    ['too many tags', open({ tags: Array(MAX_TAGS + 1).fill('') })],
    ['tags that are too long', open({ tags: ['é'.repeat(MAX_TAGS_BYTES / 2), 'e'] })],
    ['a tag that UTF-8 cannot hold', open({ tags: ['\ud800'] })],
    [
      'a cursor of three IDs',
      { kind: 'resume', cursors: [{ toward: 'RC', sender: sid + rid + rid, epoch: 1, seq: 1 }] },
    ],
  ])('is refused with %s', (_, message) => {
    expect(() => decoded(message)).toThrow(frameInvalid)
  })

  it.each<[string, Uint8Array]>([
    ['nothing', new Uint8Array()],
    ['only a version', Uint8Array.of(1)],
    ['another version', frameOf(`{"kind":"ack","number":1}`, 2)],
    ['a byte order mark', frameOf(`\ufeff{"kind":"ack","number":1}`)],
    ['what is not UTF-8', Uint8Array.of(...frameOf(`{"kind":"list","request":1,"x":"`), 0xff, 0x22, 0x7d)],
    ['what is not JSON', frameOf(`{"kind":"ack","number":01}`)],
    ['a number that is infinite', frameOf(`{"kind":"ping","at":1e999}`)],
    [
      'a byte too many',
      frameOf(`{"kind":"ack","number":1}${' '.repeat(MAX_FRAME_BYTES)}`.slice(0, MAX_FRAME_BYTES)),
    ],
    [
      'lists in lists without end',
      frameOf(`{"kind":"ack","number":${'['.repeat(500_000)}${']'.repeat(500_000)}}`),
    ],
    [
      'a policy in a policy without end',
      frameOf(
        `{"kind":"subscribe","sid":"${sid}","rid":"${rid}","name":"","policy":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_001)}`,
      ),
    ],
  ])('is refused with %s', (_, frame) => {
    expect(() => decodeControl(frame)).toThrow(frameInvalid)
  })

  it('says which field was bad and what was expected', () => {
    expect(() => decoded({ kind: 'ack', number: -1 })).toThrow(
      'the frame has a bad "number", expected a whole number from 0 to 9007199254740991',
    )
  })

  it('is not made of a message that is too long', () => {
    const senders: SenderInfo[] = Array(20).fill({
      sid,
      name: '',
      owner: sid,
      tags: ['x'.repeat(MAX_TAGS_BYTES)],
    })
    expect(() => encodeControl({ kind: 'senders', request: 1, senders, last: true })).toThrow(frameInvalid)
  })
})

function subscribe(fields: object): unknown {
  return { kind: 'subscribe', sid, rid, name: 'ward', policy, generation: 1, ...fields }
}

function open(fields: object): unknown {
  return {
    kind: 'open',
    sid,
    name: 'pulse',
    tags: ['PulseRate'],
    epoch: 1,
    next: 1,
    generation: 1,
    ...fields,
  }
}

function route(message: unknown, hops = 0): unknown {
  return { kind: 'route', key: sid, hops, origin: sid, message }
}

function polled(answer: unknown, path: readonly string[] = []): unknown {
  return { kind: 'polled', request: 1, path, answer }
}
