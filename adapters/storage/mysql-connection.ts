import type { MysqlConnection, MysqlPool } from './mysql-driver.ts'
import { leavesConnection } from './mysql-errors.ts'

/**
 * Lends a connection to `work`. After an error that the server did not send, the connection is closed, and the pool
 * opens another.
 */
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
