// The lower hull of lines: which of many lines is the lowest at x, in amortised constant time when the slopes that are
// added fall and the x that are asked for rise. It turns the dynamic programmes of polling, whose costs are products of
// a time and a weight, into linear ones.

/** Lines value = slope * x + base, each with a name. */
export class LowerHull {
  readonly #slopes: Float64Array
  readonly #bases: Float64Array
  readonly #names: Int32Array
  #from = 0
  #to = 0

  constructor(capacity: number) {
    this.#slopes = new Float64Array(capacity)
    this.#bases = new Float64Array(capacity)
    this.#names = new Int32Array(capacity)
  }

  /** Forgets all lines. */
  clear(): void {
    this.#from = 0
    this.#to = 0
  }

  /** Adds a line whose slope is at most that of the last one added. */
  add(slope: number, base: number, name: number): void {
    if (this.#to > this.#from && this.#slopes[this.#to - 1] === slope) {
      if (this.#bases[this.#to - 1]! <= base) return
      this.#to--
    }
    while (this.#to - this.#from >= 2 && this.#isUseless(slope, base)) this.#to--
    this.#slopes[this.#to] = slope
    this.#bases[this.#to] = base
    this.#names[this.#to++] = name
  }

  /** The name of the lowest line at an x that is at least that of the last time. */
  lowest(x: number): number {
    while (this.#to - this.#from >= 2 && this.#value(this.#from + 1, x) <= this.#value(this.#from, x))
      this.#from++
    return this.#names[this.#from]!
  }

  /** The value there of the line that `lowest` found. */
  valueAt(x: number): number {
    return this.#value(this.#from, x)
  }

  /** Whether the last line is lowest nowhere once the given one is there: whether that crosses the one before first. */
  #isUseless(slope: number, base: number): boolean {
    const last = this.#to - 1
    const before = last - 1
    const [s, b] = [this.#slopes[before]!, this.#bases[before]!]
    return (base - b) * (s - this.#slopes[last]!) <= (this.#bases[last]! - b) * (s - slope)
  }

  #value(line: number, x: number): number {
    return this.#slopes[line]! * x + this.#bases[line]!
  }
}
