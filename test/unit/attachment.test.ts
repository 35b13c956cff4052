// Where a client attaches: when it lost its node, when it is sent on, and when the application wishes something else.
import { describe, expect, it } from 'vitest'
import { Attachment } from '../../mobility/attachment.ts'
import type { Place } from '../../mobility/places.ts'

const other = (id: string, ...addresses: string[]) => ({ id, addresses, load: 0 })

/** An attachment whose timers fire when told, and the nodes that answer. */
class Scene {
  readonly tried: string[] = []
  readonly answering = new Set<string>()
  readonly attachment: Attachment
  /** Called in the middle of attaching. */
  meanwhile = () => {}
  #due: (() => void)[] = []

  constructor(...addresses: string[]) {
    this.attachment = new Attachment(addresses, {
      random: () => 0.5,
      after: (_, call) => this.#due.push(call),
      attach: (place, isWanted) => this.#attach(place, isWanted),
    })
  }

  /** Lets all timers fire once, and what follows from it happen. */
  async pass(): Promise<void> {
    for (const call of this.#due.splice(0)) call()
    await new Promise((resolve) => setImmediate(resolve))
  }

  async #attach({ address, node }: Place, isWanted: () => boolean): Promise<boolean> {
    this.tried.push(node === undefined ? address : `${address} of ${node}`)
    this.meanwhile()
    if (!this.answering.has(address) || !isWanted()) return false
    this.attachment.attached()
    return true
  }
}

describe('a client that lost its node', () => {
  it('tries what it was given, then what it was told of, until one answers', async () => {
    const scene = new Scene('a', 'b')
    scene.attachment.attached()
    scene.attachment.others([other('n', 'c', 'd')], false)
    scene.answering.add('d')
    scene.attachment.detached()
    await scene.pass()
    expect(scene.tried).toEqual(['a', 'b', 'c of n', 'd of n'])
    expect(scene.attachment.state).toBe('attached')
  })

  it('tries those that failed after the others', async () => {
    const scene = new Scene('a', 'b', 'c')
    scene.answering.add('c')
    scene.attachment.attached()
    scene.attachment.detached()
    await scene.pass()
    scene.answering.clear()
    scene.tried.length = 0
    scene.attachment.detached()
    await scene.pass()
    expect(scene.tried).toEqual(['c', 'a', 'b'])
  })

  it('goes on while nobody answers, one search at a time', async () => {
    const scene = new Scene('a')
    scene.attachment.attached()
    for (let i = 0; i < 3; i++) scene.attachment.detached()
    for (let i = 0; i < 5; i++) await scene.pass()
    expect(scene.tried).toHaveLength(5)
  })
})

describe('a client that is sent on', () => {
  it('goes to the first of the others that answers', async () => {
    const scene = new Scene('a')
    scene.attachment.attached()
    scene.answering.add('d').add('e')
    scene.attachment.others([other('n', 'b', 'c'), other('m', 'd'), other('o', 'e')], true)
    await scene.pass()
    expect(scene.tried).toEqual(['b of n', 'c of n', 'd of m'])
  })

  it('stays when none of them answers, and goes when it is told again', async () => {
    const scene = new Scene('a')
    scene.attachment.attached()
    scene.attachment.others([other('n', 'b')], true)
    scene.attachment.others([other('n', 'b')], true)
    await scene.pass()
    expect(scene.tried).toEqual(['b of n'])
    expect(scene.attachment.state).toBe('attached')
    scene.answering.add('b')
    scene.attachment.others([other('n', 'b')], true)
    await scene.pass()
    expect(scene.tried).toEqual(['b of n', 'b of n'])
  })

  it('knows the others when its node is gone before one of them has answered', async () => {
    const scene = new Scene('a')
    scene.attachment.attached()
    scene.attachment.others([other('n', 'b')], true)
    scene.attachment.detached()
    scene.answering.add('b')
    await scene.pass()
    expect(scene.tried.at(-1)).toBe('b of n')
    expect(scene.attachment.state).toBe('attached')
  })

  it('goes nowhere when the application has detached it', async () => {
    const scene = new Scene('a')
    scene.attachment.attached()
    scene.answering.add('b')
    scene.attachment.others([other('n', 'b')], true)
    scene.attachment.stop()
    await scene.pass()
    expect(scene.tried).toEqual([])
  })

  it('goes where the application wants it instead, also when that is said while a node is asked', async () => {
    const scene = new Scene('a')
    scene.attachment.attached()
    scene.answering.add('b').add('c')
    scene.meanwhile = () => scene.attachment.want('x')
    scene.attachment.others([other('n', 'b'), other('m', 'c')], true)
    await scene.pass()
    expect(scene.tried).toEqual(['b of n'])
  })
})
