// A node in another process: what is seen of it when it is killed, and that one that stops ends by itself.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Id } from '../../overlay/id.ts'
import { bytes, node, until } from './recording-core.ts'

test('a node that is killed is told disconnected at once', async () => {
  const a = await node()
  const { child, id, address } = await childNode(a.addresses)
  await a.connect(address)
  a.core.surroundings.send(id, 'data', bytes('hello'))
  await until(() => a.core.frames.length === 1)
  const killed = performance.now()
  child.kill('SIGKILL')
  await until(() => a.core.events.includes(`disconnected ${id}`))
  expect(performance.now() - killed).toBeLessThan(1_000)
})

test('a node that stops leaves nothing open, so that its process ends', async () => {
  const a = await node()
  const { child, id, address } = await childNode(a.addresses)
  await a.connect(address)
  await until(() => a.members().length === 2)
  const stopped = performance.now()
  child.stdin.end()
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(performance.now() - stopped).toBeLessThan(3_000)
  expect(a.core.events).toContain(`disconnected ${id}`)
})

async function childNode(join: readonly string[]) {
  const script = fileURLToPath(new URL('child-node.ts', import.meta.url))
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, [script, ...join], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { id, address } = JSON.parse(line) as { id: Id; address: string }
  return { child, id, address }
}
