import { StorageError } from 'utility-api/storage'

/** Tells whether PostgreSQL wants a password and the driver has none. What it says depends on the server's method. */
export function isMissingPassword({ message }: StorageError): boolean {
  return /^PostgreSQL: (?:SASL: .*client password must be|empty password returned by client)/.test(message)
}

/** What to do about an error of PostgreSQL or of its connection, by its code. */
const advice: Readonly<Record<string, string>> = {
  '3D000': "To create it, in psql: CREATE DATABASE NAME OWNER ROLE TEMPLATE template0 ENCODING 'UTF8'",
  '42501':
    'migrate must run as the owner of the tables or, before there are any, of their schema.\nOther commands need to SELECT, INSERT, UPDATE and DELETE.',
  ECONNREFUSED: 'Nothing listens there. Check the address, and whether the server is running.',
}

/** Returns what to do about an error of PostgreSQL, or undefined if its message has to do. */
export function adviceOn({ cause }: StorageError): string | undefined {
  return advice[(cause as { readonly code?: string } | undefined)?.code ?? '']
}

/** Adds the database's name to its error, which says "attempt to write a readonly database" but not which one. */
export function naming(name: string, error: StorageError): Error {
  const message = error.message.replace(/^(?:SQLite|MariaDB): /, '')
  return isMissingTables(error) ? error : new Error(`${name}: ${message}`, { cause: error })
}

export function isMissingTables(error: unknown): boolean {
  return error instanceof StorageError && error.message.includes('migrate()')
}
