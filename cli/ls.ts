// `spillway ls`: the senders one can subscribe to.
import type { SenderInfo } from '../overlay/control.ts'
import { AT, attach, CLIENT_KEY, PSK } from './attachment.ts'
import { interruptible } from './interruption.ts'
import { writeLine } from './json-lines.ts'
import { command, write } from './options.ts'

const NAME = 'ls'

export const ls = command(
  {
    name: NAME,
    paragraph:
      'Lists the senders one can subscribe to, as far as the node has heard: their IDs, names and attributes. Nodes tell ' +
      'one another of a new sender within seconds, and forget one that is gone within a minute or two.',
    output: [
      [
        '{"sender":…,"name":…,"owner":…,"tags":[…]}',
        "With --json, for each; a table without. `owner` is the ID of the sender's client.",
      ],
    ],
    options: {
      at: AT,
      json: { help: 'Write one line of JSON for each.' },
      key: CLIENT_KEY,
      psk: PSK,
    },
    example: ['npx spillway ls --at /ip4/127.0.0.1/tcp/4600'],
    exits: { 0: 'listed, also when there is none', 1: 'no node answered' },
  },
  async ({ options }, io) =>
    interruptible(async (signal) => {
      const { client } = await attach(NAME, options, io, signal)
      try {
        const senders = [...(await client.senders({ signal }))].sort(byName)
        if (!options.json) await write(io.stdout, table(senders))
        else
          for (const { sid, name, owner, tags } of senders)
            await writeLine(io, { sender: sid, name, owner, tags })
        return 0
      } finally {
        await client.close()
      }
    }),
)

function byName(a: SenderInfo, b: SenderInfo): number {
  return a.name < b.name || (a.name === b.name && a.sid < b.sid) ? -1 : 1
}

function table(senders: readonly SenderInfo[]): string {
  if (senders.length === 0) return 'no senders\n'
  const rows = senders.map(({ sid, name, tags }) => [printable(name), sid, printable(tags.join(' '))])
  const all = [['NAME', 'SENDER', 'ATTRIBUTES'], ...rows]
  const widths = [0, 1].map((column) => Math.max(...all.map((row) => row[column]!.length)))
  const lines = all.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return `${lines.join('\n')}\n`
}

/** Names come from strangers, and a terminal obeys control characters. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, '�')
}
