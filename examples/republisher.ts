// A republisher: four thermometers have to be asked, each has something new at a time of its own, and MDPT asks when
// three of them are expected to. What it then makes of them, their mean, is one stream that anybody can subscribe to.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { best, connect, createNode, mdpt, pullTogether, type Source } from '../index.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } })
const runMs = 1_000 * Number(values.seconds)
if (!(runMs > 0)) throw new RangeError(`--seconds: expected a number above 0, got "${values.seconds}"`)
const over = new AbortController()
process.once('SIGINT', () => over.abort())

let polls = 0

/** A thermometer that reads every two seconds or so; asked, it answers what it has read since, and when. */
function thermometer(room: number): Source<number, number> {
  const everyMs = 2_000 + 50 * room
  const startedAt = Date.now() + 400 * room
  return {
    async poll(since = 0) {
      polls++
      const next = Math.max(since, Math.floor((Date.now() - startedAt) / everyMs))
      const due = Array.from({ length: next - since }, (_, i) => startedAt + (since + i + 1) * everyMs)
      return { kind: 'answer', items: due.map(() => 20 + room + Math.random()), next, publishedAt: due }
    },
  }
}

const rooms = [0, 1, 2, 3].map(thermometer)
const schedule = mdpt(rooms.length, { trigger: 3, track: () => best({ firstPeriodMs: 2_000 }) })

const node = await createNode()
const client = await connect(node.addresses)
const house = client.sender('house', { rooms: 'set', mean: 'number' })
const receiver = client.subscribe<{ rooms: number[]; mean: number }>(house.id)
receiver.handle({ event: ({ rooms, mean }) => console.log(mean.toFixed(2), `new of rooms ${rooms}`) })
await receiver.subscribed

setTimeout(() => over.abort(), runMs).unref()
const newest = new Map<number, number>()
for await (const { items } of pullTogether(rooms, { schedule, signal: over.signal })) {
  for (const [room, readings] of items) for (const reading of readings) newest.set(room, reading)
  if (schedule.ready.length === 0) continue
  const known = [...newest.values()]
  house.publish({ rooms: schedule.ready, mean: known.reduce((sum, one) => sum + one, 0) / known.length })
}

await house.close()
while (!receiver.isEnded) await sleep(10)
const [{ delivered, digested, gaps } = { delivered: 0, digested: 0, gaps: 0 }] = receiver.receipt
const sum = `${delivered} delivered + ${digested} in digests + ${gaps} in gaps`
console.log(`${sum} = ${house.published} published, from ${polls} polls`)
process.exitCode = delivered + digested + gaps === house.published ? 0 : 1
await client.close()
await node.close()
