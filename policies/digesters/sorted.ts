// Rising lists of numbers, in which digesters keep what they have seen.

/** Where a number is in a rising list, or would be: before the first that is not smaller. */
export function placeOf(rising: readonly number[], number: number): number {
  let low = 0
  let high = rising.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rising[middle]! < number) low = middle + 1
    else high = middle
  }
  return low
}
