import { StorageError, type StorageCall } from 'utility-api/storage'
import { requireTime } from '../shared/call-time.ts'
import { performance, setTimeout } from '../shared/timers.ts'
import type { MysqlConnection, MysqlStatement, MysqlValue } from './driver.ts'
import { isInTransaction, isWaitTimeout, lostRace } from './errors.ts'

/** How long a statement waits for a lock. */
const lockWaitSeconds = 3

type Value = string | number | Uint8Array | null

/** Statements on one connection. */
export interface Queries {
  /** Returns the rows of a statement. */
  rows<Row>(sql: string, ...values: Value[]): Promise<Row[]>
  /** Returns the first row as a value, or null if there is none. */
  row<Row, Result>(convert: (row: Row) => Result, sql: string, ...values: Value[]): Promise<Result | null>
  /**
   * Returns how many rows a statement changed. Every statement changes what it matches, so it does not matter which of
   * the two is counted.
   */
  count(sql: string, ...values: Value[]): Promise<number>
}

/** A connection lent for one call of the storage. */
export interface Session extends Queries {
  /** Whether the server is a node of a Galera cluster: locks are local to a node. */
  readonly isNode: boolean
  /** Commits everything that `work` does, or nothing. */
  transact<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>
}

/**
 * Returns the first statement on a lent connection. Text that is too long is refused, not cut. Each statement sees what
 * was committed before it and commits on its own. The wait for a lock is shorter than the default of 50 seconds, which
 * is longer than anyone waits.
 *
 * The first assignment, to the next transaction alone, is an error while a transaction is open, and then none is made:
 * `autocommit = 1` would commit what the host has left half done.
 */
export function sessionSettings(isNode: boolean): string {
  return `SET ${[
    "@@tx_isolation = 'READ-COMMITTED'",
    "SESSION tx_isolation = 'READ-COMMITTED'",
    'SESSION autocommit = 1',
    // With CHAIN, COMMIT begins a transaction, and what is written next is never committed.
    'SESSION completion_type = 0',
    // A lookup for many would find only the first of them.
    'SESSION sql_select_limit = 18446744073709551615',
    "SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    `SESSION innodb_lock_wait_timeout = ${lockWaitSeconds}`,
    "SESSION character_set_client = 'utf8mb4'",
    "SESSION character_set_results = 'utf8mb4'",
    // The charset of this collation is the third that counts. The host's own collation stays.
    "SESSION collation_connection = IF(@@character_set_connection = 'utf8mb4', @@collation_connection, 'utf8mb4_general_ci')",
    // Reads, updates and inserts first wait for what other nodes have acknowledged.
    ...(isNode ? ['SESSION wsrep_sync_wait = 7'] : []),
  ].join(', ')}`
}

/** Sets nothing that lasts, and is an error while a transaction is open, also on MySQL, which is refused afterwards. */
export const requireNoTransaction: string = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

/**
 * Sends the first statement on a lent connection. Throws if the host has left a transaction open: what we write would be
 * part of it, and undone with it.
 */
export async function setUp(connection: MysqlConnection, settings: string): Promise<void> {
  try {
    await connection.query(settings)
  } catch (error) {
    if (!isInTransaction(error)) throw error
    const message = 'A transaction of the host program is open on a connection that the pool has lent.'
    throw new StorageError('bug', message)
  }
}

/** Thrown to undo a transaction and still return an answer. */
export class Undone<Answer> extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('undone')
    this.answer = answer
  }
}

/** Converts a value for a prepared statement. The driver takes octets only as a buffer. */
function toParameter(value: Value): MysqlValue {
  return value instanceof Uint8Array ? Buffer.from(value) : value
}

/** Runs a statement with values. The format of its rows is ours, whatever the pool's settings are. */
export async function run(
  connection: MysqlConnection,
  sql: string,
  values: MysqlValue[] = [],
): Promise<unknown> {
  const format = { rowsAsArray: false, nestTables: false, typeCast } as const
  const [result] = await connection.execute({ sql, values, ...format })
  return result
}

const typeCast: MysqlStatement['typeCast'] = (_, next) => next()

function queriesOn(send: (sql: string, values: MysqlValue[]) => Promise<unknown>): Queries {
  async function rows<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return (await send(sql, values.map(toParameter))) as Row[]
  }
  return {
    rows,
    row: async <Row, Result>(convert: (row: Row) => Result, sql: string, ...values: Value[]) => {
      const [row] = await rows<Row>(sql, ...values)
      return row === undefined ? null : convert(row)
    },
    count: async (sql, ...values) => {
      const { affectedRows } = (await send(sql, values.map(toParameter))) as { affectedRows: number }
      return affectedRows
    },
  }
}

/** How a session works. */
export interface SessionTerms {
  readonly call: StorageCall
  readonly isNode: boolean
  /** How often work that lost a race is tried. */
  readonly attempts: number
}

/**
 * Creates a session. Each statement commits on its own unless it is in a transaction. Work that lost a race is undone
 * and repeated.
 */
export function sessionOn(connection: MysqlConnection, { call, isNode, attempts }: SessionTerms): Session {
  let hasBegun = false
  async function again<Result>(attempt: () => Promise<Result>, number = 1): Promise<Result> {
    // The first statement needs a caller that still waits; those after it finish what it began.
    if (!hasBegun) requireTime(call, 'MariaDB')
    const startedAt = performance.now()
    try {
      const result = await attempt()
      hasBegun = true
      return result
    } catch (error) {
      if (isNode) requireCaughtUp(error, performance.now() - startedAt)
      if (number === attempts || !lostRace(error) || isBroken(connection)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(number, 6)))
    return again(attempt, number + 1)
  }
  const inOne = queriesOn((sql, values) => run(connection, sql, values))
  return {
    isNode,
    ...queriesOn((sql, values) => again(() => run(connection, sql, values))),
    transact: (work) => again(() => transact(connection, () => work(inOne))),
  }
}

/** Throws if a node has not caught up with the others in time, which has the error of a lock that was waited for. */
function requireCaughtUp(error: unknown, waitedMs: number): void {
  if (!isWaitTimeout(error) || waitedMs > lockWaitSeconds * 900) return
  const message = 'MariaDB: the node has not caught up with its cluster in time (repl.causal_read_timeout).'
  throw new StorageError('unavailable', message, { cause: error, retryable: true })
}

/** Connections on which a transaction could not be rolled back. */
const broken = new WeakSet<MysqlConnection>()

/** Tells whether later writes on the connection could become part of a transaction that was given up. */
export function isBroken(connection: MysqlConnection): boolean {
  return broken.has(connection)
}

/** Runs work in a transaction. If it fails, nothing of it is left. */
export async function transact<Result>(
  connection: MysqlConnection,
  work: () => Promise<Result>,
): Promise<Result> {
  await connection.query('START TRANSACTION')
  try {
    const result = await work()
    await connection.query('COMMIT')
    return result
  } catch (error) {
    // A lock wait that timed out has undone only its own statement.
    await rollBack(connection)
    if (error instanceof Undone) return error.answer as Result
    throw error
  }
}

/** A Galera node may answer a rollback with the deadlock that made it necessary. */
async function rollBack(connection: MysqlConnection, attempt = 1): Promise<void> {
  try {
    await connection.query('ROLLBACK')
  } catch (error) {
    if (attempt < maxRollbacks && lostRace(error)) return rollBack(connection, attempt + 1)
    broken.add(connection)
  }
}

/** The maximum number of attempts at a rollback. */
const maxRollbacks = 3
