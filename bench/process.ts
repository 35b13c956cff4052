// Processes of a measurement: the one that measures starts and calls them, and they answer.
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What can be called in a process. */
type CallsOf<C> = { readonly [K in keyof C]: (...args: never[]) => unknown }

/** The kernel counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100
/** Fields of /proc/PID/stat behind the name. */
const USER_TICKS = 11
const SYSTEM_TICKS = 12

export class Process<C extends CallsOf<C>> {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #calls = 0

  /** The script gives its calls to `answer`; `flags` are for node, such as `--cpu-prof`. */
  constructor(script: URL, flags: readonly string[] = []) {
    this.#child = fork(fileURLToPath(script), { serialization: 'advanced', execArgv: [...flags] })
    this.#child.on('message', ({ id, result, error }: { id: number; result?: unknown; error?: string }) => {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(new Error(error))
    })
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`a process ended with ${code}`))
    })
  }

  call<K extends keyof C>(call: K, ...args: Parameters<C[K]>): Promise<Awaited<ReturnType<C[K]>>> {
    const id = ++this.#calls
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#child.send({ id, call, args })
    return waiting.promise as Promise<Awaited<ReturnType<C[K]>>>
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}

/** In a process that was started: does what it is called for, until the one that started it is gone. */
export function answer<C extends CallsOf<C>>(calls: C): void {
  process.on('message', async ({ id, call, args }: { id: number; call: keyof C; args: never[] }) => {
    try {
      process.send!({ id, result: await calls[call](...args) })
    } catch (error) {
      process.send!({ id, error: String(error instanceof Error ? (error.stack ?? error) : error) })
    }
  })
  process.on('disconnect', () => process.exit())
}

/** Seconds of processor time of any process. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) / TICKS_PER_SECOND
}
