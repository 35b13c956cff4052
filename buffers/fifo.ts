// First in, first out, without moving what stays.

/** Free places at the front beyond which the list is cut. */
const SLACK = 64

export class Fifo<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  get last(): T | undefined {
    return this.length === 0 ? undefined : this.#items.at(-1)
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head++]
    if (this.#head > SLACK && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Removes one, wherever it is. */
  remove(item: T): void {
    this.#items = this.toArray().filter((other) => other !== item)
    this.#head = 0
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }

  toArray(): T[] {
    return this.#items.slice(this.#head)
  }
}
