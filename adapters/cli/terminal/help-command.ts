import { command, UsageError, type AnyCommand } from './command.ts'
import { findCommand, requireKnown } from './find-command.ts'
import { helpText } from './help.ts'

export const help: AnyCommand = command({
  args: {
    command: { type: 'positional', required: false, description: 'The words of the command.' },
  },
  rest: true,
  examples: ['help', 'help license list'],
  async run(_, { words, program }) {
    const found = await findCommand(program, words)
    requireKnown(found)
    const [surplus] = found.command.commands === undefined ? found.rest : []
    if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many.`)
    console.log(helpText(found.command, found.words))
  },
})
