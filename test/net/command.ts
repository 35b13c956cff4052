// The `spillway` command in processes of its own, and what they write as it comes.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'

const BIN = fileURLToPath(new URL('../../cli/spillway.js', import.meta.url))

/** A line of output, as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was written
export type Line = any

export interface Receipt {
  readonly epoch: number
  readonly first: number
  readonly last: number
  readonly delivered: number
  readonly digested: number
  readonly gaps: number
}

export class Running {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly lines: Line[] = []
  readonly exit: Promise<number | string>
  stderr = ''
  #heard = () => {}

  constructor(argv: readonly string[], isRead: boolean) {
    this.child = spawn(process.execPath, [BIN, ...argv], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.child.stdin.on('error', () => {})
    this.child.stderr.on('data', (data) => {
      this.stderr += data
    })
    const exited = once(this.child, 'close') as Promise<[number | null, string | null]>
    this.exit = exited.then(([code, signal]) => code ?? signal ?? 'gone')
    void this.exit.then(() => this.#heard())
    if (isRead) this.read()
  }

  /** Reads what it writes from now on. */
  read(): void {
    createInterface(this.child.stdout).on('line', (line) => {
      this.lines.push(JSON.parse(line))
      this.#heard()
    })
  }

  /** The first line that has this key. */
  async told(key: string): Promise<Line> {
    for (;;) {
      const line = this.lines.find((one) => key in one)
      if (line !== undefined) return line[key]
      if (this.#isOver) throw new Error(`it ended without "${key}": ${this.stderr}`)
      await this.#line()
    }
  }

  /** How often it has attached to a node that it was told to roam to. */
  get moves(): number {
    return this.stderr.match(/^attached to /gm)?.length ?? 0
  }

  /** Waits until everything up to this number was written, as event, digest or gap, and interrupts it: it ends well. */
  async interruptedAt(last: number): Promise<void> {
    while (!this.#isOver && highestIn(this.lines) < last) await this.#line()
    this.child.kill('SIGINT')
    const exit = await this.exit
    if (exit !== 0) throw new Error(`it ended with ${exit}: ${this.stderr}`)
  }

  get receipts(): Receipt[] {
    return this.lines.filter(({ receipt }) => receipt !== undefined).map(({ receipt }) => receipt)
  }

  get #isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  #line(): Promise<void> {
    return new Promise((resolve) => {
      this.#heard = resolve
    })
  }
}

/** The number up to which everything was written. */
export function highestIn(lines: readonly Line[]): number {
  const { seq, to, gap } = lines.at(-1) ?? {}
  return seq ?? to ?? gap?.to ?? 0
}

/** Starts a command; it is killed when the test is over. */
export function run(...argv: readonly string[]): Running {
  return start(argv, true)
}

/** Starts a command whose output nobody reads. */
export function runUnread(...argv: readonly string[]): Running {
  return start(argv, false)
}

function start(argv: readonly string[], isRead: boolean): Running {
  const running = new Running(argv, isRead)
  onTestFinished(() => void running.child.kill('SIGKILL'))
  return running
}

export interface RunningNode {
  readonly running: Running
  readonly id: string
  readonly address: string
}

/** So many nodes, the others joined to the first. */
export async function overlay(size: number): Promise<RunningNode[]> {
  const first = await node()
  const others = await Promise.all(Array.from({ length: size - 1 }, () => node('--join', first.address)))
  return [first, ...others]
}

export async function node(...argv: readonly string[]): Promise<RunningNode> {
  const running = run('node', '--json', ...argv)
  await running.told('ready')
  const { id, addresses } = running.lines[0]
  return { running, id, address: addresses[0] }
}

/**
 * That what was written is in order and without overlap, that the receipts count exactly that, and add up. One epoch.
 * Returns the receipt.
 */
export function exact({ lines, receipts, stderr }: Running): Receipt {
  expect(stderr.replaceAll(ATTACHMENT, '')).toBe('')
  expect(receipts).toHaveLength(1)
  const [receipt] = receipts as [Receipt]
  const counted = { delivered: 0, digested: 0, gaps: 0 }
  let next = receipt.first
  for (const { seq, event, digest, gap, from, to, count } of lines) {
    const range = event
      ? [seq, seq, 'delivered']
      : digest
        ? [from, to, 'digested']
        : gap && [gap.from, gap.to, 'gaps']
    if (range === undefined) continue
    const [begin, end, kind] = range as [number, number, keyof typeof counted]
    expect(begin).toBe(next)
    if (digest) expect(count).toBe(end - begin + 1)
    counted[kind] += end - begin + 1
    next = end + 1
  }
  const { delivered, digested, gaps, first, last } = receipt
  expect({ delivered, digested, gaps, last }).toEqual({ ...counted, last: next - 1 })
  expect(delivered + digested + gaps).toBe(last - first + 1)
  return receipt
}

/** What it says when its node goes and comes, and where it is. */
const ATTACHMENT =
  /^(the node is gone; .*|a node is there again|attached to \/\S+|no node answers at \/\S+)\n/gm

/** Events as JSON lines. */
export function jsonLines(count: number, eventOf: (i: number) => object): string {
  return Array.from({ length: count }, (_, i) => `${JSON.stringify(eventOf(i + 1))}\n`).join('')
}
