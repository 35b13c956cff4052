// How libp2p is set up for every client and node, whatever it runs on. Each unusual setting has its reason beside it.
import type { ConnectionGater } from '@libp2p/interface'
import { preSharedKey } from '@libp2p/pnet'
import { yamux } from '@libp2p/yamux'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Libp2pOptions } from 'libp2p'
import type { Key } from './key.ts'
import type { TransportLimits } from './limits.ts'

export interface Configuration {
  readonly key: Key
  readonly limits: TransportLimits
  readonly gater: ConnectionGater
  /** 32 bytes; who has not the same ones cannot connect. */
  readonly psk?: Uint8Array | undefined
}

/** What depends on where it runs: how to connect, and how to encrypt. */
export type Connecting = Pick<Libp2pOptions, 'transports' | 'connectionEncrypters'>

export function clientConfiguration(configuration: Configuration, connecting: Connecting): Libp2pOptions {
  const { key, limits, gater, psk } = configuration
  return {
    privateKey: key,
    start: false,
    ...connecting,
    streamMuxers: [yamux(YAMUX)],
    connectionGater: gater,
    // It aborts loaded links; the core has a heartbeat of its own.
    connectionMonitor: { enabled: false },
    connectionManager: {
      maxConnections: limits.connections,
      maxIncomingPendingConnections: limits.pendingConnections,
      inboundConnectionThreshold: limits.connectionsPerSecondPerHost,
      inboundUpgradeTimeout: limits.inboundUpgradeMs,
      inboundStreamProtocolNegotiationTimeout: limits.greetingMs,
      maxParallelDials: limits.parallelDials,
      dialTimeout: limits.dialMs,
      addressDialTimeout: limits.addressDialMs,
    },
    ...(psk === undefined ? {} : { connectionProtector: preSharedKey({ psk: swarmKey(psk) }) }),
  }
}

/** A window that cannot grow: with the default of 16 MiB it outgrows the read buffer, and the stream is reset. */
const YAMUX = { streamOptions: { maxStreamWindowSize: 256 * 1024 } }

function swarmKey(psk: Uint8Array): Uint8Array {
  if (psk.length !== 32) throw new Error(`a pre-shared key has 32 bytes, this one has ${psk.length}`)
  return utf8ToBytes(`/key/swarm/psk/1.0.0/\n/base16/\n${bytesToHex(psk)}`)
}
