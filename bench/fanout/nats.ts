// NATS with its own client, used as fast as it goes: nothing is awaited for an event, receivers have callbacks.
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@nats-io/transport-node'
import { opaque, type Payload, type Publisher, type Reading, reading, type System } from './system.ts'

const SUBJECT = 'fanout'
/** Events after which one lets the server catch up; it drops clients for which 64 MiB pile up. */
const EVENTS_PER_FLUSH = 4_096

/** Starts so many servers that know each other, without encryption. */
export async function serve(count: number): Promise<{ addresses: string[]; processes: ChildProcess[] }> {
  const addresses: string[] = []
  const processes: ChildProcess[] = []
  let routes: string[] = []
  for (let i = 0; i < count; i++) {
    const [port, clusterPort] = [await freePort(), await freePort()]
    const cluster =
      count === 1 ? [] : ['--cluster_name', 'fanout', '--cluster', `nats://127.0.0.1:${clusterPort}`]
    processes.push(
      spawn('nats-server', ['-a', '127.0.0.1', '-p', `${port}`, ...cluster, ...routes], { stdio: 'ignore' }),
    )
    if (i === 0 && count > 1) routes = ['--routes', `nats://127.0.0.1:${clusterPort}`]
    addresses.push(`127.0.0.1:${port}`)
  }
  // Clusters gossip for a moment.
  await sleep(count === 1 ? 300 : 1_500)
  return { addresses, processes }
}

export const nats: System = {
  async publisher(address: string, payload: Payload): Promise<Publisher> {
    const client = await connect({ servers: address })
    let events = 0
    const publish = (at: number) => {
      client.publish(SUBJECT, payload === 'opaque' ? opaque(at) : JSON.stringify(reading(at)))
      return ++events % EVENTS_PER_FLUSH !== 0
    }
    return { stream: SUBJECT, publish, room: () => client.flush(), flush: () => client.flush() }
  },

  async receiver(address, stream, payload, taker) {
    const client = await connect({ servers: address })
    client.subscribe(stream, {
      callback:
        payload === 'opaque'
          ? (_, { data }) => taker.opaque(data)
          : (_, message) => taker.typed(message.json<Reading>()),
    })
    await client.flush()
    return { lost: 0 }
  },
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
