// The control plane on gossipsub: few topics, small messages, JSON. A message speaks for the node that signed it.
import { type GossipSub, TopicValidatorResult } from '@libp2p/gossipsub'
import type { PeerId } from '@libp2p/interface'
import type { TransportCounters, TransportLimits } from './limits.ts'

export const TOPICS = { members: 'spillway/members/1', senders: 'spillway/senders/1' } as const

export type Topic = (typeof TOPICS)[keyof typeof TOPICS]

export class Gossip {
  readonly #pubsub: GossipSub
  readonly #limits: TransportLimits
  readonly #counters: TransportCounters

  constructor(pubsub: GossipSub, limits: TransportLimits, counters: TransportCounters) {
    this.#pubsub = pubsub
    this.#limits = limits
    this.#counters = counters
  }

  /** What `parse` does not accept is counted, and not passed on to others. Only after libp2p has started. */
  subscribe<T>(
    topic: Topic,
    parse: (json: unknown) => T | undefined,
    heard: (from: PeerId, message: T) => void,
  ): void {
    this.#pubsub.topicValidators.set(topic, (_, message) => {
      if (message.type === 'signed' && this.#decode(message.data, parse) !== undefined) {
        return TopicValidatorResult.Accept
      }
      this.#counters.malformedGossip++
      return TopicValidatorResult.Reject
    })
    this.#pubsub.addEventListener('message', ({ detail }) => {
      if (detail.topic !== topic || detail.type !== 'signed') return
      const message = this.#decode(detail.data, parse)
      if (message !== undefined) heard(detail.from, message)
    })
    this.#pubsub.subscribe(topic)
  }

  /** Loss is nobody's trouble: everything is announced again. */
  async publish(topic: Topic, data: Uint8Array): Promise<void> {
    await this.#pubsub.publish(topic, data).catch(() => {})
  }

  /** Whether gossipsub has a stream to a peer; its type does not say so. */
  reaches(peer: PeerId): boolean {
    const { streamsOutbound } = this.#pubsub as GossipSub & { streamsOutbound: ReadonlyMap<string, unknown> }
    return streamsOutbound.has(peer.toString())
  }

  #decode<T>(data: Uint8Array, parse: (json: unknown) => T | undefined): T | undefined {
    if (data.length > this.#limits.gossipBytes) return undefined
    try {
      return parse(JSON.parse(new TextDecoder().decode(data)))
    } catch {
      return undefined
    }
  }
}

/** What can be announced to hold at most, so that nobody's entry stays for ever. */
const MAX_FOR_MS = 3 * 3_600_000

export function isDuration(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_FOR_MS
}
