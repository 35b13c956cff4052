// A TCP relay that can fall silent: connections stay open, and nothing passes any more, as when a host moves or a
// router forgets. Or it cuts them, as when coverage is lost, until it is mended.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export class Relay {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #outbound = new Set<Socket>()
  /** How many connections there have been. */
  connections = 0
  #isCut = false

  constructor(port: number) {
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
    inbound.pipe(outbound)
    outbound.pipe(inbound)
  }

  #close(): void {
    this.#server.close()
    this.#destroyAll()
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** A relay to a node, and the node's address by way of it. */
export async function relayTo(address: string): Promise<{ relay: Relay; address: string }> {
  const port = address.split('/')[4]!
  const relay = new Relay(Number(port))
  return { relay, address: address.replace(`/tcp/${port}/`, `/tcp/${await relay.listen()}/`) }
}
