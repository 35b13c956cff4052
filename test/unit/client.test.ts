// A client on a core that no network has: what it refuses, and when its senders are relieved.
import { describe, expect, test, vi } from 'vitest'
import { type Client, connect, createNode, type Sender } from '../../index.ts'
import { ClientCore } from '../../overlay/client.ts'
import { idOfPeer } from '../../overlay/id.ts'
import type { Peer, Surroundings } from '../../overlay/surroundings.ts'
import { encodeControl } from '../../overlay/wire/control-frame.ts'
import { compilePolicy } from '../../policies/compile.ts'
import type { PolicySpec } from '../../policies/policy.ts'

const ADDRESS = '/ip4/127.0.0.1/tcp/4600'
const proxy: Peer = { id: idOfPeer(Uint8Array.of(1)), kind: 'node', key: Uint8Array.of(1) }
let core: ClientCore

vi.mock('../../endpoints/start.ts', () => ({
  async start({ makeCore }: { makeCore(surroundings: Surroundings): ClientCore }) {
    core = makeCore({
      self: { id: idOfPeer(Uint8Array.of(2)), kind: 'client', key: Uint8Array.of(2) },
      now: () => 0,
      random: () => 0,
      after: () => ({ cancel() {} }),
      send() {},
      dial() {},
      hangUp() {},
      closest: () => [],
      forget() {},
    })
    if (core instanceof ClientCore) core.connected(proxy)
    return { core, id: 'ab'.repeat(32), stop: async () => {} }
  },
}))

const client = await connect(ADDRESS)

/** The overlay knows the sender, and somebody wants its events. */
function wanted(sender: Sender<{ n: 'number' }>, spec: PolicySpec): void {
  const { hash, spec: policy } = compilePolicy(spec)
  const sid = sender.id
  for (const message of [
    { kind: 'opened', sid },
    { kind: 'want', toward: 'SC', sid, classes: [{ hash, policy }] },
  ] as const)
    core.received(proxy.id, 'control', encodeControl(message))
}

describe('relieved', () => {
  const isWaiting = async (one: Client) =>
    (await Promise.race([one.relieved().then(() => false), new Promise((turn) => setImmediate(turn))])) !==
    false

  test('waits while any of the queues is filling, though another has room again', async () => {
    const [slow, packed] = ['slow', 'packed'].map((name) => client.sender(name, { n: 'number' })) as [
      Sender<{ n: 'number' }>,
      Sender<{ n: 'number' }>,
    ]
    wanted(slow, { levels: [[{ name: 'LATEST', window: 100 }]] })
    wanted(packed, { levels: [[{ name: 'LATEST', window: 10 }]] })
    for (let n = 0; n < 9_000; n++) slow.publish({ n })
    expect(await isWaiting(client)).toBe(true)
    // It overflows, and its policy leaves little.
    for (let n = 0; n < 10_001; n++) packed.publish({ n })
    expect(await isWaiting(client)).toBe(true)
    for (let n = 0; n < 1_001; n++) slow.publish({ n })
    expect(await isWaiting(client)).toBe(false)
  })
})

describe('an event', () => {
  const attributes = {
    n: 'number',
    text: 'string',
    flag: 'boolean',
    raw: 'bytes',
    set: 'set',
    x: 'any',
  } as const
  const sender = client.sender('types', attributes)

  test('may lack attributes, and hold what was declared', () => {
    sender.publish({})
    sender.publish({ n: null, text: undefined, x: [1, 'a'] } as object)
    sender.publish({ n: Number.NaN, text: '', flag: false, raw: Uint8Array.of(1), set: ['a', 1], x: true })
    expect(sender.published).toBe(3)
  })

  test.each([
    [5, 'expected an object of attributes, got 5'],
    [null, 'expected an object of attributes, got null'],
    [undefined, 'expected an object of attributes, got undefined'],
    [[1], 'expected an object of attributes, got an array'],
    [{ m: 1 }, 'the sender has no attribute "m", expected n, text, flag, raw, set, x'],
    [{ txet: '' }, 'the sender has no attribute "txet" (did you mean "text"?)'],
    [{ n: '72' }, 'attribute "n": expected a number, got the text "72"'],
    [{ text: 72 }, 'attribute "text": expected text, got 72'],
    [{ flag: 'yes' }, 'attribute "flag": expected true or false, got the text "yes"'],
    [{ raw: [1] }, 'attribute "raw": expected a Uint8Array, got an array'],
    [{ set: 'a' }, 'attribute "set": expected a set, as an array of numbers, text, booleans or bytes, got'],
    [{ set: new Set(['a']) }, 'attribute "set": expected a set, as an array of'],
    [{ set: [1, {}] }, 'got an object in an array'],
    [{ x: {} }, 'attribute "x": expected a number, text, boolean, bytes, or an array'],
    [{ x: () => 1 }, 'got a function'],
  ])('%j is refused', (event, message) => {
    expect(() => sender.publish(event as object)).toThrow(
      expect.objectContaining({ code: 'EVENT_INVALID', message: expect.stringContaining(message) }),
    )
    expect(sender.published).toBe(3)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript would not let through
const js = client as any
const ID = 'ab'.repeat(32)

test.each<[string, () => unknown, string, string]>([
  [
    'a type that is none',
    () => js.sender('q', { a: 'int' }),
    'NAME_INVALID',
    '"int" (did you mean "number"?)',
  ],
  ['a list', () => js.sender('q', ['a']), 'NAME_INVALID', "like { PulseRate: 'number' }, got an array"],
  ['no attributes', () => js.sender('q'), 'NAME_INVALID', 'got undefined'],
  ['a number as name', () => js.sender(5, { a: 'any' }), 'NAME_INVALID', 'the name 5'],
  [
    'alow',
    () => js.sender('q', { a: 'any' }, { alow: [] }),
    'OPTION_INVALID',
    '"alow" (did you mean "allow"?)',
  ],
  ['a text to allow', () => js.sender('q', { a: 'any' }, { allow: ID }), 'OPTION_INVALID', 'a list of texts'],
  ['no ID', () => js.subscribe(5), 'NAME_INVALID', 'the sender 5'],
  ['polcy', () => js.subscribe(ID, { polcy: '' }), 'OPTION_INVALID', 'subscribe: unknown option "polcy"'],
  ['a queue of -1', () => js.subscribe(ID, { queue: { items: -1 } }), 'OPTION_INVALID', 'from 1, got -1'],
  ['a queue of 1.5', () => js.subscribe(ID, { queue: { bytes: 1.5 } }), 'OPTION_INVALID', 'queue.bytes'],
  ['a list as packed', () => js.subscribe(ID, { packed: [] }), 'OPTION_INVALID', 'a function, got an array'],
  ['queue.item', () => js.subscribe(ID, { queue: { item: 1 } }), 'OPTION_INVALID', '(did you mean "items"?)'],
  [
    'no object',
    () => js.subscribe(ID, { queue: 5 }),
    'OPTION_INVALID',
    'expected an object of options, got 5',
  ],
])('%s is refused', (_, call, code, message) => {
  expect(call).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }))
})

test.each<[string, () => Promise<unknown>, string]>([
  ['lisen', () => createNode({ lisen: [] } as object), 'unknown option "lisen" (did you mean "listen"?)'],
  [
    'a text',
    () => createNode({ listen: ADDRESS } as object),
    'listen: expected a list of texts, got the text',
  ],
  [
    'no room',
    () => createNode({ queue: { items: 0 } }),
    'queue.items: expected a whole number from 1, got 0',
  ],
  ['no budget', () => createNode({ budgetBytes: 1 }), 'budgetBytes: expected a whole number from 1048576'],
  ['no clients', () => createNode({ maxClients: 0 }), 'maxClients: expected a whole number from 1, got 0'],
  [
    'no',
    () => connect(ADDRESS, { roams: 'no' } as object),
    'roams: expected true or false, got the text "no"',
  ],
  ['xyz', () => createNode({ allowPeers: ['xyz'] }), 'expected a peer id, as it stands after /p2p/'],
  ['keys', () => connect(ADDRESS, { keys: 'a' } as object), 'unknown option "keys" (did you mean "key"?)'],
  [
    'true',
    () => connect(ADDRESS, { attachment: true } as object),
    'attachment: expected a function, got true',
  ],
])('starting with %s is refused', async (_, call, message) => {
  await expect(call()).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringContaining(message),
  })
})
