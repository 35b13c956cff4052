// `spillway policy print`: a policy in its canonical form, as XML or as the plain object.
import { printPolicy } from '../policies/print.ts'
import { command, UsageError, write } from './options.ts'
import { FILE } from './policy.ts'
import { loadPolicy, repositoryWith, USE } from './policy-source.ts'

export const print = command(
  {
    name: 'policy print',
    operand: 'FILE',
    paragraph:
      'Writes a policy in its canonical form: every default left out, every value as short as it goes. ' +
      'Use it to turn JSON into XML or the other way round, or to start from a preset. ' +
      `${FILE} For stdin write -.`,
    options: {
      as: { value: 'xml|json', help: 'The form to write; xml if not given.' },
      use: USE,
    },
    example: ['npx spillway policy print telemetry:bpm --as json'],
    exits: { 0: 'printed', 1: 'the policy is wrong or cannot be read' },
  },
  async ({ operands: [file], options: { as = 'xml', use } }, io) => {
    if (as !== 'xml' && as !== 'json') {
      throw new UsageError('policy print', `--as: expected xml or json, got "${as}"`)
    }
    const policy = await loadPolicy(file, await repositoryWith(use), io)
    const text = as === 'xml' ? printPolicy(policy) : JSON.stringify(policy.spec, null, 2)
    await write(io.stdout, text.endsWith('\n') ? text : `${text}\n`)
    return 0
  },
)
