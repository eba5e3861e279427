import { StorageError } from 'utility-api/storage'

/**
 * The part of a SQLite connection that the storage uses. Connections of better-sqlite3, `node:sqlite` and `bun:sqlite`
 * all have it.
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
 * The part of a prepared statement that the storage uses. Every value is a {@link SqliteValue}; with that type, TypeScript
 * 5 would refuse the statements of better-sqlite3.
 *
 * @group Storage
 */
export interface SqliteStatement {
  /** Runs the statement and returns how many rows it changed. */
  run(...values: unknown[]): { changes: number | bigint }
  /** Returns the first row, or `undefined` (`null` in Bun) if there is none. */
  get(...values: unknown[]): unknown
  /** Returns all rows. */
  all(...values: unknown[]): unknown[]
}

/**
 * A value bound to a statement. Never `undefined`: `node:sqlite` throws, and others bind NULL.
 *
 * @group Storage
 */
export type SqliteValue = string | number | null | Uint8Array

/** Runs statements by their text. Each is compiled once, on its first use. */
export interface SqliteQueries {
  /** Returns the first row, or null if there is none. */
  get<Row>(sql: string, ...values: SqliteValue[]): Row | null
  /** Returns the first row as a value, or null if there is none. */
  find<Row, Value>(convert: (row: Row) => Value, sql: string, ...values: SqliteValue[]): Value | null
  /** Returns all rows. */
  all<Row>(sql: string, ...values: SqliteValue[]): Row[]
  /** Returns the number of rows changed. */
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
 * Throws if the program that owns the connection has a transaction open on it: what we read could be undone, and what
 * we write would be undone with it.
 *
 * Bun's statements outlive their connection, so in Bun this check also notices that the connection was closed.
 *
 * @param ours - Whether our own transaction is open.
 */
export function requireNoTransaction(database: SqliteDatabase, ours = false): void {
  const open = database.inTransaction === true || database.isTransaction === true
  if (!open || ours) return
  throw new StorageError(
    'bug',
    'A transaction of the host program is open on the connection the storage was given.',
  )
}
