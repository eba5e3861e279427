import * as z from 'zod'
import { invalidOption, isOptions } from '../domain/arguments.ts'
import { isNear } from '../domain/near-name.ts'
import { optionProblem, unknownOption } from '../domain/option-problem.ts'
import { storageMistake } from '../storage/storage-problem.ts'
import { missingMethods } from './with-methods.ts'

/** A function that takes options. */
export interface Factory<Output = unknown> {
  readonly name: string
  /** Creates the schema of its options, which an import should not pay for. */
  readonly schema: () => z.ZodType<Output>
}

/** Options of functions whose schemas are not in this layer, and one that has another name in the command. */
export const optionsOfOtherFunctions = {
  prefix: 'basePath of createUtilityApi is',
  trustProxy: 'toNodeHandler, toExpressHandler and toBunHandler take it',
  requestId: 'toNodeHandler, toExpressHandler and toBunHandler take it',
  fallthrough: 'toExpressHandler takes it',
  durability: 'sqliteStorage takes it',
} as const

/**
 * Returns what a schema makes of the options of a factory. Where an option belongs to the other one, the message says so.
 *
 * @throws `UtilityApiError` `invalid_options` with one sentence: on a misspelled name if there is one, or else on the
 *   first problem
 */
export function checkedOptions<Output>(options: unknown, factory: Factory<Output>, other: Factory): Output {
  const schema = factory.schema()
  const result = schema.safeParse(options, { error: optionProblem, jitless: true })
  if (result.success) return result.data
  requireNamed(options, factory.name)
  const { issues } = result.error
  // An option with a mistake in its name is also one that is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const option = [...(issue?.path ?? []), ...keys].join('.')
  const problem = issue?.message ?? 'is invalid'
  const elsewhere = problem === unknownOption ? whereItIsOne(option.split('.'), schema, other) : ''
  throw invalidOption(option === '' ? 'options' : option, problem + elsewhere)
}

/** Throws if a storage, or what was taken for one, was passed instead of the options. */
function requireNamed(options: unknown, factory: string): void {
  if (isOptions(options) && 'storage' in options) return
  if (missingMethods(options, ['findClient']).length === 0)
    throw invalidOption('options', `must be an object, not the storage itself. Write ${factory}({ storage })`)
  const mistake = storageMistake(options)
  if (mistake !== null)
    throw invalidOption('options', `must be an object. Write ${factory}(${mistake.write})`)
  if (!isOptions(options)) throw invalidOption('options', `must be an object. Write ${factory}({ storage })`)
}

/** Returns the end of a sentence for an option that another level or another function has, or an empty string. */
function whereItIsOne(path: readonly string[], schema: z.ZodType, other: Factory): string {
  const name = path.at(-1) ?? ''
  // The lookup's option of this name would not change whom the check asks.
  if (path.join('.') === 'dns.resolvers') return areOptions(['dns.locations'])
  const theirs = other.schema()
  if (Object.hasOwn(groupAt(theirs, path.slice(0, -1)), name)) return `; ${other.name} takes it`
  const beside = namesWith(name, groupAt(schema, path.slice(0, -1)))
  if (path.length > 1 && beside.length > 0) return areOptions(beside)
  const isIt = (each: string): boolean => each === name
  const here = levelsOf(isIt, schema)
  if (here.length > 0) return areOptions(here)
  const there = levelsOf(isIt, theirs)
  if (there.length > 0) return `; ${other.name} takes ${there.join(' and ')}`
  const elsewhere: Readonly<Record<string, string>> = optionsOfOtherFunctions
  if (Object.hasOwn(elsewhere, name)) return `; ${elsewhere[name]}`
  const near = levelsOf((each) => isNear(name, each), schema)
  return near.length > 0 ? areOptions(near) : ''
}

/** Returns the members of the group that a path leads to. */
function groupAt(schema: z.ZodType | undefined, [name, ...rest]: readonly string[]): object {
  return name === undefined ? membersOf(schema) : groupAt(membersOf(schema)[name], rest)
}

/** Returns the longer names that have a name as one of their words after the first, such as `keyPrefix` for `prefix`. */
function namesWith(word: string, group: object): string[] {
  const capitalized = word.charAt(0).toUpperCase() + word.slice(1)
  return Object.keys(group).filter((each) => each.includes(capitalized, 1))
}

function areOptions(paths: readonly string[]): string {
  return `; ${paths.join(' and ')} ${paths.length === 1 ? 'is' : 'are'}`
}

/** Returns where options are that have a name that fits, such as `dns.timeoutMs`. */
function levelsOf(fits: (name: string) => boolean, schema: z.ZodType): string[] {
  const top = membersOf(schema)
  const nested = Object.entries(top).flatMap(([group, inner]) =>
    Object.keys(membersOf(inner)).flatMap((name) => (fits(name) ? [`${group}.${name}`] : [])),
  )
  return [...Object.keys(top).filter(fits), ...nested]
}

/** Returns the members that a schema knows, whatever it is wrapped in; none if it is not that of an object. */
function membersOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> {
  if (schema === undefined) return {}
  if (schema instanceof z.ZodObject) return schema.shape as Record<string, z.ZodType>
  const { in: input, out, innerType } = schema.def as Wrapper
  return { ...membersOf(input), ...membersOf(out), ...membersOf(innerType) }
}

/** What a pipe, a default and an optional schema wrap. */
interface Wrapper {
  readonly in?: z.ZodType
  readonly out?: z.ZodType
  readonly innerType?: z.ZodType
}
