// Everything on one machine: an overlay of three nodes, the source at one of them, the locator at another, and whoever
// wants locations at the third.
import { setTimeout as timer } from 'node:timers/promises'
import { type Client, connect, createNode, type EventOf, type Node, type Subscription } from '../../index.ts'
import type { AccessPoints } from './access-points.ts'
import type { locationAttributes } from './events.ts'
import { type Locator, type LocatorOptions, startLocator } from './locator.ts'
import { type Source, startSource } from './source.ts'

const NODES = 3
/** By then the nodes have met; before, roots still move, and receivers would see gaps. */
const MEET_MS = 2_000

export interface WorldOptions extends LocatorOptions {
  readonly aps: AccessPoints
  /** Ends the start. */
  readonly signal: AbortSignal
}

export interface World {
  readonly nodes: readonly Node[]
  readonly aps: AccessPoints
  readonly source: Source
  readonly locator: Locator
  /** A client at the third node, for whatever listens. */
  readonly audience: Client
  /** Closes what there is, in the order in which events go. */
  close(): Promise<void>
}

/** Resolves when the locator is subscribed to the source, which does not listen yet. Rejects when the signal aborts. */
export async function startWorld({ aps, signal, ...options }: WorldOptions): Promise<World> {
  const nodes: Node[] = []
  const clients: Client[] = []
  try {
    // Without the signal, which would close them before what they have is delivered.
    for (let i = 0; i < NODES && !signal.aborted; i++)
      nodes.push(await createNode({ join: nodes.slice(0, 1).flatMap(addressesOf) }))
    await timer(MEET_MS, undefined, { signal })
    for (const node of nodes) clients.push(await connect(addressesOf(node)))
    const [atSource, atLocator, audience] = clients as [Client, Client, Client]
    const source = await startSource(atSource)
    const locator = await startLocator(atLocator, source.sender.id, { ...options, aps })
    signal.throwIfAborted()
    const close = async () => {
      await Promise.all([source.close(), locator.close()])
      await closeAll(clients, nodes)
    }
    return { nodes, aps, source, locator, audience, close }
  } catch (error) {
    await closeAll(clients, nodes)
    throw error
  }
}

/** The locations, as anyone else of the overlay gets them. */
export function watchLocations({
  audience,
  locator,
}: World): Subscription<EventOf<typeof locationAttributes>> {
  return audience.subscribe<EventOf<typeof locationAttributes>>(locator.sender.id)
}

async function closeAll(clients: readonly Client[], nodes: readonly Node[]): Promise<void> {
  await Promise.all(clients.map((client) => client.close()))
  await Promise.all(nodes.map((node) => node.close()))
}

function addressesOf({ addresses }: Node): string[] {
  return [...addresses]
}
