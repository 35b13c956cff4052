// A compiled policy (PACK section 2): levels of filters, and the digesters that summarise what they drop.
// It is compiled once from the plain object that XML and presets become too (`compile.ts`).
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { countOf, type Digest, type ShownDigest } from './digest.ts'
import type { DigesterDefinition, Shown } from './digester.ts'
import type { Select } from './filter.ts'

export type Mode = 'keep' | 'drop'

/** A filter as it is written: its name, where it differs from the policy's its attribute, its parameters. */
export interface FilterSpec {
  readonly name: string
  readonly attribute?: string
  readonly mode?: Mode
  readonly [parameter: string]: string | number | readonly (string | number)[] | undefined
}

/** The keys of a filter as it is written that are not parameters. */
export const FILTER_KEYS: readonly string[] = ['name', 'attribute', 'mode']

/** A digester as it is written. */
export interface DigesterSpec {
  readonly name: string
  readonly attribute?: string
}

/** A policy as a plain object: the same as the XML. */
export interface PolicySpec {
  /** The attribute of every filter and digester that names none itself. */
  readonly attribute?: string
  readonly summary?: readonly (string | DigesterSpec)[]
  readonly levels: readonly (readonly FilterSpec[])[]
}

export interface CompiledFilter {
  readonly name: string
  /** Undefined when the filter reads none. */
  readonly attribute: string | undefined
  readonly mode: Mode
  readonly select: Select
}

export interface CompiledDigester {
  /** Its key in a shown digest: the name, and for the second of a name `NAME(attribute)`. */
  readonly key: string
  readonly attribute: string | undefined
  readonly definition: DigesterDefinition
}

/** What may be lost, ready to run. Equal policies have equal hashes, however they were written. */
export class Policy {
  /** The canonical plain object, the same for all ways to write one policy (`canonical.ts`). */
  readonly spec: PolicySpec
  readonly levels: readonly (readonly CompiledFilter[])[]
  readonly digesters: readonly CompiledDigester[]
  #hash: string | undefined

  constructor(spec: PolicySpec, levels: Policy['levels'], digesters: Policy['digesters']) {
    this.spec = spec
    this.levels = levels
    this.digesters = digesters
  }

  /** The highest level, 0 for the policy of a receiver that gave none. */
  get top(): number {
    return this.levels.length
  }

  /** Sha-256 of the canonical policy, in hex: its policy class. */
  get hash(): string {
    this.#hash ??= bytesToHex(sha256(utf8ToBytes(JSON.stringify(this.spec))))
    return this.#hash
  }

  /** A digest as people and scripts see it; of one that another policy made only COUNT. */
  show(digest: Digest): ShownDigest {
    const count = countOf(digest)
    const shown: Record<string, Shown> = { COUNT: count }
    const digesters = digest.policy === this.hash ? this.digesters : []
    digesters.forEach(({ key, definition }, i) => {
      shown[key] = definition.show(digest.states[i])
    })
    return { digest: shown, from: digest.from, to: digest.to, count, causes: digest.causes }
  }
}

/** The policy of a receiver that gave none: no levels, so that overflow becomes one COUNT digest. */
export const noPolicy = new Policy({ levels: [] }, [], [])
