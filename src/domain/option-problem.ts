/** The part of a schema's issue that its sentence is made of. */
interface Issue {
  readonly code?: string | undefined
  readonly input?: unknown
  readonly expected?: unknown
  readonly values?: readonly unknown[]
  readonly keys?: readonly string[]
  readonly inst?: unknown
}

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
  if (code === 'unrecognized_keys') return `is not an option${hint(keys[0] ?? '', namesOf(inst))}`
  if (code === 'invalid_type' && input === undefined) return 'is missing'
  if (code === 'invalid_type') return `must be ${nouns[String(expected)] ?? String(expected)}`
  if (code === 'invalid_value') return `must be ${values.map((value) => `'${String(value)}'`).join(' or ')}`
  return code === 'too_small' ? 'must not be empty' : 'is invalid'
}

/** Returns the names that an object's schema knows. */
function namesOf(schema: unknown): string[] {
  return Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})
}

/** Returns the end of a sentence for a name that is nearly that of an option. */
function hint(name: string, known: readonly string[]): string {
  const meant = known.find((each) => isNear(name.toLowerCase(), each.toLowerCase()))
  return meant === undefined ? '' : `; ${meant} is`
}

/** Tells whether two names differ by nothing, by one letter, or by two that are exchanged. */
function isNear(one: string, other: string): boolean {
  const shorter = Math.min(one.length, other.length)
  let [start, end] = [0, 0]
  while (start < shorter && one[start] === other[start]) start += 1
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end += 1
  const [left, right] = [one, other].map((name) => name.slice(start, name.length - end)) as [string, string]
  return (
    (left.length <= 1 && right.length <= 1) ||
    (left.length === 2 && left === [...right].toReversed().join(''))
  )
}
