// The README cannot rot: its commands and examples run and give what is shown, its tables say what the code does.
// A block ```xml file=NAME is saved under that name; in ```console blocks each line after `$ ` is run there, and
// what follows it is its output; a ```text block is the output of the example before it.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, test } from 'vitest'
import {
  type Attributes,
  compilePolicy,
  DecodedEvents,
  type Packed,
  Packing,
  type Policy,
  type PolicySpec,
  type PresetName,
  parsePolicy,
  policyLimits,
  presets,
  Repository,
  seeded,
} from '../../index.ts'
import { spillway } from '../cli/in-process.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'spillway-readme-'))
const here = process.cwd()
process.chdir(folder)
afterAll(() => {
  process.chdir(here)
  rmSync(folder, { recursive: true })
})

interface Block {
  readonly language: string
  readonly file: string | undefined
  /** Blocks that say the same in two forms. */
  readonly same: string | undefined
  readonly text: string
}

const blocks: readonly Block[] = Array.from(
  readme.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms),
  ([, language = '', marks = '', text = '']) => ({
    language,
    file: /file=(\S+)/.exec(marks)?.[1],
    same: /same=(\S+)/.exec(marks)?.[1],
    text,
  }),
)

const examples = blocks.flatMap((block, i) => {
  if (block.language !== 'ts') return []
  const shown = blocks[i + 1]?.language === 'text' ? blocks[i + 1]!.text : undefined
  return [{ name: block.file ?? `example-${i}.ts`, text: block.text, shown }]
})

writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
// In the checkout `spillway` resolves only after a build.
const inCheckout = (text: string) =>
  text
    .replaceAll("'spillway'", `'${join(root, 'index.ts')}'`)
    .replaceAll("'spillway/browser'", `'${join(root, 'browser.ts')}'`)
for (const { name, text } of examples) writeFileSync(join(folder, name), inCheckout(text))
for (const { language, file, text } of blocks)
  if (file !== undefined && language !== 'ts') writeFileSync(join(folder, file), text)

/** Runs a command line where the README's files are, and gives all it writes. */
function shell(command: string): Promise<string> {
  const npx = `npx() { case $1 in spillway) shift; "$NODE" "$CLI" "$@";; node) shift; "$NODE" "$@";; esac; }`
  const env = { ...process.env, NODE: process.execPath, CLI: join(root, 'cli/spillway.js') }
  return new Promise((resolve) => {
    const script = `${npx}\n{ ${command}\n} 2>&1`
    execFile('sh', ['-c', script], { cwd: folder, env }, (_, stdout) => resolve(stdout))
  })
}

/** Runs a command line of the README: in this process where that is all it needs, which is faster. */
async function commandLine(command: string): Promise<string> {
  const [, words, input] = /^npx spillway ([^|<']*?)(?: < (\S+))?$/.exec(command) ?? []
  if (words === undefined || words.includes('--use')) return shell(command)
  const stdin = input === undefined ? '' : readFileSync(join(folder, input), 'utf8')
  const { stdout, stderr } = await spillway(words.split(' '), { stdin })
  return stderr + stdout
}

describe.concurrent('what the README shows', () => {
  const commands = blocks
    .filter(({ language }) => language === 'console')
    .flatMap(({ text }) => text.split(/^\$ /m).slice(1))
    .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)] as const)
  it.each(commands)('is what it gives: %s', async (command, shown) => {
    expect(await commandLine(command)).toBe(shown)
  })

  it.each(examples.filter(({ shown }) => shown !== undefined))('is what $name gives', async (example) => {
    expect(await shell(`npx node ${example.name}`)).toBe(example.shown)
  })

  it('is TypeScript without a mistake', async () => {
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(root, 'node_modules/@types')],
        rewriteRelativeImportExtensions: false,
      },
      files: examples.map(({ name }) => name),
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const complaints = (await shell(`npx node '${tsc}' -p tsconfig.json`)).split('\n')
    expect(complaints.filter((line) => /^[\w-]+\.ts\(/.test(line))).toEqual([])
  })
})

describe('the policies', () => {
  const policies = blocks.filter(({ language, same }) => language === 'xml' || same !== undefined)
  const compile = ({ language, text }: Block) =>
    language === 'xml' ? parsePolicy(text) : compilePolicy(JSON.parse(text))

  test('compile', () => {
    expect(policies.length).toBeGreaterThan(3)
    for (const policy of policies) expect(compile(policy).top).toBeGreaterThan(0)
  })

  test('that are said to be one have one hash', () => {
    const hashes = policies.filter(({ same }) => same === 'alarms').map((policy) => compile(policy).hash)
    expect(hashes).toHaveLength(2)
    expect(new Set(hashes).size).toBe(1)
  })
})

/** The rows of the table after `<!-- table: NAME -->`, their cells without backquotes. */
function tableOf(name: string): string[][] {
  const [, text = ''] = readme.split(`<!-- table: ${name} -->\n\n`)
  const lines = text.slice(0, text.indexOf('\n\n')).split('\n').slice(2)
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
  )
}

/** A queue of these values, published one second apart, packed at level 1. */
function packed(policy: Policy, values: readonly Attributes[string][]): Packed {
  const entries = values.map((x, i) => ({ epoch: 1, seq: i + 1, time: i * 1000, event: { x } }))
  const surroundings = { now: (values.length - 1) * 1000, random: seeded(1), buffer: 'readme' }
  return new Packing(policy, new DecodedEvents(entries), new Map(), surroundings).climb(1).finish()
}

function leftBy(name: string, written: string, queue: readonly string[], read: (word: string) => unknown) {
  const parameters = written
    .split(' ')
    .filter(Boolean)
    .map((parameter) => {
      const [key = '', value = ''] = parameter.split('=')
      const { type } = definitions.filters.get(name)!.parameters[key]!
      return [key, type === 'operands' ? value.split(',') : value] as const
    })
  const spec = { attribute: 'x', levels: [[{ name, ...Object.fromEntries(parameters) }]] } as PolicySpec
  const { kept } = packed(compilePolicy(spec), queue.map(read) as Attributes[string][])
  return Array.from(kept, (position) => queue[position]).join(' ')
}

const definitions = new Repository()
const NUMBERS = ['3', '3', '4', '8', '–', '8', '3']
const SETS = ['{}', '{a}', '{a,b}', '{b,c}']
const readNumber = (word: string) => (word === '–' ? null : Number(word))
const readSet = (word: string) => word.slice(1, -1).split(',').filter(Boolean)

describe('the tables', () => {
  const numbers = tableOf('filters')
  const sets = tableOf('set filters')

  test('name every filter with its parameters', () => {
    const shown = [...numbers, ...sets].map(([name, parameters]) =>
      `${name} ${parameters}`.replaceAll('`', '').trim(),
    )
    const known = Array.from(definitions.filters.values(), ({ name, parameters }) => {
      const written = Object.entries(parameters).map(([key, { type, optional }]) => {
        return `${key}${type === 'operands' ? '…' : ''}${optional ? '?' : ''}`
      })
      return [name, ...written].join(' ')
    })
    expect(shown.sort()).toEqual(known.sort())
  })

  test.each(numbers.filter(([name]) => name !== 'RANDOM'))(
    'show what %s leaves',
    (name, _, __, parameters, left) => {
      expect(readme).toContain(`\`${NUMBERS.join(' ')}\``)
      expect(leftBy(name!, parameters!, NUMBERS, readNumber)).toBe(left)
    },
  )

  test.each(sets)('show what %s leaves of sets', (name, _, __, parameters, left) => {
    expect(readme).toContain(`\`${SETS.join(' ')}\``)
    expect(leftBy(name!, parameters!, SETS, readSet)).toBe(left)
  })

  test('show what every digester shows', () => {
    const names = [...definitions.digesters.keys()]
    const policy = compilePolicy({
      attribute: 'x',
      summary: names,
      levels: [[{ name: 'EQ', value: 'none' }]],
    })
    const { digests } = packed(policy, NUMBERS.map(readNumber))
    const shown = policy.show(digests.get(0)![0]!).digest
    const values = tableOf('digesters').map(([name, , , , value]) => [name, value])
    const known = names.map((name) => [
      name,
      name === 'QUANTILES' ? 'an object' : JSON.stringify(shown[name]),
    ])
    expect(values).toEqual(known)
  })

  test('show the levels and digesters of every preset', () => {
    const known = Object.keys(presets).map((name) => {
      const { levels, summary = [] } = presets[name as PresetName]('x')
      const filters = levels.flat().map(({ name, ...parameters }) => {
        return [name, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(' ')
      })
      return [name, filters.join(' · '), summary.join(' ')]
    })
    expect(tableOf('presets').map(([name, , , levels, digests]) => [name, levels, digests])).toEqual(known)
  })

  test('name every limit of a policy', () => {
    const known = Object.entries(policyLimits).map(([name, limit]) => [name, String(limit)])
    expect(tableOf('limits').map(([name, limit]) => [name, limit])).toEqual(known)
  })
})

describe('the headings', () => {
  const headings = Array.from(readme.matchAll(/^#+ (.*)$/gm), ([, heading = '']) => heading)

  test('name every error code', () => {
    const [, union = ''] = /ErrorCode =([^\n]*(?:\n {2}\|[^\n]*)*)/.exec(
      readFileSync(join(root, 'policies/error.ts'), 'utf8'),
    )!
    const codes = Array.from(union.matchAll(/'(\w+)'/g), ([, code]) => `\`${code}\``)
    expect(codes.length).toBeGreaterThan(3)
    expect(headings).toEqual(expect.arrayContaining(codes))
  })

  test('are where the links lead', () => {
    const anchors = headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    for (const [, anchor] of readme.matchAll(/\]\(#([^)]*)\)/g)) expect(anchors).toContain(anchor)
  })
})

test.each(['check', 'print', 'try', 'study'])('every option of policy %s is there', async (name) => {
  const { stdout } = await spillway(['policy', name, '--help'])
  const options = Array.from(stdout.matchAll(/^ {2}(--\w+)/gm), ([, option]) => option)
  for (const option of options)
    expect(readme).toMatch(new RegExp(`^\\| \`${option}\\b.*(\`${name}\`|all four)`, 'm'))
})
