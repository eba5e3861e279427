import { StorageError } from 'utility-api/storage'

/** Tells whether PostgreSQL wants a password and the driver has none. What it says depends on the server's method. */
export function isMissingPassword({ message }: StorageError): boolean {
  return /^PostgreSQL: (?:SASL: .*client password must be|empty password returned by client)/.test(message)
}

/** Adds the database's name to its error, which says "attempt to write a readonly database" but not which one. */
export function naming(name: string, error: StorageError): Error {
  const message = error.message.replace(/^(?:SQLite|MariaDB): /, '')
  return isMissingTables(error) ? error : new Error(`${name}: ${message}`, { cause: error })
}

export function isMissingTables(error: unknown): boolean {
  return error instanceof StorageError && error.message.includes('migrate()')
}
