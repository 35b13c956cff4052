// Which building an IP address is in, from the stream of locations (PACK section 7): what the location bar asks.
import type { Location } from '../events.ts'
import { Recent } from '../recent.ts'

export interface Place {
  readonly ip: string
  readonly ap: string
  readonly building: string | null
  readonly at: number
}

const MAX_ADDRESSES = 50_000

export class Places {
  readonly #byIp = new Recent<Place & { readonly station: string }>(MAX_ADDRESSES)
  /** The address that each station was last seen with. */
  readonly #ips = new Recent<string>(MAX_ADDRESSES)

  seen({ station, ip, ap, building, action, at }: Location): void {
    const known = this.#ips.get(station)
    const address = ip ?? known
    if (known !== undefined && (action === 'left' || known !== address)) this.#forget(station, known)
    if (address === undefined || action === 'left') return
    this.#ips.set(station, address)
    this.#byIp.set(address, { station, ip: address, ap, building, at })
  }

  /** Where the device with this address is, written as Node writes it: an IPv4 address may be mapped into IPv6. */
  where(address: string): Place | undefined {
    const found = this.#byIp.get(plain(address))
    if (found === undefined) return undefined
    const { ip, ap, building, at } = found
    return { ip, ap, building, at }
  }

  /** Unless another station has the address by now. */
  #forget(station: string, ip: string): void {
    if (this.#byIp.get(ip)?.station === station) this.#byIp.delete(ip)
  }
}

/** Without the prefix of a mapped IPv4 address. */
export function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
}
