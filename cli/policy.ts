// `spillway policy`: the commands about policies, each in its own file and loaded when it is called.
import { choose, HELP, type Menu } from './main.ts'
import type { Command } from './options.ts'

/** What FILE may be; for the help of every policy command. */
export const FILE =
  'FILE is XML or JSON, or a preset: telemetry:ATTRIBUTE, alerts:ATTRIBUTE or state:ATTRIBUTE.'

const menu: Menu = {
  name: 'policy',
  usage: 'spillway policy COMMAND FILE [options]',
  paragraph:
    'A policy says which events of a queue may be lost when it overflows, level by level, and how the ' +
    `lost ones are summarised. ${FILE}`,
  entries: [
    {
      name: 'check',
      summary: 'Say what a policy means, or what is wrong with it.',
      load: async () => (await import('./policy-check.ts')).check,
    },
    {
      name: 'print',
      summary: 'Write a policy in its shortest form, as XML or JSON.',
      load: async () => (await import('./policy-print.ts')).print,
    },
    {
      name: 'try',
      summary: 'Pack events from stdin at one level: what is left, and the digests of the rest.',
      load: async () => (await import('./policy-try.ts')).attempt,
    },
    {
      name: 'study',
      summary: 'Show how much each filter of each level keeps and drops of the events on stdin.',
      load: async () => (await import('./policy-study.ts')).study,
    },
  ],
  options: { help: HELP },
  example: ['npx spillway policy check telemetry:bpm'],
}

export const policy: Pick<Command, 'run'> = { run: (argv, io) => choose(menu, argv, io) }
