// What is known of the access points: their buildings, where they stand, and where they answer.
import { readFile } from 'node:fs/promises'
import { macOf } from './mac.ts'

export interface AccessPoint {
  readonly building: string
  /** Where it stands, in any unit; for maps. */
  readonly x?: number
  readonly y?: number
  /** `GET {http}/stations` answers its stations, as JSON. */
  readonly http?: string
  /** By which others name it. */
  readonly mac?: string
}

export type AccessPointFile = Readonly<Record<string, AccessPoint>>

/** What `--aps` reads is wrong; each line says where. */
export class AccessPointsError extends Error {}

export class AccessPoints {
  readonly #byName: ReadonlyMap<string, AccessPoint>
  readonly #names: ReadonlyMap<string, string>

  constructor(file: AccessPointFile = {}) {
    this.#byName = new Map(Object.entries(file))
    const entries = [...this.#byName]
    this.#names = new Map([
      ...entries.flatMap(([name, { mac }]) => (mac === undefined ? [] : [[macOf(mac)!, name] as const])),
      // One whose name is its MAC may be written in any way.
      ...entries.map(([name]) => [macOf(name) ?? name, name] as const),
    ])
  }

  /** Its name in the file, when it is there by its name or its MAC; otherwise as it was given. */
  nameOf(ap: string): string {
    return this.#names.get(ap) ?? ap
  }

  /** By its name in the file. */
  get(name: string): AccessPoint | undefined {
    return this.#byName.get(name)
  }

  get size(): number {
    return this.#byName.size
  }

  [Symbol.iterator](): IterableIterator<[name: string, ap: AccessPoint]> {
    return this.#byName.entries()
  }
}

/** Reads a file of `--aps`. Throws AccessPointsError with everything that is wrong. */
export async function readAccessPoints(path: string): Promise<AccessPoints> {
  let file: unknown
  try {
    file = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw new AccessPointsError(`${path}: ${(error as Error).message}`)
  }
  return new AccessPoints(checked(path, file))
}

function checked(path: string, file: unknown): AccessPointFile {
  if (!isObject(file)) throw new AccessPointsError(`${path}: expected an object of access points by name`)
  const wrong = Object.entries(file).flatMap(([name, ap]) =>
    mistakesIn(ap).map((mistake) => `${path}: ${JSON.stringify(name)}: ${mistake}`),
  )
  if (wrong.length > 0) throw new AccessPointsError(wrong.join('\n'))
  return file as AccessPointFile
}

type Check = readonly [isRight: (value: unknown) => boolean, expected: string]

const CHECKS: Readonly<Record<keyof AccessPoint, Check>> = {
  building: [(value) => typeof value === 'string' && value !== '', 'a name'],
  x: [(value) => value === undefined || Number.isFinite(value), 'a number'],
  y: [(value) => value === undefined || Number.isFinite(value), 'a number'],
  http: [isHttp, 'an address like http://192.0.2.1:8080'],
  mac: [(value) => value === undefined || macOf(value) !== undefined, 'a MAC like 00:00:5e:00:53:a0'],
}

function mistakesIn(ap: unknown): string[] {
  if (!isObject(ap)) return ['expected an object like {"building":"Library"}']
  const unknown = Object.keys(ap).filter((key) => !Object.hasOwn(CHECKS, key))
  const wrong = Object.entries(CHECKS).filter(([key, [isRight]]) => !isRight(ap[key]))
  return [
    ...unknown.map((key) => `unknown key "${key}", expected ${Object.keys(CHECKS).join(', ')}`),
    ...wrong.map(([key, [, expected]]) => `"${key}": expected ${expected}, got ${JSON.stringify(ap[key])}`),
  ]
}

function isHttp(value: unknown): boolean {
  return (
    value === undefined || (typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value))
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
