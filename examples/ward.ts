// The ward of the paper's Figure 2: a pulse is read 50 times a second, the nurse looks ten times, and a policy says
// which readings may go. Every one of them ends up in the receipt.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect, createNode } from '../index.ts'

/** The figure's, with WITHIN as its text means it: a reading in the normal range is one that may go. */
const policy = `
  <policy attribute="PulseRate">
    <summary><digester name="MEAN"/><digester name="COUNT"/></summary>
    <level><filter name="DELTA"><para name="change" value="5"/></filter></level>
    <level>
      <filter name="WITHIN" mode="drop"><para name="low" value="50"/><para name="high" value="100"/></filter>
    </level>
    <level><filter name="LATEST"><para name="window" value="10"/></filter></level>
  </policy>`

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } })
const runMs = 1_000 * Number(values.seconds)
if (!(runMs > 0)) throw new RangeError(`--seconds: expected a number above 0, got "${values.seconds}"`)
const over = new AbortController()
process.once('SIGINT', () => over.abort())

const node = await createNode()
const bedside = await connect(node.addresses)
const desk = await connect(node.addresses)
const pulse = bedside.sender('pulse', { PulseRate: 'number' })
const ward = desk.subscribe<{ PulseRate: number }>(pulse.id, { policy, queue: { items: 40 } })
await ward.subscribed

/** Near 75, with a fit of fast pulse in five seconds of every fifteen. */
const read = () => ((Date.now() / 1_000) % 15 < 5 ? 118 : 75) + Math.round(12 * (Math.random() - 0.5))
const reading = setInterval(() => pulse.publish({ PulseRate: read() }), 20)

/** The nurse takes 100 ms for each reading, and when it is over takes the rest at once. */
async function look(): Promise<void> {
  for await (const item of ward) {
    if (item.kind === 'digest') console.log(`  ${item.COUNT} dropped, mean ${Number(item.MEAN).toFixed(1)}`)
    else if (item.kind === 'gap') console.log(`  ${item.count} lost`)
    else console.log(`${item.PulseRate}`)
    if (item.kind === 'event') await sleep(100, undefined, { signal: over.signal }).catch(() => {})
  }
}

const looking = look()
await sleep(runMs, undefined, { signal: over.signal }).catch(() => {})
over.abort()
clearInterval(reading)
await pulse.close()
while (!ward.isEnded) await sleep(10)
ward.close()
await looking
const [{ delivered, digested, gaps } = { delivered: 0, digested: 0, gaps: 0 }] = ward.receipt
console.log(
  `${delivered} delivered + ${digested} in digests + ${gaps} in gaps = ${pulse.published} published`,
)
process.exitCode = delivered + digested + gaps === pulse.published ? 0 : 1
for (const one of [bedside, desk, node]) await one.close()
