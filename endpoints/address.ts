// Addresses of nodes: multiaddrs of TCP or WebSockets. Checked without libp2p, so that a mistake costs nothing.
import { SpillwayError } from '../policies/error.ts'
import { quoted } from './options.ts'

/** What an address is for: nobody can listen on a name. */
export type Use = 'listen' | 'dial'

const EXAMPLE = '/ip4/127.0.0.1/tcp/4600'
/** Those of Ed25519 keys have one length. */
const PEER_ID = '(?:12D3KooW[\\da-zA-Z]{44}|(?!12D3KooW)[\\da-zA-Z]{46,70})'
const PEER = `(?:/p2p/${PEER_ID})?`
const MULTIADDR = new RegExp(
  `^/(\\w+)/([^/\\s]+)/tcp/(\\d{1,5})(?:/tls)?(?:/sni/[\\w.-]+)?(?:/wss?)?${PEER}$`,
)
const DNSADDR = new RegExp(`^/dnsaddr/[^/\\s]+${PEER}$`)
const HOST_AND_PORT = /^(?:\w+:\/\/)?(\[[\da-f:]+\]|[\w.-]*):(\d+)\/?$/i

const BYTE = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)'
const IPS: Readonly<Record<string, RegExp>> = {
  ip4: new RegExp(`^${BYTE}(\\.${BYTE}){3}$`),
  ip6: /^[\da-f:.]*:[\da-f:.]*$/i,
}
const NAMES = ['dns', 'dns4', 'dns6']
const MAX_PORT = 65_535

/** Throws ADDRESS_INVALID for what nobody can listen on, or dial, with the address that may have been meant. */
export function checkAddresses(use: Use, addresses: readonly string[]): void {
  for (const address of addresses) {
    if (isAddress(use, address)) continue
    const expected = `expected a multiaddr to ${use === 'listen' ? 'listen on' : 'dial'}${guess(use, address)}`
    throw new SpillwayError('ADDRESS_INVALID', `${expected}, got ${shown(address)}${wrongPart(use, address)}`)
  }
}

function isAddress(use: Use, address: string): boolean {
  if (typeof address !== 'string') return false
  if (use === 'dial' && DNSADDR.test(address)) return true
  const [, protocol = '', host = '', port] = MULTIADDR.exec(address) ?? []
  const isHost = IPS[protocol]?.test(host) ?? (use === 'dial' && NAMES.includes(protocol))
  return isHost && Number(port) <= MAX_PORT
}

function guess(use: Use, address: string): string {
  const [, host, port] = HOST_AND_PORT.exec(address) ?? []
  const meant = host === undefined ? '' : `${protocolOf(host)}/tcp/${port}`
  return isAddress(use, meant) ? ` (did you mean "${meant}"?)` : `, like ${EXAMPLE}`
}

function shown(address: unknown): string {
  return typeof address === 'string' ? JSON.stringify(address) : quoted(address)
}

/** What is wrong with something that looks like a multiaddr. */
function wrongPart(use: Use, address: string): string {
  if (typeof address !== 'string' || !address.startsWith('/')) return ''
  const [protocol = '', host = '', transport, port = '', ...rest] = address.slice(1).split('/')
  const protocols = use === 'listen' ? Object.keys(IPS) : [...Object.keys(IPS), ...NAMES, 'dnsaddr']
  if (!protocols.includes(protocol))
    return `: expected it to begin with ${protocols.map((name) => `/${name}`).join(', ')}`
  if (IPS[protocol]?.test(host) === false) return `: "${host}" is no address of /${protocol}`
  if (protocol !== 'dnsaddr' && transport !== 'tcp') return `: expected /tcp and a port after the host`
  if (protocol !== 'dnsaddr' && !(/^\d+$/.test(port) && Number(port) <= MAX_PORT))
    return `: expected a port up to ${MAX_PORT} after /tcp, got "${port}"`
  const [, peer] = /\/p2p(?:\/([^/]*))?/.exec(address) ?? []
  if (address.includes('/p2p') && !new RegExp(`^${PEER_ID}$`).test(peer ?? ''))
    return `: "${peer ?? ''}" after /p2p/ is no peer id`
  return rest.length === 0 ? '' : `: expected nothing after the port but /ws and /p2p/ with a peer id`
}

function protocolOf(host: string): string {
  if (host === '' || host === 'localhost') return '/ip4/127.0.0.1'
  if (host.startsWith('[')) return `/ip6/${host.slice(1, -1)}`
  return /^[\d.]+$/.test(host) ? `/ip4/${host}` : `/dns4/${host}`
}
