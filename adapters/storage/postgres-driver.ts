import { hash } from 'node:crypto'
import { StorageError, type StorageErrorKind } from 'utility-api/storage'

/**
 * The slice of a `pg` Pool that is used.
 *
 * @group Storage
 */
export interface PostgresPool {
  /** Runs one statement on any connection. */
  query(statement: PostgresStatement): Promise<PostgresResult>
  /** Lends a connection. */
  connect(): Promise<PostgresClient>
  /** Listens for errors of idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  /** How many listen for them already. */
  listenerCount?(event: 'error'): number
}

/**
 * The slice of a `pg` client that is used.
 *
 * @group Storage
 */
export interface PostgresClient {
  /** Runs SQL; several statements when there are no values. */
  query(text: string): Promise<PostgresResult>
  /** Gives the connection back; `true` closes it. */
  release(destroy?: boolean): void
}

/**
 * A statement with its values; `name` makes a connection prepare it once.
 *
 * @group Storage
 */
export interface PostgresStatement {
  /** Name of the prepared statement. */
  readonly name: string
  /** SQL with `$1`, `$2` … */
  readonly text: string
  /** The values of `$1`, `$2` … */
  readonly values: unknown[]
}

/**
 * What a statement brought.
 *
 * @group Storage
 */
export interface PostgresResult {
  /** The rows returned, by column name. */
  readonly rows: unknown[]
  /** How many rows were returned or changed. */
  readonly rowCount: number | null
}

/** Attempts at a statement that keeps losing to others: at SERIALIZABLE a crowd costs each of its members some. */
const maxAttempts = 12

/** By SQLSTATE, or its class. */
const kinds: Readonly<Record<string, StorageErrorKind>> = {
  '08': 'unavailable', // connection exception
  '22': 'invalid', // data exception
  '23505': 'conflict', // unique violation
  '23': 'invalid', // another constraint
  '25006': 'unavailable', // read-only transaction: a standby
  '40': 'conflict', // lost against another transaction
  '42501': 'invalid', // no privilege on our tables
  '42P01': 'invalid', // no such table
  '53': 'unavailable', // out of memory, disk, connections
  '55P03': 'unavailable', // lock not available
  '57': 'unavailable', // cancelled, shut down, starting up
  '58': 'unavailable', // disk errors
}

interface DriverError {
  readonly code?: unknown
  readonly message?: unknown
  readonly constraint?: unknown
}

/** The name of the constraint that a unique violation hit; null for every other error. */
export function violatedConstraint(error: unknown): string | null {
  const { code, constraint } = error as DriverError
  return code === '23505' && typeof constraint === 'string' ? constraint : null
}

/** Tells whether a statement was undone whole because it lost against another transaction. */
function lostRace({ code }: DriverError): boolean {
  return code === '40001' || code === '40P01'
}

/** What the driver threw, as the port wants it. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  const { code, message } = error as DriverError
  const retryable = lostRace(error as DriverError) || code === 'ECONNREFUSED' || code === '53300'
  const cause = withoutRow(error as object)
  return new StorageError(kindOf(error), `PostgreSQL: ${String(message)}`, { cause, retryable })
}

/** Takes out of a server's error what quotes rows: it is logged, and keys and customers' names have no place there. */
function withoutRow(error: object): object {
  for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field)
  return error
}

function kindOf(error: unknown): StorageErrorKind {
  const code = String((error as DriverError).code)
  if (/^[0-9A-Z]{5}$/.test(code)) return kinds[code] ?? kinds[code.slice(0, 2)] ?? 'bug'
  // Lost sockets and exhausted or ended pools come as plain errors, with a system code or none.
  return error instanceof TypeError || error instanceof RangeError ? 'bug' : 'unavailable'
}

/**
 * Runs a statement, and again when it lost a race. It lost, so nothing of it was done: repeating it is safe.
 *
 * Connections prepare it under a name made of its text: two versions of this library may share a pool.
 */
export function runStatement(pool: PostgresPool, text: string, values: unknown[]): Promise<PostgresResult> {
  return attempt(pool, { name: nameOf(text), text, values }, 1)
}

const names: Map<string, string> = new Map()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = `utility_api_${hash('sha256', text).slice(0, 16)}`
  names.set(text, name)
  return name
}

async function attempt(
  pool: PostgresPool,
  statement: PostgresStatement,
  number: number,
): Promise<PostgresResult> {
  try {
    return await pool.query(statement)
  } catch (error) {
    if (number === maxAttempts || !lostRace(error as DriverError)) throw error
  }
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(number, 6)))
  return attempt(pool, statement, number + 1)
}
