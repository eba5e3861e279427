import { parseArgs } from 'node:util'
import { defineCommand, type ArgDef, type ArgsDef, type CommandDef, type ParsedArgs } from 'citty'
import { suggestion } from './suggest.ts'

/** Thrown if the command line is wrong. The message says what is wrong, and the program exits with code 2. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}

/** An option, and whether its value may be empty, which the parser does not ask. */
type OptionDef = ArgDef & { readonly mayBeEmpty?: boolean }

/** A command: its arguments, its help and what it does. */
export interface Command<Args extends ArgsDef> {
  readonly description: string
  readonly args?: Args
  /** Whether more words may follow the named ones. They are in `args._`. */
  readonly rest?: boolean
  /** Additional paragraphs for `--help`. */
  readonly notes?: readonly string[]
  /** Example command lines for `--help`, without the program's name. */
  readonly examples: readonly string[]
  run(args: ParsedArgs<Args>): Promise<void> | void
}

// oxlint-disable-next-line typescript/no-explicit-any
export type AnyCommand = CommandDef<any>

/** What `--help` shows about a command beyond what the parser knows. */
export interface HelpTexts {
  readonly examples: readonly string[]
  readonly notes?: readonly string[] | undefined
  readonly rest?: boolean | undefined
}

const helpTexts = new WeakMap<AnyCommand, HelpTexts>()

/** Defines a command that refuses unknown options and extra words: a mistyped option must not be ignored. */
export function command<const Args extends ArgsDef>(definition: Command<Args>): AnyCommand {
  const { description, args, rest = false, run } = definition
  const known = args ?? ({} as Args)
  const defined: AnyCommand = defineCommand({
    meta: { description },
    args: known,
    run: (context) => {
      refuseLost(known, context.rawArgs)
      if (!rest) refuseSurplus(known, context.args)
      return run(context.args)
    },
  })
  helpTexts.set(defined, definition)
  return defined
}

/** Defines a command that only has subcommands. */
export function group(
  description: string,
  subCommands: Record<string, AnyCommand>,
  examples: readonly string[] = [],
): AnyCommand {
  const defined: AnyCommand = defineCommand({ meta: { description }, subCommands })
  helpTexts.set(defined, { examples })
  return defined
}

export function helpTextsOf(defined: AnyCommand): HelpTexts {
  return helpTexts.get(defined) ?? { examples: [] }
}

/** Refuses words that no argument takes. */
function refuseSurplus(known: ArgsDef, args: Readonly<Record<string, unknown>>): void {
  const places = Object.values(known).filter(({ type }) => type === 'positional').length
  const surplus = (args['_'] as string[])[places]
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many.`)
}

/**
 * Refuses unknown options, and what the parser would lose: that a value is missing, all values of an option but its last,
 * an option taken for the value of another, an option with the name of a word, and the value of an option that has none.
 * An empty value is refused as missing, because it is often that of a shell's variable that is not set.
 */
function refuseLost(known: ArgsDef, rawArgs: readonly string[]): void {
  const names = new Map(
    Object.entries(known).flatMap(([name, { type }]) =>
      type === 'positional' ? [] : [[name, name] as const, [camelCase(name), name] as const],
    ),
  )
  const strings = [...names].filter(([, name]) => known[name]?.type === 'string')
  const options = Object.fromEntries(strings.map(([name]) => [name, { type: 'string' }] as const))
  const { tokens } = parseArgs({ args: [...rawArgs], options, strict: false, tokens: true })
  const given = new Set<string>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const name = names.get(token.name) ?? names.get(token.name.replace(/^no-/, ''))
    if (name === undefined) throw unknownOption(token.name, known)
    const option: OptionDef | undefined = known[name]
    if (option?.type !== 'string') {
      if (token.inlineValue === true && !['true', 'false'].includes(token.value))
        throw new UsageError(`--${name} has no value.`)
      continue
    }
    if (given.has(name)) throw new UsageError(`--${name} is given twice.`)
    given.add(name)
    if (token.value === undefined || (token.value === '' && option.mayBeEmpty !== true))
      throw new UsageError(`--${name} needs a value.`)
    if (token.inlineValue === false && token.value.startsWith('--'))
      throw new UsageError(`--${name} needs a value; one that begins like an option follows a "=".`)
  }
}

function unknownOption(name: string, known: ArgsDef): UsageError {
  return new UsageError(`There is no option ${flagOf(name)} here.${suggestion(`--${name}`, flagsOf(known))}`)
}

function flagsOf(known: ArgsDef): string[] {
  return Object.entries(known).flatMap(([name, { type }]) => (type === 'positional' ? [] : [flagOf(name)]))
}

function flagOf(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
