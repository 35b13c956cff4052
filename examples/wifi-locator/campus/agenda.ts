// What is still to happen, by time.

interface Entry<T> {
  readonly due: T
  readonly order: number
}

/** What is due next first; of the same time what was added first. A binary heap. */
export class Agenda<T extends { readonly at: number }> {
  readonly #heap: Entry<T>[] = []
  #order = 0

  add(due: T): void {
    const heap = this.#heap
    heap.push({ due, order: this.#order++ })
    for (let i = heap.length - 1; i > 0; ) {
      const parent = (i - 1) >> 1
      if (!isBefore(heap[i]!, heap[parent]!)) break
      ;[heap[i], heap[parent]] = [heap[parent]!, heap[i]!]
      i = parent
    }
  }

  /** Takes the next one that is due until then. */
  until(at: number): T | undefined {
    const heap = this.#heap
    const first = heap[0]
    if (first === undefined || first.due.at > at) return undefined
    const last = heap.pop()!
    if (heap.length === 0) return first.due
    heap[0] = last
    for (let i = 0; ; ) {
      let least = i
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child
      if (least === i) return first.due
      ;[heap[i], heap[least]] = [heap[least]!, heap[i]!]
      i = least
    }
  }
}

function isBefore(a: Entry<{ readonly at: number }>, b: typeof a): boolean {
  return a.due.at < b.due.at || (a.due.at === b.due.at && a.order < b.order)
}
