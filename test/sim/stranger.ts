// A client that does what it is told to, and not what it should.
import type { ControlMessage } from '../../overlay/control.ts'
import type { Id } from '../../overlay/id.ts'
import type { Core, Peer, Stream, Surroundings } from '../../overlay/surroundings.ts'
import { decodeControl, encodeControl } from '../../overlay/wire/control-frame.ts'

/** A peer that sends what it is told to, and remembers what it hears. */
export class Stranger implements Core {
  readonly heard: ControlMessage[] = []
  dataFrames = 0
  readonly #surroundings: Surroundings
  #node: Id | undefined

  constructor(surroundings: Surroundings, node: Id) {
    this.#surroundings = surroundings
    surroundings.dial(node)
  }

  get isConnected(): boolean {
    return this.#node !== undefined
  }

  connected(peer: Peer): void {
    this.#node = peer.id
    this.say({ kind: 'resume', cursors: [], last: true })
  }

  disconnected(): void {
    this.#node = undefined
  }

  received(_peer: Id, stream: Stream, frame: Uint8Array): void {
    if (stream === 'control') this.heard.push(decodeControl(frame))
    else this.dataFrames++
  }

  say(message: ControlMessage): void {
    this.send('control', encodeControl(message))
  }

  send(stream: Stream, frame: Uint8Array): void {
    if (this.#node !== undefined) this.#surroundings.send(this.#node, stream, frame)
  }

  dial(node: Id): void {
    this.#surroundings.dial(node)
  }
}
