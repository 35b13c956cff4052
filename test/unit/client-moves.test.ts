// A client that goes to another node keeps the one it has until the other is there.
import { describe, expect, it } from 'vitest'
import { ClientCore } from '../../overlay/client.ts'
import { idOfPeer } from '../../overlay/id.ts'
import type { Peer } from '../../overlay/surroundings.ts'

const peer = (key: number, kind: Peer['kind']): Peer => ({
  id: idOfPeer(Uint8Array.of(key)),
  kind,
  key: Uint8Array.of(key),
})
const [a, b, c] = [peer(1, 'node'), peer(2, 'node'), peer(3, 'node')] as const

class Scene {
  readonly dialled: string[] = []
  readonly hungUp: string[] = []
  readonly told: string[] = []
  readonly core = new ClientCore(
    {
      self: peer(9, 'client'),
      now: () => 0,
      random: () => 0,
      after: () => ({ cancel() {} }),
      send() {},
      dial: (id) => this.dialled.push(id),
      hangUp: (id) => this.hungUp.push(id),
      closest: () => [],
      forget() {},
    },
    {
      attached: (proxy) => this.told.push(`attached ${proxy}`),
      detached: (proxy) => this.told.push(`detached ${proxy}`),
    },
  )

  constructor() {
    this.core.connected(a)
    this.told.length = 0
  }
}

describe('a client that attaches to another node', () => {
  it('stays at its own until the other is there, and then lets go of it', () => {
    const { core, dialled, hungUp, told } = new Scene()
    core.attach(b.id)
    expect([dialled, hungUp, told]).toEqual([[b.id], [], []])
    expect([core.proxy, core.isAttached]).toEqual([a.id, true])
    core.connected(b)
    expect([hungUp, told]).toEqual([[a.id], [`attached ${b.id}`]])
    expect([core.proxy, core.isAttached]).toEqual([b.id, true])
  })

  it('stays at its own when the other cannot be reached, and is told nothing', () => {
    const { core, hungUp, told } = new Scene()
    core.attach(b.id)
    core.disconnected(b.id)
    expect([core.proxy, core.isAttached, hungUp, told]).toEqual([a.id, true, [], []])
    // Whoever comes now was not asked for.
    core.connected(b)
    expect([core.proxy, hungUp]).toEqual([a.id, [b.id]])
  })

  it('goes to the last one that it was told to go to', () => {
    const { core, hungUp } = new Scene()
    core.attach(b.id)
    core.attach(c.id)
    core.connected(b)
    expect([core.proxy, hungUp]).toEqual([a.id, [b.id]])
    core.connected(c)
    expect([core.proxy, hungUp]).toEqual([c.id, [b.id, a.id]])
  })

  it('stays after all when it is told so before the other is there', () => {
    const { core, hungUp } = new Scene()
    core.attach(b.id)
    core.attach(a.id)
    core.connected(b)
    expect([core.proxy, hungUp]).toEqual([a.id, [b.id]])
  })

  it('goes there also when its own is gone meanwhile', () => {
    const { core, told } = new Scene()
    core.attach(b.id)
    core.disconnected(a.id)
    core.connected(b)
    expect(told).toEqual([`detached ${a.id}`, `attached ${b.id}`])
  })

  it('that is detached stays so until the other is there', () => {
    const { core, told } = new Scene()
    core.detach()
    core.attach(b.id)
    expect(core.isAttached).toBe(false)
    core.connected(b)
    expect(told).toEqual([`detached ${a.id}`, `attached ${b.id}`])
  })

  it('that detaches before the other is there goes nowhere', () => {
    const { core, hungUp } = new Scene()
    core.attach(b.id)
    core.detach()
    core.connected(b)
    expect([core.isAttached, core.proxy, hungUp]).toEqual([false, a.id, [b.id]])
  })
})
