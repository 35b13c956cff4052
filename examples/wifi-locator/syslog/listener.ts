// Listens for syslog over UDP and TCP on one port. Lines wait here while datagrams arrive, because what waits in the
// kernel's small buffer is lost first.
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { Framing, framingLimits } from './framing.ts'

export const listenerLimits = {
  /** TCP connections at a time: access points keep one each, and open another when they restart. */
  connections: 1_024,
  /** Lines that wait for their turn; those that come then are lost, and counted. */
  waitingLines: 50_000,
  /** Lines after which others get their turn. */
  turnLines: 200,
  /** What the kernel is asked to hold of datagrams; it gives what it may. */
  kernelBytes: 4_194_304,
} as const

export interface ListenerCounts {
  datagrams: number
  connections: number
  /** Connections beyond the limit, and those that sent no syslog. */
  refused: number
  /** Lines that were longer than `framingLimits.lineBytes`. */
  cut: number
  /** Lines for which there was no room. */
  lost: number
}

export interface ListenerOptions {
  /** 0 takes any that is free. */
  readonly port: number
  /** Every address of this machine unless given. */
  readonly host?: string
  line(line: string, remote: string): void
}

export class Listener {
  readonly counts: ListenerCounts = nothingHeard()
  readonly #line: ListenerOptions['line']
  readonly #udp: UdpSocket
  readonly #tcp: Server
  readonly #connections = new Set<Socket>()
  #waiting: [line: string, remote: string][] = []
  #closed: Promise<void> | undefined
  #isScheduled = false
  /** Whether something has arrived since the last turn. */
  #isArriving = false

  private constructor(tcp: Server, udp: UdpSocket, line: ListenerOptions['line']) {
    this.#line = line
    this.#tcp = tcp
    this.#udp = udp
    udp.on('message', (message, { address }) => this.#datagram(message, plain(address)))
    tcp.on('connection', (socket) => this.#connected(socket))
    // Of a socket that listens, errors are those of single packets.
    for (const one of [udp, tcp]) one.on('error', () => {})
  }

  /** Rejects when it cannot listen, for instance because another program has the port. */
  static async listen({ port, host, line }: ListenerOptions): Promise<Listener> {
    if (host !== undefined) return await Listener.#listenOn(port, host, line)
    try {
      return await Listener.#listenOn(port, '::', line)
    } catch (error) {
      if (!NO_IPV6.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      return await Listener.#listenOn(port, '0.0.0.0', line)
    }
  }

  static async #listenOn(port: number, host: string, line: ListenerOptions['line']): Promise<Listener> {
    for (let tries = 1; ; tries++) {
      const tcp = createServer({ noDelay: true })
      tcp.listen(port, host)
      await once(tcp, 'listening')
      const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4')
      try {
        udp.bind((tcp.address() as AddressInfo).port, host)
        await once(udp, 'listening')
        askForRoom(udp)
        return new Listener(tcp, udp, line)
      } catch (error) {
        tcp.close()
        udp.close()
        // A port that is free for TCP may be taken for UDP.
        if (port !== 0 || tries === FREE_PORT_TRIES) throw error
      }
    }
  }

  get port(): number {
    return (this.#tcp.address() as AddressInfo).port
  }

  /** Takes nothing more; what waits is handed out before it resolves. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const closed = [once(this.#tcp, 'close'), once(this.#udp, 'close')]
    this.#tcp.close()
    this.#udp.close()
    for (const socket of this.#connections) socket.destroy()
    await Promise.all(closed)
    while (this.#waiting.length > 0) this.#take()
  }

  #datagram(message: Buffer, remote: string): void {
    this.counts.datagrams++
    const text = message.toString('utf8', 0, framingLimits.lineBytes)
    if (message.length > framingLimits.lineBytes) this.counts.cut++
    // OpenWrt can end its lines with a zero.
    for (const line of text.replaceAll('\0', '\n').split('\n')) {
      if (line.trim() !== '') this.#wait(line.trim(), remote)
    }
  }

  #connected(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (this.#connections.size >= listenerLimits.connections) {
      this.counts.refused++
      socket.destroy()
      return
    }
    this.counts.connections++
    this.#connections.add(socket)
    const remote = plain(socket.remoteAddress ?? 'unknown')
    const framing = new Framing({
      line: (line) => this.#wait(line, remote),
      cut: () => this.counts.cut++,
    })
    socket.on('data', (bytes) => {
      if (framing.push(bytes as Buffer)) this.#hold(socket)
      else {
        this.counts.refused++
        socket.destroy()
      }
    })
    socket.on('end', () => framing.end())
    socket.on('close', () => this.#connections.delete(socket))
  }

  /** TCP can wait. */
  #hold(socket: Socket): void {
    if (this.#waiting.length < listenerLimits.waitingLines / 2) return
    socket.pause()
    setImmediate(() =>
      this.#waiting.length < listenerLimits.waitingLines / 2 ? socket.resume() : this.#hold(socket),
    )
  }

  #wait(line: string, remote: string): void {
    if (this.#waiting.length >= listenerLimits.waitingLines) {
      this.counts.lost++
      return
    }
    this.#waiting.push([line, remote])
    this.#isArriving = true
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }

  /** First everything is fetched from the kernel, then it is looked at. */
  #turn(): void {
    this.#isScheduled = false
    const isFetching = this.#isArriving && this.#waiting.length < listenerLimits.waitingLines / 2
    this.#isArriving = false
    if (!isFetching) this.#take()
    if (this.#waiting.length > 0) this.#schedule()
  }

  #take(): void {
    for (const [line, remote] of this.#waiting.splice(0, listenerLimits.turnLines)) this.#line(line, remote)
  }
}

export function nothingHeard(): ListenerCounts {
  return { datagrams: 0, connections: 0, refused: 0, cut: 0, lost: 0 }
}

const FREE_PORT_TRIES = 5
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']

/** An IPv4 address that arrived over IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}

function askForRoom(udp: UdpSocket): void {
  try {
    udp.setRecvBufferSize(listenerLimits.kernelBytes)
  } catch {
    // Then it stays as it is.
  }
}
