// Whether a name is this machine's own: whoever is asked by another may be talking to a page that is not theirs.
import { isIP } from 'node:net'

/** Whether the value of a Host header, or an address, is loopback. */
export function isLoopbackHost(host: string | undefined): boolean {
  const name = isIP(host ?? '') > 0 ? host! : (URL.parse(`http://${host ?? ''}`)?.hostname ?? '')
  const plain = name.replace(/^\[|\]$/g, '').toLowerCase()
  return plain === 'localhost' || plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'))
}
