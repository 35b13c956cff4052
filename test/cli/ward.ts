// What the tests of the policy commands share: files in a folder of their own, and a small ward.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { lines } from './in-process.ts'

export const folder = mkdtempSync(join(tmpdir(), 'spillway-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes a file and returns its path. */
export function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

export const spec = {
  attribute: 'bpm',
  summary: ['MEAN'],
  levels: [[{ name: 'DELTA', change: 5 }], [{ name: 'EVERY', n: 2 }]],
}
export const ward = file('ward.json', JSON.stringify(spec))
export const readings = lines({ bpm: 70 }, { bpm: 72 }, { bpm: 80 }, { bpm: 79 }, { bpm: 90 })
