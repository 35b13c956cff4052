// Long lists go in several messages, each of which fits a frame.

/** Of the JSON, in UTF-16 units, which are up to three bytes: with the largest entry on top it is still a frame. */
const PORTION_LENGTH = 200_000

/** The entries in as few portions as fit a control message each: one at least, which may be empty. */
export function portionsOf<T>(entries: readonly T[], most: number): T[][] {
  let portion: T[] = []
  let length = 0
  const portions = [portion]
  for (const entry of entries) {
    if (length >= PORTION_LENGTH || portion.length >= most) {
      portion = []
      length = 0
      portions.push(portion)
    }
    portion.push(entry)
    length += JSON.stringify(entry).length
  }
  return portions
}
