// Spillway as everyone has it: links encrypted with TLS, events numbered, queued, acknowledged and accounted for.
import { connect } from '../../endpoints/machine.ts'
import { createNode } from '../../endpoints/node.ts'
import { opaque, type Payload, type Publisher, type Reading, reading, type System } from './system.ts'

/**
 * NATS keeps up to 64 MiB for each client before it gives the client up; as much here, so that nothing is lost in a
 * run. What many queues have is there once, but counts for each.
 */
const QUEUE = { items: 2_000_000, bytes: 64 * 1_048_576 }
const BUDGET_BYTES = 256 * QUEUE.bytes
/** The sender's queue says how full it is: beyond this share one waits. */
const FULL = 0.8

/** Serves as a node until the process ends; returns its address. */
export async function serve(join: readonly string[]): Promise<string> {
  const node = await createNode({ join, queue: QUEUE, budgetBytes: BUDGET_BYTES })
  return node.addresses[0]!
}

/** Of both payloads. */
type Shape = { readonly bytes: Uint8Array } & { readonly [T in keyof Reading]: Reading[T] }

export const spillway: System = {
  async publisher(address: string, payload: Payload): Promise<Publisher> {
    const client = await connect(address)
    const room = () => client.relieved()
    const flush = room
    if (payload === 'opaque') {
      const sender = client.sender('fanout', { bytes: 'bytes' })
      await sender.opened
      return { stream: sender.id, publish: (at) => sender.publish({ bytes: opaque(at) }) < FULL, room, flush }
    }
    const sender = client.sender('fanout', {
      at: 'number',
      value: 'number',
      device: 'string',
      unit: 'string',
      ward: 'string',
      alarm: 'boolean',
    })
    await sender.opened
    return { stream: sender.id, publish: (at) => sender.publish(reading(at)) < FULL, room, flush }
  },

  async receiver(address, stream, payload, taker) {
    const client = await connect(address)
    const subscription = client.subscribe<Shape>(stream, { queue: QUEUE })
    subscription.handle({
      event: payload === 'opaque' ? ({ bytes }) => taker.opaque(bytes) : (event) => taker.typed(event),
    })
    await subscription.subscribed
    return {
      get lost() {
        return subscription.receipt.reduce((sum, { digested, gaps }) => sum + digested + gaps, 0)
      },
    }
  },
}
