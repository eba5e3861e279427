import type { StorageCall } from 'utility-api/storage'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import { leavesConnection, lostConnection } from './errors.ts'
import { isBroken, setUp } from './session.ts'
import { inTime } from './time.ts'
import { within } from '../shared/call-time.ts'

/** How a connection was when it was given back, sound. */
interface Rest {
  readonly since: number
  /** What set it up. */
  readonly first: string
  /** How many octets had been sent on it. */
  readonly sent: number | undefined
}

/** Those that were never lent are new. */
const rests = new WeakMap<object, Rest>()

/** For how long a connection may be idle before it is asked whether it is still open. */
const idleMs = 1000

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
  const sentBefore = sentOn(connection)
  let isSound = true
  try {
    return await inTime(call, () => work(connection))
  } catch (error) {
    isSound = leavesConnection(error)
    throw error
  } finally {
    const sent = sentOn(connection)
    // A driver whose number does not grow cannot tell who has used a connection.
    if (isSound) giveBack(connection, { first, sent: sent === sentBefore ? undefined : sent })
    else giveUp(connection)
  }
}

/**
 * Takes a connection of the pool and sets it up, unless nobody else has used it since it was, a moment ago. That shows
 * whether it was cut while it was idle. If it was, nothing has been done, and the next one is taken; those that have been
 * idle as long are closed unasked.
 */
async function take(
  pool: MysqlPool,
  call: StorageCall,
  first: string,
  workedSince: number,
): Promise<MysqlConnection> {
  const connection = await pool.getConnection()
  const rest = rests.get(itselfOf(connection))
  try {
    if (rest === undefined) {
      await inTime(call, () => setUp(connection, first))
      return connection
    }
    if (rest.since >= workedSince) {
      if (isAsLeft(connection, rest, first) || (await isSetUp(connection, first))) return connection
    }
  } catch (error) {
    const wasCut = rest !== undefined && lostConnection(error)
    if (!wasCut) {
      if (leavesConnection(error)) giveBack(connection, { first, sent: undefined })
      else giveUp(connection)
      throw error
    }
  }
  giveUp(connection)
  return take(pool, call, first, performance.now())
}

/** Tells whether a connection is as it was given back, and so need not be set up. */
function isAsLeft(connection: MysqlConnection, { since, first, sent }: Rest, wanted: string): boolean {
  return (
    first === wanted &&
    performance.now() - since < idleMs &&
    sent !== undefined &&
    sent === sentOn(connection)
  )
}

async function isSetUp(connection: MysqlConnection, first: string): Promise<boolean> {
  const done = setUp(connection, first).then(() => true)
  return (await within(idleAnswerMs, done)) ?? false
}

function giveBack(connection: MysqlConnection, { first, sent }: Omit<Rest, 'since'>): void {
  if (isBroken(connection)) return giveUp(connection)
  rests.set(itselfOf(connection), { since: performance.now(), first, sent })
  connection.release()
}

function giveUp(connection: MysqlConnection): void {
  rests.delete(itselfOf(connection))
  connection.destroy()
}

/** Returns how many octets have been sent on a connection, if the driver tells. While it is idle, only others send more. */
function sentOn(connection: MysqlConnection): number | undefined {
  const { stream } = itselfOf(connection) as { readonly stream?: { readonly bytesWritten?: number } }
  return stream?.bytesWritten
}

/** `mysql2/promise` lends the same connection in another object each time. */
function itselfOf(connection: MysqlConnection): object {
  return connection.connection ?? connection
}
