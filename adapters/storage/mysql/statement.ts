import { StorageError, type StorageCall } from 'utility-api/storage'
import { requireTime } from '../shared/call-time.ts'
import { queriesOn, type Queries } from '../shared/queries.ts'
import type { ColumnValue } from '../shared/rows.ts'
import { performance, setTimeout } from '../shared/timers.ts'
import type { MysqlConnection, MysqlStatement, MysqlValue } from './driver.ts'
import { isWaitTimeout, lostRace } from './errors.ts'

/** The maximum number of attempts at work that keeps losing to others. */
const maxAttempts = 12

/** How long a statement waits for a lock. */
export const lockWaitSeconds: number = 3

/** A connection lent for one call of the storage. */
export interface Session extends Queries {
  /** Whether the server is a node of a Galera cluster, where locks are local to a node. */
  readonly isGalera: boolean
  /** Runs a transaction that is one statement, and returns the rows that it selects. */
  transactAtOnce<Row>(sql: string, ...values: ColumnValue[]): Promise<Row[]>
  /** Commits everything that `work` does, or nothing. */
  transact<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>
}

/** Converts a value for a prepared statement. The driver takes octets only as a buffer. */
function toParameter(value: ColumnValue): MysqlValue {
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

/** Every statement changes what it matches, so it does not matter whether what matched or what changed is counted. */
function queriesBy(send: (sql: string, values: MysqlValue[]) => Promise<unknown>): Queries {
  return queriesOn<ColumnValue>(
    async (sql, values) => (await send(sql, values.map(toParameter))) as unknown[],
    async (sql, values) => {
      const { affectedRows } = (await send(sql, values.map(toParameter))) as { affectedRows: number }
      return affectedRows
    },
  )
}

/** How a session works. */
export interface SessionTerms {
  readonly call: StorageCall
  readonly isGalera: boolean
  /** How often work that lost a race is tried. Default: 12. */
  readonly attempts?: number | undefined
}

/**
 * Creates a session. Each statement commits on its own unless it is in a transaction. Work that lost a race is undone
 * and repeated.
 */
export function sessionOn(connection: MysqlConnection, terms: SessionTerms): Session {
  const { call, isGalera, attempts = maxAttempts } = terms
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
      if (isGalera) requireCaughtUp(error, performance.now() - startedAt)
      if (number === attempts || !lostRace(error) || isBroken(connection)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(number, 6)))
    return again(attempt, number + 1)
  }
  const inOne = queriesBy((sql, values) => run(connection, sql, values))
  return {
    isGalera,
    ...queriesBy((sql, values) => again(() => run(connection, sql, values))),
    transactAtOnce: (sql, ...values) => again(() => transactAtOnce(connection, sql, values.map(toParameter))),
    transact: (work) => again(() => transact(connection, () => work(inOne))),
  }
}

/** Throws if a node is cut off or has not caught up with the others in time, which has the error of a lock that was waited for. */
export function requireCaughtUp(error: unknown, waitedMs: number): void {
  if (!isWaitTimeout(error) || waitedMs > lockWaitSeconds * 900) return
  const message =
    'MariaDB: the node is cut off, or has not caught up with its cluster in time (repl.causal_read_timeout).'
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
    throw error
  }
}

async function transactAtOnce<Row>(
  connection: MysqlConnection,
  sql: string,
  values: MysqlValue[],
): Promise<Row[]> {
  try {
    // Its first result are the rows; the last says that it is done.
    const [rows] = (await run(connection, sql, values)) as [Row[]]
    return rows
  } catch (error) {
    await rollBack(connection)
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
