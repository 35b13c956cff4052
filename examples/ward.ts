// The ward of the paper's Figure 2: a pulse is read faster than the nurse's screen takes it. The queue between
// them overflows on purpose, its policy says what may be lost, and every reading ends up in the receipt.
import { parseArgs } from 'node:util'
import { BlockWriter, BodyWriter, Budget, LocalBuffer, parsePolicy, Receipt } from '../index.ts'

const policy = parsePolicy(`
  <policy attribute="PulseRate">
    <summary><digester name="MEAN"/><digester name="MIN"/><digester name="MAX"/></summary>
    <level><filter name="DELTA"><para name="change" value="3"/></filter></level>
    <level>
      <filter name="WITHIN" mode="drop"><para name="low" value="50"/><para name="high" value="100"/></filter>
    </level>
    <level><filter name="LATEST"><para name="window" value="10"/></filter></level>
  </policy>`)

const QUEUE = { items: 40, bytes: 64_000 }
const READ_EVERY_MS = 20
const SHOW_EVERY_MS = 50
const REPORT_EVERY_MS = 1_000

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } })
const seconds = Number(values.seconds)
if (!(seconds > 0)) {
  console.error(`--seconds ${values.seconds} is wrong, expected a number above 0`)
  process.exit(2)
}

const schema = { tags: ['PulseRate'] }
const bodies = new BodyWriter()
const writer = new BlockWriter()
const receipt = new Receipt({ epoch: 1, seq: 1 })
const packs: string[] = []
let published = 0
let pulse = 72
let shown = 0

const buffer = new LocalBuffer({
  buffer: 'RB',
  budget: new Budget(1_000_000),
  now: Date.now,
  random: Math.random,
  packed: (_queue, level, before, after) =>
    packs.push(level === 0 ? `everything: ${before} to 0` : `level ${level}: ${before} to ${after}`),
})
const queue = buffer.subscribe('bed-7', 'nurse', policy, QUEUE)

/** A reading: near 75, with a fit of fast pulse for five seconds in every fifteen. */
function read(): void {
  const target = (Date.now() / 1000) % 15 < 5 ? 118 : 75
  pulse += (target - pulse) * 0.05 + (Math.random() - 0.5) * 6
  published++
  const body = bodies.encode(schema, { PulseRate: Math.round(pulse) })
  buffer.enqueue('bed-7', writer.write(schema, 1, published, Date.now(), body))
}

/** The nurse's screen takes one reading at a time, with the digests that stand before it. */
function show(): void {
  const taken = queue.take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1)
  if (taken === undefined) return
  queue.acknowledge(taken)
  for (const item of taken.items) {
    if (item.kind === 'digest') {
      receipt.digest(item)
      const { digest } = policy.show(item)
      console.log(
        `  ${digest.COUNT} readings dropped: mean ${round(digest.MEAN)}, ${digest.MIN} to ${digest.MAX}`,
      )
    } else if (item.kind === 'events') {
      receipt.event(1, item.block.seq(item.from))
      shown = Number(item.block.attributes(item.from).PulseRate)
    }
  }
}

function report(): void {
  const filled = Math.round(queue.fill * 20)
  const bar = '#'.repeat(filled).padEnd(20, '.')
  const age = ((Date.now() - (queue.oldestTime ?? Date.now())) / 1000).toFixed(1)
  console.log(
    `pulse ${shown}  queue [${bar}] ${queue.events}  oldest ${age} s  packed ${packs.splice(0).join(', ') || 'not'}`,
  )
}

function round(value: unknown): number {
  return Math.round(Number(value) * 10) / 10
}

function end(): void {
  for (const timer of timers) clearInterval(timer)
  while (!queue.isEmpty) show()
  const [{ delivered, digested, gaps, last } = { delivered: 0, digested: 0, gaps: 0, last: 0 }] =
    receipt.epochs
  console.log(
    `\nreceipt: ${delivered} delivered + ${digested} in digests + ${gaps} in gaps = ${last} of ${published} published`,
  )
  process.exit(delivered + digested + gaps === published ? 0 : 1)
}

console.log(
  `A reading every ${READ_EVERY_MS} ms, a screen that takes one every ${SHOW_EVERY_MS} ms, a queue of ${QUEUE.items}.`,
)
console.log(`For ${seconds} s; Ctrl-C ends it sooner.\n`)
const timers = [
  setInterval(read, READ_EVERY_MS),
  setInterval(show, SHOW_EVERY_MS),
  setInterval(report, REPORT_EVERY_MS),
]
setTimeout(end, seconds * 1000)
process.once('SIGINT', end)
