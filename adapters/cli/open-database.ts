import { StorageError, type AdminStorage } from 'utility-api/storage'

/** A storage that the command opened, and closes. */
export interface OpenDatabase {
  /** `migrate` is missing where a module of the owner's has none. */
  readonly storage: AdminStorage & { migrate?(): Promise<void> | void }
  /** What a message calls it, where the storage's own messages do not. */
  readonly name?: string
  close(): Promise<void>
}

/** The database itself says "attempt to write a readonly database", and not which. */
export function naming(name: string, error: StorageError): Error {
  const message = error.message.replace(/^SQLite: /, '')
  return isMissingTables(error) ? error : new Error(`${name}: ${message}`, { cause: error })
}

export function isMissingTables(error: unknown): boolean {
  return error instanceof StorageError && error.message.includes('migrate()')
}
