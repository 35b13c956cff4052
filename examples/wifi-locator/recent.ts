// A map of bounded size.

/** Forgets what was used least recently. */
export class Recent<V> {
  readonly #max: number
  readonly #map = new Map<string, V>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#map.size
  }

  get(key: string): V | undefined {
    const value = this.#map.get(key)
    if (value !== undefined) {
      this.#map.delete(key)
      this.#map.set(key, value)
    }
    return value
  }

  /** Returns what was forgotten for it, as key and value. */
  set(key: string, value: V): [string, V] | undefined {
    this.#map.delete(key)
    this.#map.set(key, value)
    if (this.#map.size <= this.#max) return undefined
    const oldest = this.#map.entries().next().value!
    this.#map.delete(oldest[0])
    return oldest
  }

  delete(key: string): boolean {
    return this.#map.delete(key)
  }

  values(): IterableIterator<V> {
    return this.#map.values()
  }
}
