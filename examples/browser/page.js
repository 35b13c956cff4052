// The page: it subscribes to a pulse, says what may be lost while it is slow, and shows what it gets and the receipt.
import { connect } from './spillway.js' // in a project of yours it is 'spillway/browser'

const levels = [[{ name: 'DELTA', change: 5 }], [{ name: 'LATEST', window: 10 }]]
const policy = { attribute: 'PulseRate', summary: ['MEAN', 'MIN', 'MAX'], levels }

const { addresses, sender } = await (await fetch('overlay.json')).json()
const attachment = (isAttached) => show('state', isAttached ? 'attached' : 'looking for the node …')
const client = await connect(addresses, { attachment })
const pulse = client.subscribe(sender, { policy, queue: { items: 50 } })

for await (const { kind, PulseRate, count, MEAN, MIN, MAX } of pulse) {
  if (kind === 'event') show('pulse', PulseRate)
  else if (kind === 'digest') list(kind, `${count} dropped: mean ${MEAN.toFixed(1)}, from ${MIN} to ${MAX}`)
  else list(kind, `${count} lost`)
  const [{ delivered, digested, gaps, first, last }] = pulse.receipt
  show('receipt', `${delivered} delivered + ${digested} in digests + ${gaps} in gaps = ${first} to ${last}`)
  const everyMs = Number(document.getElementById('every').value)
  if (kind === 'event' && everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs))
}

function show(id, text) {
  document.getElementById(id).textContent = text
}

function list(className, textContent) {
  document
    .getElementById('items')
    .prepend(Object.assign(document.createElement('div'), { className, textContent }))
}
