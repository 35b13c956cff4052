// A client without an overlay and without a clock of its own: what its one sender publishes goes straight into the
// queues of its receivers. Source, locator, queues and packing are those that ship; only time is not real.
import { BlockWriter } from '../../buffers/block.ts'
import { Budget } from '../../buffers/budget.ts'
import { BodyWriter, type Schema } from '../../buffers/codec.ts'
import { LocalBuffer } from '../../buffers/local-buffer.ts'
import type { Declaration } from '../../endpoints/attributes.ts'
import type { SubscribeOptions } from '../../endpoints/client.ts'
import { Subscription } from '../../endpoints/subscription.ts'
import type { Client } from '../../index.ts'
import { seeded } from '../../policies/chance.ts'
import type { Attributes } from '../../policies/event.ts'
import { parsePolicy } from '../../policies/xml.ts'

const EPOCH = 1

export class VirtualClient {
  readonly #now: () => number
  readonly #buffer: LocalBuffer
  readonly #subscriptions: Subscription[] = []

  constructor(now: () => number) {
    this.#now = now
    this.#buffer = new LocalBuffer({
      buffer: 'RB',
      budget: new Budget(Number.POSITIVE_INFINITY),
      now,
      random: seeded(3),
    })
  }

  /** As those who have a client know it. */
  get client(): Client {
    return this as unknown as Client
  }

  sender(name: string, declared: Declaration) {
    const schema: Schema = { tags: Object.keys(declared) }
    const bodies = new BodyWriter()
    const writer = new BlockWriter()
    let seq = 0
    const publish = (event: Attributes) => {
      const run = writer.write(schema, EPOCH, ++seq, this.#now(), bodies.encode(schema, event))
      this.#buffer.enqueue(name, run)
      for (const one of this.#subscriptions) one.arrived()
      return 0
    }
    return { id: name, name, opened: Promise.resolve(), publish, close: async () => {} }
  }

  subscribe(sender: string, { policy, queue, packed }: SubscribeOptions): Subscription {
    const compiled = parsePolicy(policy as string)
    const bounds = { items: 10_000, bytes: 8_388_608, ...queue }
    const now = this.#now
    const told = (_queue: unknown, level: number, before: number, after: number, passes: Passes) =>
      packed?.({ level: level === 0 ? 'worst-case' : level, before, after, time: now(), passes })
    const own = this.#buffer.subscribe(sender, 'locator', compiled, bounds, told)
    const unsubscribe = () => void this.#buffer.unsubscribe(sender, 'locator')
    const subscription = new Subscription(sender, 'locator', compiled, own, unsubscribe)
    subscription.begins({ epoch: EPOCH, seq: 1 })
    this.#subscriptions.push(subscription)
    return subscription
  }
}

type Passes = Parameters<NonNullable<SubscribeOptions['packed']>>[0]['passes']
