// Pulling from senders on real nodes: in code, and with the command in processes of its own.
import { expect, onTestFinished, test } from 'vitest'
import { type Client, connect, createNode, dpt, fixedInterval, type NodeOptions } from '../../index.ts'
import { exact, jsonLines, overlay, type RunningNode, run } from './command.ts'

const NOBODY = 'ab'.repeat(32)
const code = (code: string) => expect.objectContaining({ code })

test('a pull gives what was published since the newest event, with an exact receipt, to be continued', async () => {
  const first = await serving()
  const second = await serving({ join: first.addresses })
  await second.joined
  const [owner, sink] = [await attached(first), await attached(second)]
  const sender = owner.sender('rare', { n: 'number', text: 'string' })
  await sender.opened
  for (let n = 1; n <= 3; n++) sender.publish({ n, text: `ü ${n}` })
  await new Promise((resolve) => setTimeout(resolve, 500))
  const pull = sink.pull(sender.id, { schedule: fixedInterval(100) })
  expect(await pull.subscribed).toMatchObject({ seq: 3 })
  expect(await pull.next()).toMatchObject({ kind: 'event', seq: 3, n: 3, text: 'ü 3' })
  for (let n = 4; n <= 6; n++) sender.publish({ n })
  for (let n = 4; n <= 6; n++) expect(await pull.next()).toMatchObject({ kind: 'event', n })
  pull.close()
  for (let n = 7; n <= 2_000; n++) sender.publish({ n, text: 'x'.repeat(100) })
  expect(await pull.next()).toBeUndefined()
  expect(pull.receipt).toMatchObject([{ first: 3, last: 6, delivered: 4, digested: 0, gaps: 0 }])

  // The root keeps a thousand; what went before is a gap.
  const again = sink.pull(sender.id, { schedule: fixedInterval(100), since: pull.since! })
  let counted = 0
  for await (const item of again) {
    counted += item.kind === 'event' ? 1 : item.count
    if (item.kind === 'event' && item.seq === 2_000) break
  }
  const [receipt] = again.receipt
  expect(counted).toBe(1_994)
  expect(receipt).toMatchObject({ first: 7, last: 2_000 })
  expect(receipt!.delivered + receipt!.gaps).toBe(1_994)
  expect(receipt!.gaps).toBeGreaterThan(900)
  expect(again.counts.hits).toBeGreaterThan(10)
})

test('a large event comes in pieces, and a pull ends with its client', async () => {
  const node = await serving()
  const client = await attached(node)
  const sender = client.sender('large', { bytes: 'bytes' })
  await sender.opened
  const bytes = Uint8Array.from({ length: 60_000 }, (_, i) => i % 251)
  sender.publish({ bytes })
  const pull = client.pull<{ bytes: Uint8Array }>(sender.id, { schedule: fixedInterval(100) })
  expect(await pull.next()).toMatchObject({ kind: 'event', bytes })
  const waiting = pull.next()
  await client.close()
  expect(await waiting).toBeUndefined()
  expect(() => client.pull(NOBODY, { schedule: dpt('lazy') })).toThrow(code('CLOSED'))
})

test('a sender that allows only some is pulled from by those', async () => {
  const node = await serving()
  const [owner, friend, stranger] = await Promise.all([attached(node), attached(node), attached(node)])
  const sender = owner.sender('secret', { n: 'number' }, { allow: [friend.id] })
  await sender.opened
  sender.publish({ n: 7 })
  const schedule = () => fixedInterval(100)
  expect(await friend.pull(sender.id, { schedule: schedule() }).next()).toMatchObject({ n: 7 })
  const refused = stranger.pull(sender.id, { schedule: schedule() })
  await expect(refused.subscribed).rejects.toThrow(code('REFUSED'))
  await expect(refused.next()).rejects.toThrow(code('REFUSED'))
  expect(() => friend.pull('pulse', { schedule: schedule() })).toThrow(code('NAME_INVALID'))
})

test('a node that is gone is a miss that is told, and the pull goes on at another', async () => {
  const first = await createNode()
  const second = await serving({ join: first.addresses })
  await second.joined
  const owner = await attached(second)
  const sink = await connect([...first.addresses, ...second.addresses])
  onTestFinished(() => sink.close())
  const sender = owner.sender('pulse', { n: 'number' })
  await sender.opened
  sender.publish({ n: 1 })
  const missed: string[] = []
  const schedule = fixedInterval(200)
  const pull = sink.pull(sender.id, { schedule, missed: ({ reason }) => missed.push(reason) })
  expect(await pull.next()).toMatchObject({ n: 1 })
  await first.close()
  const next = pull.next()
  await expect.poll(() => missed.length, { timeout: 10_000 }).toBeGreaterThan(0)
  sender.publish({ n: 2 })
  expect(await next).toMatchObject({ seq: 2 })
})

test('the command writes what sub would, from the sender it is given, and ends as it is told', {
  timeout: 120_000,
}, async () => {
  const [a, b] = (await overlay(2)) as [RunningNode, RunningNode]
  const sender = run('pub', 'pulse', '--at', a.address, '--tags', 'n')
  const id = await sender.told('sender')
  const puller = run('pull', id, '--at', b.address, '--schedule', 'fixed:0.2', '--count', '20')
  expect(await puller.told('subscribed')).toMatchObject({ first: 1 })
  sender.child.stdin.write(jsonLines(15, (n) => ({ n })))
  await puller.told('seq')
  const late = run('pull', id, '--at', a.address, '--schedule', 'dpt-a', '--idle', '3000')
  expect(await late.told('subscribed')).toMatchObject({ first: 15 })
  sender.child.stdin.end(jsonLines(5, (n) => ({ n: 15 + n })))
  expect(await puller.exit).toBe(0)
  expect(exact(puller)).toMatchObject({ first: 1, last: 20, delivered: 20 })
  expect(puller.lines[1]).toEqual({ seq: 1, event: { n: 1 } })
  expect(await late.exit).toBe(0)
  expect(exact(late)).toMatchObject({ first: 15, delivered: expect.any(Number), gaps: 0 })
  expect(await sender.exit).toBe(0)
  const gone = run('pull', id, '--at', b.address, '--schedule', 'fixed:1', '--count', '1')
  expect(await gone.exit).toBe(0)
  expect(exact(gone)).toMatchObject({ first: 20, last: 20, delivered: 1 })
})

test.each(['dpt-n', 'best'])(
  'the command with %s keeps up with a sender of many events a second',
  {
    timeout: 60_000,
  },
  async (schedule) => {
    const [a] = (await overlay(1)) as [RunningNode]
    const sender = run('pub', 'fast', '--at', a.address, '--tags', 'n', '--rate', '50')
    const id = await sender.told('sender')
    const puller = run('pull', id, '--at', a.address, '--schedule', schedule, '--count', '150')
    await puller.told('subscribed')
    sender.child.stdin.end(jsonLines(250, (n) => ({ n })))
    expect(await puller.exit).toBe(0)
    expect(exact(puller)).toMatchObject({ delivered: 150, gaps: 0 })
    expect(await sender.exit).toBe(0)
  },
)

test('the command ends with a receipt at SIGINT, and with 1 when it is refused', async () => {
  const [a] = (await overlay(1)) as [RunningNode]
  const nobody = run('pull', NOBODY, '--at', a.address, '--schedule', 'fixed:1')
  expect(await nobody.told('subscribed')).toEqual({ epoch: null, first: 1 })
  nobody.child.kill('SIGINT')
  expect(await nobody.exit).toBe(0)
  const sender = run('pub', 'secret', '--at', a.address, '--tags', 'n', '--allow', NOBODY)
  const refused = run('pull', await sender.told('sender'), '--at', a.address)
  expect(await refused.exit).toBe(1)
  expect(refused.stderr).toMatch(
    /^spillway: REFUSED: the sender does not allow this client to pull\nThe ID of/,
  )
})

async function serving(options: NodeOptions = {}) {
  const node = await createNode(options)
  onTestFinished(() => node.close())
  return node
}

async function attached({ addresses }: { addresses: readonly string[] }): Promise<Client> {
  const client = await connect(addresses)
  onTestFinished(() => client.close())
  return client
}
