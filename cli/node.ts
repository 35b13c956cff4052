// `spillway node`: runs a node of the overlay until it is told to stop.
import { once } from 'node:events'
import type { Node, NodeOptions } from '../endpoints/node.ts'
import { checkPeers, MIN_BUDGET_BYTES } from '../endpoints/options.ts'
import { checkAddressOption, checkOption, PSK, readPsk } from './attachment.ts'
import { interruptible, unlessAborted } from './interruption.ts'
import { writeLine } from './json-lines.ts'
import { command, type Io, wholeNumber, write } from './options.ts'

const NAME = 'node'

export const node = command(
  {
    name: NAME,
    paragraph:
      'Runs a node of the overlay: clients attach to it, and it takes their events to whoever subscribed, over other ' +
      'nodes. All nodes are equal; those that join one another are one overlay. It says where it serves, and runs until ' +
      'SIGINT (Ctrl-C) or SIGTERM. Then it sends its clients to the other nodes, for ten seconds at most; another signal, a ' +
      'second later or more, kills.',
    output: [
      [
        '{"ready":true,"id":…,"addresses":[…]}',
        'With --json, once it serves; in words without. Nothing after it.',
      ],
    ],
    options: {
      listen: {
        value: 'ADDR',
        many: true,
        help:
          'A multiaddr to listen on: /ip4/0.0.0.0/tcp/4600 for everyone, /ip4/0.0.0.0/tcp/4601/ws for browsers, port 0 for ' +
          'any that is free. /ip4/127.0.0.1/tcp/0 if not given.',
      },
      join: { value: 'ADDR', many: true, help: 'A node to join. One that is not there yet is tried again.' },
      key: {
        value: 'FILE',
        help: "The file with the node's key, made if it is not there. Without it a new key, and so a new ID, each time.",
      },
      psk: PSK,
      'allow-peer': {
        value: 'PEER',
        many: true,
        help: 'The peer id of a node (at the end of its addresses); if given, only those may be nodes. Clients may always.',
      },
      queue: {
        value: 'ITEMS',
        help: 'How many events a queue holds before it is packed. 10000 if not given.',
      },
      budget: {
        value: 'BYTES',
        help: 'How much all queues hold together, from 1048576. 536870912 if not given.',
      },
      'max-clients': {
        value: 'N',
        help: 'Of more clients, those that came last are sent to nodes that have room. 900 if not given.',
      },
      json: { help: 'Write one line of JSON once it serves.' },
    },
    example: [
      'npx spillway node --listen /ip4/127.0.0.1/tcp/4600',
      'npx spillway node --join /ip4/127.0.0.1/tcp/4600 --json',
    ],
    exits: { 0: 'it was told to stop', 1: 'it could not start: an address in use, a bad key' },
  },
  async ({ options }, io) => {
    checkAddressOption(NAME, 'listen', 'listen', options.listen)
    checkAddressOption(NAME, 'join', 'dial', options.join)
    const { listen, join, key, queue, budget } = options
    const peers = options['allow-peer']
    const maxClients = options['max-clients']
    checkOption(NAME, 'allow-peer', () => checkPeers(peers))
    const settings: NodeOptions = {
      join,
      ...(listen.length === 0 ? {} : { listen }),
      ...(key === undefined ? {} : { key }),
      ...(peers.length === 0 ? {} : { allowPeers: peers }),
      ...(queue === undefined ? {} : { queue: { items: numberFrom(1, 'queue', queue) } }),
      ...(budget === undefined ? {} : { budgetBytes: numberFrom(MIN_BUDGET_BYTES, 'budget', budget) }),
      ...(maxClients === undefined ? {} : { maxClients: numberFrom(1, 'max-clients', maxClients) }),
      ...(options.psk === undefined ? {} : { psk: await readPsk(options.psk) }),
    }
    return interruptible((signal) => serve(settings, options.json, io, signal))
  },
)

async function serve(settings: NodeOptions, json: boolean, io: Io, signal: AbortSignal): Promise<number> {
  const { createNode } = await import('../endpoints/node.ts')
  const node = await createNode({ ...settings, signal })
  try {
    const { id, addresses } = node
    if (json) await writeLine(io, { ready: true, id, addresses })
    else await write(io.stdout, inWords(node))
    void sayUnjoined(node, settings, io, signal)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await node.close()
  }
  return 0
}

/** Joining takes less than a second, where there is someone to join. */
const JOIN_MS = 5_000

async function sayUnjoined(node: Node, { join = [] }: NodeOptions, io: Io, signal: AbortSignal) {
  const late = AbortSignal.any([signal, AbortSignal.timeout(JOIN_MS)])
  const isJoined = await unlessAborted(
    node.joined.then(() => true),
    late,
  )
  if (isJoined || signal.aborted) return
  io.stderr.write(`no node answers yet at ${join.join(', ')}; trying again\n`)
  if (
    await unlessAborted(
      node.joined.then(() => true),
      signal,
    )
  )
    io.stderr.write('joined\n')
}

function inWords({ id, addresses }: Node): string {
  const [address = 'ADDR'] = addresses
  return [
    `node ${id} serves at`,
    ...addresses.map((one) => `  ${one}`),
    `another node:  spillway node --join ${address}`,
    `a sender:      spillway pub NAME --at ${address}`,
    'Ctrl-C ends it.\n',
  ].join('\n')
}

function numberFrom(low: number, option: string, text: string): number {
  return wholeNumber(NAME, option, text, low, Number.MAX_SAFE_INTEGER, `a whole number from ${low}`)
}
