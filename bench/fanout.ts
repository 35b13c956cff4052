// Events from one sender to many receivers, beside NATS with its own client and beside a bare relay, in the same run.
// Nodes, sender and receivers have processes of their own; the contestants take turns, so that whatever else the
// machine does hits all of them.
import { spawnSync } from 'node:child_process'
import { Contestant, type Latency, type Run } from './fanout/contestant.ts'
import type { Payload, SystemName } from './fanout/system.ts'
import type { BenchOptions } from './main.ts'

interface Setting {
  readonly payload: Payload
  readonly nodes: number
  readonly receivers: number
}

interface Row extends Setting {
  readonly system: SystemName
  /** Medians of the runs. */
  readonly perSecond: number
  readonly cpuMicroseconds: { readonly sender: number; readonly nodes: number; readonly receivers: number }
  readonly ofNats?: number
  readonly ofNatsByCpu?: number
  readonly ofRelay?: number
  readonly latency: Latency
  readonly lost: number
}

interface Size {
  readonly nodes: readonly number[]
  readonly receivers: readonly number[]
  /** In a run, at most; and events, at most, so that no receiver has more than its queue holds waiting. */
  readonly deliveries: number
  readonly events: number
  readonly rounds: number
  readonly latencyMs: number
}

const FULL: Size = {
  nodes: [1, 4],
  receivers: [1, 16, 256],
  deliveries: 2_000_000,
  events: 400_000,
  rounds: 5,
  latencyMs: 2_000,
}
const SMALL: Size = {
  nodes: [1],
  receivers: [3],
  deliveries: 4_000,
  events: 2_000,
  rounds: 1,
  latencyMs: 100,
}
/** Latency is measured at this share of what the slowest contestant can do. */
const MODERATE = 0.1

/** Prints a line for each contestant in each setting, and on stderr what it is at. Throws when events were lost. */
export async function run({ json, small }: BenchOptions): Promise<void> {
  const size = small ? SMALL : FULL
  const hasNats = spawnSync('nats-server', ['--version']).error === undefined
  if (!hasNats) console.error('nats-server is not installed: without it there is nothing to compare with')
  let lost = 0
  for (const setting of settings(size)) {
    const rows = await measure(setting, size, hasNats)
    for (const row of rows) console.log(json ? JSON.stringify(row) : lineOf(row))
    lost += rows.reduce((sum, row) => sum + row.lost, 0)
  }
  if (lost > 0) throw new Error(`${lost} events were lost`)
}

/** All of them, or those of `FANOUT_ONLY`: payload/nodes/receivers, with commas. */
function settings({ nodes, receivers }: Size): Setting[] {
  const payloads: Payload[] = ['opaque', 'typed']
  const all = nodes.flatMap((nodes) =>
    payloads.flatMap((payload) => receivers.map((receivers) => ({ payload, nodes, receivers }))),
  )
  const only = process.env.FANOUT_ONLY?.split(',')
  return all.filter(
    ({ payload, nodes, receivers }) => only?.includes(`${payload}/${nodes}/${receivers}`) ?? true,
  )
}

async function measure(setting: Setting, size: Size, hasNats: boolean): Promise<Row[]> {
  const systems: SystemName[] = ['spillway']
  if (hasNats) systems.push('nats')
  if (setting.payload === 'opaque' && setting.nodes === 1) systems.push('relay')
  const contestants: Contestant[] = []
  try {
    for (const system of systems) {
      progress(setting, `${system} starts`)
      contestants.push(await Contestant.start(system, setting))
    }
    return await compete(contestants, setting, size)
  } finally {
    for (const contestant of contestants) contestant.stop()
  }
}

async function compete(contestants: readonly Contestant[], setting: Setting, size: Size): Promise<Row[]> {
  const events = Math.min(size.events, Math.ceil(size.deliveries / setting.receivers))
  const runs = new Map(contestants.map((contestant) => [contestant, [] as Run[]]))
  for (const contestant of contestants) await contestant.run(Math.ceil(events / 2))
  for (let round = 0; round < size.rounds; round++) {
    progress(setting, `round ${round + 1} of ${size.rounds}, ${events} events`)
    for (const contestant of contestants) runs.get(contestant)!.push(await contestant.run(events))
  }
  const capacity = Math.min(...contestants.map((one) => perSecondOf(runs.get(one)!) / setting.receivers))
  const rows: Row[] = []
  for (const contestant of contestants) {
    progress(setting, `latency of ${contestant.system}`)
    const latency = await contestant.latency(capacity * MODERATE, size.latencyMs)
    rows.push(rowOf(setting, contestant.system, runs.get(contestant)!, latency))
  }
  return rows.map((row) => ({ ...row, ...ratios(row, rows) }))
}

function progress({ payload, nodes, receivers }: Setting, what: string): void {
  console.error(`${payload}, ${nodes} node${nodes === 1 ? '' : 's'}, ${receivers} receivers: ${what}`)
}

function rowOf(setting: Setting, system: SystemName, runs: readonly Run[], latency: Latency): Row {
  const cpu = (of: 'sender' | 'nodes' | 'receivers') =>
    rounded(median(runs.map(({ cpuSeconds, delivered }) => (cpuSeconds[of] / delivered) * 1e6)))
  return {
    ...setting,
    system,
    perSecond: Math.round(perSecondOf(runs)),
    cpuMicroseconds: { sender: cpu('sender'), nodes: cpu('nodes'), receivers: cpu('receivers') },
    latency: { ...latency, medianMs: rounded(latency.medianMs), p99Ms: rounded(latency.p99Ms) },
    lost: runs.reduce((sum, { lost }) => sum + lost, 0),
  }
}

function ratios(row: Row, rows: readonly Row[]): Pick<Row, 'ofNats' | 'ofNatsByCpu' | 'ofRelay'> {
  const nats = rows.find(({ system }) => system === 'nats')
  const relay = rows.find(({ system }) => system === 'relay')
  return {
    ...(nats && {
      ofNats: rounded(row.perSecond / nats.perSecond),
      ofNatsByCpu: rounded(cpuOf(nats) / cpuOf(row)),
    }),
    ...(relay && { ofRelay: rounded(row.perSecond / relay.perSecond) }),
  }
}

function cpuOf({ cpuMicroseconds: { sender, nodes, receivers } }: Row): number {
  return sender + nodes + receivers
}

function perSecondOf(runs: readonly Run[]): number {
  return median(runs.map(({ delivered, seconds }) => delivered / seconds))
}

function lineOf(row: Row): string {
  const { payload, nodes, receivers, system, perSecond, ofNats, ofNatsByCpu, ofRelay, latency, lost } = row
  const { sender, nodes: atNodes, receivers: atReceivers } = row.cpuMicroseconds
  return [
    `${payload.padEnd(7)}${nodes} node${nodes === 1 ? ' ' : 's'}${String(receivers).padStart(4)} receivers`,
    system.padEnd(9),
    `${(perSecond / 1000).toFixed(0).padStart(5)} k/s`,
    `${ofNats ?? '-'} of NATS (${ofNatsByCpu ?? '-'} by CPU), ${ofRelay ?? '-'} of the relay`.padEnd(50),
    `CPU us ${sender} + ${atNodes} + ${atReceivers}`.padEnd(28),
    `latency at ${latency.perSecond}/s ${latency.medianMs} ms, p99 ${latency.p99Ms} ms`,
    lost === 0 ? '' : `LOST ${lost}`,
  ].join('  ')
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
