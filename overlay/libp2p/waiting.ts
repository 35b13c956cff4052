// Waiting, on a machine and in a page of a browser: Node's own timers where they are, the platform's where not.

/** Calls at the end of the turn: when everything that has already arrived was told. Returns how to take it back. */
export const afterTurn: (call: () => void) => () => void =
  typeof setImmediate === 'function' ? afterImmediate : afterMessage

/** Resolves after so long, or when the signal aborts. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, delayMs)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}

function afterImmediate(call: () => void): () => void {
  const immediate = setImmediate(call)
  return () => clearImmediate(immediate)
}

/** Browsers let a timer wait four milliseconds at least, and a second in a page that nobody looks at; a message not. */
function afterMessage(call: () => void): () => void {
  const { port1, port2 } = new MessageChannel()
  const close = () => port1.close()
  const arrived = () => {
    close()
    call()
  }
  port1.addEventListener('message', arrived)
  port1.start()
  port2.postMessage(undefined)
  return close
}
