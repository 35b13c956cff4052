// Drives the generated campus by the clock, at any speed, and hands out its lines as they are written.
import type { Campus, Line } from './campus.ts'

const TICK_MS = 50
/** After the machine has slept, the campus goes on from where it was instead of making up for it. */
const LONGEST_TICK_MS = 5_000

/** Hands each line to `said`, `speed` times as fast as real time; returns how to stop. */
export function drive(campus: Campus, speed: number, said: (line: Line) => void): () => void {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const elapsed = Math.min(now - last, LONGEST_TICK_MS)
    last = now
    for (const line of campus.advance(campus.now + elapsed * speed)) said(line)
  }, TICK_MS)
  return () => clearInterval(timer)
}
