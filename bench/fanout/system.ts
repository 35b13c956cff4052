// What is measured: Spillway, NATS, and the bare relay that nothing on libp2p can beat. Each says how it serves, sends
// and receives; who publishes what and when, and what is counted, is the same for all.

/** 128 bytes as they are, or an object of six attributes that as JSON has 128 bytes. */
export type Payload = 'opaque' | 'typed'

export const PAYLOAD_BYTES = 128

export interface Reading {
  /** When it was published, in milliseconds as `nowMs` has them. */
  readonly at: number
  readonly value: number
  readonly device: string
  readonly unit: string
  readonly ward: string
  readonly alarm: boolean
}

export interface Publisher {
  /** What receivers subscribe to. */
  readonly stream: string
  /** Publishes one event that says when it was, or 0; false when one should wait for `room` before the next. */
  publish(at: number): boolean
  room(): Promise<void>
  /** Everything published so far has left. */
  flush(): Promise<void>
}

export interface Receiver {
  /** Events that were not delivered, by a policy or by accident, since the beginning. */
  readonly lost: number
}

/** Who gets the events. */
export interface Taker {
  opaque(bytes: Uint8Array): void
  typed(reading: Partial<Reading>): void
}

export interface System {
  publisher(address: string, payload: Payload): Promise<Publisher>
  receiver(address: string, stream: string, payload: Payload, taker: Taker): Promise<Receiver>
}

export type SystemName = 'spillway' | 'nats' | 'relay'

export async function systemOf(name: SystemName): Promise<System> {
  switch (name) {
    case 'spillway':
      return (await import('./spillway.ts')).spillway
    case 'nats':
      return (await import('./nats.ts')).nats
    case 'relay':
      return (await import('./relay.ts')).relay
  }
}

/** The same clock in all processes of a machine. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

const PAYLOAD = new Uint8Array(PAYLOAD_BYTES)

/** One that says when needs memory of its own: clients may keep it until it is written. */
export function opaque(at: number): Uint8Array {
  if (at === 0) return PAYLOAD
  const bytes = new Uint8Array(PAYLOAD_BYTES)
  new DataView(bytes.buffer).setFloat64(0, at)
  return bytes
}

/** When an opaque payload was published. */
export function opaqueAt(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0)
}

let readings = 0

/** One of sixteen devices, another value each time; the rest is the same in all. */
export function reading(at: number): Reading {
  const number = readings++
  return {
    at,
    value: LEAST + (number % VALUES) / 4,
    device: DEVICES[number % DEVICES.length]!,
    unit: 'beats/min',
    ward: 'intensive-care-unit-2',
    alarm: false,
  }
}

/** Reads every attribute, as one does who asked for an object. */
export function check({ at, value, device, unit, ward, alarm }: Partial<Reading>): void {
  const texts = device!.length + unit!.length + ward!.length
  if (!(at! >= 0 && value! >= LEAST) || texts !== TEXTS_LENGTH || alarm !== false) {
    throw new Error('another reading than was published')
  }
}

const LEAST = 40
const VALUES = 400
const DEVICES = Array.from({ length: 16 }, (_, i) => `bedside-monitor-${10 + i}`)
const TEXTS_LENGTH = 48
