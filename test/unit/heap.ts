// How much memory is held, for tests of what must not be.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of the heap that are in use after a full collection. */
export function collectedHeapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}
