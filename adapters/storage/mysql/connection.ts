import type { StorageCall } from 'utility-api/storage'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import { leavesConnection, lostConnection } from './errors.ts'
import { isBroken, setUp } from './session.ts'
import { inTime } from './time.ts'
import { within } from '../shared/call-time.ts'

/** When each connection was last given back, sound. Those that were never lent are new. */
const lastUsed = new WeakMap<object, number>()

/** How long a connection that was idle may take to answer. One that was cut silently never does. */
const idleAnswerMs = 1000

/** What is done with a connection. */
export interface Errand<Result> {
  /** The first statement, which sets the connection up. */
  readonly first: string
  readonly work: (connection: MysqlConnection) => Promise<Result>
  /** Whether it only reads: then it is done again, once, if its connection is lost. */
  readonly reads?: boolean
}

/**
 * Lends a connection for an errand, for as long as the call waits. After an error that the server did not send, or
 * without an answer in time, the connection is closed, and the pool opens another: nothing else frees a pool from
 * connections that hang.
 */
export async function withConnection<Result>(
  pool: MysqlPool,
  call: StorageCall,
  errand: Errand<Result>,
): Promise<Result> {
  try {
    return await lend(pool, call, errand, Number.NEGATIVE_INFINITY)
  } catch (error) {
    if (errand.reads !== true || !lostConnection(error) || call.timeLeftMs() <= 0) throw error
    return lend(pool, call, errand, performance.now())
  }
}

async function lend<Result>(
  pool: MysqlPool,
  call: StorageCall,
  { first, work }: Errand<Result>,
  workedSince: number,
): Promise<Result> {
  const connection = await take(pool, call, first, workedSince)
  let isSound = true
  try {
    return await inTime(call, () => work(connection))
  } catch (error) {
    isSound = leavesConnection(error)
    throw error
  } finally {
    giveBack(connection, isSound)
  }
}

/**
 * Takes a connection of the pool and sets it up, which shows whether it was cut while it was idle. If it was, nothing has
 * been done, and the next one is taken; those that have been idle as long are closed unasked.
 */
async function take(
  pool: MysqlPool,
  call: StorageCall,
  first: string,
  workedSince: number,
): Promise<MysqlConnection> {
  const connection = await pool.getConnection()
  const usedAt = lastUsed.get(itselfOf(connection))
  try {
    if (usedAt === undefined) {
      await inTime(call, () => setUp(connection, first))
      return connection
    }
    if (usedAt >= workedSince && (await isSetUp(connection, first))) return connection
  } catch (error) {
    const wasCut = usedAt !== undefined && lostConnection(error)
    if (!wasCut) {
      giveBack(connection, leavesConnection(error))
      throw error
    }
  }
  giveBack(connection, false)
  return take(pool, call, first, performance.now())
}

async function isSetUp(connection: MysqlConnection, first: string): Promise<boolean> {
  const done = setUp(connection, first).then(() => true)
  return (await within(idleAnswerMs, done)) ?? false
}

function giveBack(connection: MysqlConnection, isSound: boolean): void {
  if (isSound && !isBroken(connection)) {
    lastUsed.set(itselfOf(connection), performance.now())
    return connection.release()
  }
  lastUsed.delete(itselfOf(connection))
  connection.destroy()
}

/** `mysql2/promise` lends the same connection in another object each time. */
function itselfOf(connection: MysqlConnection): object {
  return connection.connection ?? connection
}
