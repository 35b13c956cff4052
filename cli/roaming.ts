// `sub --roam`: attaches to one node after the other, every so often, as a client that moves does.
import { checkAddresses } from '../endpoints/address.ts'
import type { Client } from '../endpoints/client.ts'
import { checkOption } from './attachment.ts'
import { pause } from './interruption.ts'
import { type Io, UsageError } from './options.ts'
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

/** Goes on until the signal; stderr is told where the client is. */
export async function roam(client: Client, roaming: Roaming, io: Io, signal: AbortSignal): Promise<void> {
  for (let turn = 0; ; ) {
    await pause(roaming.everyMs, signal)
    if (signal.aborted) return
    turn = await moveOn(client, roaming, turn, io, signal)
  }
}

/** Attaches to the next one that answers, and returns whose turn it is then. */
async function moveOn(
  client: Client,
  { addresses, abrupt }: Roaming,
  first: number,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  for (let turn = first; turn < first + addresses.length; turn++) {
    const address = addresses[turn % addresses.length]!
    try {
      await client.attach(address, { abrupt: abrupt && turn === first, signal })
      io.stderr.write(`attached to ${address}\n`)
      return turn + 1
    } catch {
      if (signal.aborted) return turn
      io.stderr.write(`no node answers at ${address}\n`)
    }
  }
  // The client itself goes on looking.
  return first
}
