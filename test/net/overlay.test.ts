// Several nodes over real libp2p on loopback: they find each other, forget and hear of each other again, and gossip.
import { describe, expect, test } from 'vitest'
import type { SenderInfo } from '../../overlay/control.ts'
import { compareDistance, type Id, idOfEndpoint } from '../../overlay/id.ts'
import { client, node, type RecordingTransport, until } from './recording-core.ts'

describe('five nodes', () => {
  test('that join by one of them find all others, the closest first', async () => {
    const nodes = await overlay(5)
    const ids = nodes.map(({ id }) => id)
    const key = 'c0ffee'.padEnd(64, '0')
    for (const { id, core } of nodes) {
      const others = ids.filter((other) => other !== id).sort((a, b) => compareDistance(key, a, b))
      await until(() => core.surroundings.closest(key, 20).length === 4)
      expect(core.surroundings.closest(key, 20)).toEqual(others)
      expect(core.surroundings.closest(key, 2)).toEqual(others.slice(0, 2))
    }
  })

  test('can dial everyone they have heard of', async () => {
    const nodes = await overlay(5)
    await until(() => nodes.every(knows(nodes)))
    for (const { core } of nodes) {
      for (const other of core.surroundings.closest(nodes[0]!.id, 20)) core.surroundings.dial(other)
    }
    await until(() => nodes.every(({ core }) => core.peers.size === 4))
    for (const { core } of nodes) expect(core.events.filter((event) => event.startsWith('dis'))).toEqual([])
  })

  test('forget one that is dead, and know it again when it is heard of again', async () => {
    const nodes = await overlay(3)
    await until(() => nodes.every(knows(nodes)))
    const [a, b] = nodes as [RecordingTransport, RecordingTransport]
    a.core.surroundings.forget(b.id)
    expect(a.core.surroundings.closest(b.id, 20)).not.toContain(b.id)
    await until(() => a.core.surroundings.closest(b.id, 20).includes(b.id))
  })

  test('know at once of one that stops', async () => {
    const nodes = await overlay(5)
    await until(() => nodes.every((transport) => transport.members().length === 5))
    const [last] = nodes.splice(4, 1)
    await last!.stop()
    await until(
      () => nodes.every(({ core }) => !core.surroundings.closest(last!.id, 20).includes(last!.id)),
      3_000,
    )
    await until(() => nodes.every((transport) => transport.members().length === 4), 3_000)
  })
})

describe('gossip', () => {
  test('tells every node who is there, where, and how loaded', async () => {
    const nodes = await overlay(5)
    await until(() => nodes.every((transport) => transport.members().length === 5))
    for (const transport of nodes) {
      const members = new Map(transport.members().map((member) => [member.id, member]))
      for (const [i, { id, addresses }] of nodes.entries()) {
        expect(members.get(id)!.load).toBe(i / 10)
        expect(addresses[0]).toContain(members.get(id)!.addresses[0])
      }
    }
  })

  test('drops a member that is silent for some announcements', async () => {
    const [a, b] = (await overlay(2, { announceMs: 200 })) as [RecordingTransport, RecordingTransport]
    await until(() => a.members().length === 2)
    // Nothing more is heard of it, and it does not say goodbye.
    ;(
      b.libp2p.services as { pubsub: { unsubscribe(topic: string): void; publish: unknown } }
    ).pubsub.publish = async () => {}
    await until(() => a.members().length === 1)
    expect(a.members().map(({ id }) => id)).toEqual([a.id])
  })

  test('tells every node of every sender, also those that join later, until it is retracted', async () => {
    const nodes = await overlay(4)
    const infos = Array.from({ length: 12 }, (_, i) => sender(nodes[i % 4]!.id, `sender ${i}`))
    for (const [i, info] of infos.entries()) nodes[i % 4]!.announce(info)
    const late = await node({ join: nodes[1]!.addresses })
    for (const transport of [...nodes, late]) {
      await until(() => transport.senders().length === infos.length)
      expect(sorted(transport.senders())).toEqual(sorted(infos))
    }
    nodes[0]!.retract(infos[0]!.sid)
    nodes[1]!.retract(infos[4]!.sid)
    await until(
      () => [...nodes, late].every((transport) => transport.senders().length === infos.length - 1),
      3_000,
    )
    expect(late.senders().map(({ sid }) => sid)).toContain(infos[4]!.sid)
  })

  test('cuts the tags of a sender that has too many for one message', async () => {
    const [a, b] = (await overlay(2)) as [RecordingTransport, RecordingTransport]
    const tags = Array.from({ length: 200 }, (_, i) => `temperature ${i}`)
    a.announce({ ...sender(a.id, 'many'), tags })
    await until(() => b.senders().length === 1)
    const told = b.senders()[0]!.tags
    expect(told.length).toBeGreaterThan(10)
    expect(told).toEqual(tags.slice(0, told.length))
  })

  test('is not for clients', async () => {
    const a = await node()
    const guest = await client(a)
    expect(guest.members()).toEqual([])
    expect(guest.senders()).toEqual([])
  })
})

/** The first one has nobody to join, the others join it. */
async function overlay(size: number, limits = {}): Promise<RecordingTransport[]> {
  const first = await node({ load: () => 0, limits })
  const others = Array.from({ length: size - 1 }, (_, i) =>
    node({ join: first.addresses, load: () => (i + 1) / 10, limits }),
  )
  const nodes = [first, ...(await Promise.all(others))]
  await Promise.all(nodes.map(({ joined }) => joined))
  return nodes
}

function knows(nodes: readonly RecordingTransport[]) {
  return ({ core }: RecordingTransport) =>
    core.surroundings.closest(nodes[0]!.id, 20).length === nodes.length - 1
}

function sender(owner: Id, name: string): SenderInfo {
  return {
    sid: idOfEndpoint(new TextEncoder().encode(owner), name),
    name,
    owner,
    tags: ['PulseRate', 'Patient'],
  }
}

function sorted(infos: readonly SenderInfo[]): SenderInfo[] {
  return infos.toSorted((a, b) => (a.sid < b.sid ? -1 : 1))
}
