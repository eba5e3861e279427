/**
 * The slice of a `mysql2/promise` Pool that is used.
 *
 * @group Storage
 */
export interface MysqlPool {
  /** Lends a connection. */
  getConnection(): Promise<MysqlConnection>
}

/**
 * The slice of a `mysql2/promise` connection that is used.
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
  /** Closes it. */
  destroy(): void
}

/**
 * A statement with its values, and how its rows are to come whatever the pool says.
 *
 * @group Storage
 */
export interface MysqlStatement {
  /** SQL with a `?` for each value. */
  readonly sql: string
  /** The values. */
  readonly values: MysqlValue[]
  /** Rows are objects. */
  readonly rowsAsArray: false
  /** Columns have the types of the driver. */
  readonly typeCast: true
}

/**
 * A value of a statement.
 *
 * @group Storage
 */
export type MysqlValue = string | number | Buffer | null
