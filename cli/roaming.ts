// `sub --roam`: attaches to one node after the other, every so often, as a client that moves does.
import { checkAddresses } from '../endpoints/address.ts'
import type { Client } from '../endpoints/client.ts'
import { checkOption } from './attachment.ts'
import { pause } from './interruption.ts'
import { UsageError } from './options.ts'
import { numberOf } from './receiving.ts'

export const ROAMING = {
  roam: {
    value: 'ADDR,ADDR,…',
    help: 'Attach to these nodes one after the other, again and again. One that does not answer is left out.',
  },
  every: { value: 'MS', help: 'With --roam: attach to the next one every so often.' },
  abrupt: { help: 'With --roam: cut the connection each time, as if coverage was lost, instead of asking.' },
} as const

export interface Roaming {
  readonly addresses: readonly string[]
  readonly everyMs: number
  readonly abrupt: boolean
}

/** Throws UsageError for half of it. */
export function roamingOf(
  command: string,
  {
    roam,
    every,
    abrupt = false,
  }: {
    readonly roam?: string | undefined
    readonly every?: string | undefined
    readonly abrupt?: boolean | undefined
  },
): Roaming | undefined {
  const everyMs = numberOf(command, 'every', every, 1)
  if (roam === undefined) {
    if (everyMs !== undefined || abrupt)
      throw new UsageError(command, `--${abrupt ? 'abrupt' : 'every'}: expected --roam ADDR,ADDR,… with it`)
    return undefined
  }
  if (everyMs === undefined) throw new UsageError(command, '--roam: expected --every MS with it')
  const addresses = roam.split(',')
  checkOption(command, 'roam', () => checkAddresses('dial', addresses))
  return { addresses, everyMs, abrupt }
}

/** Goes on until the signal. */
export async function roam(
  client: Client,
  { addresses, everyMs, abrupt }: Roaming,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = 0; ; turn++) {
    await pause(everyMs, signal)
    if (signal.aborted) return
    // The client itself goes on looking for a node when this one does not answer.
    await client.attach(addresses[turn % addresses.length], { abrupt, signal }).catch(() => {})
  }
}
