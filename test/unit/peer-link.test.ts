import { describe, expect, it } from 'vitest'
import type { ControlMessage } from '../../overlay/control.ts'
import { PeerLink } from '../../overlay/peer-link.ts'
import type { Peer } from '../../overlay/surroundings.ts'
import { decodeControl } from '../../overlay/wire/control-frame.ts'
import type { DataPart } from '../../overlay/wire/data-frame.ts'
import { controlLimits } from '../../overlay/wire/limits.ts'
import { idOf, plainRun, runOf } from './wire-frames.ts'

const peer: Peer = { id: idOf(1), kind: 'node', key: new Uint8Array(34) }

function linked() {
  const told: ControlMessage[] = []
  const link = new PeerLink(
    peer.id,
    {
      self: peer,
      now: () => 0,
      random: () => 0,
      after: () => ({ cancel() {} }),
      send: (_peer, stream, frame) => stream === 'control' && told.push(decodeControl(frame.subarray())),
      dial() {},
      hangUp() {},
      closest: () => [],
      forget() {},
    },
    () => {},
  )
  return { link, told }
}

describe('a link to a peer', () => {
  it('tells after a break how far it got in each part, by the last item that has a number', () => {
    const { link, told } = linked()
    link.connected(peer)
    const { block } = plainRun(9, 1)
    const marker = { kind: 'marker', epoch: 1, highest: 20, end: false } as const
    const part = { toward: 'SR', sender: idOf(2), rid: undefined } as const
    const parts: DataPart[] = [
      { ...part, items: [runOf(block, 0, 2), marker, runOf(block, 2, 5), marker] },
      { ...part, rid: idOf(3), items: [runOf(block, 0, 1)] },
      { ...part, rid: idOf(4), items: [marker] },
      { ...part, items: [runOf(block, 5, 9)] },
    ]
    link.took({ number: 1, parts })
    link.disconnected()
    told.length = 0
    link.connected(peer)
    const cursor = { toward: 'SR', sender: idOf(2), epoch: 1 }
    expect(told).toEqual([
      {
        kind: 'resume',
        last: true,
        cursors: [
          { ...cursor, rid: idOf(3), seq: 2 },
          { ...cursor, seq: 10 },
        ],
      },
    ])
  })

  it('does not listen to a peer that tells of more parts than anybody remembers', () => {
    const { link } = linked()
    link.connected(peer)
    const tell = (from: number, to: number) => {
      const sender = (i: number) => i.toString(16).padStart(64, '0')
      const cursors = Array.from({ length: to - from }, (_, i) => {
        return { toward: 'SP', sender: sender(from + i), epoch: 1, seq: 1 } as const
      })
      link.resumed(cursors, false)
    }
    tell(0, controlLimits.resumeCursors)
    // What it has told already counts once.
    tell(0, controlLimits.resumeCursors)
    expect(() => tell(controlLimits.resumeCursors, controlLimits.resumeCursors + 1)).toThrow(
      'more than 16384 parts',
    )
  })
})
