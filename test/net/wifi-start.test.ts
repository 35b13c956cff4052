// `npm start` as people see it: it says where to look, shows the generated campus there, and ends with an exact receipt.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const MAIN = fileURLToPath(new URL('../../examples/wifi-locator/main.ts', import.meta.url))
const FREE_PORTS = ['--syslog', '0', '--page', '0', '--bar', '0']

/** What it writes, as far as it has. */
function start(...argv: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...FREE_PORTS, ...argv])
  onTestFinished(() => void child.kill('SIGKILL'))
  const program = { child, output: '', exit: once(child, 'close') }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      program.output += data
    })
  return program
}

const SOON = { timeout: 20_000, interval: 50 }

async function pageOf(program: ReturnType<typeof start>): Promise<string> {
  const found = () => /The page: +(http:\S+)/.exec(program.output)?.[1]
  await expect.poll(found, SOON).toBeDefined()
  return found()!
}

/** The first event of the page's stream. */
async function wholeOf(page: string) {
  const { body } = await fetch(`${page}events`)
  let text = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('\n\n')) break
  }
  return JSON.parse(text.slice(text.indexOf('data: ') + 6, text.indexOf('\n\n')))
}

test('it says where the page is, shows the campus as generated, and ends with an exact receipt after Ctrl-C', async () => {
  const program = start('--speed', '20')
  const page = await pageOf(program)
  await expect
    .poll(() => program.output, SOON)
    .toMatch(/Generated campus: 550 access points.*none of which exist/)
  const isHeard = async () => (await wholeOf(page)).devices.length > 0
  await expect.poll(isHeard, SOON).toBe(true)
  expect(await wholeOf(page)).toMatchObject({ isGenerated: true, status: { speed: 20 } })
  program.child.kill('SIGINT')
  const [code] = await program.exit
  expect(program.output).toMatch(/The locator's receipt: .* exact\n$/)
  expect(code).toBe(0)
})

test('without the campus nothing is generated, and nobody is there', async () => {
  const program = start('--no-campus', '--seconds', '3')
  const page = await pageOf(program)
  expect(await wholeOf(page)).toMatchObject({ isGenerated: false, devices: [], status: { speed: null } })
  const [code] = await program.exit
  expect({ code, generated: program.output.includes('Generated') }).toEqual({ code: 0, generated: false })
})

test.each([
  [['--page', '1', '--page', '2'], /--page: expected once/],
  [['--speed', '0'], /--speed: expected a number above 0/],
  [['--bar', 'x'], /--bar: expected a port/],
])('%j says what is wrong', async (argv, message) => {
  const child = spawn(process.execPath, [MAIN, ...argv])
  let output = ''
  child.stderr.on('data', (data) => {
    output += data
  })
  const [code] = await once(child, 'close')
  expect(code).toBe(2)
  expect(output).toMatch(message)
})
