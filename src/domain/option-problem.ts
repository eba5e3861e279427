import { hint } from './near-name.ts'

/** The part of a schema's issue that its sentence is made of. */
export interface Issue {
  readonly code?: string | undefined
  readonly input?: unknown
  readonly expected?: unknown
  readonly values?: readonly unknown[]
  readonly keys?: readonly string[]
  readonly inst?: unknown
}

/** The problem of an option that nobody knows, and that no known one is like. */
export const unknownOption = 'is not an option'

const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

/**
 * Says what is wrong with an option where its schema has no sentence of its own. The words of the schema library would
 * be about schemas.
 */
export function optionProblem({ code, input, expected, values = [], keys = [], inst }: Issue): string {
  if (code === 'unrecognized_keys') return notAnOption(keys[0] ?? '', namesOf(inst))
  if (code === 'invalid_type' && input === undefined) return 'is missing'
  if (code === 'invalid_type') return `must be ${nouns[String(expected)] ?? String(expected)}`
  if (code === 'invalid_value') return `must be ${values.map((value) => `'${String(value)}'`).join(' or ')}`
  return code === 'too_small' ? 'must not be empty' : 'is invalid'
}

function notAnOption(name: string, known: readonly string[]): string {
  // The method of a client that stands in the place of the options.
  const isClient = known.includes('client') && (name === 'query' || name === 'status')
  return isClient ? `${unknownOption}: write { client }` : `${unknownOption}${hint(name, known)}`
}

/** Returns the names that an object's schema knows. */
export function namesOf(schema: unknown): string[] {
  return Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})
}
