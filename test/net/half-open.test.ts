// A connection that is open at both ends, and nothing passes: it is replaced.
import { expect, test } from 'vitest'
import { bytes, client, node, text, until } from './recording-core.ts'
import { relayTo } from './relay.ts'

test('a peer that is hung up on for its silence is reached again by another connection', async () => {
  const serving = await node()
  const { relay, address } = await relayTo(serving.addresses[0]!)
  const guest = await client(serving, { join: [address] })
  await until(() => serving.core.peers.has(guest.id))
  relay.silence()
  guest.core.surroundings.hangUp(serving.id)
  guest.core.surroundings.dial(serving.id)
  await until(() => guest.core.events.length > 1)
  expect(guest.core.events.at(-1)).toBe(`connected ${serving.id}`)
  expect(relay.connections).toBe(2)
  guest.core.surroundings.send(serving.id, 'data', bytes('again'))
  await until(() => serving.core.frames.length === 1)
  expect(text(serving.core.frames[0]!.frame)).toBe('again')
})

test('a connection on which no stream can be opened in time is not used again', async () => {
  const serving = await node()
  const { relay, address } = await relayTo(serving.addresses[0]!)
  const guest = await client(serving, { join: [address], limits: { dialMs: 500 } })
  guest.core.surroundings.hangUp(serving.id)
  await until(() => serving.core.events.length === 2)
  relay.silence()
  guest.core.surroundings.dial(serving.id)
  await until(() => guest.core.events.length === 2)
  expect(guest.core.events[1]).toBe(`disconnected ${serving.id}`)
  guest.core.surroundings.dial(serving.id)
  await until(() => guest.core.events.length === 3)
  expect(guest.core.events[2]).toBe(`connected ${serving.id}`)
})

test('a peer that answers keeps its connection when it is hung up on', async () => {
  const serving = await node()
  const guest = await client(serving, { limits: { closeMs: 300 } })
  const [connection] = guest.libp2p.getConnections()
  guest.core.surroundings.hangUp(serving.id)
  await until(() => serving.core.events.length === 2)
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(connection!.status).toBe('open')
})
