// One system, set up to be measured: its nodes, a sender, and receivers in at most two processes.
import type { ChildProcess } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOf, Process } from '../process.ts'
import type { Calls, Got } from './child.ts'
import type { Payload, SystemName } from './system.ts'

export interface Run {
  readonly delivered: number
  readonly lost: number
  readonly seconds: number
  readonly cpuSeconds: CpuSeconds
}

export interface CpuSeconds {
  readonly sender: number
  readonly nodes: number
  readonly receivers: number
}

export interface Latency {
  /** Events a second that were published meanwhile. */
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms: number
}

interface Nodes {
  readonly addresses: readonly string[]
  cpu(): Promise<number>
  stop(): void
}

const CHILD = new URL('child.ts', import.meta.url)
const RECEIVER_PROCESSES = 2
/** A run takes some seconds; what takes longer will never end. */
const STUCK_MS = 120_000

export class Contestant {
  readonly system: SystemName
  readonly #nodes: Nodes
  readonly #sender: Process<Calls>
  readonly #receivers: readonly Process<Calls>[]

  private constructor(system: SystemName, nodes: Nodes, receivers: number) {
    this.system = system
    this.#nodes = nodes
    this.#sender = new Process<Calls>(CHILD, flagsFor('sender'))
    this.#receivers = Array.from(
      { length: Math.min(RECEIVER_PROCESSES, receivers) },
      () => new Process<Calls>(CHILD, flagsFor('receivers')),
    )
  }

  /** Resolves when all receivers are subscribed. */
  static async start(
    system: SystemName,
    { payload, nodes, receivers }: { payload: Payload; nodes: number; receivers: number },
  ): Promise<Contestant> {
    const serving = await (system === 'nats' ? natsServers(nodes) : overlay(system, nodes))
    const contestant = new Contestant(system, serving, receivers)
    try {
      await contestant.#connect(payload, receivers)
      return contestant
    } catch (error) {
      contestant.stop()
      throw error
    }
  }

  /** So many events as fast as they go. */
  async run(events: number): Promise<Run> {
    const before = await this.#cpu()
    await this.#expect(events, false)
    const startedAt = await this.#sender.call('publish', events)
    const got = await this.#finished()
    const after = await this.#cpu()
    return {
      delivered: sum(got.map(({ delivered }) => delivered)),
      lost: sum(got.map(({ lost }) => lost)),
      seconds: (Math.max(...got.map(({ at }) => at)) - startedAt) / 1000,
      cpuSeconds: {
        sender: after.sender - before.sender,
        nodes: after.nodes - before.nodes,
        receivers: after.receivers - before.receivers,
      },
    }
  }

  /** So many events a second, for so long. */
  async latency(perSecond: number, durationMs: number): Promise<Latency> {
    const events = Math.max(1, Math.round((perSecond * durationMs) / 1000))
    await this.#expect(events, true)
    await this.#sender.call('publish', events, perSecond)
    const samples = (await this.#finished()).flatMap(({ latencies }) => [...latencies]).sort((a, b) => a - b)
    const at = (share: number) => samples[Math.floor(samples.length * share)]!
    return { perSecond: Math.round(perSecond), medianMs: at(0.5), p99Ms: at(0.99) }
  }

  stop(): void {
    this.#sender.stop()
    for (const process of this.#receivers) process.stop()
    this.#nodes.stop()
  }

  async #connect(payload: Payload, receivers: number): Promise<void> {
    const { addresses } = this.#nodes
    const stream = await this.#sender.call('publisher', this.system, addresses[0]!, payload)
    await Promise.all(
      this.#receivers.map((process, i) => {
        const own: string[] = []
        for (let r = i; r < receivers; r += this.#receivers.length) own.push(addresses[r % addresses.length]!)
        return process.call('receivers', this.system, own, stream, payload)
      }),
    )
  }

  #expect(events: number, isSampled: boolean): Promise<unknown> {
    return Promise.all(this.#receivers.map((process) => process.call('expect', events, isSampled)))
  }

  async #finished(): Promise<Got[]> {
    const limit = new AbortController()
    const stuck = sleep(STUCK_MS, undefined, limit).then(() => {
      throw new Error(`${this.system}: what was published did not arrive in ${STUCK_MS / 1000} seconds`)
    })
    const got = Promise.all(this.#receivers.map((process) => process.call('finished')))
    return await Promise.race([got, stuck]).finally(() => {
      stuck.catch(() => {})
      limit.abort()
    })
  }

  async #cpu(): Promise<CpuSeconds> {
    const receivers = await Promise.all(this.#receivers.map((process) => process.call('cpu')))
    return {
      sender: await this.#sender.call('cpu'),
      nodes: await this.#nodes.cpu(),
      receivers: sum(receivers),
    }
  }
}

async function overlay(system: SystemName, count: number): Promise<Nodes> {
  const processes: Process<Calls>[] = []
  const addresses: string[] = []
  for (let i = 0; i < count; i++) {
    const process = new Process<Calls>(CHILD, flagsFor('node'))
    processes.push(process)
    addresses.push(await process.call('serve', system, addresses.slice(0, 1)))
  }
  return {
    addresses,
    cpu: async () => sum(await Promise.all(processes.map((process) => process.call('cpu')))),
    stop: () => {
      for (const process of processes) process.stop()
    },
  }
}

async function natsServers(count: number): Promise<Nodes> {
  const { serve } = await import('./nats.ts')
  const { addresses, processes } = await serve(count)
  return {
    addresses,
    cpu: async () => sum(processes.map(({ pid }: ChildProcess) => cpuOf(pid!))),
    stop: () => {
      for (const process of processes) process.kill()
    },
  }
}

/** `FANOUT_PROFILE=node` (or sender, or receivers) leaves processor profiles of those processes in a temporary folder. */
function flagsFor(role: string): string[] {
  if (process.env.FANOUT_PROFILE !== role) return []
  return ['--cpu-prof', `--cpu-prof-dir=${join(tmpdir(), `fanout-${role}`)}`]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
