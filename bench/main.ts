// `npm run bench -- NAME [options]`: every measurement, each runnable by itself. What they found: README.md.
import { parseArgs } from 'node:util'

interface Bench {
  readonly summary: string
  load(): Promise<{ run(options: BenchOptions): void | Promise<void> }>
}

/** `small` is how the tests run it: the same code, in a moment. */
export interface BenchOptions {
  readonly json: boolean
  readonly small: boolean
}

const benches: Readonly<Record<string, Bench>> = {
  policies: {
    summary: 'packing queues of 1,000 to 100,000 events, beside a hand-written loop',
    load: () => import('./policies.ts'),
  },
  buffers: {
    summary: 'what queues cost: items a second, packing by receivers and policies, memory',
    load: () => import('./buffers.ts'),
  },
  queueing: {
    summary: "the paper's Figure 8: latency and loss of a packed queue before a slow link, beside drop-tail",
    load: () => import('./queueing.ts'),
  },
  fanout: {
    summary: 'events from one sender to 1, 16 and 256 receivers over encrypted links, beside NATS',
    load: () => import('./fanout.ts'),
  },
  attach: {
    summary: "the paper's Figure 9: from the request to attach to the first event, 1 to 1,000 receivers",
    load: () => import('./attach.ts'),
  },
  locator: {
    summary: "the paper's Figure 11: an hour of the Wi-Fi locator, its packs, filters and latency",
    load: () => import('./locator.ts'),
  },
  pull: {
    summary:
      'when to ask: the figures of DPT, EasiCrawl and active control, from the model and from real traces',
    load: () => import('./pull.ts'),
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, small: { type: 'boolean', default: false } },
})
const bench = Object.hasOwn(benches, positionals[0] ?? '') ? benches[positionals[0]!] : undefined
if (bench === undefined) {
  console.error('usage: npm run bench -- NAME [--json] [--small]\n')
  for (const [name, { summary }] of Object.entries(benches)) console.error(`  ${name.padEnd(12)}${summary}`)
  process.exit(2)
}
await (await bench.load()).run(values)
