// libp2p in a page of a browser: WebSockets and noise, for clients only. A browser has no TCP, and no hand on its TLS.
import { noise } from '@chainsafe/libp2p-noise'
import { webSockets } from '@libp2p/websockets'
import { createLibp2p } from 'libp2p'
import type { Core } from '../surroundings.ts'
import { clientConfiguration } from './client-configuration.ts'
import {
  type Opened,
  type Parts,
  startTransport,
  type Transport,
  type TransportOptions,
} from './transport.ts'

export function createTransport<C extends Core>(options: TransportOptions<C>): Promise<Transport<C>> {
  return startTransport(options, open)
}

async function open({ configuration }: Parts): Promise<Opened> {
  // In browsers libp2p dials neither private addresses nor ws:// unless told; noise encrypts either way.
  const gater = { ...configuration.gater, denyDialMultiaddr: () => false }
  const connecting = { transports: [webSockets()], connectionEncrypters: [noise()] }
  return { libp2p: await createLibp2p(clientConfiguration({ ...configuration, gater }, connecting)) }
}
