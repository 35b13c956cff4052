// `npm run sim -- --seed N`: runs the scenario of a seed, or of many, and says what went wrong and how to see it
// again. The only file of the simulator that does IO.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { MIXED } from './faults.ts'
import { makeClient, makeNode } from './overlay.ts'
import { roamingScenario } from './roaming.ts'
import { type MakeClient, type MakeNode, runScenario, type Scenario } from './scenario.ts'
import { SCENARIO_LIMITS, seededScenario } from './seeded-scenario.ts'
import { ToyClient, ToyNode } from './toy.ts'

const USAGE = `usage: npm run sim -- [options]

  --seed N          the first seed (1)
  --seeds COUNT     how many seeds (1)
  --nodes N         at most so many nodes (${SCENARIO_LIMITS.nodes}); likewise --senders, --receivers, --clients
  --seconds N       at most so many simulated seconds of publishing (${SCENARIO_LIMITS.durationMs / 1_000})
  --settle N        at most so many for receipts to become complete (${SCENARIO_LIMITS.settleMs / 1_000})
  --every MS        each sender publishes so often (20 to 500 ms, by chance)
  --exact           these numbers, not at most
  --no-faults       nothing happens to anybody
  --crash-clients   clients crash, too
  --roam            clients roam, among nodes with faults; nothing may be left of them in the end
  --roam-calmly     clients roam, among nodes without: nothing may be lost
  --cores toy       the simulator's own toys instead of the overlay
  --scenario FILE   this scenario instead of a seed's
  --print           print the scenario as JSON, and do not run it
  --log             print what happens, but for frames
  --json            one JSON object a run`

const cores: Readonly<Record<string, { makeNode: MakeNode; makeClient: MakeClient }>> = {
  overlay: { makeNode, makeClient },
  toy: {
    makeNode: (surroundings) => new ToyNode(surroundings),
    makeClient: (surroundings, context) => new ToyClient(surroundings, context),
  },
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    nodes: { type: 'string' },
    senders: { type: 'string' },
    receivers: { type: 'string' },
    clients: { type: 'string' },
    seconds: { type: 'string' },
    settle: { type: 'string' },
    every: { type: 'string' },
    exact: { type: 'boolean', default: false },
    'no-faults': { type: 'boolean', default: false },
    'crash-clients': { type: 'boolean', default: false },
    roam: { type: 'boolean', default: false },
    'roam-calmly': { type: 'boolean', default: false },
    cores: { type: 'string', default: 'overlay' },
    scenario: { type: 'string' },
    print: { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const chosen = Object.hasOwn(cores, values.cores) ? cores[values.cores] : undefined
if (values.help || chosen === undefined) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}
let failed = 0
for (const scenario of scenarios()) {
  if (values.print) console.log(JSON.stringify(scenario, undefined, 2))
  else if (!run(scenario, chosen)) failed++
}
process.exitCode = failed === 0 ? 0 : 1

function* scenarios(): Generator<Scenario> {
  if (values.scenario !== undefined) {
    yield JSON.parse(readFileSync(values.scenario, 'utf8')) as Scenario
    return
  }
  const first = numberOf(values.seed)
  for (let seed = first; seed < first + numberOf(values.seeds); seed++) yield scenarioOf(seed)
}

function scenarioOf(seed: number): Scenario {
  const isCalm = values['roam-calmly']
  return isCalm || values.roam
    ? roamingScenario(seed, { ...limits(), isCalm })
    : seededScenario(seed, limits())
}

function limits() {
  const given: Record<string, number> = {}
  for (const name of ['nodes', 'senders', 'receivers', 'clients'] as const) {
    if (values[name] !== undefined) given[name] = numberOf(values[name])
  }
  if (values.seconds !== undefined) given.durationMs = 1_000 * numberOf(values.seconds)
  if (values.settle !== undefined) given.settleMs = 1_000 * numberOf(values.settle)
  if (values.every !== undefined) given.everyMs = numberOf(values.every)
  const faults = values['no-faults'] ? undefined : MIXED
  return { ...given, faults, exact: values.exact, crashClients: values['crash-clients'] }
}

function run(
  scenario: Scenario,
  { makeNode, makeClient }: { makeNode: MakeNode; makeClient: MakeClient },
): boolean {
  const start = performance.now()
  const log = values.log ? (line: string) => console.log(line) : undefined
  try {
    const { violations, statistics, trace } = runScenario(scenario, makeNode, makeClient, log)
    const wallMs = Math.round(performance.now() - start)
    const { seed, nodes, receivers } = scenario
    const sizes = { seed, nodes, receivers: receivers.length, faults: scenario.faults.length }
    if (values.json) console.log(JSON.stringify({ ...sizes, violations, trace, wallMs, statistics }))
    else printResult(sizes, violations, trace, wallMs, statistics)
    return violations.length === 0
  } catch (error) {
    console.error(error)
    console.error(`again: ${again(scenario.seed)}`)
    return false
  }
}

function printResult(
  sizes: Readonly<Record<string, number>>,
  violations: readonly string[],
  trace: string,
  wallMs: number,
  statistics: ReturnType<typeof runScenario>['statistics'],
): void {
  const { published, delivered, digested, gaps, settledMs, network, latencyMs } = statistics
  const facts = { ...sizes, published, delivered, digested, gaps, settledMs, frames: network.frames }
  const line = Object.entries(facts).map(([name, value]) => `${name} ${Math.round(value)}`)
  const latency = `latency ${latencyMs.median.toFixed(0)}/${latencyMs.p99.toFixed(0)} ms`
  console.log(
    `${violations.length === 0 ? 'ok' : 'FAILED'} ${line.join(', ')}, ${latency}, ${trace}, ${wallMs} ms`,
  )
  for (const violation of violations.slice(0, 20)) console.log(`  ${violation}`)
  if (violations.length > 20) console.log(`  and ${violations.length - 20} more`)
  if (violations.length > 0) console.log(`  again: ${again(sizes.seed!)}`)
}

/** The command that runs just this seed again. */
function again(seed: number): string {
  const options = process.argv.slice(2)
  for (const name of ['--seed', '--seeds']) {
    const at = options.findIndex((option) => option === name || option.startsWith(`${name}=`))
    if (at >= 0) options.splice(at, options[at] === name ? 2 : 1)
  }
  return ['npm run sim -- --seed', seed, ...options].join(' ')
}

function numberOf(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 0) return number
  console.error(`${text} is no number\n\n${USAGE}`)
  process.exit(2)
}
