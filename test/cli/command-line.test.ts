// The command line as such: help, suggestions, exit codes.
import { Readable, Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { main } from '../../cli/main.ts'
import { check } from '../../cli/policy-check.ts'
import { print } from '../../cli/policy-print.ts'
import { study } from '../../cli/policy-study.ts'
import { attempt } from '../../cli/policy-try.ts'
import { spillway } from './in-process.ts'

describe('help', () => {
  test.each([['--help'], ['-h']])('spillway %s names every command', async (flag) => {
    const { code, stdout, stderr } = await spillway([flag])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const name of ['policy', 'node', 'pub', 'sub', 'pull', 'ls'])
      expect(stdout).toContain(`\n  ${name} `)
    expect(stdout).toContain('--version')
  })

  test('spillway policy --help names every command of it', async () => {
    const { code, stdout } = await spillway(['policy', '--help'])
    expect(code).toBe(0)
    for (const name of ['check', 'print', 'try', 'study']) expect(stdout).toContain(`\n  ${name} `)
  })

  test.each([check, print, attempt, study].map((command) => [command.declaration.name, command] as const))(
    'spillway %s --help has usage, every option, an example and exit codes',
    async (name, { declaration }) => {
      const { code, stdout } = await spillway([...name.split(' '), '--help'])
      expect(code).toBe(0)
      expect(stdout).toContain(`Usage: spillway ${name} FILE`)
      for (const option of [...Object.keys(declaration.options), 'help'])
        expect(stdout).toContain(`--${option}`)
      expect(stdout).toMatch(/Example:\n {2}\S/)
      expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /)
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
    },
  )

  test.each([
    [['help'], ['--help']],
    [
      ['policy', 'help'],
      ['policy', '--help'],
    ],
    [
      ['help', 'policy', 'try'],
      ['policy', 'try', '--help'],
    ],
  ])('%j is %j', async (asked, meant) => {
    expect(await spillway(asked)).toEqual(await spillway(meant))
  })

  test('the version is that of the package', async () => {
    const { stdout } = await spillway(['--version'])
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('wrong use', () => {
  test.each([
    [['polcy'], 'unknown command "polcy" (did you mean "policy"?)', 'spillway --help'],
    [['--versoin'], 'unknown option "--versoin" (did you mean "--version"?)', 'spillway --help'],
    [['policy', 'stdy'], 'unknown command "stdy" (did you mean "study"?)', 'spillway policy --help'],
    [
      ['policy', 'xyzzy'],
      'unknown command "xyzzy", expected check, print, try, study',
      'spillway policy --help',
    ],
    [['policy', '--hlep'], 'unknown option "--hlep" (did you mean "--help"?)', 'spillway policy --help'],
    [
      ['policy', 'try', 'x', '--levle', '1'],
      'unknown option "--levle" (did you mean "--level"?)',
      'policy try --help',
    ],
    [['policy', 'check', 'x', '--__proto__'], 'unknown option "--__proto__"', 'policy check --help'],
    [['policy', 'check'], 'FILE… is missing', 'policy check --help'],
    [['policy', 'print', 'a', 'b'], 'expected one FILE, got 2: a b', 'policy print --help'],
    [
      ['policy', 'try', 'ward.xml', '--level', '1', 'pulse.jsonl'],
      'EVENTS come from stdin: < pulse.jsonl',
      'policy try --help',
    ],
    [
      ['policy', 'print', 'state:a', '--as', 'yaml'],
      '--as: expected xml or json, got "yaml"',
      'policy print --help',
    ],
    [['policy', 'check', 'a', '--json=yes'], '--json takes no value, got "yes"', 'policy check --help'],
    [['policy', 'try', 'state:a'], '--level N is missing', 'policy try --help'],
    [['policy', 'try', 'state:a', '--level'], '--level needs a value: --level N', 'policy try --help'],
    [['policy', 'try', 'state:a', '--level', '--seed', '2'], '--level needs a value', 'policy try --help'],
    [['policy', 'try', 'state:a', '--level', '0'], '1 to 3, got "0"', 'policy try --help'],
    [['policy', 'try', 'state:a', '--level', '4'], '1 to 3, got "4"', 'policy try --help'],
    [['policy', 'try', 'state:a', '--level', '-1'], '1 to 3, got "-1"', 'policy try --help'],
    [['policy', 'try', 'state:a', '--level', '1.5'], '1 to 3, got "1.5"', 'policy try --help'],
    [['policy', 'study', 'state:a', '--seed', 'x'], '--seed: expected a whole number', 'policy study --help'],
    [['policy', 'study', '-'], 'the events come from stdin, so the policy cannot', 'policy study --help'],
  ])('%j exits with 2, says what was expected and where to read on', async (argv, message, pointer) => {
    const { code, stdout, stderr } = await spillway(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(pointer)
  })

  test.each([[[]], [['policy']]])('%j without a command shows which there are', async (argv) => {
    const { code, stderr } = await spillway(argv)
    const { stdout } = await spillway([...argv, '--help'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: stdout })
  })
})

test('a reader that goes away ends the command quietly', async () => {
  let complaints = ''
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  const io = {
    stdin: Readable.from([]),
    stdout: new Writable({ write: (_chunk, _encoding, done) => done(broken) }),
    stderr: new Writable({
      write(chunk, _, done) {
        complaints += chunk
        done()
      },
    }),
  }
  expect(await main(['--help'], io)).toBe(0)
  expect(complaints).toBe('')
})
