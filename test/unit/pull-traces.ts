// The real traces beside the project, if they are there: publish times in milliseconds by device.
import { existsSync } from 'node:fs'
import { readTraces } from '../../bench/pull/traces.ts'

const folder = new URL('../../../shared/data/', import.meta.url)

/** Undefined without the shared data; tests then say that they were skipped. */
export const sharedTraces = existsSync(folder) ? readTraces(folder) : undefined
