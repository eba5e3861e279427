import type { StorageCall } from 'utility-api/storage'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import { leavesConnection } from './errors.ts'
import { inTime } from './time.ts'

/**
 * Lends a connection to `work`, for as long as the call waits. After an error that the server did not send, or without
 * an answer in time, the connection is closed, and the pool opens another: nothing else frees a pool from connections
 * that hang.
 */
export async function withConnection<Result>(
  pool: MysqlPool,
  call: StorageCall,
  work: (connection: MysqlConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.getConnection()
  let isSound = true
  try {
    return await inTime(call, () => work(connection))
  } catch (error) {
    isSound = leavesConnection(error)
    throw error
  } finally {
    if (isSound) connection.release()
    else connection.destroy()
  }
}
