// A process of the measurement: a node, the sender, or receivers. The one that started it says what to do.
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../process.ts'
import {
  check,
  nowMs,
  opaqueAt,
  PAYLOAD_BYTES,
  type Payload,
  type Publisher,
  type Receiver,
  type SystemName,
  systemOf,
  type Taker,
} from './system.ts'

/** What a process of receivers has got since `expect`. */
export interface Got {
  /** When the last event came, in milliseconds as `nowMs` has them. */
  readonly at: number
  readonly delivered: number
  readonly lost: number
  /** In milliseconds, when they were asked for. */
  readonly latencies: Float64Array
}

/** So often one looks whether events are due that are published at a rate, or were lost. */
const TICK_MS = 1
const LOST_TICK_MS = 100

let publisher: Publisher
const receivers: Receiver[] = []
let lostBefore = 0
let left = 0
let delivered = 0
let lastAt = 0
let latencies: number[] | undefined
let done: PromiseWithResolvers<void> = Promise.withResolvers()

const calls = {
  /** Serves as a node of the overlay; returns its address. */
  async serve(system: SystemName, join: string[]): Promise<string> {
    const { serve } = await (system === 'relay' ? import('./relay.ts') : import('./spillway.ts'))
    return await serve(join)
  },

  async publisher(system: SystemName, address: string, payload: Payload): Promise<string> {
    publisher = await (await systemOf(system)).publisher(address, payload)
    return publisher.stream
  },

  /** One connection to each address. */
  async receivers(system: SystemName, addresses: string[], stream: string, payload: Payload): Promise<void> {
    const { receiver } = await systemOf(system)
    for (const address of addresses) receivers.push(await receiver(address, stream, payload, taker))
  },

  /** So many events will come to each receiver. */
  expect(events: number, isSampled: boolean): void {
    left = events * receivers.length
    delivered = 0
    latencies = isSampled ? [] : undefined
    lostBefore = lost()
    done = Promise.withResolvers()
  },

  /** Publishes so many events, as fast as there is room for them or so many a second; returns when it began. */
  async publish(events: number, perSecond?: number): Promise<number> {
    const start = nowMs()
    for (let i = 0; i < events; i++) {
      if (perSecond !== undefined) {
        const dueAt = start + (i * 1000) / perSecond
        while (nowMs() < dueAt) await sleep(TICK_MS)
      }
      if (!publisher.publish(perSecond === undefined ? 0 : nowMs())) await publisher.room()
    }
    await publisher.flush()
    return start
  },

  /** Resolves when every event is here or known to be lost. */
  async finished(): Promise<Got> {
    const timer = setInterval(() => {
      if (left > 0 && left === lost() - lostBefore) done.resolve()
    }, LOST_TICK_MS)
    await done.promise
    clearInterval(timer)
    const samples = Float64Array.from(latencies ?? [])
    return { at: lastAt, delivered, lost: lost() - lostBefore, latencies: samples }
  },

  /** Seconds of processor time so far. */
  cpu(): number {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  },
}

export type Calls = typeof calls

const taker: Taker = {
  opaque(bytes) {
    if (bytes.length !== PAYLOAD_BYTES) throw new Error(`a payload of ${bytes.length} bytes`)
    if (latencies !== undefined) latencies.push(nowMs() - opaqueAt(bytes))
    count()
  },
  typed(reading) {
    check(reading)
    if (latencies !== undefined) latencies.push(nowMs() - reading.at!)
    count()
  },
}

function count(): void {
  delivered++
  if (--left > 0) return
  lastAt = nowMs()
  done.resolve()
}

function lost(): number {
  return receivers.reduce((sum, receiver) => sum + receiver.lost, 0)
}

answer(calls)
