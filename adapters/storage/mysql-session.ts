import { StorageError, type StorageCall } from 'utility-api/storage'
import type { MysqlConnection, MysqlValue } from './mysql-driver.ts'
import { lostRace } from './mysql-errors.ts'

/** Attempts at what keeps losing to others. */
const maxAttempts = 12

type Value = string | number | Uint8Array | null

/** Statements on one connection. */
export interface Queries {
  /** The rows it brings. */
  rows<Row>(sql: string, ...values: Value[]): Promise<Row[]>
  /** Its first row as a value; null when it brings none. */
  row<Row, Result>(convert: (row: Row) => Result, sql: string, ...values: Value[]): Promise<Result | null>
  /** How many rows it changed. Every statement changes what it matches, so that it is no matter which of the two is counted. */
  count(sql: string, ...values: Value[]): Promise<number>
}

/** A connection lent for one call of the storage. */
export interface Session extends Queries {
  /** Commits what `work` does, or nothing of it; again from the start when it lost a race. */
  transact<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>
}

/**
 * The statement that a lent connection begins with. Text that is too long is refused and not cut; each statement sees
 * what was committed before it and commits by itself; a lock is waited for shorter than the default of 50 seconds, which
 * nobody waits.
 */
export function sessionSettings(isolation: string): string {
  return `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION ${isolation} = 'READ-COMMITTED', SESSION autocommit = 1, SESSION innodb_lock_wait_timeout = 3`
}

/** How the methods of the store get at the database: one connection for each call, while the call has time. */
export type Access = <Result>(
  call: StorageCall,
  work: (session: Session) => Promise<Result>,
) => Promise<Result>

/** Thrown to undo a transaction and answer all the same. */
export class Undone<Answer> extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('undone')
    this.answer = answer
  }
}

/** What a prepared statement takes: buffers for octets, each a copy, because the caller may use its own again. */
function toParameter(value: Value): MysqlValue {
  return value instanceof Uint8Array ? Buffer.from(value) : value
}

async function run(connection: MysqlConnection, sql: string, values: MysqlValue[]): Promise<unknown> {
  const [result] = await connection.execute({ sql, values, rowsAsArray: false, typeCast: true })
  return result
}

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

/** Each statement commits by itself unless it is in a transaction; what lost a race is undone and repeated. */
export function sessionOn(connection: MysqlConnection, call: StorageCall): Session {
  let hasBegun = false
  async function again<Result>(attempt: () => Promise<Result>, number = 1): Promise<Result> {
    // The first statement needs a caller who waits; those after it finish what it began.
    if (!hasBegun) requireTime(call)
    try {
      const result = await attempt()
      hasBegun = true
      return result
    } catch (error) {
      if (number === maxAttempts || !lostRace(error)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(number, 6)))
    return again(attempt, number + 1)
  }
  const inTransaction = queriesOn((sql, values) => run(connection, sql, values))
  return {
    ...queriesOn((sql, values) => again(() => run(connection, sql, values))),
    transact: (work) => again(() => transact(connection, () => work(inTransaction))),
  }
}

async function transact<Result>(connection: MysqlConnection, work: () => Promise<Result>): Promise<Result> {
  await connection.query('START TRANSACTION')
  try {
    const result = await work()
    await connection.query('COMMIT')
    return result
  } catch (error) {
    // A lock that was waited for too long has undone its statement alone.
    await connection.query('ROLLBACK').catch(() => connection.destroy())
    if (error instanceof Undone) return error.answer as Result
    throw error
  }
}

/** Throws when nobody waits any more: what was not sent is not sent. */
export function requireTime(call: StorageCall): void {
  if (call.timeLeftMs() > 0) return
  throw new StorageError('unavailable', 'MySQL: nobody waits for this call any more.', { retryable: true })
}
