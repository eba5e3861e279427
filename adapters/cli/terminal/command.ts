/** Thrown if the command line is wrong. The message says what is wrong, and the program exits with code 2. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}

/** A word of a command, known by its position. */
export interface WordDef {
  readonly type: 'positional'
  readonly description: string
  /** Default: true, unless there is a default value. */
  readonly required?: boolean
  readonly default?: string
}

/** An option with a value. */
export interface ValueDef {
  readonly type: 'string'
  readonly description: string
  readonly valueHint: string
  readonly required?: boolean
  readonly default?: string
  /** Whether it may be given several times, which makes its value the list of all. */
  readonly mayRepeat?: true
  /** Whether its value may be empty. An empty value often comes from a shell's variable that is not set. */
  readonly mayBeEmpty?: boolean
}

/** An option without a value. */
export interface FlagDef {
  readonly type: 'boolean'
  readonly description: string
}

export type ArgDef = WordDef | ValueDef | FlagDef
export type ArgDefs = Readonly<Record<string, ArgDef>>

/** The values of a command's arguments. */
export type Values<Defs extends ArgDefs> = { readonly [Name in keyof Defs]: ValueOf<Defs[Name]> }

type ValueOf<Def extends ArgDef> = Def extends FlagDef
  ? boolean
  : Def extends { mayRepeat: true }
    ? readonly string[]
    : Def extends { default: string } | { required: true } | (WordDef & { required?: true })
      ? string
      : string | undefined

/** A command: its arguments, its help and what it does. */
export interface Command<Defs extends ArgDefs> {
  /** Missing if it is loaded when needed, because whoever loads it has one. */
  readonly description?: string
  readonly args?: Defs
  /** Whether more words may follow the named ones. */
  readonly rest?: boolean
  /** Additional paragraphs for `--help`. */
  readonly notes?: readonly string[]
  /** Example command lines for `--help`, without the program's name. */
  readonly examples: readonly string[]
  readonly commands?: undefined
  run(values: Values<Defs>, context: CommandContext): Promise<void> | void
}

/** What a command may need besides the values of its arguments. */
export interface CommandContext {
  /** All words, the named ones included. */
  readonly words: readonly string[]
  /** The commands of the whole program. */
  readonly program: Group
}

/** A command that only has subcommands. */
export interface Group {
  readonly description?: string
  readonly commands: Readonly<Record<string, AnyCommand | LazyCommand>>
  readonly examples: readonly string[]
  readonly args?: undefined
  readonly rest?: undefined
  readonly notes?: undefined
}

export type AnyCommand = Command<ArgDefs> | Group

/** A command whose code is loaded when it is needed. */
export interface LazyCommand {
  readonly description: string
  load(): Promise<AnyCommand>
}

/** Returns a definition; the types of the values that its `run` gets follow from its arguments. */
export function command<const Defs extends ArgDefs>(definition: Command<Defs>): AnyCommand {
  return definition
}
