// Joining an overlay by the addresses of some of its nodes, for as long as the node runs: until one of them answers,
// and then looking now and then whether the connection is still there, so that a partition heals.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Libp2p, PeerId } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import type { TransportLimits } from './limits.ts'

/** Runs until the signal. `joined` is told whenever a node answered. */
export async function join(
  libp2p: Libp2p,
  addresses: readonly string[],
  limits: TransportLimits,
  signal: AbortSignal,
  joined: (peer: PeerId) => void,
): Promise<void> {
  const answered = new Map<string, PeerId>()
  let pauseMs = limits.joinRetryMs
  while (!signal.aborted) {
    const reached = await Promise.all(
      addresses.map((address) => reach(libp2p, address, answered, limits, signal)),
    )
    const peers = reached.filter((peer) => peer !== undefined)
    for (const peer of peers) joined(peer)
    pauseMs = peers.length > 0 ? limits.rejoinMs : Math.min(2 * pauseMs, limits.rejoinMs)
    await sleep(pauseMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {})
  }
}

/** A node that is still connected is not dialled again. */
async function reach(
  libp2p: Libp2p,
  address: string,
  answered: Map<string, PeerId>,
  limits: TransportLimits,
  signal: AbortSignal,
): Promise<PeerId | undefined> {
  const before = answered.get(address)
  if (before !== undefined && libp2p.getConnections(before).length > 0) return before
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(limits.dialMs)])
    const { remotePeer } = await libp2p.dial(multiaddr(address), { signal: limited })
    answered.set(address, remotePeer)
    return remotePeer
  } catch {
    return undefined
  }
}
