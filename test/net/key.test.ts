// Keys in files.
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadKey } from '../../overlay/libp2p/key.ts'
import { node } from './recording-core.ts'

test('a key is made once and then read, by its owner only', async () => {
  const file = join(await folder(), 'key')
  const keys = await Promise.all([loadKey(file), loadKey(file), loadKey(file)])
  expect(new Set([...keys, await loadKey(file)].map((key) => key.publicKey.toString())).size).toBe(1)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readdir(join(file, '..'))).toEqual(['key'])
})

test('a node with the same key has the same ID', async () => {
  const file = join(await folder(), 'key')
  const first = await node({ key: await loadKey(file) })
  await first.stop()
  const second = await node({ key: await loadKey(file) })
  expect(second.id).toBe(first.id)
})

test('without a file a key is new each time', async () => {
  const [a, b] = await Promise.all([loadKey(), loadKey()])
  expect(a.publicKey.toString()).not.toBe(b.publicKey.toString())
})

test('a file that holds no key is refused by name', async () => {
  const file = join(await folder(), 'key')
  await writeFile(file, 'not a key')
  await expect(loadKey(file)).rejects.toThrow(/key does not hold a private key/)
})

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'spillway-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}
