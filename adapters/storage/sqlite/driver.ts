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
