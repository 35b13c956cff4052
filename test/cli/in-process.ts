// Runs the command in this process on streams of its own.
import { Readable, Writable } from 'node:stream'
import { main } from '../../cli/main.ts'

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Given {
  readonly stdin?: string | readonly (string | Buffer)[]
  readonly terminal?: boolean
}

/** The exit code and everything written. */
export async function spillway(
  argv: readonly string[],
  { stdin = '', terminal = false }: Given = {},
): Promise<Outcome> {
  const written = { stdout: '', stderr: '' }
  const sink = (name: keyof typeof written) =>
    new Writable({
      decodeStrings: false,
      write(text, _, done) {
        written[name] += text
        done()
      },
    })
  const chunks = (typeof stdin === 'string' ? [stdin] : stdin).filter((chunk) => chunk.length > 0)
  const io = {
    stdin: Object.assign(Readable.from(chunks), { isTTY: terminal }),
    stdout: Object.assign(sink('stdout'), { isTTY: terminal }),
    stderr: sink('stderr'),
  }
  return { code: await main(argv, io), ...written }
}

/** Events as JSON lines. */
export function lines(...events: unknown[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('')
}
