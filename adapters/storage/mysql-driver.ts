import { leavesConnection } from './mysql-errors.ts'

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

/** Lends a connection for a while. After an error that the server did not send it is closed, and the pool opens another. */
export async function withConnection<Result>(
  pool: MysqlPool,
  work: (connection: MysqlConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.getConnection()
  let isSound = true
  try {
    return await work(connection)
  } catch (error) {
    isSound = leavesConnection(error)
    throw error
  } finally {
    if (isSound) connection.release()
    else connection.destroy()
  }
}
