// A small overlay on this machine: five nodes, a sender that is too fast for most, and receivers that take what they
// can, each with a policy of its own. What it shows is real: real connections, real queues, real receipts.
import { setTimeout as timer } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  type Client,
  connect,
  createNode,
  type DeliveredDigest,
  type Node,
  type PolicySpec,
  presets,
  type Sender,
  type Subscription,
} from '../index.ts'

const NODES = 5
const PUBLISH_EVERY_MS = 10
const READINGS_A_SECOND = 1_000
const REDRAW_EVERY_MS = 200
const REPORT_EVERY_MS = 2_000
/** By then the nodes have met; before, roots still move, and receivers would see gaps. */
const MEET_MS = 2_000
/** At the end everyone takes the rest as fast as they can; who was interrupted is not kept waiting for it. */
const REST_MS = 10_000
const INTERRUPTED_REST_MS = 1_000
/** The phone has no coverage from here on, for a fifth of the run; what is longer than 20 s is too long to be kept for. */
const AWAY_FROM = 0.3
const AWAY_SHARE = 0.2
const AWAY_MAX_MS = 8_000

const USAGE = `Usage: npm run demo [-- --seconds N]

A small overlay on this machine: ${NODES} nodes, a sender that is too fast for most, and receivers that take what they
can. It runs for N seconds, 20 if not given, or until Ctrl-C, and ends with the receipt of each receiver.`

const seconds = secondsOf(process.argv.slice(2))

/** Below level 3 every reading outside the normal range arrives. */
const ward: PolicySpec = {
  attribute: 'PulseRate',
  summary: ['MEAN', 'MIN', 'MAX'],
  levels: [
    [{ name: 'DELTA', change: 3 }],
    [{ name: 'WITHIN', mode: 'drop', low: 50, high: 100 }],
    [{ name: 'LATEST', window: 10 }],
  ],
}

interface Receiver {
  readonly client: Client
  readonly name: string
  readonly takes: string
  readonly losing: string
  readonly subscription: Subscription
  /** Waits before the next item, at this share of the run. */
  wait(share: number): Promise<unknown>
  ageMs: number
  lastDigest: string
}

/** Who plays, and how much of the time is over, from 0 to 1. */
interface Stage {
  readonly pulse: Sender<{ PulseRate: 'number'; Bed: 'string' }>
  readonly receivers: readonly Receiver[]
  share(): number
}

interface Kind {
  readonly name: string
  readonly takes: string
  readonly losing: string
  readonly policy?: PolicySpec
  readonly queue: number
  wait(share: number): Promise<unknown>
}

const kinds: readonly Kind[] = [
  { name: 'recorder', takes: 'all', losing: 'nothing', queue: 10_000, wait: async () => {} },
  {
    name: 'screen',
    takes: '100/s',
    losing: 'telemetry',
    policy: presets.telemetry('PulseRate'),
    queue: 200,
    wait: () => sleep(10),
  },
  {
    name: 'nurse',
    takes: '20/s',
    losing: 'normal pulses',
    policy: ward,
    queue: 100,
    wait: () => sleep(50),
  },
  {
    name: 'wall',
    takes: '5/s',
    losing: 'all but the newest',
    policy: presets.state('Bed'),
    queue: 50,
    wait: () => sleep(200),
  },
  {
    name: 'stuck',
    takes: 'pauses',
    losing: 'anything',
    queue: 100,
    wait: (share) => sleep(share > 0.2 && share < 0.8 ? 1_000 * seconds * (0.8 - share) : 0),
  },
  { name: 'phone', takes: 'moves', losing: 'nothing', queue: 10_000, wait: async () => {} },
]

const isTerminal = process.stdout.isTTY === true
const nodes: Node[] = []
const clients: Client[] = []
/** Aborts when nothing more is published: those who sleep then wake up, and take the rest. */
const over = new AbortController()
let isInterrupted = false
let drawn = 0
/** What there is to say of the phone. */
let news = () => ''
// Not once: npm passes Ctrl-C on to whom the terminal has sent it already.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    isInterrupted = true
    over.abort()
  })

console.log(
  `Starting ${NODES} nodes, a sender of ${READINGS_A_SECOND} readings a second and ${kinds.length} receivers …`,
)
try {
  process.exitCode = await run()
} finally {
  await Promise.all(clients.map((one) => one.close()))
  await Promise.all(nodes.map((one) => one.close()))
}

/** Returns the exit code. */
async function run(): Promise<number> {
  for (let i = 0; i < NODES && !isInterrupted; i++)
    nodes.push(await createNode({ join: nodes.slice(0, 1).flatMap(addressesOf) }))
  await sleep(MEET_MS)
  if (isInterrupted) return interruptedEarly()
  const pulse = (await client(0)).sender('pulse', { PulseRate: 'number', Bed: 'string' })
  await pulse.opened
  const receivers = await Promise.all(kinds.map((kind, i) => receiver(pulse.id, kind, i + 1)))
  if (isInterrupted) return interruptedEarly()
  const startedAt = performance.now()
  const stage: Stage = { pulse, receivers, share: () => (performance.now() - startedAt) / 1_000 / seconds }
  await play(stage)
  if (pulse.published === 0) return interruptedEarly()
  console.log('\nReceipts: every reading was delivered, is counted in a digest, or is reported as a gap.')
  return receivers.map((one) => isExact(one, pulse.published)).every(Boolean) ? 0 : 1
}

function interruptedEarly(): number {
  console.log('Interrupted before anything was published.')
  return 0
}

/** Publishes, takes and shows until the time is over, and then until everyone has the rest. */
async function play(stage: Stage): Promise<void> {
  const { pulse, receivers, share } = stage
  const publishing = setInterval(() => publish(stage), PUBLISH_EVERY_MS)
  const showing = setInterval(() => show(stage), isTerminal ? REDRAW_EVERY_MS : REPORT_EVERY_MS)
  for (const one of receivers) void take(one, share)
  void roam(receivers.at(-1)!, stage)
  await sleep(1_000 * seconds)
  over.abort()
  clearInterval(publishing)
  const rest = timer(isInterrupted ? INTERRUPTED_REST_MS : REST_MS, 'late', { ref: false })
  await Promise.race([rest, pulse.close()])
  while (!receivers.every(isDone) && (await Promise.race([rest, timer(20)])) !== 'late');
  clearInterval(showing)
  show(stage)
}

/** Resolves after so long, or when it is over. */
async function sleep(delayMs: number): Promise<void> {
  await timer(delayMs, undefined, { signal: over.signal }).catch(() => {})
}

async function client(at: number): Promise<Client> {
  const one = await connect(addressesOf(nodes[at % NODES]!))
  clients.push(one)
  return one
}

async function receiver(sender: string, { policy, queue, ...kind }: Kind, at: number): Promise<Receiver> {
  const options = { queue: { items: queue }, ...(policy === undefined ? {} : { policy }) }
  const own = await client(at)
  const subscription = own.subscribe(sender, options)
  await subscription.subscribed
  return { ...kind, client: own, subscription, ageMs: 0, lastDigest: '' }
}

/** Readings of ten beds, near 75 but for one patient at a time, whose heart races. */
function publish({ pulse, share }: Stage): void {
  const elapsed = share() * seconds
  const due = elapsed * READINGS_A_SECOND
  while (pulse.published < due) {
    const bed = (pulse.published % 10) + 1
    const isRacing = Math.floor(elapsed / 2) % 10 === bed - 1
    const PulseRate = Math.round((isRacing ? 125 : 75) + (Math.random() - 0.5) * 20)
    pulse.publish({ PulseRate, Bed: `bed ${bed}` })
  }
}

async function take(one: Receiver, share: Stage['share']): Promise<void> {
  for await (const item of one.subscription) {
    if (item.kind === 'digest') one.lastDigest = inWords(item as DeliveredDigest)
    if (item.kind !== 'event') continue
    one.ageMs = Date.now() - Number(item.time)
    if (!over.signal.aborted) await one.wait(share())
  }
}

/** The phone loses its node, and finds another: what is published meanwhile waits in the overlay, and follows. */
async function roam({ client, subscription, name }: Receiver, { pulse }: Stage): Promise<void> {
  await sleep(1_000 * seconds * AWAY_FROM)
  const waiting = () => pulse.published - (subscription.receipt.at(-1)?.last ?? 0)
  client.detach()
  tell(() => `${name} has no coverage: ${waiting()} readings wait for it in the overlay`)
  await sleep(Math.min(AWAY_MAX_MS, 1_000 * seconds * AWAY_SHARE))
  const waited = waiting()
  // Where nobody answers it goes on looking by itself.
  await client.attach(nodes[3]!.addresses[0]).catch(() => {})
  tell(() => `${name} is back, at another node: the ${waited} readings that waited follow it`)
}

function tell(latest: typeof news): void {
  news = latest
  if (!isTerminal) console.log(news())
}

function isDone({ subscription }: Receiver): boolean {
  return subscription.isEnded
}

function inWords({ count, MEAN, DISTINCT }: DeliveredDigest): string {
  if (typeof MEAN === 'number') return `${count}, mean ${MEAN.toFixed(0)}`
  return `${count}${DISTINCT === undefined ? '' : `, of ${DISTINCT} beds`}`
}

function addressesOf({ addresses }: Node): string[] {
  return [...addresses]
}

function show({ pulse, receivers, share }: Stage): void {
  const elapsed = `${(Math.min(1, share()) * seconds).toFixed(0)} s`
  if (!isTerminal) {
    const parts = receivers.map((one) => `${one.name} ${countsOf(one).join('/')}`)
    console.log(`${elapsed}: ${pulse.published} published; delivered/in digests/in gaps: ${parts.join(', ')}`)
    return
  }
  const head = ['', 'takes', 'may lose', 'queue', 'delivered', 'digested', 'gaps', 'age', 'last digest']
  const rows = receivers.map((one) => [
    one.name,
    one.takes,
    one.losing,
    bar(one.subscription.fill),
    ...countsOf(one).map(String),
    `${(one.ageMs / 1_000).toFixed(1)} s`,
    one.lastDigest,
  ])
  const lines = [
    '',
    `${elapsed}, ${pulse.published} readings published`,
    '',
    ...columns([head, ...rows]),
    '',
    news(),
  ]
  const up = drawn === 0 ? '' : `\x1b[${drawn}A`
  // A line that wraps would be two when they are drawn over.
  const width = process.stdout.columns || Number.POSITIVE_INFINITY
  process.stdout.write(`${up}${lines.map((line) => `\x1b[2K${line.slice(0, width)}\n`).join('')}`)
  drawn = lines.length
}

function countsOf({ subscription }: Receiver): number[] {
  const sum = (key: 'delivered' | 'digested' | 'gaps') =>
    subscription.receipt.reduce((total, receipt) => total + receipt[key], 0)
  return [sum('delivered'), sum('digested'), sum('gaps')]
}

/** Whether the receipt accounts for everything up to its last number; says so. */
function isExact({ name, subscription }: Receiver, published: number): boolean {
  const [receipt] = subscription.receipt
  const { first = 1, last = 0, delivered = 0, digested = 0, gaps = 0 } = receipt ?? {}
  const isExact = first === 1 && delivered + digested + gaps === last
  const sum = `${delivered} delivered + ${digested} in digests + ${gaps} in gaps`
  const rest = last < published ? ', and the rest was still on its way' : ''
  console.log(
    `  ${name.padEnd(9)} ${sum} = ${last} of ${published} published: ${isExact ? 'exact' : 'WRONG'}${rest}`,
  )
  return isExact
}

/** How long to run; without a number that can be it says how to use the demo, and ends. */
function secondsOf(argv: readonly string[]): number {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { seconds: { type: 'string', default: '20' }, help: { type: 'boolean', short: 'h' } },
    })
    if (values.help) {
      console.log(USAGE)
      process.exit(0)
    }
    // Timers cannot wait for longer than 24 days.
    if (Number(values.seconds) > 0 && Number(values.seconds) <= 2_000_000) return Number(values.seconds)
    throw new Error(`--seconds: expected a number above 0, got "${values.seconds}"`)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}

function bar(fill: number): string {
  return `[${'#'.repeat(Math.min(8, Math.round(fill * 8))).padEnd(8, '.')}]`
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((row) => row[c]!.length)))
  return rows.map((row) =>
    row
      .map((cell, c) => (c > 3 && c < 8 ? cell.padStart(widths[c]!) : cell.padEnd(widths[c]!)))
      .join('  ')
      .trimEnd(),
  )
}
