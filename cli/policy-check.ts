// `spillway policy check`: what a policy means in words, or everything that is wrong with it.
import type { FilterSpec, Policy } from '../policies/policy.ts'
import type { Repository } from '../policies/repository.ts'
import { command, InputError, type Io, write } from './options.ts'
import { FILE } from './policy.ts'
import { loadPolicy, nameOf, repositoryWith, USE } from './policy-source.ts'

export const check = command(
  {
    name: 'policy check',
    operand: 'FILE…',
    paragraph:
      'Reads policies and says in words what each would lose at which level, or names every mistake on stderr: ' +
      'in XML by file:line:column, in JSON by its path, like policy.levels[0][1].low. ' +
      `${FILE} For stdin write -.`,
    options: {
      json: { help: 'Write one line of JSON for each FILE, with its errors if it has any.' },
      use: USE,
    },
    example: ['npx spillway policy check telemetry:bpm'],
    exits: { 0: 'every policy is right', 1: 'at least one is not' },
  },
  async ({ operands, options }, io) => {
    const repository = await repositoryWith(options.use)
    let failed = false
    for (const file of operands) {
      const errors = await report(file, repository, options.json, io)
      failed ||= errors > 0
    }
    return failed ? 1 : 0
  },
)

async function report(file: string, repository: Repository, json: boolean, io: Io): Promise<number> {
  try {
    const policy = await loadPolicy(file, repository, io)
    await write(
      io.stdout,
      json ? `${JSON.stringify(asJson(file, policy))}\n` : inWords(nameOf(file), policy, repository),
    )
    return 0
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const { lines } = error
    if (json) await write(io.stdout, `${JSON.stringify({ file, ok: false, errors: lines })}\n`)
    else await write(io.stderr, `${error.message}\n`)
    return lines.length
  }
}

function asJson(file: string, { spec, hash, digesters }: Policy) {
  const { attribute = null, levels } = spec
  return { file, ok: true, attribute, levels, digesters: ['COUNT', ...digesters.map(({ key }) => key)], hash }
}

function inWords(name: string, policy: Policy, repository: Repository): string {
  const { spec, hash, levels, digesters } = policy
  const lines = [`${name}: a policy of ${levels.length} ${levels.length === 1 ? 'level' : 'levels'}`]
  if (spec.attribute !== undefined) lines.push(`  attribute ${spec.attribute}`)
  spec.levels.forEach((filters, i) => {
    lines.push(`  level ${i + 1}${i === 0 ? '' : `, after ${i === 1 ? 'level 1' : `levels 1 to ${i}`}`}`)
    filters.forEach((filter, j) => {
      lines.push(...filterInWords(filter, levels[i]![j]!.attribute, repository).map((line) => `    ${line}`))
    })
  })
  lines.push('  digests of what was lost')
  lines.push('    COUNT: how many events')
  for (const { key, attribute, definition } of digesters) {
    const subject = attribute && !key.includes('(') ? ` of ${attribute}` : ''
    lines.push(`    ${key}${subject}: ${filledIn(definition.summary, { attribute })}`)
  }
  return `${lines.join('\n')}\n  hash ${hash}\n`
}

function filterInWords(filter: FilterSpec, attribute: string | undefined, repository: Repository): string[] {
  const { name, attribute: _, mode = 'keep', ...parameters } = filter
  const written = Object.entries(parameters).map(([key, value]) => `${key}=${[value].flat().join(',')}`)
  const subject = attribute === undefined ? [] : ['on', attribute]
  const { summary } = repository.filters.get(name)!
  const meaning = mode === 'drop' ? turnedAround(summary) : summary
  return [
    [name, ...subject, ...written, ...(mode === 'drop' ? ['mode=drop'] : [])].join(' '),
    `  ${filledIn(meaning, { ...parameters, attribute })}`,
  ]
}

/** A summary with the values of what it names in backquotes. */
function filledIn(summary: string, values: Readonly<Record<string, unknown>>): string {
  return summary.replace(/`([\w-]+)`/g, (name, key) =>
    Object.hasOwn(values, key) ? [values[key]].flat().join(', ') : name,
  )
}

const OPPOSITES = new Map([
  ['keeps', 'drops'],
  ['drops', 'keeps'],
  ['kept', 'dropped'],
  ['dropped', 'kept'],
])

/** What a filter with this summary does with mode="drop". */
function turnedAround(summary: string): string {
  return summary.replace(/\b(keeps|drops|kept|dropped)\b/g, (word) => OPPOSITES.get(word)!)
}
