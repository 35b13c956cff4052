// What `pub` and `sub` say and do when something is in the way, in processes of their own beside a node of this one.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createNode, type Node } from '../../index.ts'
import { jsonLines, run } from '../net/command.ts'

test('pub without a receiver ends only when a node is there again', async () => {
  const here = await nodeHere()
  const sender = run('pub', 'pulse', '--at', here.address)
  sender.child.stdin.write('{"n":1}\n')
  await sender.told('sender')
  await here.stop()
  await until(() => sender.stderr.includes('the node is gone'))
  sender.child.stdin.end('{"n":2}\n')
  await until(() => sender.stderr.includes('everything was read; waiting for a node to acknowledge it\n'))
  await sleep(500)
  expect(sender.lines).toHaveLength(1)
  await here.start()
  expect(await sender.exit).toBe(0)
  expect(sender.lines.at(-1)).toEqual({ published: 2 })
})

test('pub that is interrupted without a node gives up after ten seconds, and says what it knows', async () => {
  const here = await nodeHere()
  const sender = run('pub', 'pulse', '--at', here.address)
  sender.child.stdin.write('{"n":1}\n')
  const receiver = run('sub', await sender.told('sender'), '--at', here.address)
  await receiver.told('subscribed')
  await here.stop()
  await until(() => sender.stderr.includes('the node is gone'))
  sender.child.stdin.write('{"n":2}\n')
  await sleep(200)
  sender.child.kill('SIGINT')
  expect(await sender.exit).toBe(1)
  expect(sender.lines).toHaveLength(1)
  expect(sender.stderr).toMatch(
    /\nspillway: UNREACHABLE: the node is gone, and has not acknowledged all of the 2 events that were published; .*\n$/,
  )
})

test('bad lines are named in their order, whatever is wrong with them', async () => {
  const here = await nodeHere()
  const sender = run('pub', 'pulse', '--at', here.address)
  sender.child.stdin.end('{"n":1}\n\n{"m":1}\n{"n":\n{"n":2,"m":1}\n{"n":3}\n')
  expect(await sender.exit).toBe(1)
  expect(sender.stderr).toMatch(
    /^stdin:3: the sender has no attribute "m", expected n\nstdin:4: .*\nstdin:5: .*\n$/,
  )
  expect(sender.lines.at(-1)).toEqual({ published: 2 })
})

test('an interrupted sub accounts for what it wrote, and says how many waited', async () => {
  const here = await nodeHere()
  const sender = run('pub', 'pulse', '--at', here.address, '--tags', 'n')
  const receiver = run('sub', await sender.told('sender'), '--at', here.address, '--slow', '500')
  await receiver.told('subscribed')
  sender.child.stdin.end(jsonLines(100, (n) => ({ n })))
  await receiver.told('seq')
  await sender.exit
  await sleep(200)
  receiver.child.kill('SIGINT')
  expect(await receiver.exit).toBe(0)
  const [receipt] = receiver.receipts
  const written = receiver.lines.filter((line) => 'seq' in line).length
  expect(receipt).toMatchObject({ first: 1, last: written, delivered: written, digested: 0, gaps: 0 })
  expect(receiver.stderr).toBe(`${100 - written} more events waited in the queue, and were not read\n`)
})

test('sub tells the epoch when it changes, and shows no receipt without an event', async () => {
  const here = await nodeHere()
  const key = keyFile()
  const pulse = ['pub', 'pulse', '--at', here.address, '--key', key, '--tags', 'n']
  const first = run(...pulse)
  const id = await first.told('sender')
  const [receiver, empty] = [run('sub', id, '--at', here.address), run('sub', id, '--at', here.address)]
  const { epoch } = await receiver.told('subscribed')
  await empty.told('subscribed')
  empty.child.kill('SIGINT')
  expect(await empty.exit).toBe(0)
  expect(empty.lines).toEqual([{ subscribed: { epoch, first: 1 } }])
  first.child.stdin.end('{"n":1}\n')
  expect(await first.exit).toBe(0)
  const second = run(...pulse)
  second.child.stdin.end('{"n":1}\n')
  expect(await second.exit).toBe(0)
  const begun = await receiver.told('epoch')
  expect(begun).toBeGreaterThan(epoch)
  await until(() => receiver.lines.length === 4)
  receiver.child.kill('SIGINT')
  expect(await receiver.exit).toBe(0)
  expect(receiver.lines.map((line) => Object.keys(line)[0])).toEqual([
    'subscribed',
    'seq',
    'epoch',
    'seq',
    'receipt',
    'receipt',
  ])
  expect(receiver.receipts.map((receipt) => receipt.epoch)).toEqual([epoch, begun])
})

test('the time without a node is not idle', async () => {
  const here = await nodeHere()
  const receiver = run('sub', 'ab'.repeat(32), '--at', here.address, '--idle', '2000')
  await receiver.told('subscribed')
  await here.stop()
  await until(() => receiver.stderr.includes('the node is gone'))
  await sleep(3_000)
  expect(receiver.child.exitCode).toBeNull()
  await here.start()
  expect(await receiver.exit).toBe(0)
})

test('two clients with one key are told of each other', async () => {
  const here = await nodeHere()
  const key = keyFile()
  const subscribe = () => run('sub', 'ab'.repeat(32), '--at', here.address, '--key', key)
  const first = subscribe()
  await first.told('subscribed')
  const second = subscribe()
  await until(() =>
    [first, second].some(({ stderr }) => stderr.includes('another client with this key seems')),
  )
})

test('of a node with a pre-shared key it is said that one side may have one, and nothing of libp2p', async () => {
  const node = await createNode({ psk: randomBytes(32) })
  onTestFinished(() => node.close())
  const list = run('ls', '--at', node.addresses[0]!)
  expect(await list.exit).toBe(1)
  expect(list.stderr).toMatch(
    /^spillway: UNREACHABLE: .* pre-shared key that the other has not.*\nIn a private overlay, --psk FILE .*\n$/,
  )
})

/** A node in this process that can be stopped and started again at the same address. */
async function nodeHere() {
  const listen = [`/ip4/127.0.0.1/tcp/${await freePort()}`]
  const key = keyFile()
  let node: Node = await createNode({ listen, key })
  onTestFinished(() => node.close())
  return {
    address: listen[0]!,
    stop: () => node.close(),
    async start() {
      node = await createNode({ listen, key })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

function keyFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'a.key')
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20)
}
