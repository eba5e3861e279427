import { program } from './commands.ts'
import { readArguments } from './terminal/arguments.ts'
import { UsageError } from './terminal/command.ts'
import { isUtilityApiError, sentenceOf, sentenceOnId } from './terminal/error-sentence.ts'
import { findCommand, isHelp, requireKnown } from './terminal/find-command.ts'
import { helpText } from './terminal/help.ts'
import { withoutPasswords } from './terminal/passwords.ts'
import { printableLines } from './terminal/terminal-text.ts'

export { surviveLostOutput } from './terminal/output.ts'

/**
 * Runs one command line. Resolves with the exit code: 0 done, 1 failed, 2 wrong command line, or one that the command
 * documents.
 */
export async function run(args: readonly string[]): Promise<number> {
  const found = await findCommand(program, withoutFlags(args))
  const { command, words, rest } = found
  try {
    requireKnown(found)
    if (rest.some(isHelp) || args.length === 0) {
      console.log(helpText(command, words))
      return 0
    }
    if (command.commands !== undefined) {
      const known = Object.keys(command.commands).join(', ')
      throw new UsageError(`Which ${words.slice(1).join(' ')} command? ${known}.`)
    }
    const read = readArguments(command, rest)
    await command.run(read.values, { words: read.words, program })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    console.error(printableLines(withoutPasswords(sentenceOf(error, command.args))))
    if (!isUsageError(error)) return 1
    console.error(`For example: utility-api ${command.examples[0]}`)
    console.error(`For help: ${words.join(' ')} --help`)
    return 2
  }
}

/** Returns the words for options that other programs have instead. */
function withoutFlags(args: readonly string[]): readonly string[] {
  const [first = '', ...others] = args
  return /^(?:--version|-v)$/.test(first) ? ['version', ...others] : args
}

function isUsageError(error: unknown): boolean {
  if (!isUtilityApiError(error)) return error instanceof UsageError
  const isArgument = error.code === 'invalid_argument' || error.code === 'invalid_options'
  // Whether a client or a reseller exists is not a question of the command line.
  return isArgument && sentenceOnId(error) === null
}
