// Everything at the edge to libp2p that can grow, or that a stranger can make us wait for, has a limit here.

export interface TransportLimits {
  /** A longer frame closes the peer's streams. The core's frames are a quarter of a window of at most 1 MiB. */
  readonly frameBytes: number
  /** When more than this waits for a peer, more than the core's largest window, the peer has to go on reading. */
  readonly unsentBytes: number
  /** While so much waits, a peer that takes nothing for so long is disconnected. */
  readonly stalledMs: number
  /**
   * What may wait for a node in one stream; of more, it is disconnected. The largest bursts are control messages: 4,096
   * subscriptions of a client that attaches, with policies of 16 KB, or some 10,000 refreshed by a node at once.
   */
  readonly burstBytes: number
  /** The same for a client, a stranger: the list of 10,000 senders. */
  readonly clientBurstBytes: number
  /** A connection end costs 200 to 300 KB, so this is about 300 MB. */
  readonly connections: number
  /** Two from a simultaneous dial, and as many dead ones that nobody has noticed yet. */
  readonly connectionsPerPeer: number
  /** One host may open so many a second; libp2p's default of 5 refuses most of twenty nodes behind one address. */
  readonly connectionsPerSecondPerHost: number
  /** More than one host can keep pending: 50 a second times 5 seconds. */
  readonly pendingConnections: number
  /**
   * Within this time an inbound connection has to be encrypted; a silent socket holds a place as long. A handshake
   * is 15 ms of CPU at each end: with 2 s, when hundreds come at once, all time goes into those that come too late.
   */
  readonly inboundUpgradeMs: number
  /** Within this time a dial has to have come to two greeted streams, all addresses and tries together. */
  readonly dialMs: number
  /** One address of several; a wrong pre-shared key shows only by this time passing. */
  readonly addressDialMs: number
  /** Enough to step around some dead addresses, few enough for each handshake to come to its end. */
  readonly parallelDials: number
  /** Within this time a node that is measured has to be dialled and to answer; one that takes longer is no better one. */
  readonly measureMs: number
  /** How often a dial starts again because its connection went away under it. */
  readonly dialTries: number
  /** How long a peer that is hung up may take what was still sent to it. */
  readonly closeMs: number
  /** An inbound stream has to be greeted, and to get its twin, within this time. */
  readonly greetingMs: number
  /** A connection to a peer that is no node and has no session is closed when it is so old. */
  readonly idleConnectionMs: number
  /** A second connection to the same peer is closed when it is so old: whatever was being opened on it stands. */
  readonly duplicateConnectionMs: number
  /** Nodes one knows of; announcements of more are ignored. */
  readonly knownNodes: number
  /** Senders in the directory; announcements of more are ignored. */
  readonly knownSenders: number
  /** A message of the control plane: gossip sends 5 to 8 copies of each. */
  readonly gossipBytes: number
  /** Every node announces itself so often, or less often in a large overlay. */
  readonly announceMs: number
  /** In a large overlay all nodes together announce themselves one after the other, so far apart: 10 a second cost 2.5 % CPU. */
  readonly announceGapMs: number
  /** How long a node that leaves lets its goodbye travel before it closes its connections. */
  readonly goodbyeMs: number
  /** How often each sender is announced, as long as they are few. */
  readonly directoryMs: number
  /** How many announcements of senders a node makes in one second. */
  readonly directoryMessagesPerSecond: number
  /** Pause before joining again that failed, doubled up to `rejoinMs`. */
  readonly joinRetryMs: number
  /** How often the join addresses are looked at again, which is what heals a partition. */
  readonly rejoinMs: number
}

const MIB = 1024 * 1024

export const DEFAULT_LIMITS: TransportLimits = {
  frameBytes: MIB,
  unsentBytes: 2 * MIB,
  stalledMs: 5_000,
  burstBytes: 64 * MIB,
  clientBurstBytes: 8 * MIB,
  connections: 1024,
  connectionsPerPeer: 4,
  connectionsPerSecondPerHost: 50,
  pendingConnections: 256,
  inboundUpgradeMs: 5_000,
  dialMs: 10_000,
  addressDialMs: 5_000,
  parallelDials: 32,
  measureMs: 5_000,
  dialTries: 3,
  closeMs: 1_000,
  greetingMs: 5_000,
  idleConnectionMs: 10_000,
  duplicateConnectionMs: 1_000,
  knownNodes: 4_096,
  knownSenders: 10_000,
  gossipBytes: 1_024,
  announceMs: 2_000,
  announceGapMs: 100,
  goodbyeMs: 100,
  directoryMs: 5_000,
  directoryMessagesPerSecond: 4,
  joinRetryMs: 250,
  rejoinMs: 15_000,
}

/** What the transport counted since it started. */
export interface TransportCounters {
  /** Streams closed for a frame that was too long or malformed. */
  malformedFrames: number
  /** Peers disconnected because they did not read. */
  overfullPeers: number
  failedDials: number
  /** Peers that are not on the allow-list. */
  refusedPeers: number
  /** Streams that came alone, too late, or for a tie that was already settled. */
  strayStreams: number
  closedDuplicates: number
  closedIdle: number
  /** Gossip that was too long or malformed. */
  malformedGossip: number
}

export function noCounts(): TransportCounters {
  return {
    malformedFrames: 0,
    overfullPeers: 0,
    failedDials: 0,
    refusedPeers: 0,
    strayStreams: 0,
    closedDuplicates: 0,
    closedIdle: 0,
    malformedGossip: 0,
  }
}
