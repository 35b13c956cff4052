// Names and IDs that an application hands in. What could not be sent is refused here, where it is known who gave it.
import { isId } from '../overlay/id.ts'
import { controlLimits } from '../overlay/wire/limits.ts'
import { SpillwayError } from '../policies/error.ts'
import { quoted } from './options.ts'

/** Throws NAME_INVALID for a name that no sender or receiver can have. */
export function checkName(name: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= controlLimits.name && name.isWellFormed())
    return
  throw new SpillwayError(
    'NAME_INVALID',
    `the name ${quoted(name)}, expected well-formed text of 1 to ${controlLimits.name} characters`,
  )
}

/** Throws NAME_INVALID for what is no ID of a sender. */
export function checkSender(id: string): void {
  if (isId(id)) return
  throw new SpillwayError(
    'NAME_INVALID',
    `the sender ${quoted(id)}, expected its ID of 64 hex digits, which sender.id and client.senders() have`,
  )
}

/** Throws NAME_INVALID for a list of clients that cannot be. */
export function checkAllowed(clients: readonly string[]): void {
  const wrong = clients.find((id) => !isId(id))
  if (wrong !== undefined)
    throw new SpillwayError(
      'NAME_INVALID',
      `the client ${quoted(wrong)}, expected its client.id of 64 hex digits`,
    )
  if (clients.length > controlLimits.allow)
    throw new SpillwayError(
      'NAME_INVALID',
      `${clients.length} clients, expected at most ${controlLimits.allow}`,
    )
}
