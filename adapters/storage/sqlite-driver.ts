import { StorageError } from 'utility-api/storage'

/**
 * The slice of a SQLite connection that is used: better-sqlite3's, `node:sqlite`'s and `bun:sqlite`'s all have it.
 *
 * @group Storage
 */
export interface SqliteDatabase {
  /** Runs statements that return nothing. */
  exec(sql: string): unknown
  /** Compiles one statement. */
  prepare(sql: string): SqliteStatement
  /** Whether a transaction is open, in better-sqlite3 and Bun. */
  readonly inTransaction?: boolean
  /** Whether a transaction is open, in `node:sqlite`. */
  readonly isTransaction?: boolean
}

/**
 * The slice of a prepared statement that is used.
 *
 * @group Storage
 */
export interface SqliteStatement {
  /** Runs it and says how many rows it changed. */
  run(...values: SqliteValue[]): { changes: number | bigint }
  /** Its first row; `undefined`, or `null` in Bun, when there is none. */
  get(...values: SqliteValue[]): unknown
  /** All its rows. */
  all(...values: SqliteValue[]): unknown[]
}

/**
 * What is bound to a statement. Never `undefined`: `node:sqlite` throws where others bind NULL.
 *
 * @group Storage
 */
export type SqliteValue = string | number | null | Uint8Array

/** Runs statements by their text; each is compiled once, on its first use. */
export interface SqliteQueries {
  /** The first row; null when there is none. */
  get<Row>(sql: string, ...values: SqliteValue[]): Row | null
  /** The first row as a value; null when there is none. */
  find<Row, Value>(convert: (row: Row) => Value, sql: string, ...values: SqliteValue[]): Value | null
  /** All rows. */
  all<Row>(sql: string, ...values: SqliteValue[]): Row[]
  /** The number of rows changed. */
  run(sql: string, ...values: SqliteValue[]): number
}

export function createSqliteQueries(database: SqliteDatabase): SqliteQueries {
  const statements = new Map<string, SqliteStatement>()
  function prepare(sql: string): SqliteStatement {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  function get<Row>(sql: string, ...values: SqliteValue[]): Row | null {
    return (prepare(sql).get(...values) ?? null) as Row | null
  }
  return {
    get,
    find: <Row, Value>(convert: (row: Row) => Value, sql: string, ...values: SqliteValue[]) => {
      const row = get<Row>(sql, ...values)
      return row === null ? null : convert(row)
    },
    all: <Row>(sql: string, ...values: SqliteValue[]) => prepare(sql).all(...values) as Row[],
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
  }
}

/**
 * Throws when the program that owns the connection has a transaction open on it: what we read could be undone, and what
 * we write would be, with theirs.
 *
 * Bun's statements outlive their connection; there this look at it is also what notices that it was closed.
 *
 * @param ours - Whether a transaction of our own is open.
 */
export function requireNoTransaction(database: SqliteDatabase, ours = false): void {
  const open = database.inTransaction === true || database.isTransaction === true
  if (!open || ours) return
  throw new StorageError(
    'bug',
    'A transaction of the host program is open on the connection the storage was given.',
  )
}
