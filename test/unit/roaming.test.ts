// When a client measures the nodes it knows, and moves by itself.
import { describe, expect, it } from 'vitest'
import type { OtherNode } from '../../mobility/places.ts'
import { Roaming } from '../../mobility/roaming.ts'

const MINUTE_MS = 60_000

/** A client whose way to each node is given, and a clock that jumps to the next timer. */
class Scene {
  readonly roundTrips = new Map<string, number>()
  readonly measured: string[] = []
  readonly moves: string[] = []
  own: string | undefined = 'own'
  canMove = true
  now = 0
  readonly roaming: Roaming
  #due: { at: number; call: () => void } | undefined

  constructor(roundTrips: Record<string, number>, loads: Record<string, number> = {}) {
    for (const [node, ms] of Object.entries(roundTrips)) this.roundTrips.set(node, ms)
    const others = Object.keys(roundTrips).map((id) => ({ id, addresses: [], load: loads[id] ?? 0 }))
    let turn = 0
    this.roaming = new Roaming({
      random: () => (turn++ % 10) / 10,
      after: (delayMs, call) => {
        this.#due = { at: this.now + delayMs, call }
      },
      roundTripMs: async (node) => this.#measure(node),
      move: async ({ id }) => {
        if (this.canMove) {
          this.moves.push(id)
          this.own = id
        }
        return this.canMove
      },
    })
    this.roaming.told(
      others.filter(({ id }) => id !== 'own'),
      loads.own ?? 0,
    )
    this.roaming.start()
  }

  async until(ms: number): Promise<void> {
    while (this.#due !== undefined && this.#due.at <= ms) {
      const { at, call } = this.#due
      this.#due = undefined
      this.now = at
      call()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #measure(node: OtherNode | undefined): number | undefined {
    if (node !== undefined) this.measured.push(node.id)
    const id = node?.id ?? this.own
    return id === undefined ? undefined : this.roundTrips.get(id)
  }
}

describe('a client', () => {
  it('moves within a minute to a node that is clearly nearer, and stays there', async () => {
    const scene = new Scene({ own: 100, near: 5 })
    await scene.until(MINUTE_MS)
    expect(scene.moves).toEqual(['near'])
    await scene.until(24 * 60 * MINUTE_MS)
    expect(scene.moves).toEqual(['near'])
  })

  it('measures nobody else while its own node is near and not full', async () => {
    const scene = new Scene({ own: 10, near: 1 })
    await scene.until(60 * MINUTE_MS)
    expect(scene.measured).toEqual([])
  })

  it('leaves a node that is nearly full for one with room', async () => {
    const scene = new Scene({ own: 2, full: 1, roomy: 3 }, { own: 0.95, full: 0.8, roomy: 0.3 })
    await scene.until(MINUTE_MS)
    expect(scene.moves).toEqual(['roomy'])
  })

  it('measures three nodes at a time, and all of them after a while', async () => {
    const ways = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`n${i}`, 90]))
    const scene = new Scene({ own: 100, ...ways })
    await scene.until(MINUTE_MS)
    expect(scene.measured).toHaveLength(3)
    await scene.until(24 * 60 * MINUTE_MS)
    expect(new Set(scene.measured).size).toBe(8)
    expect(scene.moves).toEqual([])
  })

  it('moves at most once in a quarter of an hour, however the ways change', async () => {
    const scene = new Scene({ own: 100, near: 5 })
    const { moves } = scene
    for (let at = 5_000; at <= 60 * MINUTE_MS; at += 5_000) {
      // Where it is becomes far at once, and the other near.
      for (const node of scene.roundTrips.keys()) scene.roundTrips.set(node, node === scene.own ? 100 : 5)
      scene.roaming.told(
        [...scene.roundTrips.keys()]
          .filter((id) => id !== scene.own)
          .map((id) => ({ id, addresses: [], load: 0 })),
        0,
      )
      await scene.until(at)
    }
    expect(moves.length).toBeGreaterThan(1)
    expect(moves.length).toBeLessThanOrEqual(4)
  })

  it('that is attached nowhere measures nobody', async () => {
    const scene = new Scene({ own: 100, near: 5 })
    scene.own = undefined
    await scene.until(60 * MINUTE_MS)
    expect(scene.measured).toEqual([])
  })

  it('that cannot move tries again later', async () => {
    const scene = new Scene({ own: 100, near: 5 })
    scene.canMove = false
    await scene.until(MINUTE_MS)
    expect(scene.moves).toEqual([])
    scene.canMove = true
    await scene.until(30 * MINUTE_MS)
    expect(scene.moves).toEqual(['near'])
  })

  it('that is closed moves nowhere', async () => {
    const scene = new Scene({ own: 100, near: 5 })
    scene.roaming.stop()
    await scene.until(60 * MINUTE_MS)
    expect(scene.moves).toEqual([])
  })
})
