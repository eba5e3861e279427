import { StorageError, type StorageErrorKind } from 'utility-api/storage'

interface DriverError {
  readonly code?: unknown
  readonly errno?: unknown
  readonly sqlState?: unknown
  readonly message?: unknown
}

/** The kinds by the number of the error that the server sent. */
const kinds: ReadonlyMap<number, StorageErrorKind> = new Map([
  ...numbers('conflict', 1020, 1062, 1205, 1213), // changed since it was read, duplicate, lock wait, deadlock
  ...numbers('unavailable', 1021, 1030, 1037, 1038, 1041, 1114, 1135), // disk, memory, threads
  ...numbers('unavailable', 1040, 1203, 1226, 1461), // too many connections, or prepared statements
  ...numbers('unavailable', 1047, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184), // node, shutdown, network
  ...numbers('unavailable', 1290, 1792, 1836), // read-only: a replica
  ...numbers('unavailable', 1180, 1317, 1927, 1969), // cut off in a commit, interrupted, killed, out of time
  ...numbers('invalid', 1044, 1045, 1049, 1054, 1142, 1143, 1146), // no privilege, no such database, table, column
  ...numbers('invalid', 1048, 1264, 1265, 1292, 1366, 1406, 4025), // what a column cannot hold
])

/** The server ended the connection, or refuses the work of one that is not part of its cluster. */
const endsConnection: ReadonlySet<number> = new Set([1047, 1053, 1927])

/** Not part of its cluster, or read-only. */
const takesNoWrites: ReadonlySet<number> = new Set([1047, 1290, 1792, 1836])

function numbers(kind: StorageErrorKind, ...errnos: number[]): [number, StorageErrorKind][] {
  return errnos.map((errno) => [errno, kind])
}

/** Returns the error's number if the server sent it, or else null. */
function serverErrno({ errno, sqlState }: DriverError): number | null {
  return typeof errno === 'number' && typeof sqlState === 'string' ? errno : null
}

/** Tells something of an error. */
type Tells = (error: unknown) => boolean

function hasErrno(...errnos: readonly number[]): Tells {
  return (error) => errnos.includes(serverErrno(error as DriverError) ?? 0)
}

/** Tells whether the error means that a row with this key exists. */
export const isDuplicate: Tells = hasErrno(1062)

/** Tells whether the error means that the table does not exist. */
export const isMissingTable: Tells = hasErrno(1146)

/** Tells whether the error means that the connection has no database. */
export const isMissingDatabase: Tells = hasErrno(1046)

/** Tells whether the statement was refused because a transaction is open. */
export const isInTransaction: Tells = hasErrno(1568)

/** Tells whether everything was undone, or will be by a rollback, because it lost against another transaction. */
export const lostRace: Tells = hasErrno(1020, 1205, 1213)

/** Tells whether the statement was interrupted, by a person or by the writes of another node of a cluster. */
export const isInterrupted: Tells = hasErrno(1317)

/** Tells whether a wait for a lock timed out, or on a Galera node the wait for the writes of other nodes. */
export const isWaitTimeout: Tells = hasErrno(1205)

/** Tells whether the pool gave up on a connection because it took too long. */
export function tookTooLong(error: unknown): boolean {
  return (error as DriverError).code === 'ETIMEDOUT'
}

/** Tells whether the connection is lost. What was sent last may have been done. */
export function lostConnection(error: unknown): boolean {
  if (error instanceof StorageError || error instanceof TypeError || error instanceof RangeError) return false
  const errno = serverErrno(error as DriverError)
  return errno === null || endsConnection.has(errno)
}

/** Converts what the driver threw to the error that the port expects. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  const { code } = error as DriverError
  const retryable = lostRace(error) || code === 'ECONNREFUSED' || serverErrno(error as DriverError) === 1040
  const cause = withoutRow(error as Error & DriverError)
  return new StorageError(kindOf(error), `MariaDB: ${String(cause.message)}`, { cause, retryable })
}

/** Tells whether the server has undone a transaction for a reason that may be one of its rows. */
export function isUndone(error: unknown): boolean {
  const { kind, cause } = toStorageError(error)
  return kind !== 'unavailable' && serverErrno((cause ?? {}) as DriverError) !== null
}

/** Removes what a server's error quotes: errors are logged, and keys and customers' names do not belong in a log. */
function withoutRow(error: Error & DriverError): Error {
  if (serverErrno(error) === null) return error
  const message = `${String(error.code)}: ${error.message.replaceAll(/'.*'/gs, "'…'")}`
  const cause = new Error(message)
  return Object.assign(cause, { code: error.code, errno: error.errno, sqlState: error.sqlState })
}

function kindOf(error: unknown): StorageErrorKind {
  const errno = serverErrno(error as DriverError)
  if (errno !== null) return kinds.get(errno) ?? 'bug'
  // Lost sockets and ended pools are reported as plain errors, with or without a system code.
  return error instanceof TypeError || error instanceof RangeError ? 'bug' : 'unavailable'
}

/**
 * Tells whether the connection is still usable, because the server refused the statement, or was not sent one. A server
 * that takes no writes keeps its connections, although the writes are for another server at the same address by then.
 * Our own errors leave it usable, but for the `bug` of a transaction that is open on it.
 */
export function leavesConnection(error: unknown): boolean {
  if (error instanceof StorageError) return error.kind !== 'bug'
  const errno = serverErrno(error as DriverError)
  return errno !== null && !takesNoWrites.has(errno) && !endsConnection.has(errno)
}
