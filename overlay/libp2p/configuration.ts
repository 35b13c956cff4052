// How libp2p is set up on a machine: TCP and WebSockets, TLS before noise (four times as fast on small frames; browsers
// need noise), and for nodes identify, kad-dht and gossipsub. Each unusual setting has its reason beside it.
import { noise } from '@chainsafe/libp2p-noise'
import { type GossipSub, type GossipSubComponents, gossipsub, StrictSign } from '@libp2p/gossipsub'
import { type Identify, identify } from '@libp2p/identify'
import { type KadDHT, type KadDHTComponents, kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { type Ping, ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { webSockets } from '@libp2p/websockets'
import { BlackHoleDatastore } from 'datastore-core/black-hole'
import type { Libp2pOptions } from 'libp2p'
import type { Admission } from './admission.ts'
import { type Configuration, clientConfiguration } from './client-configuration.ts'
import { TOPICS } from './gossip.ts'
import { socketTls } from './tls.ts'

export interface NodeServices extends Record<string, unknown> {
  readonly identify: Identify
  readonly ping: Ping
  readonly dht: KadDHT
  readonly pubsub: GossipSub
}

/** TCP and WebSockets, TLS and noise: everything but what only nodes do. */
export function machineConfiguration(configuration: Configuration): Libp2pOptions {
  return clientConfiguration(configuration, {
    transports: [tcp(), webSockets()],
    connectionEncrypters: [socketTls(), noise()],
  })
}

export function nodeConfiguration(
  configuration: Configuration,
  listen: readonly string[],
  admission: Admission,
): Libp2pOptions<NodeServices> {
  return {
    ...machineConfiguration(configuration),
    addresses: { listen: [...listen] },
    services: {
      identify: identify(),
      // kad-dht does not start without it.
      ping: ping(),
      dht: (components: KadDHTComponents) => dht(components, admission),
      pubsub: (components: GossipSubComponents) => pubsub(components, admission),
    },
  }
}

export const KAD_PROTOCOL = '/spillway/kad/1.0.0'

/** Nobody puts records into our DHT; strangers' end in a black hole, or they would fill the memory. */
function dht(components: KadDHTComponents, admission: Admission): KadDHT {
  const { peerId, privateKey, addressManager, peerStore, connectionManager, events, logger, ping } =
    components
  const registrar = admission.nodesOnly(components.registrar)
  const datastore = new BlackHoleDatastore()
  const init = { protocol: KAD_PROTOCOL, clientMode: false, peerInfoMapper: passthroughMapper }
  return kadDHT(init)({
    peerId,
    privateKey,
    addressManager,
    peerStore,
    connectionManager,
    events,
    logger,
    ping,
    registrar,
    datastore,
  }) as KadDHT
}

function pubsub(components: GossipSubComponents, admission: Admission): GossipSub {
  const { peerId, privateKey, peerStore, connectionManager, logger } = components
  const registrar = admission.nodesOnly(components.registrar)
  return gossipsub({
    // Dearer than unsigned by a factor of 2.5, but a node can speak for itself only.
    globalSignaturePolicy: StrictSign,
    allowedTopics: Object.values(TOPICS),
    floodPublish: false,
    fallbackToFloodsub: false,
    allowPublishToZeroTopicPeers: true,
    // More than ten peers on one address would be silenced, without an error.
    scoreParams: { IPColocationFactorWeight: 0 },
    maxInboundDataLength: GOSSIP_RPC_BYTES,
    maxOutboundBufferSize: GOSSIP_BUFFER_BYTES,
  })({ peerId, privateKey, peerStore, connectionManager, logger, registrar })
}

/** Some dozen messages of the control plane. */
const GOSSIP_RPC_BYTES = 64 * 1024
/** gossipsub has no back-pressure: a peer that does not read loses its gossip stream here. */
const GOSSIP_BUFFER_BYTES = 1024 * 1024
