// The built-in digesters: those of PACK section 2, and beyond the paper those that stay small and merge.
import type { DigesterDefinition } from '../digester.ts'
import { DISTINCT } from './distinct.ts'
import { FIRST, LAST } from './first-last.ts'
import { COUNT, MAX, MEAN, MIN, STDDEV, SUM } from './moments.ts'
import { QUANTILES } from './quantiles.ts'
import { SAMPLE } from './sample.ts'

/** Every digester that a new repository has. */
export const standardDigesters: readonly DigesterDefinition[] = [
  COUNT,
  SUM,
  MIN,
  MAX,
  MEAN,
  STDDEV,
  FIRST,
  LAST,
  DISTINCT,
  QUANTILES,
  SAMPLE,
]
