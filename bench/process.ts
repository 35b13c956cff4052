// Starts processes of the measurement and calls them.
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Calls } from './child.ts'

type Result<C extends keyof Calls> = Awaited<ReturnType<Calls[C]>>

/** The kernel counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100
/** Fields of /proc/PID/stat behind the name. */
const USER_TICKS = 11
const SYSTEM_TICKS = 12

export class Process {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #calls = 0

  /** `flags` are for node, such as `--cpu-prof`. */
  constructor(flags: readonly string[] = []) {
    const script = fileURLToPath(new URL('child.ts', import.meta.url))
    this.#child = fork(script, { serialization: 'advanced', execArgv: [...flags] })
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

  call<C extends keyof Calls>(call: C, ...args: Parameters<Calls[C]>): Promise<Result<C>> {
    const id = ++this.#calls
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#child.send({ id, call, args })
    return waiting.promise as Promise<Result<C>>
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}

/** Seconds of processor time of any process. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) / TICKS_PER_SECOND
}
