// "Did you mean": the known word that a misspelt one is nearest to.

/** Longer words are nobody's slip, and comparing them takes time. */
const WORD_LIMIT = 64

/** ` (did you mean "X"?)` when one of `known` is near, otherwise nothing. */
export function suggestion(word: string, known: Iterable<string>): string {
  const near = nearest(word, known)
  // Of a single letter, a slip leaves nothing to go by.
  const isNothing = near?.length === 1 && near.toLowerCase() !== word.toLowerCase()
  return near === undefined || isNothing ? '' : ` (did you mean "${near}"?)`
}

/** The one of `known` that is fewest slips away, if they are few for its length. Case is no slip. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > WORD_LIMIT) return undefined
  let near: string | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const name of known) {
    if (name.length > WORD_LIMIT) continue
    const count = slips(word.toLowerCase(), name.toLowerCase())
    if (count >= fewest || count > Math.max(1, Math.floor((name.length + 1) / 3))) continue
    near = name
    fewest = count
  }
  return near
}

/** How many letters are missing, added, wrong, or swapped with their neighbour (optimal string alignment). */
function slips(a: string, b: string): number {
  let rowBefore: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const wrong = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next[j] = Math.min(wrong, row[j]! + 1, next[j - 1]! + 1, swapped ? rowBefore[j - 2]! + 1 : wrong)
    }
    rowBefore = row
    row = next
  }
  return row[b.length]!
}
