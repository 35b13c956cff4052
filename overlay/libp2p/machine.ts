// libp2p on a machine, that is in Node: TCP, WebSockets and TLS, for clients and for nodes.
import { createLibp2p } from 'libp2p'
import type { Core } from '../surroundings.ts'
import { machineConfiguration, nodeConfiguration } from './configuration.ts'
import { NodeServing } from './node-serving.ts'
import {
  type Opened,
  type Parts,
  startTransport,
  type Transport,
  type TransportOptions,
} from './transport.ts'

export function createTransport<C extends Core>(options: TransportOptions<C>): Promise<Transport<C>> {
  return startTransport(options, options.kind === 'node' ? openNode : openClient)
}

async function openNode({ configuration, listen, admission, ...parts }: Parts): Promise<Opened> {
  const libp2p = await createLibp2p(nodeConfiguration(configuration, listen, admission))
  return { libp2p, serving: new NodeServing({ ...parts, libp2p }) }
}

async function openClient({ configuration }: Parts): Promise<Opened> {
  return { libp2p: await createLibp2p(machineConfiguration(configuration)) }
}
