// The clients of a node as it sees them: who is there, and who is sent on.
import { describe, expect, it } from 'vitest'
import { type ClientState, Clients } from '../../overlay/clients.ts'
import type { ControlMessage, NodeInfo } from '../../overlay/control.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'
import { controlLimits } from '../../overlay/wire/limits.ts'
import { idOf } from './wire-frames.ts'

type Others = Extract<ControlMessage, { kind: 'others' }>

/** Clients of a node that has heard of these nodes, and what they are told. */
function clientsOf(max: number, members: readonly NodeInfo[] = [node(1, 0.1)]) {
  const told: [string, Others][] = []
  const changes: [string, ClientState][] = []
  const host = {
    load: 0.5,
    members: () => members,
    tell: (client: string, message: ControlMessage) => {
      told.push([client, decodeControl(encodeControl(message)) as Others])
    },
    random: () => 0,
    changed: (client: string, state: ClientState) => changes.push([client, state]),
  }
  const clients = new Clients(host, max)
  /** Who is told to go since it was asked last. */
  const sentOn = () => {
    const moved = told.filter(([, { move }]) => move === true).map(([client]) => client)
    told.length = 0
    return moved
  }
  return { clients, told, changes, sentOn }
}

function node(byte: number, load: number, addresses: readonly string[] = ['/ip4/127.0.0.1/tcp/1']): NodeInfo {
  return { id: idOf(byte), addresses, load }
}

describe('the clients of a node', () => {
  it('are told of other nodes when they attach, those with the most room first', () => {
    const { clients, told } = clientsOf(2, [node(1, 0.7), node(2, 0.1), node(3, 0.4)])
    clients.become('c', 'attached')
    expect(told.map(([client]) => client)).toEqual(['c'])
    const [, { nodes, load, move }] = told[0]!
    expect(nodes.map(({ id }) => id)).toEqual([idOf(2), idOf(3), idOf(1)])
    expect([load, move]).toEqual([0.5, undefined])
  })

  it('change their states once, and are nobody before they attach and after they depart', () => {
    const { clients, changes } = clientsOf(2)
    clients.become('c', 'detached')
    clients.become('c', 'attached')
    clients.become('c', 'attached')
    clients.become('c', 'detached')
    expect([clients.size, clients.fill]).toEqual([1, 0])
    clients.become('c', 'departed')
    clients.become('c', 'departed')
    expect(clients.size).toBe(0)
    expect(changes.map(([, state]) => state)).toEqual(['attached', 'detached', 'departed'])
  })

  it('are sent on when they are too many, those that came last', () => {
    const { clients, sentOn } = clientsOf(2)
    for (const client of ['a', 'b', 'c', 'd']) clients.become(client, 'attached')
    expect(sentOn()).toEqual(['c', 'd'])
    clients.refresh()
    expect(sentOn()).toEqual(['d', 'c'])
    clients.become('a', 'departed')
    clients.refresh()
    expect(sentOn()).toEqual(['d'])
    clients.become('b', 'detached')
    clients.refresh()
    expect(sentOn()).toEqual([])
  })

  it('stay where they are too many while nobody else has room', () => {
    const { clients, sentOn } = clientsOf(1, [node(1, 0.9)])
    for (const client of ['a', 'b']) clients.become(client, 'attached')
    clients.refresh()
    expect(sentOn()).toEqual([])
  })

  it('are all sent on when the node leaves, wherever there is a node', () => {
    const { clients, sentOn } = clientsOf(5, [node(1, 0.9)])
    for (const client of ['a', 'b']) clients.become(client, 'attached')
    clients.leave()
    expect(sentOn()).toEqual(['b', 'a'])
    clients.become('late', 'attached')
    expect(sentOn()).toEqual(['late'])
  })

  it('that stay are told now and then where else there is room', () => {
    const { clients, told } = clientsOf(5)
    clients.become('a', 'attached')
    const counts = Array.from({ length: 12 }, () => {
      told.length = 0
      clients.refresh()
      return told.length
    })
    expect(counts).toEqual([1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
  })

  it('are told no more addresses of a node than a message may have', () => {
    const long = `/dns4/${'x'.repeat(controlLimits.address)}/tcp/1`
    const many = Array.from({ length: 2 * controlLimits.addresses }, (_, i) => `/ip4/10.0.0.${i}/tcp/1`)
    const { clients, told } = clientsOf(5, [node(1, 0, [long, ...many])])
    clients.become('a', 'attached')
    expect(told[0]![1].nodes[0]!.addresses).toEqual(many.slice(0, controlLimits.addresses))
  })

  it('find a node full that takes none', () => {
    expect(clientsOf(0).clients.fill).toBe(1)
  })
})
