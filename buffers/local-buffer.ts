// The local buffer RB of a client (PACK section 4): by sender, then by receiver, each with a queue of its own.
import type { Policy } from '../policies/policy.ts'
import type { Run } from './block.ts'
import type { Item, Marker } from './item.ts'
import { PrivateQueue } from './private-queue.ts'
import type { QueueBounds, QueueSurroundings } from './queue.ts'

export class LocalBuffer {
  readonly #surroundings: QueueSurroundings
  readonly #entries = new Map<string, Map<string, PrivateQueue>>()

  constructor(surroundings: QueueSurroundings & { readonly buffer: 'RB' }) {
    this.#surroundings = surroundings
  }

  /** How many senders it has anything of. */
  get size(): number {
    return this.#entries.size
  }

  /** Adds a receiver; its queue, from which it takes and acknowledges at once. `packed` is told of its packs. */
  subscribe(
    sender: string,
    receiver: string,
    policy: Policy,
    bounds: QueueBounds,
    packed?: QueueSurroundings['packed'],
  ): PrivateQueue {
    this.unsubscribe(sender, receiver)
    const surroundings = packed === undefined ? this.#surroundings : withPacked(this.#surroundings, packed)
    const queue = new PrivateQueue(policy, bounds, surroundings)
    const entry = this.#entries.get(sender)
    if (entry === undefined) this.#entries.set(sender, new Map([[receiver, queue]]))
    else entry.set(receiver, queue)
    return queue
  }

  unsubscribe(sender: string, receiver: string): boolean {
    const entry = this.#entries.get(sender)
    const queue = entry?.get(receiver)
    if (entry === undefined || queue === undefined) return false
    queue.close()
    entry.delete(receiver)
    if (entry.size === 0) this.#entries.delete(sender)
    return true
  }

  /** Puts events for all receivers of this sender. */
  enqueue(sender: string, run: Run): void {
    for (const queue of this.#queuesOf(sender)) queue.enqueueRun(run)
    this.#surroundings.budget.relieve()
  }

  /** Puts items for one receiver, or for all that have the policy of this hash. False when nobody wants them. */
  enqueueFor(sender: string, rid: string, items: readonly Item[]): boolean {
    let wanted = false
    for (const [receiver, queue] of this.#entries.get(sender) ?? []) {
      if (receiver !== rid && queue.policy.hash !== rid) continue
      queue.enqueue(items)
      wanted = true
    }
    this.#surroundings.budget.relieve()
    return wanted
  }

  mark(sender: string, marker: Marker): void {
    for (const queue of this.#queuesOf(sender)) queue.enqueue([marker])
  }

  #queuesOf(sender: string): Iterable<PrivateQueue> {
    return this.#entries.get(sender)?.values() ?? []
  }
}

function withPacked(
  surroundings: QueueSurroundings,
  packed: NonNullable<QueueSurroundings['packed']>,
): QueueSurroundings {
  const { buffer, budget } = surroundings
  return {
    buffer,
    budget,
    now: () => surroundings.now(),
    random: () => surroundings.random(),
    pressure: (queue, high) => surroundings.pressure?.(queue, high),
    packed,
  }
}
