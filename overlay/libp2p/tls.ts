// TLS as libp2p has it (https://github.com/libp2p/specs/blob/master/tls/tls.md), with the certificates of @libp2p/tls,
// but on the TCP socket itself. @libp2p/tls puts a stream of its own between socket and TLS, through which every record
// goes in JavaScript: beside a socket's that costs both ends of a link 1.4 times as much in all.
import { Socket } from 'node:net'
import { connect, TLSSocket } from 'node:tls'
import {
  type ConnectionEncrypter,
  type MessageStream,
  type SecureConnectionOptions,
  type SecuredConnection,
  type StreamMuxerFactory,
  serviceCapabilities,
} from '@libp2p/interface'
import { PROTOCOL, type TLSComponents, tls } from '@libp2p/tls'
import { generateCertificate, toMessageStream, verifyPeerCertificate } from '@libp2p/tls/utils'
import type { Uint8ArrayList } from 'uint8arraylist'

/** What @libp2p/tcp's connections have besides their interface. */
interface TcpConnection extends MessageStream {
  readonly socket: Socket
  /** What came with the negotiation and belongs to TLS. */
  readonly readBuffer: Uint8ArrayList
}

export function socketTls(): (components: TLSComponents) => ConnectionEncrypter {
  return (components) => new SocketTls(components)
}

class SocketTls implements ConnectionEncrypter {
  readonly protocol = PROTOCOL
  readonly [Symbol.toStringTag] = 'spillway/tls'
  readonly [serviceCapabilities] = ['@libp2p/connection-encryption']
  readonly #components: TLSComponents
  /** For WebSockets, and for connections within a pre-shared key. */
  readonly #others: ConnectionEncrypter
  /** One for all connections. */
  #certificate: ReturnType<typeof generateCertificate> | undefined

  constructor(components: TLSComponents) {
    this.#components = components
    this.#others = tls()(components)
  }

  async secureInbound(
    connection: MessageStream,
    options: SecureConnectionOptions = {},
  ): Promise<SecuredConnection> {
    if (!isTcp(connection)) return await this.#others.secureInbound(connection, options)
    const settings = { ...(await this.#settings()), isServer: true, requestCert: true }
    const muxers = this.#muxers(options)
    let muxer: string | undefined
    const socket = new TLSSocket(takeSocket(connection), {
      ...settings,
      ALPNCallback: ({ protocols }) => {
        muxer = protocols.find((protocol) => muxers.has(protocol))
        return muxer ?? (protocols.includes(NO_MUXER) ? NO_MUXER : undefined)
      },
    })
    return await this.#secured(connection, socket, options, () => muxers.get(muxer ?? NO_MUXER))
  }

  async secureOutbound(
    connection: MessageStream,
    options: SecureConnectionOptions = {},
  ): Promise<SecuredConnection> {
    if (!isTcp(connection)) return await this.#others.secureOutbound(connection, options)
    const settings = await this.#settings()
    const muxers = this.#muxers(options)
    const ALPNProtocols = [...muxers.keys(), NO_MUXER]
    const socket = connect({ ...settings, socket: takeSocket(connection), ALPNProtocols })
    return await this.#secured(connection, socket, options, () => muxers.get(socket.alpnProtocol || NO_MUXER))
  }

  async #settings() {
    this.#certificate ??= generateCertificate(this.#components.privateKey)
    // The certificate is checked as libp2p says: it signs itself, and the peer's key signs it.
    return {
      ...(await this.#certificate),
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
      rejectUnauthorized: false,
    } as const
  }

  #muxers({ skipStreamMuxerNegotiation }: SecureConnectionOptions): ReadonlyMap<string, StreamMuxerFactory> {
    return skipStreamMuxerNegotiation === true ? new Map() : this.#components.upgrader.getStreamMuxers()
  }

  async #secured(
    connection: TcpConnection,
    socket: TLSSocket,
    { remotePeer: expected, signal }: SecureConnectionOptions,
    muxer: () => StreamMuxerFactory | undefined,
  ): Promise<SecuredConnection> {
    destroyAfter(socket, connection.socket)
    const abort = () => socket.destroy(new Error('no handshake in time'))
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      await handshake(socket)
      const remotePeer = await verifyPeerCertificate(
        socket.getPeerCertificate().raw,
        expected,
        connection.log,
      )
      const streamMuxer = muxer()
      writeTogether(socket)
      const secured = toMessageStream(connection, socket)
      return { remotePeer, connection: secured, ...(streamMuxer === undefined ? {} : { streamMuxer }) }
    } catch (error) {
      socket.destroy()
      connection.abort(error as Error)
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }
}

/** What ALPN says when it says no muxer. */
const NO_MUXER = 'libp2p'

function isTcp(connection: MessageStream): connection is TcpConnection {
  return 'socket' in connection && connection.socket instanceof Socket && 'readBuffer' in connection
}

/** From now on TLS reads from the socket, and not the connection. */
function takeSocket({ socket, readBuffer }: TcpConnection): Socket {
  socket.removeAllListeners('data')
  socket.pause()
  if (readBuffer.byteLength > 0) {
    socket.unshift(readBuffer.subarray())
    readBuffer.consume(readBuffer.byteLength)
  }
  return socket
}

/** Node crashes when a socket is destroyed and then, before it has closed, TLS on it is: so TLS goes first. */
function destroyAfter(tlsSocket: TLSSocket, socket: Socket): void {
  socket.destroy = (error) => {
    delete (socket as Partial<Socket>).destroy
    tlsSocket.destroy(error)
    return socket.destroy(error)
  }
}

/** What is written in one tick leaves as one record, in one write: a frame of the muxer is a header and a body. */
function writeTogether(socket: TLSSocket): void {
  const write = socket.write
  const uncork = (): void => socket.uncork()
  socket.write = (...chunk: unknown[]): boolean => {
    if (socket.writableCorked === 0) {
      socket.cork()
      process.nextTick(uncork)
    }
    return Reflect.apply(write, socket, chunk)
  }
}

function handshake(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('secure', resolve)
    // Also later: without a listener an error would end the process.
    socket.on('error', reject)
    // A listening socket's errors after the handshake are told by this alone, and leave it open.
    socket.on('_tlsError', (error: Error) => socket.destroy(error))
    socket.once('close', () => reject(new Error('closed during the handshake')))
  })
}
