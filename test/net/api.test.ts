// The API as an application uses it, on a real node: senders, subscriptions, handlers, signals, and what goes wrong.

import { randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Client, type ConnectOptions, connect, createNode, type NodeOptions } from '../../index.ts'

const NOBODY = 'ab'.repeat(32)

describe('a subscription', () => {
  test('gives what was published, with its types and a receipt', async () => {
    const client = await attached(await serving())
    const attributes = { n: 'number', text: 'string', bytes: 'bytes', set: 'set', flag: 'boolean' } as const
    const sender = client.sender('all', attributes)
    const receiver = client.subscribe(sender.id)
    expect(await receiver.subscribed).toMatchObject({ seq: 1 })
    const event = { n: 1.5, text: 'ü', bytes: Uint8Array.of(1, 2), set: ['a', 1], flag: true }
    expect(sender.publish(event)).toBeLessThan(0.1)
    sender.publish({ text: 'only' })
    const items = []
    for await (const item of receiver) if (items.push(item) === 2) break
    expect(items).toMatchObject([
      { kind: 'event', seq: 1, time: expect.any(Number), ...event },
      { kind: 'event', seq: 2, text: 'only' },
    ])
    expect(receiver.receipt).toMatchObject([{ first: 1, last: 2, delivered: 2, digested: 0, gaps: 0 }])
    await sender.close()
    expect(() => sender.publish({ n: 1 })).toThrow(code('CLOSED'))
  })

  test('calls handlers with events, digests and pressure', async () => {
    const client = await attached(await serving())
    const sender = client.sender('fast', { n: 'number' })
    const policy = { attribute: 'n', levels: [[{ name: 'LATEST', window: 5 }]] }
    const receiver = client.subscribe(sender.id, { policy, queue: { items: 50 } })
    await receiver.subscribed
    const counted = { events: 0, digested: 0, pressure: [] as boolean[] }
    for (let n = 1; n <= 5_000; n++) sender.publish({ n })
    await sender.close()
    receiver.handle({
      event: () => counted.events++,
      digest: ({ count }) => {
        counted.digested += count
      },
      pressure: (isHigh) => counted.pressure.push(isHigh),
    })
    await expect.poll(() => receiver.isEnded).toBe(true)
    expect(counted.events + counted.digested).toBe(5_000)
    expect(counted.digested).toBeGreaterThan(0)
    expect(receiver.receipt).toMatchObject([
      { last: 5_000, delivered: counted.events, digested: counted.digested, gaps: 0 },
    ])
  })

  test('ends with its signal, with its client, and with close, and rejects whoever waits for it', async () => {
    const client = await attached(await serving())
    const ending = new AbortController()
    const [a, b, c] = [{ signal: ending.signal }, {}, {}].map((options) => client.subscribe(NOBODY, options))
    await Promise.all([a!, b!, c!].map(({ subscribed }) => subscribed))
    ending.abort()
    expect(await a!.next()).toBeUndefined()
    b!.close()
    expect(await b!.next()).toBeUndefined()
    const early = client.subscribe(NOBODY)
    early.close()
    await expect(early.subscribed).rejects.toThrow(code('CLOSED'))
    await client.close()
    expect(await c!.next()).toBeUndefined()
    expect(() => client.subscribe(NOBODY)).toThrow(code('CLOSED'))
  })

  test('is refused to whom the sender does not allow, and stands for whom it does', async () => {
    const node = await serving()
    const [owner, friend, stranger] = await Promise.all([attached(node), attached(node), attached(node)])
    const sender = owner.sender('secret', { n: 'number' }, { allow: [friend.id] })
    await sender.opened
    await expect(stranger.subscribe(sender.id).subscribed).rejects.toThrow(code('REFUSED'))
    await expect(stranger.subscribe(sender.id).next()).rejects.toThrow(code('REFUSED'))
    const allowed = friend.subscribe(sender.id)
    await allowed.subscribed
    sender.publish({ n: 7 })
    expect(await allowed.next()).toMatchObject({ kind: 'event', n: 7 })
  })
})

describe('a client', () => {
  test('goes on at another node when its own is gone, and tells', async () => {
    const first = await createNode()
    const second = await serving({ join: first.addresses })
    await second.joined
    const told: boolean[] = []
    const addresses = [...first.addresses, ...second.addresses]
    const client = await attached({ addresses }, { attachment: (isAttached) => told.push(isAttached) })
    const sender = client.sender('pulse', { n: 'number' })
    const receiver = client.subscribe(sender.id)
    await receiver.subscribed
    await first.close()
    await expect.poll(() => told.slice(-2), { timeout: 10_000 }).toEqual([false, true])
    for (let n = 1; n <= 3; n++) {
      sender.publish({ n })
      expect(await receiver.next()).toMatchObject({ kind: 'event', seq: n, n })
    }
  })

  test('lists senders, and ends what waits when it is closed', async () => {
    const client = await attached(await serving())
    const sender = client.sender('pulse', { n: 'number' })
    await sender.opened
    expect(await client.senders()).toEqual([{ sid: sender.id, name: 'pulse', owner: client.id, tags: ['n'] }])
    await expect(client.senders({ signal: AbortSignal.abort('enough') })).rejects.toBe('enough')
    const waiting = Promise.allSettled([client.senders(), client.sender('other', { n: 'number' }).opened])
    await client.close()
    for (const one of await waiting) expect(one).toMatchObject({ reason: { code: 'CLOSED' } })
  })

  test('says at once what cannot be', async () => {
    const client = await attached(await serving())
    client.sender('pulse', { n: 'number' })
    expect(() => client.sender('pulse', { n: 'number' })).toThrow(code('NAME_TAKEN'))
    expect(() => client.sender('', { n: 'number' })).toThrow(code('NAME_INVALID'))
    expect(() => client.sender('x', { seq: 'number' })).toThrow(code('NAME_INVALID'))
    expect(() => client.sender('x', {})).toThrow(code('NAME_INVALID'))
    expect(() => client.sender('x', { n: 'number' }, { allow: ['me'] })).toThrow(code('NAME_INVALID'))
    expect(() => client.subscribe('pulse')).toThrow(code('NAME_INVALID'))
    expect(() => client.subscribe(NOBODY, { policy: '<policy/>' })).toThrow(code('POLICY_INVALID'))
    client.subscribe(NOBODY, { name: 'me' })
    expect(() => client.subscribe(NOBODY, { name: 'me' })).toThrow(code('NAME_TAKEN'))
    // Its node has not hung up.
    expect(await client.senders()).toHaveLength(1)
  })
})

describe('starting', () => {
  test('leaves nothing behind at the signal of a node that is closed', async () => {
    const { signal } = new AbortController()
    const node = await createNode({ signal })
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0)
    await node.close()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('ends with its signal, and so does what was started', async () => {
    const aborted = AbortSignal.abort(new Error('enough'))
    await expect(createNode({ signal: aborted })).rejects.toThrow('enough')
    const node = await serving()
    await expect(connect(node.addresses, { signal: aborted })).rejects.toThrow('enough')
    const ending = new AbortController()
    const client = await attached(node, { signal: ending.signal })
    ending.abort()
    expect(() => client.subscribe(NOBODY)).toThrow(code('CLOSED'))
  })

  test('fails with a code and says what was expected', { timeout: 30_000 }, async () => {
    const node = await serving()
    const [address = ''] = node.addresses
    await expect(createNode({ listen: ['4600'] })).rejects.toThrow(code('ADDRESS_INVALID', /multiaddr/))
    await expect(createNode({ join: ['localhost:46'] })).rejects.toThrow(
      code('ADDRESS_INVALID', /did you mean/),
    )
    await expect(connect([])).rejects.toThrow(code('ADDRESS_INVALID', /expected an address/))
    const inUse = address.replace(/\/p2p\/.*/, '')
    await expect(createNode({ listen: [inUse] })).rejects.toThrow(code('LISTEN_FAILED', /in use/))
    const other = '12D3KooWMw8rHnWbkhFFPPQfZJQd3XhK3fgj5mSpNVvKAXCqK1Ph'
    await expect(connect(`${inUse}/p2p/${other}`)).rejects.toThrow(code('UNREACHABLE', /another peer/))
    await expect(connect('/ip4/127.0.0.1/tcp/9')).rejects.toThrow(code('UNREACHABLE', /nobody listens/))
    await expect(connect(address, { psk: randomBytes(16) })).rejects.toThrow(
      code('KEY_INVALID', /expected 32/),
    )
  })

  test('fails for a key file that holds none, or cannot be', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-key-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const key = join(folder, 'junk')
    writeFileSync(key, 'junk')
    await expect(createNode({ key })).rejects.toThrow(code('KEY_INVALID', /expected a file with a key/))
    await expect(createNode({ key: folder })).rejects.toThrow(code('KEY_INVALID', /folder/))
    await expect(createNode({ key: join(folder, 'a/b') })).rejects.toThrow(
      code('KEY_INVALID', /no such folder/),
    )
  })
})

async function serving(options: NodeOptions = {}) {
  const node = await createNode(options)
  onTestFinished(() => node.close())
  return node
}

async function attached(
  { addresses }: { addresses: readonly string[] },
  options: ConnectOptions = {},
): Promise<Client> {
  const client = await connect(addresses, options)
  onTestFinished(() => client.close())
  return client
}

/** An error with this code. */
function code(expected: string, message: RegExp = /./) {
  return expect.objectContaining({ code: expected, message: expect.stringMatching(message) })
}
