// The command in real processes: nodes, senders and receivers that know of one another only by what they print.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { expect, onTestFinished, test } from 'vitest'
import { connect, createNode } from '../../index.ts'
import { type Id, idOfEndpoint } from '../../overlay/id.ts'
import { loadKey } from '../../overlay/libp2p/key.ts'
import { peerOf } from '../../overlay/libp2p/sessions.ts'
import {
  exact,
  highestIn,
  jsonLines,
  overlay,
  type Running,
  type RunningNode,
  run,
  runUnread,
} from './command.ts'
import { longTest } from './long.ts'

const POLICIES = [[], ['--policy', 'telemetry:n'], ['--policy', 'alerts:room'], ['--policy', 'state:room']]

test('five nodes, two senders, twenty receivers: one slow and one stuck cost the others nothing', {
  timeout: 240_000,
}, async () => {
  const PUBLISHED = 6_000
  const nodes = await overlay(5)
  const senders = ['north', 'south'].map((name, i) =>
    run('pub', name, '--at', nodes[i + 1]!.address, '--tags', 'n,room', '--rate', '2000'),
  )
  const ids = await Promise.all(senders.map((sender) => sender.told('sender')))
  const subscribe = (i: number, start: typeof run, ...argv: string[]) =>
    start('sub', ids[i % 2], '--at', nodes[i % 5]!.address, ...POLICIES[i % 4]!, ...argv)
  const slow = subscribe(1, run, '--queue', '50', '--slow', '20')
  const stuck = subscribe(2, runUnread, '--queue', '50')
  await Promise.all([slow.told('subscribed'), once(stuck.child.stdout, 'readable')])
  const fast: Running[] = []
  // Not all at once: each start is half a second of CPU, and a dial waits only so long.
  while (fast.length < 18) {
    const some = [0, 1, 2].map((i) => subscribe(fast.length + i, run, '--count', `${PUBLISHED}`))
    await Promise.all(some.map((receiver) => receiver.told('subscribed')))
    fast.push(...some)
  }
  for (const [i, { child }] of senders.entries())
    child.stdin.end(jsonLines(PUBLISHED, (n) => ({ n: n + i, room: `room ${n % 7}` })))
  expect(await Promise.all(senders.map((sender) => sender.exit))).toEqual([0, 0])
  for (const sender of senders) expect(await sender.told('published')).toBe(PUBLISHED)

  const ended = performance.now()
  expect(await Promise.all(fast.map((receiver) => receiver.exit))).toEqual(fast.map(() => 0))
  // Were they held back by the slow one, it would be two minutes.
  expect(performance.now() - ended).toBeLessThan(10_000)
  for (const receiver of fast)
    expect(exact(receiver)).toMatchObject({ first: 1, last: PUBLISHED, delivered: PUBLISHED })

  stuck.read()
  for (const receiver of [slow, stuck]) {
    await receiver.interruptedAt(PUBLISHED)
    const { first, last, digested, gaps } = exact(receiver)
    expect({ first, last, gaps }).toEqual({ first: 1, last: PUBLISHED, gaps: 0 })
    expect(digested).toBeGreaterThan(PUBLISHED / 4)
  }
})

test('a receiver that was stopped for longer than heartbeats may be missed comes back', {
  timeout: 120_000,
}, async () => {
  const [a, b] = (await overlay(2)) as [RunningNode, RunningNode]
  const sender = run('pub', 'pulse', '--at', a.address, '--tags', 'n', '--rate', '1000')
  const id = await sender.told('sender')
  const subscribe = () => run('sub', id, '--at', b.address, '--policy', 'telemetry:n')
  const stopped = subscribe()
  const other = subscribe()
  await Promise.all([stopped.told('subscribed'), other.told('subscribed')])
  stopped.child.kill('SIGSTOP')
  sender.child.stdin.write(jsonLines(6_000, (n) => ({ n })))
  await other.interruptedAt(6_000)
  stopped.child.kill('SIGCONT')
  await stopped.interruptedAt(6_000)
  for (const receiver of [stopped, other]) expect(exact(receiver)).toMatchObject({ first: 1, last: 6_000 })
  expect(exact(other)).toMatchObject({ delivered: 6_000 })
})

test('ten thousand lines through pub and sub are the same lines', { timeout: 120_000 }, async () => {
  const address = await nodeHere()
  const sender = run('pub', 'lines', '--at', address)
  const event = (n: number) => ({ n, text: `text ${n} ü`, flag: n % 2 === 0, set: [n, 'a'] })
  sender.child.stdin.write(jsonLines(1, (n) => ({ ...event(n), none: null })))
  const receiver = run('sub', await sender.told('sender'), '--at', address, '--count', '10000')
  const { epoch, first } = await receiver.told('subscribed')
  expect(first).toBe(2)
  sender.child.stdin.end(jsonLines(10_000, event))
  expect(await Promise.all([sender.exit, receiver.exit])).toEqual([0, 0])
  expect(sender.lines.at(-1)).toEqual({ published: 10_001 })
  expect(exact(receiver)).toEqual({ epoch, first, last: 10_001, delivered: 10_000, digested: 0, gaps: 0 })
  expect(receiver.lines[1]).toEqual({ seq: 2, event: event(1) })
  expect(receiver.lines.slice(1, -1).map((line) => line.event)).toEqual(
    Array.from({ length: 10_000 }, (_, i) => event(i + 1)),
  )
})

test('--idle ends a receiver, and markers do not keep it', async () => {
  const address = await nodeHere()
  const sender = run('pub', 'rare', '--at', address, '--tags', 'n')
  const receiver = run('sub', await sender.told('sender'), '--at', address, '--idle', '2500')
  await receiver.told('subscribed')
  sender.child.stdin.write('{"n":1}\n')
  await receiver.told('seq')
  const from = performance.now()
  expect(await receiver.exit).toBe(0)
  expect(performance.now() - from).toBeGreaterThan(2_400)
  expect(performance.now() - from).toBeLessThan(6_000)
  expect(exact(receiver)).toMatchObject({ first: 1, last: 1, delivered: 1 })
})

test('the sender and its name are listed, and gone subscribers end with SIGINT and a receipt', async () => {
  const [a, b] = (await overlay(2)) as [RunningNode, RunningNode]
  const sender = run('pub', 'pulse', '--at', a.address, '--tags', 'bpm,ward')
  const id = await sender.told('sender')
  const listed = await until('the sender is listed', async () => {
    const list = run('ls', '--json', '--at', b.address)
    expect(await list.exit).toBe(0)
    return list.lines[0]
  })
  expect(listed).toEqual({ sender: id, name: 'pulse', owner: expect.any(String), tags: ['bpm', 'ward'] })
  const receiver = run('sub', id, '--at', b.address)
  await receiver.told('subscribed')
  sender.child.stdin.write(`{"bpm":70}\n{"bpm":\n{"bmp":1}\n{"bpm":71,"ward":"b"}\n`)
  await until('two events are there', async () => receiver.lines.length === 3)
  receiver.child.kill('SIGINT')
  expect(await receiver.exit).toBe(0)
  expect(exact(receiver)).toMatchObject({ first: 1, last: 2, delivered: 2 })
  sender.child.kill('SIGINT')
  expect(await sender.exit).toBe(1)
  expect(sender.lines.at(-1)).toEqual({ published: 2 })
  expect(sender.stderr).toMatch(/^stdin:2: .*\nstdin:3: the sender has no attribute "bmp".*\n$/)
  for (const { running } of [a, b]) running.child.kill('SIGTERM')
  expect(await Promise.all([a.running.exit, b.running.exit])).toEqual([0, 0])
})

test('subscribing before the sender exists gives it from its first event on, and an epoch each time it starts', {
  timeout: 120_000,
}, async () => {
  const [a, b] = (await overlay(2)) as [RunningNode, RunningNode]
  const key = keyFile()
  const receiver = run('sub', await senderId(key, 'again'), '--at', b.address)
  expect(await receiver.told('subscribed')).toEqual({ epoch: null, first: 1 })
  for (const count of [3, 5]) {
    const before = receiver.lines.length
    const sender = run('pub', 'again', '--at', a.address, '--key', key)
    sender.child.stdin.end(jsonLines(count, (n) => ({ n })))
    expect(await sender.exit).toBe(0)
    // The first of them says that there is a new epoch.
    await until(`${count} more events are there`, async () => receiver.lines.length === before + count + 1)
  }
  receiver.child.kill('SIGINT')
  expect(await receiver.exit).toBe(0)
  const counts = { first: 1, digested: 0, gaps: 0 }
  expect(receiver.receipts).toMatchObject([
    { ...counts, last: 3, delivered: 3 },
    { ...counts, last: 5, delivered: 5 },
  ])
})

test('nodes are killed in the middle, the root, then a proxy of both: receipts are exact, with gaps at worst', {
  timeout: 120_000,
}, async () => {
  const PUBLISHED = 6_000
  const nodes = await overlay(5)
  const key = keyFile()
  const id = await senderId(key, 'pulse')
  const [root, ...others] = nodes.toSorted((x, y) => (distance(x.id, id) < distance(y.id, id) ? -1 : 1))
  const proxy = others[0]!
  const at = (i: number) => ['--at', others[i % 4]!.address, '--at', others[(i + 1) % 4]!.address]
  const pulse = ['pub', 'pulse', '--key', key, '--tags', 'n,room', '--rate', '1000', ...at(0)]
  const senders = [run(...pulse), run('pub', 'other', '--tags', 'n,room', '--rate', '1000', ...at(1))]
  const ids = await Promise.all(senders.map((sender) => sender.told('sender')))
  expect(ids[0]).toBe(id)
  const receivers = Array.from({ length: 8 }, (_, i) => run('sub', ids[i % 2], ...POLICIES[i % 4]!, ...at(i)))
  receivers.push(run('sub', id, '--queue', '50', '--slow', '20', '--policy', 'telemetry:n', ...at(2)))
  await Promise.all(receivers.map((receiver) => receiver.told('subscribed')))
  for (const { child } of senders)
    child.stdin.end(jsonLines(PUBLISHED, (n) => ({ n, room: `room ${n % 7}` })))
  for (const [dying, after] of [
    [root!, 1_000],
    [proxy, 3_000],
  ] as const) {
    await until(`all are beyond ${after}`, async () =>
      receivers.every(({ lines }) => highestIn(lines) > after),
    )
    dying.running.child.kill('SIGKILL')
  }
  expect(await Promise.all(senders.map(({ exit }) => exit))).toEqual([0, 0])
  await Promise.all(receivers.map((receiver) => receiver.interruptedAt(PUBLISHED)))
  for (const receiver of receivers) {
    const { first, last, gaps } = exact(receiver)
    expect({ first, last }).toEqual({ first: 1, last: PUBLISHED })
    expect(gaps).toBeLessThan(PUBLISHED / 2)
  }
  expect(receivers[0]!.stderr).toMatch(/the node is gone.*\na node is there again/)
})

longTest(
  'a receiver that roams over five nodes, one of them dead, has every event (LONG=1)',
  {
    timeout: 120_000,
  },
  async () => {
    const PUBLISHED = 8_000
    const nodes = await overlay(5)
    const addresses = [...nodes.map(({ address }) => address), '/ip4/127.0.0.1/tcp/9'].join(',')
    const sender = run('pub', 'pulse', '--at', nodes[0]!.address, '--tags', 'n', '--rate', '1000')
    const id = await sender.told('sender')
    const subscribe = (...argv: string[]) => run('sub', id, '--at', nodes[1]!.address, ...argv)
    const roaming = ['--roam', addresses, '--every', '100']
    const receivers = [subscribe(), subscribe(...roaming), subscribe(...roaming, '--abrupt')]
    await Promise.all(receivers.map((receiver) => receiver.told('subscribed')))
    sender.child.stdin.end(jsonLines(PUBLISHED, (n) => ({ n })))
    expect(await sender.exit).toBe(0)
    await Promise.all(receivers.map((receiver) => receiver.interruptedAt(PUBLISHED)))
    for (const receiver of receivers)
      expect(exact(receiver)).toMatchObject({ first: 1, last: PUBLISHED, delivered: PUBLISHED })
  },
)

test('a reader that goes away ends a receiver', async () => {
  const address = await nodeHere()
  const sender = run('pub', 'pulse', '--at', address, '--tags', 'n', '--rate', '100')
  const receiver = runUnread('sub', await sender.told('sender'), '--at', address)
  sender.child.stdin.write(jsonLines(2_000, (n) => ({ n })))
  await once(receiver.child.stdout, 'readable')
  receiver.child.stdout.destroy()
  expect(await receiver.exit).toBe(0)
  expect(receiver.stderr).toBe('')
})

test('a signal that comes twice is one, as npx and timeout send it', async () => {
  const address = await nodeHere()
  const sender = run('pub', 'pulse', '--at', address)
  sender.child.stdin.write(jsonLines(5, (n) => ({ n })))
  await sender.told('sender')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) sender.child.kill(signal)
  expect(await sender.exit).toBe(0)
  expect(sender.lines.at(-1)).toEqual({ published: 5 })
})

test('a sub that is refused says by which ID it can be allowed', async () => {
  const address = await nodeHere()
  const key = keyFile()
  const owner = await connect(address)
  onTestFinished(() => owner.close())
  const secret = owner.sender('secret', { n: 'number' }, { allow: ['ab'.repeat(32)] })
  const refused = run('sub', secret.id, '--at', address, '--key', key)
  expect(await refused.exit).toBe(1)
  const [, id = ''] = /^spillway: REFUSED: .*\n.*--allow, is ([0-9a-f]{64})/.exec(refused.stderr) ?? []
  const friendly = owner.sender('friendly', { n: 'number' }, { allow: [id] })
  const allowed = run('sub', friendly.id, '--at', address, '--key', key)
  expect(await allowed.told('subscribed')).toMatchObject({ first: 1 })
})

test('where no node answers, it says so and exits with 1', { timeout: 90_000 }, async () => {
  const list = run('ls', '--at', '/ip4/127.0.0.1/tcp/9')
  expect(await list.exit).toBe(1)
  expect(list.stderr).toMatch(
    /^spillway: UNREACHABLE: no node answers at \/ip4\/127.0.0.1\/tcp\/9: nobody listens there\n.*spillway node/,
  )
})

/** The address of a node in this process, where the node is not what the test is about. */
async function nodeHere(): Promise<string> {
  const node = await createNode()
  onTestFinished(() => node.close())
  return node.addresses[0]!
}

/** Where a key can be made. */
function keyFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'a.key')
}

async function senderId(key: string, name: string): Promise<Id> {
  const peer = peerOf(peerIdFromPrivateKey(await loadKey(key)), 'client')
  return idOfEndpoint(peer.key, name)
}

function distance(a: Id, b: Id): bigint {
  return BigInt(`0x${a}`) ^ BigInt(`0x${b}`)
}

/** Nothing that is waited for takes so long, even on a machine that has much to do. */
const PATIENCE_MS = 50_000

/** Asks until the answer is yes, and returns it; `what` says what was waited for. */
async function until<T>(what: string, ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (performance.now() > deadline) throw new Error(`after ${PATIENCE_MS} ms still not: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
