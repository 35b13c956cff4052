// Two hosts with a slow link between them, on one machine: network namespaces, a veth pair, and a token bucket in
// the direction of the data; a node and its sender on one side, a receiver on the other.
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { EpochReceipt } from '../../buffers/receipt.ts'
import type { PolicySpec } from '../../policies/policy.ts'

export const LINK_BYTES_PER_SECOND = 6_250
const RATE = '50kbit'
/** One packet, the least that a token bucket works with: what passes at once after a pause. */
const BURST_BYTES = 1_600
/**
 * What the bottleneck's queue holds, as slow links do: a second. It is not to help: a queue that drops would keep
 * the transport short by itself, and one that holds much hides what it holds.
 */
const QUEUE = '1s'

/** What stands where, in bytes, just after a frame was sent. */
export interface TransportSample {
  /** Milliseconds since the sender began. */
  readonly at: number
  /** Data frames that the core has handed over and the receiver's has not acknowledged. */
  readonly windowBytes: number
  /** In the write buffers of yamux's streams. */
  readonly streamBytes: number
  /** In the kernel or on the link: handed to TCP, not acknowledged by the other side's, with TLS and yamux. */
  readonly kernelBytes: number
}

export interface SentReport {
  /** Events that there were; drop-tail publishes those it has room for. */
  readonly made: number
  readonly published: number
  readonly samples: readonly TransportSample[]
  /** Of each data frame, from the core to the core's acknowledgement. */
  readonly roundTripsMs: readonly number[]
}

export interface ReceivedReport {
  /** Of each event, from publish to delivery. */
  readonly latenciesMs: readonly number[]
  readonly digests: number
  readonly receipt: readonly EpochReceipt[]
}

/** What the link carried, as the token bucket counted it, with all headers. */
export interface LinkReport {
  readonly bytes: number
  readonly packets: number
  readonly dropped: number
}

export interface SlowLinkRun {
  readonly sent: SentReport
  readonly received: ReceivedReport
  readonly link: LinkReport
}

export interface SlowLinkOptions {
  /** Without it what arrives while the queue is full is dropped. */
  readonly policy?: PolicySpec
  readonly queueItems: number
  readonly everyMs: number
  readonly forMs: number
  readonly payloadBytes: number
}

/** Why there can be no slow link here; undefined when there can. */
export function slowLinkRefusal(): string | undefined {
  try {
    new SlowLink('probe').remove()
    return undefined
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim()
  }
}

/** Publishes over a slow link of its own until everything has arrived. Several may run beside each other. */
export async function runSlowLink(name: string, options: SlowLinkOptions): Promise<SlowLinkRun> {
  const { policy, ...load } = options
  const link = new SlowLink(name)
  const children: Child[] = []
  try {
    const sender = new Child(link.near, 'slow-link-sender.ts', {
      ...load,
      listen: link.address,
      isDropTail: policy === undefined,
    })
    children.push(sender)
    const at = (await sender.says()) as { address: string; sender: string }
    const receiver = new Child(link.far, 'slow-link-receiver.ts', { ...at, policy })
    children.push(receiver)
    await receiver.says()
    const before = link.carried()
    sender.tell('go')
    const received = (await receiver.says()) as ReceivedReport
    const after = link.carried()
    sender.tell('report')
    const sent = (await sender.says()) as SentReport
    return { sent, received, link: since(before, after) }
  } finally {
    for (const child of children) child.kill()
    link.remove()
  }
}

class SlowLink {
  readonly near: string
  readonly far: string
  readonly address = '10.77.0.1'
  readonly #device: string

  constructor(name: string) {
    const prefix = `sw${process.pid}${name}`
    this.near = `${prefix}-near`
    this.far = `${prefix}-far`
    this.#device = 'slow0'
    try {
      for (const host of [this.near, this.far]) run('ip', 'netns', 'add', host)
      run(
        'ip',
        'link',
        'add',
        'slow0',
        'netns',
        this.near,
        'type',
        'veth',
        'peer',
        'name',
        'slow0',
        'netns',
        this.far,
      )
      this.#up(this.near, `${this.address}/24`)
      this.#up(this.far, '10.77.0.2/24')
      const bucket = ['rate', RATE, 'burst', `${BURST_BYTES}`, 'latency', QUEUE]
      run('tc', '-n', this.near, 'qdisc', 'add', 'dev', this.#device, 'root', 'tbf', ...bucket)
    } catch (error) {
      this.remove()
      throw error
    }
  }

  carried(): LinkReport {
    const text = run('tc', '-n', this.near, '-s', 'qdisc', 'show', 'dev', this.#device)
    const [, bytes, packets, dropped] = /Sent (\d+) bytes (\d+) pkt \(dropped (\d+)/.exec(text)!
    return { bytes: Number(bytes), packets: Number(packets), dropped: Number(dropped) }
  }

  remove(): void {
    for (const host of [this.near, this.far]) {
      try {
        run('ip', 'netns', 'del', host)
      } catch {
        // It was never made.
      }
    }
  }

  #up(host: string, address: string): void {
    run('ip', '-n', host, 'addr', 'add', address, 'dev', this.#device)
    for (const device of ['lo', this.#device]) run('ip', '-n', host, 'link', 'set', device, 'up')
  }
}

/** A script in one of the namespaces; talks in lines. */
class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>
  readonly #script: string

  constructor(host: string, script: string, options: object) {
    const path = fileURLToPath(new URL(script, import.meta.url))
    const command = ['netns', 'exec', host, process.execPath, path, JSON.stringify(options)]
    this.#script = script
    this.#process = spawn('ip', command, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]()
  }

  async says(): Promise<unknown> {
    const { value, done } = await this.#lines.next()
    if (done)
      throw new Error(
        `${this.#script} ended with ${this.#process.exitCode ?? (await once(this.#process, 'exit'))}`,
      )
    return JSON.parse(value)
  }

  tell(line: string): void {
    this.#process.stdin.write(`${line}\n`)
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

function run(command: string, ...parameters: readonly string[]): string {
  return execFileSync(command, parameters, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function since(before: LinkReport, after: LinkReport): LinkReport {
  return {
    bytes: after.bytes - before.bytes,
    packets: after.packets - before.packets,
    dropped: after.dropped - before.dropped,
  }
}
