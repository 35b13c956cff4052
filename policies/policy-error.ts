// What is wrong with a policy: every mistake with its place, collected so that one look is enough to mend all.
import { type ErrorCode, SpillwayError } from './error.ts'

const SHOWN = 20
const COLLECTED = 100
/** By line, then column, and for a plain object by path: 9 comes before 10. */
const PLACES = new Intl.Collator('en', { numeric: true })

/** A bad policy. `errors` has one line for each mistake, `place: what is wrong, expected what`. */
export class PolicyError extends SpillwayError {
  override readonly name = 'PolicyError'
  readonly errors: readonly string[]

  constructor(code: ErrorCode, errors: readonly string[], options?: ErrorOptions) {
    const more = errors.length > SHOWN ? [`and ${errors.length - SHOWN} more`] : []
    super(code, [...errors.slice(0, SHOWN), ...more].join('\n'), options)
    this.errors = errors
  }
}

/** Collects the mistakes of one policy. A limit that is exceeded ends the reading at once. */
export class Complaints {
  readonly #errors: { readonly where: string; readonly message: string }[] = []

  get count(): number {
    return this.#errors.length
  }

  add(where: string, message: string): undefined {
    this.#errors.push({ where, message })
    // Nobody mends a hundred mistakes at once, and a stranger's policy must not make us list thousands.
    if (this.#errors.length >= COLLECTED) this.throwIfAny()
  }

  limit(where: string, message: string): never {
    throw new PolicyError('POLICY_LIMIT', [`${where}: ${message}`])
  }

  /** Throws what was collected, in the order of its places. */
  throwIfAny(): void {
    if (this.#errors.length === 0) return
    const sorted = this.#errors.toSorted((a, b) => PLACES.compare(a.where, b.where))
    throw new PolicyError(
      'POLICY_INVALID',
      sorted.map(({ where, message }) => `${where}: ${message}`),
    )
  }
}

/** A stranger's word for a message: quoted, on one line, cut when it is long. */
export function quoted(word: unknown): string {
  if (typeof word !== 'string') return kindOf(word)
  return JSON.stringify(word.length > 64 ? `${word.slice(0, 61)}...` : word)
}

function kindOf(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return 'a list'
  if (value === undefined) return 'nothing'
  return `a value of type ${typeof value}`
}
