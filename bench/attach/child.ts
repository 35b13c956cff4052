// A process of the measurement: the node, the sender, or receivers, each a client with a connection of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../endpoints/client.ts'
import { connect } from '../../endpoints/machine.ts'
import type { Subscription } from '../../endpoints/subscription.ts'
import { createTransport } from '../../overlay/libp2p/machine.ts'
import { OverlayNode } from '../../overlay/node.ts'
import { answer } from '../process.ts'

/** All clients are on this one host, where in earnest each would have its own: the limits for one host are lifted. */
const LIMITS = { connections: 4_096, connectionsPerSecondPerHost: 10_000 }

export interface Moves {
  readonly address: string
  /** How often each receiver comes back. */
  readonly times: number
  /** In each cycle it is away for the first half; where its cycle begins is chance. */
  readonly cycleMs: number
  /** Whether the connection is cut and dialled anew. */
  readonly isAnew: boolean
}

interface Receiver {
  readonly client: Client
  readonly subscription: Subscription
  /** An event is here. */
  arrived(): void
}

const receivers: Receiver[] = []

const calls = {
  /** Serves as a node; returns its address. */
  async serve(): Promise<string> {
    const node = await createTransport({
      kind: 'node',
      listen: ['/ip4/127.0.0.1/tcp/0'],
      limits: LIMITS,
      makeCore: (surroundings) => new OverlayNode(surroundings),
    })
    return node.addresses[0]!
  },

  /** Publishes an event every so often, until the process ends; returns the sender's ID. */
  async publish(address: string, everyMs: number): Promise<string> {
    const sender = (await connect(address)).sender('attach', { at: 'number' })
    await sender.opened
    setInterval(() => sender.publish({ at: performance.now() }), everyMs)
    return sender.id
  },

  async subscribe(address: string, sender: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const client = await connect(address)
      const subscription = client.subscribe(sender)
      const receiver: Receiver = { client, subscription, arrived() {} }
      subscription.handle({ event: () => receiver.arrived() })
      await subscription.subscribed
      receivers.push(receiver)
    }
  },

  /** How long it took from each request to attach to the first event that had waited, in milliseconds. */
  async move(moves: Moves): Promise<number[]> {
    return (await Promise.all(receivers.map((receiver) => timesOf(receiver, moves)))).flat()
  },

  /** Events that were not delivered, of all that are accounted for. */
  lost(): number {
    const receipts = receivers.flatMap(({ subscription }) => subscription.receipt)
    return receipts.reduce((sum, { digested, gaps }) => sum + digested + gaps, 0)
  },
}

export type Calls = typeof calls

async function timesOf(receiver: Receiver, { address, times, cycleMs, isAnew }: Moves): Promise<number[]> {
  const { client } = receiver
  const took: number[] = []
  const beganAt = performance.now() + Math.random() * cycleMs
  while (took.length < times) {
    // One that took longer than a cycle begins the next one at once.
    await sleep(Math.max(0, beganAt + took.length * cycleMs - performance.now()))
    client.detach()
    await sleep(cycleMs / 2)
    const { promise, resolve } = Promise.withResolvers<void>()
    receiver.arrived = resolve
    const requestedAt = performance.now()
    // One that is turned away goes on trying by itself: the time counts until there is an event.
    const attaching = isAnew ? client.attach(address, { abrupt: true }) : client.attach()
    await attaching.catch(() => {})
    await promise
    took.push(performance.now() - requestedAt)
  }
  return took
}

answer(calls)
