/**
 * The part of a `mysql2/promise` Pool that the storage uses.
 *
 * @group Storage
 */
export interface MysqlPool {
  /** Lends a connection. A method with parameters is refused, because it wants a callback, or the name of a server. */
  getConnection(): Promise<MysqlConnection>
  /**
   * Where `mysql2` keeps the number of connections, of which writes use all but one. Without a number, or with 0, they
   * use all.
   */
  readonly pool?: { readonly config?: { readonly connectionLimit?: number | undefined } }
}

/**
 * The part of a `mysql2/promise` connection that the storage uses.
 *
 * Both methods that run statements return rows as an array, and for other statements an object with `affectedRows`.
 * Integers of 64 bits may be numbers, text or `bigint`; octets are a `Uint8Array`. They reject with the server's error.
 * `errno` is its number and `sqlState` its SQLSTATE. An error without them means that the connection is lost.
 *
 * @group Storage
 */
export interface MysqlConnection {
  /** Runs one statement without values. */
  query(text: string): Promise<readonly [result: unknown, fields: unknown]>
  /** Prepares a statement, once for each connection, and runs it. */
  execute(statement: MysqlStatement): Promise<readonly [result: unknown, fields: unknown]>
  /** Gives the connection back. */
  release(): void
  /** Closes the connection. */
  destroy(): void
  /**
   * The connection itself, if each loan of it is another object, as in `mysql2/promise`. If its `stream` counts
   * `bytesWritten` at once, as a socket does, it is not set up again for each call of the storage while nobody else uses it.
   */
  readonly connection?: object
}

/**
 * A statement with its values, and the format of its rows whatever the pool's settings are.
 *
 * @group Storage
 */
export interface MysqlStatement {
  /** SQL with a `?` for each value. */
  readonly sql: string
  /** The values: text, integers up to 2^53, octets, and null. */
  readonly values: MysqlValue[]
  /** Rows are objects. */
  readonly rowsAsArray: false
  /** Rows have columns, not tables. */
  readonly nestTables: false
  /** Columns have the types of the driver: only a function replaces a function of the pool's. */
  readonly typeCast: (field: unknown, next: () => unknown) => unknown
}

/**
 * A value of a statement.
 *
 * @group Storage
 */
export type MysqlValue = string | number | Buffer | null
