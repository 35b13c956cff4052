// What was announced and holds for a while: entries go when they are not announced again.

export class Expiring<Key, Value> {
  readonly #limit: number
  readonly #entries = new Map<Key, { value: Value; untilMs: number }>()

  /** Announcements of more than so many keys are ignored. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: Key, value: Value, untilMs: number): void {
    if (this.#entries.size >= this.#limit && !this.#entries.has(key)) return
    this.#entries.set(key, { value, untilMs })
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key)
  }

  values(): Value[] {
    return Array.from(this.#entries.values(), ({ value }) => value)
  }

  /** Removes what is over by now and says what it was. */
  expire(nowMs: number): Key[] {
    const over: Key[] = []
    for (const [key, { untilMs }] of this.#entries) if (untilMs <= nowMs) over.push(key)
    for (const key of over) this.#entries.delete(key)
    return over
  }
}
