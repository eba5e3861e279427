import type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts'

/** Runs statements by their text. Each is compiled once, on its first use. */
export interface Queries {
  /** Returns the first row, or null if there is none. */
  get<Row>(sql: string, ...values: SqliteValue[]): Row | null
  /** Returns the first row as a value, or null if there is none. */
  find<Row, Value>(convert: (row: Row) => Value, sql: string, ...values: SqliteValue[]): Value | null
  /** Returns all rows. */
  all<Row>(sql: string, ...values: SqliteValue[]): Row[]
  /** Returns the number of rows changed. */
  run(sql: string, ...values: SqliteValue[]): number
}

export function createQueries(database: SqliteDatabase): Queries {
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
