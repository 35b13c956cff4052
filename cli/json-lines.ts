// JSON lines out: one object a line, as fast as the reader takes them.
import { setImmediate as turn } from 'node:timers/promises'
import { type Io, write } from './options.ts'

/** Enough for few system calls, little enough to be gone at once when the reader is there. */
const CHUNK_CHARACTERS = 16_384

/** Writes a line, and resolves when the stream has taken it. */
export async function writeLine({ stdout }: Io, value: unknown): Promise<void> {
  await write(stdout, lineOf(value))
}

/**
 * Writes what comes; for the end of a pipe. What comes at once leaves at once, in one piece. Takes no more while the
 * reader is behind; throws when it went away.
 */
export function toLines({ stdout }: Io) {
  return async (values: AsyncIterable<unknown>): Promise<void> => {
    let held = ''
    let failure: Error | undefined
    const fail = (error: Error) => {
      failure = error
    }
    let soon: NodeJS.Immediate | undefined
    const take = () => {
      const text = held
      held = ''
      clearImmediate(soon)
      soon = undefined
      return text
    }
    // The `errored` of a process's stdout is always null.
    stdout.on('error', fail)
    try {
      for await (const value of values) {
        if (failure) throw failure
        held += lineOf(value)
        soon ??= setImmediate(() => stdout.write(take()))
        if (held.length < CHUNK_CHARACTERS && !stdout.writableNeedDrain) continue
        await write(stdout, take())
        // What is at hand never waits, so that without this nothing else would have its turn.
        await turn()
      }
    } finally {
      stdout.off('error', fail)
      const rest = take()
      if (rest !== '') await write(stdout, rest)
    }
  }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
