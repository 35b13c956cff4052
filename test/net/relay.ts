// A TCP relay that can fall silent: connections stay open, and nothing passes any more, as when a host moves or a
// router forgets. Or it cuts them, as when coverage is lost, until it is mended.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { onTestFinished } from 'vitest'

export class Relay {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #outbound = new Set<Socket>()
  /** What it takes one way. */
  readonly #delayMs: number
  /** How many connections there have been. */
  connections = 0
  #isCut = false

  constructor(port: number, delayMs = 0) {
    this.#delayMs = delayMs
    this.#server = createServer((inbound) => this.#accept(inbound, connect(port, '127.0.0.1')))
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => this.#close())
    return (this.#server.address() as { port: number }).port
  }

  /** From now on nothing passes on the connections that there are; new ones work. */
  silence(): void {
    for (const socket of this.#sockets) {
      socket.unpipe()
      socket.removeAllListeners('end')
      socket.on('data', () => {})
    }
  }

  /** Breaks all connections, and takes no new ones. */
  cut(): void {
    this.#isCut = true
    this.#destroyAll()
  }

  /** Takes new connections again. */
  mend(): void {
    this.#isCut = false
  }

  /** Says something in the dialler's name, to those it has dialled. */
  say(bytes: Uint8Array): void {
    for (const socket of this.#outbound) socket.write(bytes)
  }

  #accept(inbound: Socket, outbound: Socket): void {
    this.connections++
    this.#outbound.add(outbound)
    for (const socket of [inbound, outbound]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
    }
    if (this.#isCut) this.#destroyAll()
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      if (this.#delayMs === 0) from.pipe(to)
      else from.pipe(delay(this.#delayMs)).pipe(to)
    }
  }

  #close(): void {
    this.#server.close()
    this.#destroyAll()
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** Passes everything on after so long, in order, however much there is on the way. */
function delay(delayMs: number): Transform {
  const later = (call: () => void) => void setTimeout(call, delayMs)
  return new Transform({
    transform(chunk, _, done) {
      later(() => this.push(chunk))
      done()
    },
    flush: later,
  })
}

/** A relay to a node, and the node's address by way of it, which takes so long one way. */
export async function relayTo(address: string, delayMs = 0): Promise<{ relay: Relay; address: string }> {
  const port = address.split('/')[4]!
  const relay = new Relay(Number(port), delayMs)
  return { relay, address: address.replace(`/tcp/${port}/`, `/tcp/${await relay.listen()}/`) }
}
