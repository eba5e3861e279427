import * as z from 'zod'
import { invalidOption, isOptions } from '../domain/arguments.ts'
import { optionProblem, unknownOption } from '../domain/option-problem.ts'
import { storageMistake } from './storage-problem.ts'
import { missingMethods } from './with-methods.ts'

/**
 * Returns what a schema makes of the options of a factory.
 *
 * @throws `UtilityApiError` `invalid_options` with one sentence: on a misspelled name if there is one, or else on the
 *   first problem
 */
export function checkedOptions<Output>(schema: z.ZodType<Output>, options: unknown, factory: string): Output {
  const result = schema.safeParse(options, { error: optionProblem })
  if (result.success) return result.data
  requireNamed(options, factory)
  const { issues } = result.error
  // An option with a mistake in its name is also one that is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const option = [...(issue?.path ?? []), ...keys].join('.')
  const problem = issue?.message ?? 'is invalid'
  const elsewhere = problem === unknownOption ? whereItIsOne(keys[0] ?? '', schema) : ''
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

/** Returns the end of a sentence for an option that is at the wrong level, or an empty string. */
function whereItIsOne(name: string, schema: z.ZodType): string {
  const known = membersOf(schema)
  const groups = Object.keys(known).filter((group) => Object.hasOwn(membersOf(known[group]), name))
  const options = [
    ...(Object.hasOwn(known, name) ? [name] : []),
    ...groups.map((group) => `${group}.${name}`),
  ]
  if (options.length === 0) return ''
  return `; ${options.join(' and ')} ${options.length === 1 ? 'is' : 'are'}`
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
