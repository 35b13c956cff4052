// Tests that take half a minute each run on demand only, with all others: `LONG=1 npm test`.
import { test } from 'vitest'

export const longTest = process.env.LONG === undefined ? test.skip : test
