import { StorageError, type StorageErrorKind } from 'utility-api/storage'

/** The kinds by SQLSTATE, or by its class. */
const kinds: Readonly<Record<string, StorageErrorKind>> = {
  '08': 'unavailable', // connection exception
  '22': 'invalid', // data exception
  '23505': 'conflict', // unique violation
  '23': 'invalid', // another constraint
  '25006': 'unavailable', // read-only transaction: a standby
  '25P03': 'unavailable', // a transaction that was idle for too long
  '25P04': 'unavailable', // a transaction that took too long
  '28': 'invalid', // wrong user or password
  '3D000': 'invalid', // no such database
  '3F000': 'invalid', // no such schema
  '40': 'conflict', // lost against another transaction
  '42501': 'invalid', // no privilege on our tables
  '42P01': 'invalid', // no such table
  '53': 'unavailable', // out of memory, disk, connections
  '55P03': 'unavailable', // lock not available
  '57': 'unavailable', // canceled, shut down, starting up
  '58': 'unavailable', // disk errors
}

interface DriverError {
  readonly code?: unknown
  readonly message?: unknown
}

/** Tells something of an error. */
type Tells = (error: unknown) => boolean

function hasCode(...codes: readonly string[]): Tells {
  return (error) => codes.includes(String((error as DriverError | undefined)?.code))
}

/** Tells whether a row was refused because one with its key, or its number, is there. */
export const isDuplicate: Tells = hasCode('23505')

/** Tells whether the error means that the table does not exist. */
export const isMissingTable: Tells = hasCode('42P01')

/** Tells whether a whole statement was undone because it lost against another transaction. */
export const lostRace: Tells = hasCode('40001', '40P01')

/**
 * Tells whether the connection that was used does not have a prepared statement that it should have, or has one that it
 * should not, because a pooler gives each transaction another connection. Nothing was done.
 */
export const losesStatements: Tells = hasCode('26000', '42P05')

/**
 * Tells whether the server refused the session before it read the statement, because it is starting, or the session was
 * idle.
 */
export const neverBegan: Tells = hasCode('57P03', '57P05')

/** Tells whether the connection was lost while a statement was under way. The statement may have been done. */
export function lostConnection(error: unknown): boolean {
  if (error instanceof StorageError || error instanceof TypeError || error instanceof RangeError) return false
  const { code } = error as DriverError
  return /^(?:08...|57P0[12])$/.test(String(code)) || !isSqlState(code)
}

/** Tells whether the pool gave up on a connection because it took too long, which `pg` says in words alone. */
export function tookTooLong(error: unknown): boolean {
  const { code, message } = error as DriverError
  return code === undefined && /timeout/.test(String(message))
}

/**
 * Tells whether the server has undone a statement for a reason that may be one of its rows: all but lost connections,
 * shutdowns, a server without resources, and errors inside the server or a pooler before it.
 */
export function isUndone(error: unknown): boolean {
  return /^(?!08|25|53|57(?!014)|58|XX)[0-9A-Z]{5}$/.test(String((error as DriverError).code))
}

/** What to do where a pooler drops or refuses the time limit of a pool. */
export const limitOfRole: string =
  "Leave it out of the pool's options, and set the limit on the role: ALTER ROLE … SET statement_timeout = '2400ms'."

/** Says what to do about what a pooler refuses, or returns null. */
function adviceOn({ code, message }: DriverError): string | null {
  if (code !== '08P01') return null
  const [, parameter] = /unsupported startup parameter:? "?(\w+)/.exec(String(message)) ?? []
  if (parameter === 'statement_timeout')
    return `A pooler before PostgreSQL refuses the startup parameter ${parameter}. ${limitOfRole}`
  if (parameter !== undefined)
    return `A pooler before PostgreSQL refuses the startup parameter ${parameter}: leave it out of the pool's options.`
  if (!/statement pooling/.test(String(message))) return null
  return 'A pooler in statement mode refuses the transaction in which tables are made or changed: run migrate() once on a direct connection.'
}

/** Converts what the driver threw to the error that the port expects. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  const { code, message } = error as DriverError
  const advice = adviceOn(error as DriverError)
  if (advice !== null) return new StorageError('invalid', advice, { cause: error })
  const retryable = lostRace(error) || code === 'ECONNREFUSED' || code === '53300'
  const cause = withoutRow(error as object)
  return new StorageError(kindOf(error), `PostgreSQL: ${String(message)}`, { cause, retryable })
}

/**
 * Removes from a server's error what quotes rows: it is logged, and keys and customers' names do not belong in a log.
 */
function withoutRow(error: object): object {
  for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field)
  return error
}

function kindOf(error: unknown): StorageErrorKind {
  const code = String((error as DriverError).code)
  if (isSqlState(code)) return kinds[code] ?? kinds[code.slice(0, 2)] ?? 'bug'
  // Lost sockets and exhausted or ended pools are reported as plain errors, with or without a system code.
  return error instanceof TypeError || error instanceof RangeError ? 'bug' : 'unavailable'
}

/** Tells a server's code from a system's, such as EPIPE, which can be as long, because every class has a digit. */
function isSqlState(code: unknown): boolean {
  return typeof code === 'string' && /^(?=.*[0-9])[0-9A-Z]{5}$/.test(code)
}

/** Tells whether the connection is still usable, because the server refused the statement, or was not sent one. */
export function leavesConnection(error: unknown): boolean {
  return error instanceof StorageError || /^(?:22|23|40)...$/.test(String((error as DriverError).code))
}
