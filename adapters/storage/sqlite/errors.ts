import { StorageError, type StorageErrorKind } from 'utility-api/storage'

/** Primary result codes by number (`node:sqlite`, Bun) and by name (better-sqlite3). */
const resultCodes: ReadonlyMap<number, string> = new Map([
  [5, 'BUSY'],
  [6, 'LOCKED'],
  [7, 'NOMEM'],
  [8, 'READONLY'],
  [10, 'IOERR'],
  [13, 'FULL'],
  [14, 'CANTOPEN'],
  [18, 'TOOBIG'],
  [19, 'CONSTRAINT'],
  [20, 'MISMATCH'],
])

const kinds: Readonly<Record<string, StorageErrorKind>> = {
  BUSY: 'unavailable',
  LOCKED: 'unavailable',
  NOMEM: 'unavailable',
  READONLY: 'unavailable',
  IOERR: 'unavailable',
  FULL: 'unavailable',
  CANTOPEN: 'unavailable',
  TOOBIG: 'invalid',
  CONSTRAINT: 'invalid',
  MISMATCH: 'invalid',
}

interface DriverError {
  readonly code?: unknown
  readonly errcode?: unknown
  readonly errno?: unknown
  readonly message?: unknown
}

/** Returns the primary result code of a driver's error, without `SQLITE_`, or `''` if it has none that we know. */
function resultCode(error: DriverError): string {
  const number = error.errcode ?? error.errno
  if (typeof number === 'number') return resultCodes.get(number & 0xff) ?? ''
  return /^SQLITE_([A-Z]+)/.exec(String(error.code))?.[1] ?? ''
}

/** Tells whether another connection holds the lock, so that the same work may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error as DriverError)
  return code === 'BUSY' || code === 'LOCKED'
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
  return kinds[resultCode(error)] ?? 'bug'
}
