import { StorageError, type StorageErrorKind } from 'utility-api/storage'

/** Results by their primary code (`node:sqlite`, Bun), or by their name (better-sqlite3). */
const results: readonly Result[] = [
  [5, 'BUSY', 'unavailable'],
  [6, 'LOCKED', 'unavailable'],
  [7, 'NOMEM', 'unavailable'],
  [8, 'READONLY', 'unavailable'],
  [10, 'IOERR', 'unavailable'],
  [13, 'FULL', 'unavailable'],
  [14, 'CANTOPEN', 'unavailable'],
  [18, 'TOOBIG', 'invalid'],
  [19, 'CONSTRAINT', 'invalid'],
  [20, 'MISMATCH', 'invalid'],
]

type Result = readonly [code: number, name: string, kind: StorageErrorKind]

interface DriverError {
  readonly code?: unknown
  readonly errcode?: unknown
  readonly errno?: unknown
  readonly message?: unknown
}

/** Returns the result of a driver's error, if we know it. */
function resultOf(error: DriverError): Result | undefined {
  const number = error.errcode ?? error.errno
  if (typeof number === 'number') return results.find(([code]) => code === (number & 0xff))
  const [, name] = /^SQLITE_([A-Z]+)/.exec(String(error.code)) ?? []
  return results.find(([, each]) => each === name)
}

/** Tells whether another connection holds the lock, so that the same work may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  const [, name] = resultOf(error as DriverError) ?? []
  return name === 'BUSY' || name === 'LOCKED'
}

/** Converts what a driver threw to the error that the port expects. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  const message = String((error as DriverError).message)
  const kind = kindOf(error as DriverError, message)
  return new StorageError(kind, `SQLite: ${message}`, { cause: error, retryable: isBusy(error) })
}

function kindOf(error: DriverError, message: string): StorageErrorKind {
  // The error of a closed connection has no result code in any of the three drivers.
  const closed = /database (?:connection )?(?:is not open|has closed)|closed database|finalized/i
  if (closed.test(message)) return 'unavailable'
  // All constraints share a result code, also those on what a column can hold.
  if (message.startsWith('UNIQUE constraint failed')) return 'conflict'
  const [, , kind = 'bug'] = resultOf(error) ?? []
  return kind
}
