import { StorageError } from 'utility-api/storage'

/**
 * What a schema says about itself: the oldest library that works with it, by its number of steps, and the steps taken.
 */
export interface Schema {
  readonly version: number
  readonly step: number
}

export const noSchema: Schema = { version: 0, step: 0 }

/** The oldest step whose library works with the schema after all steps. While steps only add, it is the first. */
export const oldestStep: number = 1

/** Tells whether no step is left to take. Throws if the schema needs a library that knows more steps than these. */
export function isCurrent({ version, step }: Schema, steps: number): boolean {
  if (version <= steps) return step >= steps
  const message = `The database has schema version ${version}; this version of utility-api knows ${steps} at most. Update utility-api, or restore the backup made before the update.`
  throw new StorageError('invalid', message)
}

/** Throws unless a library that knows these steps can work with the schema. */
export function requireSteps(schema: Schema, steps: number): void {
  if (isCurrent(schema, steps)) return
  const message = `The database has schema step ${schema.step}, and ${steps} is needed: run migrate() first.`
  throw new StorageError('invalid', message)
}

/**
 * Returns the refusal of tables whose version nobody knows, because no step can be taken on them, and none may be left
 * out.
 */
export function missingVersion(): StorageError {
  const message =
    'The tables are there, but utility_api_schema has no row, which says their version: restore it from the database that they come from.'
  return new StorageError('invalid', message)
}
