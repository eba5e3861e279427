import { noSuchOption } from './arguments.ts'
import { UsageError, type AnyCommand, type Group, type LazyCommand } from './command.ts'
import { suggestion } from './suggest.ts'

/** The command that some words name, and the arguments that follow them. */
export interface FoundCommand {
  readonly command: AnyCommand
  /** The program's name and the words of the command. */
  readonly words: readonly string[]
  readonly rest: readonly string[]
}

/** Follows the first words down to the command they name, and loads it. */
export async function findCommand(program: Group, args: readonly string[]): Promise<FoundCommand> {
  let command: AnyCommand = program
  const words = ['utility-api']
  for (const word of args) {
    const next = memberOf(command, word)
    if (next === null) break
    command = 'load' in next ? { ...(await next.load()), description: next.description } : next
    words.push(word)
  }
  return { command, words, rest: args.slice(words.length - 1) }
}

function memberOf({ commands = {} }: AnyCommand, word: string): AnyCommand | LazyCommand | null {
  return Object.entries(commands).find(([name]) => name === word)?.[1] ?? null
}

/** Refuses a word that names no command of a group, or an option, which groups have none of. */
export function requireKnown({ command: { commands }, words, rest: [word] }: FoundCommand): void {
  if (commands === undefined || word === undefined || isHelp(word)) return
  if (word.startsWith('-')) throw noSuchOption(word, word, groupFlags(words))
  const names = Object.keys(commands)
  const meant = suggestion(word, names) || ` There are ${names.join(', ')}.`
  throw new UsageError(`There is no command "${words.join(' ')} ${word}".${meant}`)
}

/** The program itself also tells its version. */
function groupFlags(words: readonly string[]): string[] {
  return words.length === 1 ? ['--help', '--version'] : ['--help']
}

export function isHelp(arg: string): boolean {
  return arg === '--help' || arg === '-h'
}
