// The short examples as people run them: to the end of their time, and to Ctrl-C.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

interface Ran {
  readonly code: number | null
  readonly output: string
}

/** Runs an example; with `interruptAt`, until its output has that. */
async function run(name: string, argv: readonly string[], interruptAt?: RegExp): Promise<Ran> {
  const file = fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url))
  const example = spawn(process.execPath, [file, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [example.stdout, example.stderr]) {
    stream.on('data', (data) => {
      const isThere = interruptAt?.test(output)
      output += data
      if (isThere !== true && interruptAt?.test(output)) example.kill('SIGINT')
    })
  }
  const [code] = await once(example, 'close')
  return { code, output }
}

/** The receipt that an example ends with; it has to add up to what was published. */
function receiptOf(output: string) {
  const numbers = /(\d+) delivered \+ (\d+) in digests \+ (\d+) in gaps = (\d+) published/.exec(output)!
  const [delivered, digested, gaps, published] = numbers.slice(1).map(Number)
  expect(delivered! + digested! + gaps!).toBe(published)
  return { delivered: delivered!, digested: digested!, gaps: gaps! }
}

describe.each([
  ['ward', /^\d+$/m, 6],
  // It takes some rounds to learn when the sources have something.
  ['republisher', /new of rooms/, 16],
])('the %s', (name, first, seconds) => {
  test('ends with an exact receipt when its time is over', { timeout: 60_000 }, async () => {
    const { code, output } = await run(name, ['--seconds', String(seconds)])
    const { delivered, digested, gaps } = receiptOf(output)
    expect({ code, gaps, isDigested: digested > 0 }).toEqual({
      code: 0,
      gaps: 0,
      isDigested: name === 'ward',
    })
    expect(delivered).toBeGreaterThan(0)
    expect(output).toMatch(name === 'ward' ? /^ {2}\d+ dropped, mean \d+\.\d$/m : /new of rooms \d,\d,\d/)
  })

  test('ends with an exact receipt after Ctrl-C', { timeout: 60_000 }, async () => {
    const { code, output } = await run(name, ['--seconds', '50'], first)
    expect({ code, gaps: receiptOf(output).gaps }).toEqual({ code: 0, gaps: 0 })
  })

  test('does not take a time that is none', async () => {
    const { code, output } = await run(name, ['--seconds', 'x'])
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringContaining('expected a number above 0'),
    })
  })
})
