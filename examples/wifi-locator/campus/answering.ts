// How long an access point takes to answer (PACK section 7): from hundreds of milliseconds to dozens of seconds,
// depending on its load and how it is configured.

const LEAST_MS = 150
const MOST_MS = 30_000
/** The median beyond that, and the deviation of its logarithm: one answer in a hundred takes more than 10 s. */
const USUAL_MS = 400
const DEVIATION = 1.4
/** So many stations make an access point take twice as long. */
const CROWD = 25

/** In milliseconds, for an access point with so many stations. */
export function answerDelayMs(stations: number, random: () => number): number {
  const load = 1 + stations / CROWD
  return Math.min(MOST_MS, LEAST_MS + USUAL_MS * load * Math.exp(DEVIATION * normal(random)))
}

/** Box and Muller's. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
