// The source of Figure 10: lines of syslog in, events out. Lines that it does not understand are counted, and the last of
// them can be seen.
import type { Client, Sender } from '../../index.ts'
import { SYSLOG, type SyslogEvent, syslogAttributes } from './events.ts'
import { type Understood, understand } from './formats/understand.ts'
import { Listener, type ListenerCounts, nothingHeard } from './syslog/listener.ts'

export const sourceLimits = {
  /** The last lines that were not understood. */
  unknownLines: 100,
  /** Characters of such a line that are kept. */
  unknownLength: 512,
  /** Associations that are known by Meraki's number only. */
  associations: 10_000,
} as const

export interface SourceOptions {
  /** To listen on at once, as with `listen`. */
  readonly port?: number
  readonly host?: string
  /** Milliseconds; the clock of this machine unless given. */
  now?(): number
}

export interface ListenOptions {
  /** For UDP and TCP; 0 takes any that is free. */
  readonly port: number
  /** Every address of this machine unless given. */
  readonly host?: string
}

export interface SourceCounts extends ListenerCounts {
  lines: number
  /** Lines that were understood, and so events that were published. */
  understood: number
  unknown: number
  /** Lines of each format. */
  readonly formats: { [format: string]: number }
}

/** A line that was not understood, without control characters, and where it came from. */
export interface UnknownLine {
  readonly line: string
  readonly remote: string
  readonly at: number
}

export interface Source {
  readonly sender: Sender<typeof syslogAttributes>
  /** Where it listens; undefined when it does not. */
  readonly port: number | undefined
  readonly counts: Readonly<SourceCounts>
  /** The last lines that were not understood, the oldest first. */
  readonly unknownLines: readonly UnknownLine[]
  /** Begins to listen, when whoever should hear of it has subscribed. Rejects when it cannot. */
  listen(options: ListenOptions): Promise<void>
  /** Takes a line as if it had arrived from there; the event that was published, if it was understood. */
  feed(line: string, remote: string): SyslogEvent | undefined
  /** Stops listening, and closes the sender: resolves when the node has everything that was published. */
  close(): Promise<void>
}

/** Publishes what lines of syslog say as the sender `syslog` of this client. */
export async function startSource(client: Client, options: SourceOptions = {}): Promise<Source> {
  const sender = client.sender(SYSLOG, syslogAttributes)
  const source = new SyslogSource(sender, options.now ?? Date.now)
  await sender.opened
  const { port, host } = options
  if (port !== undefined) await source.listen(host === undefined ? { port } : { port, host })
  return source
}

class SyslogSource implements Source {
  readonly sender: Sender<typeof syslogAttributes>
  readonly unknownLines: UnknownLine[] = []
  readonly #now: () => number
  readonly #lines = {
    lines: 0,
    understood: 0,
    unknown: 0,
    formats: Object.create(null) as Record<string, number>,
  }
  /** Stations by access point and number of the association. */
  readonly #associations = new Map<string, string>()
  #listener: Listener | undefined

  constructor(sender: Sender<typeof syslogAttributes>, now: () => number) {
    this.sender = sender
    this.#now = now
  }

  async listen({ port, host }: ListenOptions): Promise<void> {
    const line = (text: string, remote: string) => void this.feed(text, remote)
    this.#listener = await Listener.listen({ port, line, ...(host === undefined ? {} : { host }) })
  }

  get port(): number | undefined {
    return this.#listener?.port
  }

  get counts(): SourceCounts {
    return { ...(this.#listener?.counts ?? nothingHeard()), ...this.#lines }
  }

  feed(text: string, remote: string): SyslogEvent | undefined {
    const line = withoutControls(text)
    this.#lines.lines++
    const understood = understand(line, remote, this.#now())
    if (understood === undefined) {
      this.#unknown(line, remote)
      return undefined
    }
    const { format } = understood
    this.#lines.understood++
    this.#lines.formats[format] = (this.#lines.formats[format] ?? 0) + 1
    const event = this.#withStation(understood)
    this.sender.publish(event)
    return event
  }

  async close(): Promise<void> {
    await this.#listener?.close()
    await this.sender.close()
  }

  /** A number of an association stands for its station, once some line had both. */
  #withStation({ event, aid }: Understood): SyslogEvent {
    if (aid === undefined) return event
    const key = `${event.ap} ${aid}`
    if (event.station === null) return { ...event, station: this.#associations.get(key) ?? null }
    this.#associations.delete(key)
    this.#associations.set(key, event.station)
    if (this.#associations.size > sourceLimits.associations)
      this.#associations.delete(this.#associations.keys().next().value!)
    return event
  }

  #unknown(line: string, remote: string): void {
    this.#lines.unknown++
    const { unknownLength, unknownLines } = sourceLimits
    this.unknownLines.push({ line: line.slice(0, unknownLength).toWellFormed(), remote, at: this.#now() })
    if (this.unknownLines.length > unknownLines) this.unknownLines.shift()
  }
}

/** They could write anything on the terminal of whoever looks at the line. */
function withoutControls(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
}
