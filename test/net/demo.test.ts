// The demo as people see it: at a terminal, which `script` makes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const DEMO = fileURLToPath(new URL('../../examples/demo.ts', import.meta.url))
const canScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false

test.skipIf(!canScript)(
  'the demo draws its table and ends with exact receipts, after Ctrl-C too',
  async () => {
    // The shell would be ended by the Ctrl-C as well: the demo takes its place.
    const command = `exec '${process.execPath}' '${DEMO}' --seconds 30`
    const demo = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
    let output = ''
    demo.stdout.on('data', (data) => {
      if (!output.includes('published') && `${output}${data}`.includes('published')) demo.stdin.write('\x03')
      output += data
    })
    const [code] = await once(demo, 'exit')
    expect(code).toBe(0)
    expect(output).toContain('may lose')
    expect(output.match(/published: exact/g)).toHaveLength(6)
  },
)

test('interrupted while a receiver sleeps, it ends soon and with exact receipts', async () => {
  // From 2 to 8 s the last one takes nothing.
  const demo = spawn(process.execPath, [DEMO, '--seconds', '10'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  let interruptedAt = 0
  demo.stdout.on('data', (data) => {
    output += data
    if (interruptedAt > 0 || !output.includes('4 s: ')) return
    interruptedAt = performance.now()
    demo.kill('SIGINT')
  })
  const [code] = await once(demo, 'close')
  expect(performance.now() - interruptedAt).toBeLessThan(5_000)
  expect({ code, wrong: output.includes('WRONG') }).toEqual({ code: 0, wrong: false })
  expect(output.match(/published: exact/g)).toHaveLength(6)
})

test('interrupted before anything was published, it shows no receipts', async () => {
  const demo = spawn(process.execPath, [DEMO], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  demo.stdout.on('data', (data) => {
    output += data
    demo.kill('SIGTERM')
  })
  const [code] = await once(demo, 'close')
  expect(code).toBe(0)
  expect(output).toMatch(/ …\nInterrupted before anything was published.\n$/)
})

test.each([
  [['--help'], 0, /^Usage: npm run demo/],
  [['--second', '5'], 2, /^Unknown option '--second'.*\n\nUsage: npm run demo/],
  [['--seconds', '0'], 2, /^--seconds: expected a number above 0, got "0"\n\nUsage: npm run demo/],
])('%j says how to use it', (argv, code, text) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [DEMO, ...argv], { encoding: 'utf8' })
  expect({ status, text: stdout + stderr }).toEqual({ status: code, text: expect.stringMatching(text) })
})
