// The events of a queue, laid out flat for packing. Each block is decoded once, however many policies look.
import type { Events, Value } from '../policies/event.ts'
import { type Block, BlockWriter, positionOf, type Run } from './block.ts'

/** Columns that were decoded, by block and tag; for the packs of one overflow. */
export class DecodedBlocks {
  readonly #blocks = new Map<Block, Map<string, readonly Value[]>>()

  columns(block: Block, tags: readonly string[]): readonly (readonly Value[])[] {
    const known = this.#blocks.get(block) ?? new Map<string, readonly Value[]>()
    this.#blocks.set(block, known)
    const unknown = tags.filter((tag) => !known.has(tag))
    if (unknown.length > 0) {
      const columns = block.columns(unknown)
      for (let i = 0; i < unknown.length; i++) known.set(unknown[i]!, columns[i]!)
    }
    return tags.map((tag) => known.get(tag)!)
  }
}

/** Runs as one list of positions from 0. */
export class QueuedEvents implements Events {
  readonly length: number
  readonly #runs: readonly Run[]
  readonly #decoded: DecodedBlocks
  /** For each event the index of its run, and its position in that run's block. */
  readonly #runOf: Uint32Array
  readonly #positions: Uint32Array

  constructor(runs: readonly Run[], decoded: DecodedBlocks) {
    this.#runs = runs
    this.#decoded = decoded
    let length = 0
    for (const { from, to } of runs) length += to - from
    this.length = length
    this.#runOf = new Uint32Array(length)
    this.#positions = new Uint32Array(length)
    for (let r = 0, at = 0; r < runs.length; r++) {
      const run = runs[r]!
      for (let i = run.from; i < run.to; i++, at++) {
        this.#runOf[at] = r
        this.#positions[at] = positionOf(run, i)
      }
    }
  }

  epoch(position: number): number {
    return this.#blockOf(position).epoch
  }

  seq(position: number): number {
    return this.#blockOf(position).seq(this.#positions[position]!)
  }

  time(position: number): number {
    return this.#blockOf(position).time(this.#positions[position]!)
  }

  columns(tags: readonly string[]): Value[][] {
    const columns = tags.map(() => new Array<Value>(this.length))
    let at = 0
    for (const run of this.#runs) {
      const size = run.to - run.from
      const decoded = this.#decoded.columns(run.block, tags)
      for (let c = 0; c < tags.length; c++) {
        const column = columns[c]!
        const values = decoded[c]!
        for (let i = 0; i < size; i++) column[at + i] = values[this.#positions[at + i]!]
      }
      at += size
    }
    return columns
  }

  /** What these events, by position, cost a queue. */
  cost(positions: Uint32Array): number {
    let cost = 0
    for (const position of positions) {
      const inBlock = this.#positions[position]!
      cost += this.#blockOf(position).cost(inBlock, inBlock + 1)
    }
    return cost
  }

  /**
   * These events, by ascending position, as runs. Where they are less than half of the frame that they came in, or of
   * a block of our own, they are copied out of it, so that it can be freed.
   */
  runsOf(kept: Uint32Array): Run[] {
    const runs: Run[] = []
    const writer = new BlockWriter()
    for (let start = 0; start < kept.length; ) {
      const ends = this.#endsInMemory(kept, start)
      const end = ends.at(-1)!
      const isSmallPart = this.cost(kept.subarray(start, end)) * 2 < this.#blockOf(kept[start]!).memoryBytes
      for (const to of ends) {
        const run = this.#runIn(this.#blockOf(kept[start]!), kept, start, to)
        runs.push(isSmallPart ? writer.copy(run) : run)
        start = to
      }
    }
    return runs
  }

  /** Where in `kept` each of the blocks ends that lie over the same memory, from `start` on; a frame has many. */
  #endsInMemory(kept: Uint32Array, start: number): number[] {
    const ends: number[] = []
    let block = this.#blockOf(kept[start]!)
    const { memory } = block
    for (let end = start + 1; end < kept.length; end++) {
      const next = this.#blockOf(kept[end]!)
      if (next === block) continue
      ends.push(end)
      if (next.memory !== memory) return ends
      block = next
    }
    return [...ends, kept.length]
  }

  #runIn(block: Block, kept: Uint32Array, start: number, end: number): Run {
    const first = this.#positions[kept[start]!]!
    const last = this.#positions[kept[end - 1]!]!
    if (last - first === end - 1 - start)
      return { kind: 'events', block, picks: undefined, from: first, to: last + 1 }
    const picks = new Uint32Array(end - start)
    for (let i = start; i < end; i++) picks[i - start] = this.#positions[kept[i]!]!
    return { kind: 'events', block, picks, from: 0, to: picks.length }
  }

  #blockOf(position: number): Block {
    return this.#runs[this.#runOf[position]!]!.block
  }
}
