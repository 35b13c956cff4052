// SIGINT and SIGTERM end a command as it would end by itself. One that comes later ends the process at once.

/** Runs the work of a command with a signal that aborts at the first SIGINT or SIGTERM; returns its exit code. */
export async function interruptible(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const interruption = new AbortController()
  let since = 0
  const abort = (name: NodeJS.Signals) => {
    if (!interruption.signal.aborted) {
      since = performance.now()
      interruption.abort()
    } else if (performance.now() - since > ECHO_MS) {
      release()
      process.kill(process.pid, name)
    }
  }
  const release = () => {
    for (const name of SIGNALS) process.off(name, abort)
  }
  for (const name of SIGNALS) process.on(name, abort)
  try {
    return await work(interruption.signal)
  } catch (error) {
    // There was nothing to end yet.
    if (interruption.signal.aborted && error === interruption.signal.reason) return 0
    throw error
  } finally {
    release()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
/** npx and timeout pass a signal on that their whole process group gets anyway: it is one and the same. */
const ECHO_MS = 1_000

/** Resolves as the promise does, or with undefined when the signal aborts before. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>()
  const onAbort = () => resolve(undefined)
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Resolves after so long, or when the signal aborts. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, delayMs)
  await unlessAborted(promise, signal)
  clearTimeout(timer)
}
