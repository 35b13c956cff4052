// Clients that move all the time, in real processes, while much is published. MOVES=2000 makes it longer, as LONG=1 does.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { exact, jsonLines, overlay, type Running, run } from './command.ts'

const MOVES = Number(process.env.MOVES ?? (process.env.LONG === undefined ? 100 : 200))
const TIMEOUT_MS = 60_000 + MOVES * 500
const MEET_MS = 2_000
const NOBODY = ['/ip4/127.0.0.1/tcp/9', '/ip4/127.0.0.1/tcp/10']

test(`a receiver that moves ${MOVES} times between five proxies, and others that are cut off, have exact receipts`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const nodes = await overlay(5)
  // Until they have heard of each other, roots move, and what waits at a former root is lost.
  await sleep(MEET_MS)
  const addresses = nodes.map(({ address }) => address)
  const sender = run('pub', 'pulse', '--at', addresses[0]!, '--tags', 'n', '--rate', '2000')
  const id = await sender.told('sender')
  const roaming = (at: readonly string[], ...argv: string[]) =>
    run('sub', id, '--at', addresses[1]!, '--roam', at.join(','), '--every', '20', ...argv)
  const receivers = [
    roaming(addresses),
    roaming(addresses, '--abrupt'),
    roaming([...addresses, ...NOBODY], '--policy', 'telemetry:n'),
  ]
  await Promise.all(receivers.map((receiver) => receiver.told('subscribed')))
  // To dial anew takes several times as long.
  const isOver = () => receivers[0]!.moves >= MOVES && receivers.every(({ moves }) => moves >= MOVES / 4)
  const published = await publishUntil(sender, isOver)
  await Promise.all(receivers.map((receiver) => receiver.interruptedAt(published)))
  for (const receiver of receivers)
    expect(exact(receiver)).toMatchObject({ first: 1, last: published, gaps: 0 })
})

/** Publishes until it is over; returns how much. */
async function publishUntil(sender: Running, isOver: () => boolean): Promise<number> {
  const { stdin } = sender.child
  for (let n = 0; !isOver(); n += 300) {
    if (!stdin.write(jsonLines(300, (i) => ({ n: n + i })))) await once(stdin, 'drain')
  }
  stdin.end()
  expect(await sender.exit).toBe(0)
  return await sender.told('published')
}
