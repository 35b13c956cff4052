// Where the policy commands get a policy from: XML or JSON in a file or on stdin, or a preset; and the
// user's own filters and digesters (`--use`).
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compilePolicy } from '../policies/compile.ts'
import type { DigesterDefinition } from '../policies/digester.ts'
import { SpillwayError } from '../policies/error.ts'
import type { FilterDefinition } from '../policies/filter.ts'
import { policyLimits } from '../policies/limits.ts'
import type { Policy, PolicySpec } from '../policies/policy.ts'
import { quoted } from '../policies/policy-error.ts'
import { presetPolicy, presets } from '../policies/presets.ts'
import { Repository } from '../policies/repository.ts'
import { suggestion } from '../policies/suggestion.ts'
import { parsePolicy } from '../policies/xml.ts'
import { InputError, type Io, write } from './options.ts'

/** The `--use` option, the same for every policy command. */
export const USE = {
  value: 'MODULE',
  help:
    'A JS or TS module that exports your own definitions as arrays, `filters` (made by defineFilter) and ' +
    '`digesters` (made by defineDigester); the policy may then name them.',
} as const

/** The built-in filters and digesters, and those of the module. */
export async function repositoryWith(module: string | undefined): Promise<Repository> {
  const repository = new Repository()
  if (module === undefined) return repository
  const { filters, digesters } = await definitionsOf(module)
  try {
    for (const filter of filters) repository.filter(filter)
    for (const digester of digesters) repository.digester(digester)
  } catch (error) {
    throw new InputError(`${module}: ${(error as Error).message}`)
  }
  return repository
}

async function definitionsOf(module: string) {
  const exported = await import(pathToFileURL(resolve(module)).href).catch((error: Error) => {
    // That it was this file which imported it helps nobody; that it was one of theirs does.
    const reason = error.message.replace(` imported from ${fileURLToPath(import.meta.url)}`, '')
    throw new InputError(`${module}: cannot be loaded: ${reason}`)
  })
  const { filters = [], digesters = [] } = exported
  const usable = Array.isArray(filters) && Array.isArray(digesters) && filters.length + digesters.length > 0
  if (!usable) throw new InputError(`${module}: expected an exported array \`filters\` or \`digesters\``)
  return { filters, digesters } as { filters: FilterDefinition[]; digesters: DigesterDefinition[] }
}

/** What FILE is called in output and errors. */
export function nameOf(file: string): string {
  return file === '-' ? 'stdin' : file
}

/** The policy that FILE names. Throws InputError. */
export async function loadPolicy(file: string, repository: Repository, io: Io): Promise<Policy> {
  const name = nameOf(file)
  try {
    const preset = /^([a-z]+):(.+)$/s.exec(file)
    if (preset && Object.hasOwn(presets, preset[1]!))
      return presetPolicy(preset[1]!, preset[2]!, { repository })
    const text = await (file === '-' ? readStdin(io) : readFile(file))
    const [, start = ''] = /^\s*([^\n]{0,24})/.exec(text) ?? []
    if (start.startsWith('{')) return compilePolicy(parseJson(text, name), { repository })
    if (start.startsWith('<')) return parsePolicy(text, { file: name, repository })
    throw new InputError(
      `${name}:1:1: expected XML or a JSON object, got ${start === '' ? 'nothing' : quoted(start.trim())}`,
    )
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    const { errors = [error.message] } = error as SpillwayError & { errors?: readonly string[] }
    throw new InputError(...errors.map((line) => (line.startsWith(`${name}:`) ? line : `${name}: ${line}`)))
  }
}

async function readFile(file: string): Promise<string> {
  try {
    return await textOf(createReadStream(file), file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof InputError) throw error
    if (code === 'EISDIR') throw new InputError(`${file}: is a directory, expected a policy`)
    if (code !== 'ENOENT') throw new InputError(`${file}: ${message}`)
    throw new InputError(`${file}: ${presetNear(file)}`)
  }
}

/** What is wrong with a name that is neither a file's nor a preset's. */
function presetNear(file: string): string {
  const [name = '', ...attribute] = file.split(':')
  const isPreset = Object.hasOwn(presets, name)
  if (attribute.length === 0)
    return `no such file${isPreset ? `; the preset is written ${name}:ATTRIBUTE` : ''}`
  if (isPreset) return `the attribute after the colon is missing, expected ${name}:ATTRIBUTE`
  return `no such file, and no preset "${name}"${suggestion(name, Object.keys(presets))}`
}

async function readStdin({ stdin, stderr }: Io): Promise<string> {
  if (stdin.isTTY) await write(stderr, 'waiting for a policy (XML or JSON) on stdin; end it with Ctrl-D\n')
  return textOf(stdin, 'stdin')
}

/** Stops reading at the limit, which is the same for JSON as for XML. */
async function textOf(stream: AsyncIterable<Uint8Array | string>, name: string): Promise<string> {
  const { bytes: limit } = policyLimits
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk as Uint8Array))
    bytes += chunks.at(-1)!.length
    if (bytes > limit)
      throw new InputError(`${name}:1:1: the policy is longer than the limit of ${limit} bytes`)
  }
  return utf8Of(Buffer.concat(chunks), name)
}

/** The text of these bytes. Read as UTF-8 all the same, other encodings would give names that nobody wrote. */
function utf8Of(bytes: Buffer, name: string): string {
  const text = bytes.toString()
  if (isUtf8(bytes)) return text
  // What is wrong was replaced; the first byte that differs is where.
  const wrong = Buffer.from(text).findIndex((byte, i) => byte !== bytes[i])
  const before = bytes.subarray(0, wrong).toString()
  throw new InputError(`${placeIn(name, before)}: bytes that are not UTF-8, expected UTF-8`)
}

/** The place behind this text, as the first of a file. */
function placeIn(name: string, before: string): string {
  const lines = before.split('\n')
  return `${name}:${lines.length}:${lines.at(-1)!.length + 1}`
}

function parseJson(source: string, name: string): PolicySpec {
  // A byte order mark is no text; the XML reader takes it away itself.
  const text = source.replace(/^\ufeff/, '')
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as Error
    const place = placeIn(name, text.slice(0, positionOf(message, text)))
    const reason = message.replace(/ in JSON at position.*$/s, '').replace(/, (\.\.\.)?".*$/s, '')
    throw new InputError(`${place}: not JSON: ${reason}`)
  }
}

/** Where JSON breaks. For an unexpected token V8 does not say; it is the end of the shortest text that has one. */
function positionOf(message: string, text: string): number {
  const position = / at position (\d+)/.exec(message)
  if (position) return Number(position[1])
  if (!message.startsWith('Unexpected token')) return text.length
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (hasUnexpectedToken(text.slice(0, middle))) high = middle
    else low = middle + 1
  }
  return low - 1
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return (error as Error).message.startsWith('Unexpected token')
  }
}
