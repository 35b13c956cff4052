// The far side of the slow link, in a process of its own: a client that takes everything at once. Prints
// `{"subscribed"}`, and when the sender has ended, what arrived when. All processes have the same clock.
import { connect } from '../../endpoints/machine.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import type { ReceivedReport } from './slow-link.ts'

const { address, sender, policy } = JSON.parse(process.argv[2]!) as {
  readonly address: string
  readonly sender: string
  readonly policy: PolicySpec
}
const client = await connect(address)
const subscription = client.subscribe(sender, { policy })
const first = await subscription.subscribed
process.stdout.write(`${JSON.stringify({ subscribed: first ?? {} })}\n`)
const latenciesMs: number[] = []
let digests = 0
// The end is no item: it may come behind the last one.
const untilEnd = setInterval(() => {
  if (subscription.isEnded) subscription.close()
}, 50)
for await (const item of subscription) {
  if (item.kind === 'event') latenciesMs.push(performance.timeOrigin + performance.now() - item.time)
  else if (item.kind === 'digest') digests++
}
clearInterval(untilEnd)
const report: ReceivedReport = { latenciesMs, digests, receipt: subscription.receipt }
process.stdout.write(`${JSON.stringify(report)}\n`)
await client.close()
