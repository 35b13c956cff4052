// The filters that every repository has: the paper's (PACK section 2) and LATESTBY, RATE, AGE.
import type { FilterDefinition } from '../filter.ts'
import { comparisonFilters } from './comparison.ts'
import { duplicateFilters } from './duplicates.ts'
import { setFilters } from './sets.ts'
import { thinningFilters } from './thinning.ts'

export const standardFilters: readonly FilterDefinition[] = [
  ...comparisonFilters,
  ...setFilters,
  ...duplicateFilters,
  ...thinningFilters,
]
