import { parseArgs } from 'node:util'
import { UsageError, type AnyCommand, type ArgDef, type ArgDefs, type Values } from './command.ts'
import { suggestion } from './suggest.ts'

/**
 * Reads the arguments of a command. Refuses what nobody can have meant: an unknown option, a superfluous
 * word, an option given twice, an option without its value, and an option in the place of a value.
 */
export function readArguments(
  { args: defs = {}, rest = false }: AnyCommand,
  args: readonly string[],
): { values: Values<ArgDefs>; words: readonly string[] } {
  const given = new Map<string, string | boolean | readonly string[]>()
  const words: string[] = []
  for (const token of tokensOf(defs, args)) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind === 'option') given.set(token.name, optionValue(token, defs, given))
  }
  const names = Object.keys(defs).filter((name) => defs[name]?.type === 'positional')
  const surplus = words[names.length]
  if (surplus !== undefined && !rest) throw new UsageError(`"${surplus}" is one word too many.`)
  names.forEach((name, at) => words[at] !== undefined && given.set(name, words[at]))
  const values = Object.entries(defs).map(([name, def]) => [name, given.get(name) ?? defaultOf(name, def)])
  return { values: Object.fromEntries(values), words }
}

export type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number]

/** Takes arguments apart: options with or without values, and words. */
function tokensOf(defs: ArgDefs, args: readonly string[]): readonly Token[] {
  const withValue = Object.entries(defs).filter(([, { type }]) => type === 'string')
  const options = Object.fromEntries(withValue.map(([name]) => [name, { type: 'string' }] as const))
  return parseArgs({ args: [...args], options, strict: false, tokens: true }).tokens
}

function optionValue(
  { name, value, inlineValue }: Extract<Token, { kind: 'option' }>,
  defs: ArgDefs,
  given: ReadonlyMap<string, unknown>,
): string | boolean | readonly string[] {
  const def = Object.hasOwn(defs, name) ? defs[name] : undefined
  if (def === undefined || def.type === 'positional') throw unknownOption(name, defs)
  if (def.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`--${name} has no value.`)
    return true
  }
  if (given.has(name) && def.mayRepeat !== true) throw new UsageError(`--${name} is given twice.`)
  if (value === undefined || (value === '' && def.mayBeEmpty !== true))
    throw new UsageError(`--${name} needs a value.`)
  if (inlineValue === false && value.startsWith('--'))
    throw new UsageError(`--${name} needs a value; write one that begins with "-" after a "=".`)
  return def.mayRepeat === true ? [...((given.get(name) ?? []) as readonly string[]), value] : value
}

function unknownOption(name: string, defs: ArgDefs): UsageError {
  const flags = Object.entries(defs).map(([each, shape]) => shownName(each, shape))
  const said = name.length === 1 ? `-${name}` : `--${name}`
  return noSuchOption(said, `--${name}`, flags)
}

/** Puts an option with blanks into quotation marks, in which a password is looked for as a whole. */
export function noSuchOption(said: string, meant: string, flags: readonly string[]): UsageError {
  const shown = /\s/.test(said) ? `"${said}"` : said
  return new UsageError(`There is no option ${shown} here.${suggestion(meant, flags)}`)
}

function defaultOf(name: string, def: ArgDef): string | boolean | readonly string[] | undefined {
  if (def.type === 'boolean') return false
  if (isRequired(def)) throw new UsageError(`${shownName(name, def)} is missing.`)
  if (def.type === 'string' && def.mayRepeat === true) return []
  return def.default
}

/** Tells whether a command cannot be run without this argument. */
export function isRequired(def: ArgDef): boolean {
  if (def.type === 'boolean' || def.default !== undefined) return false
  return def.required ?? def.type === 'positional'
}

/** Returns an argument as messages and help call it: `--port`, or `KEY`. */
export function shownName(name: string, { type }: ArgDef): string {
  return type === 'positional' ? name.toUpperCase() : `--${name}`
}
