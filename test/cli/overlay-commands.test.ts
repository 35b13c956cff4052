// The commands of the overlay as far as they go without one: help, mistakes in the options, files that are wrong.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { ls } from '../../cli/ls.ts'
import { node } from '../../cli/node.ts'
import { pub } from '../../cli/pub.ts'
import { pullCommand } from '../../cli/pull.ts'
import { sub } from '../../cli/sub.ts'
import { spillway } from './in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'spillway-overlay-'))
afterAll(() => rmSync(folder, { recursive: true }))

const AT = '/ip4/127.0.0.1/tcp/4600'
const SENDER = 'ab'.repeat(32)
const commands = [node, pub, sub, pullCommand, ls].map(
  (command) => [command.declaration.name, command] as const,
)

describe('help', () => {
  test.each(commands)(
    'spillway %s --help has usage, every option, an example and exit codes',
    async (name, command) => {
      const { code, stdout, stderr } = await spillway([name, '--help'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(`Usage: spillway ${name}`)
      for (const option of [...Object.keys(command.declaration.options), 'help'])
        expect(stdout).toContain(`--${option}`)
      expect(stdout).toMatch(/Example:\n {2}npx spillway|Example:\n {2}printf/)
      expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /)
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
    },
  )

  test.each(commands)('the README has every option of %s', (name, { declaration }) => {
    const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')
    const [, section = ''] = readme.split(`### \`spillway ${name}`)
    for (const [option, { value }] of Object.entries(declaration.options)) {
      const flag = value === undefined ? `--${option}` : `--${option} ${value}`
      expect(section.split('\n### ')[0]).toContain(`| \`${flag}\` `)
    }
  })
})

describe('wrong use', () => {
  test.each([
    [['nod'], 'unknown command "nod" (did you mean "node"?)', 'spillway --help'],
    [['node', 'here'], 'expected only options, got here', 'spillway node --help'],
    [['node', '--lisen', AT], 'unknown option "--lisen" (did you mean "--listen"?)', 'spillway node --help'],
    [
      ['node', '--listen', '4600'],
      'expected a multiaddr to listen on, like /ip4/127.0.0.1/tcp/4600',
      'spillway node --help',
    ],
    [['node', '--listen', ':4600'], '(did you mean "/ip4/127.0.0.1/tcp/4600"?)', 'spillway node --help'],
    [
      ['node', '--join', AT, '--join', 'example.org:46'],
      '"/dns4/example.org/tcp/46"',
      'spillway node --help',
    ],
    [['node', '--join', 'http://10.0.0.1:46/'], '"/ip4/10.0.0.1/tcp/46"', 'spillway node --help'],
    [['node', '--join', '[::1]:46'], '"/ip6/::1/tcp/46"', 'spillway node --help'],
    [['node', '--join'], '--join needs a value: --join ADDR', 'spillway node --help'],
    [['node', '--queue', '0'], '--queue: expected a whole number from 1, got "0"', 'spillway node --help'],
    [
      ['node', '--budget', '1e9'],
      '--budget: expected a whole number from 1048576, got "1e9"',
      'spillway node --help',
    ],
    [['node', '--budget', '1'], 'expected a whole number from 1048576, got "1"', 'spillway node --help'],
    [
      ['node', '--allow-peer', 'xyz'],
      '--allow-peer: expected a peer id, as it stands after /p2p/',
      'spillway node --help',
    ],
    [['node', '--queue', '5', '--queue=6'], '--queue: expected once, got it twice', 'spillway node --help'],
    [['pub', '--at', AT], 'NAME is missing', 'spillway pub --help'],
    [['pub', 'pulse'], '--at ADDR is missing', 'spillway pub --help'],
    [
      ['pub', 'pulse', 'events.jsonl', '--at', AT],
      'EVENTS come from stdin: < events.jsonl',
      'spillway pub --help',
    ],
    [
      ['pub', 'pulse', '--at', AT, '--rate', '0'],
      '--rate: expected how many events a second',
      'spillway pub --help',
    ],
    [['pub', 'pulse', '--at', AT, '--rate', 'fast'], 'more than 0, got "fast"', 'spillway pub --help'],
    [['pub', 'pulse', '--at', 'localhost:4600'], `(did you mean "${AT}"?)`, 'spillway pub --help'],
    [['sub', '--at', AT], 'SENDER is missing', 'spillway sub --help'],
    [
      ['sub', 'pulse', '--at', AT],
      'expected an ID of 64 hex digits (spillway ls shows',
      'spillway sub --help',
    ],
    [['sub', SENDER], '--at ADDR is missing', 'spillway sub --help'],
    [
      ['sub', SENDER, '--at', AT, '--count', '0'],
      '--count: expected a whole number from 1',
      'spillway sub --help',
    ],
    [
      ['sub', SENDER, '--at', AT, '--idle', '-1'],
      '--idle: expected a whole number from 1',
      'spillway sub --help',
    ],
    [
      ['sub', SENDER, '--at', AT, '--slow', '1s'],
      '--slow: expected a whole number from 0',
      'spillway sub --help',
    ],
    [
      ['sub', SENDER, '--at', AT, '--queue', '0.5'],
      '--queue: expected a whole number',
      'spillway sub --help',
    ],
    [['pull', '--at', AT], 'SENDER is missing', 'spillway pull --help'],
    [['pull', 'pulse', '--at', AT], 'expected an ID of 64 hex digits', 'spillway pull --help'],
    [
      ['pull', SENDER, '--at', AT, '--schedule', 'dpt-x'],
      '--schedule: unknown schedule "dpt-x" (did you mean "dpt-',
      'spillway pull --help',
    ],
    [
      ['pull', SENDER, '--at', AT, '--schedule', 'fixed:0'],
      '--schedule: expected fixed:SECONDS above 0',
      'spillway pull --help',
    ],
    [
      ['pull', SENDER, '--at', AT, '--count', 'all'],
      '--count: expected a whole number from 1',
      'spillway pull --help',
    ],
    [['ls'], '--at ADDR is missing', 'spillway ls --help'],
    [['ls', '--at', AT, '--json=1'], '--json takes no value', 'spillway ls --help'],
    [['ls', '--at', '/foo/bar'], 'expected a multiaddr', 'spillway ls --help'],
    [['ls', '--at', '/ip4/300.0.0.1/tcp/1'], 'expected a multiaddr to dial', 'spillway ls --help'],
    [
      ['ls', '--at', `${AT}/p2p/12D3KooWxxx`],
      '"12D3KooWxxx" after /p2p/ is no peer id',
      'spillway ls --help',
    ],
    [['pub', '', '--at', AT], 'NAME: the name "", expected well-formed text', 'spillway pub --help'],
    [['pub', 'x'.repeat(257), '--at', AT], 'of 1 to 256 characters', 'spillway pub --help'],
    [
      ['pub', 'x', '--at', AT, '--tags', 'a,,b'],
      '--tags: an attribute without a name',
      'spillway pub --help',
    ],
    [
      ['pub', 'x', '--at', AT, '--tags', 'a,b,a'],
      '--tags: the attribute "a" twice, expected each name once',
      'spillway pub --help',
    ],
    [['sub', SENDER, '--at', AT, '--json'], 'sub always writes JSON', 'spillway sub --help'],
    [['pub', 'x', '--at', AT, '--json'], 'pub always writes JSON', 'spillway pub --help'],
    [
      ['pub', 'x', '--at', AT, '--tags', 'seq'],
      '--tags: an attribute cannot be called',
      'spillway pub --help',
    ],
    [['pub', 'x', '--at', AT, '--allow', 'me'], '--allow: the client "me"', 'spillway pub --help'],
  ])('%j exits with 2, says what was expected and where to read on', async (argv, message, pointer) => {
    const { code, stdout, stderr } = await spillway(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(pointer)
  })
})

describe('what cannot be worked with exits with 1', () => {
  test('a policy that is wrong, before anything is dialled', async () => {
    const file = join(folder, 'wrong.xml')
    writeFileSync(file, '<policy><level><filter name="DETLA"/></level></policy>')
    const { code, stdout, stderr } = await spillway(['sub', SENDER, '--at', AT, '--policy', file])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`${file}:1:24: unknown filter "DETLA" (did you mean "DELTA"?)`)
  })

  test('a pre-shared key that is none, or not there', async () => {
    const file = join(folder, 'short.psk')
    writeFileSync(file, 'abc\n')
    const short = await spillway(['ls', '--at', AT, '--psk', file])
    expect(short).toEqual({
      code: 1,
      stdout: '',
      stderr: `spillway: KEY_INVALID: ${file}: expected a file with 64 hex digits; make one with: openssl rand -hex 32 > ${file}\n`,
    })
    const missing = await spillway(['node', '--psk', join(folder, 'none')])
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be read (ENOENT)') })
  })

  test('a key that is none', async () => {
    const file = join(folder, 'no.key')
    writeFileSync(file, 'abc\n')
    const { code, stderr } = await spillway(['ls', '--at', AT, '--key', file])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`spillway: KEY_INVALID: ${file}: expected a file with a key`),
    })
  })

  test('an address that is not of this machine', async () => {
    const { code, stderr } = await spillway(['node', '--listen', '/ip4/203.0.113.1/tcp/4600'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^spillway: LISTEN_FAILED: \/ip4\/203.0.113.1\/tcp\/4600: expected an address of/,
      ),
    })
  })
})
