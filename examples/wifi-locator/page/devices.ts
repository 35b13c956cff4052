// Where every device is and where it was, from the stream of locations, for the page. Bounded: those not heard of for
// longest are forgotten first.
import type { Location } from '../events.ts'
import { Recent } from '../recent.ts'

export interface Step {
  readonly ap: string
  readonly building: string | null
  readonly action: Location['action']
  readonly at: number
}

export interface Device {
  readonly station: string
  /** Undefined after it left. */
  readonly ap: string | undefined
  readonly building: string | null
  readonly ip: string | null
  readonly at: number
  /** Where it was, the newest last. */
  readonly trail: readonly Step[]
}

export const MAX_DEVICES = 20_000
const MAX_TRAIL = 40

export class Devices {
  readonly #devices = new Recent<Device>(MAX_DEVICES)
  #changed = new Set<string>()

  get count(): number {
    return this.#devices.size
  }

  get(station: string): Device | undefined {
    return this.#devices.get(station)
  }

  values(): Iterable<Device> {
    return this.#devices.values()
  }

  seen({ station, ap, building, ip, action, at }: Location): void {
    const before = this.#devices.get(station)
    const isAgain = action !== 'left' && before?.ap === ap
    const step: Step = { ap, building, action, at }
    const trail = isAgain ? before.trail : [...(before?.trail ?? []), step].slice(-MAX_TRAIL)
    const here = action === 'left' ? undefined : ap
    const forgotten = this.#devices.set(station, {
      station,
      ap: here,
      building,
      ip: ip ?? before?.ip ?? null,
      at,
      trail,
    })
    if (forgotten !== undefined) this.#changed.add(forgotten[0])
    this.#changed.add(station)
  }

  /** Whose place or address changed since this was last asked. Whoever is not there any more was forgotten. */
  takeChanged(): string[] {
    const changed = [...this.#changed]
    this.#changed = new Set()
    return changed
  }
}
