import { StorageError, type StorageCall } from 'utility-api/storage'
import { performance } from '../shared/timers.ts'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import { isInTransaction, leavesConnection, lostConnection } from './errors.ts'
import { isBroken, lockWaitSeconds } from './statement.ts'
import { inTime, within } from '../shared/call-time.ts'

/** How a connection was when it was given back, sound. */
interface Rest {
  readonly since: number
  /** What set it up. */
  readonly settings: string
  /** How many octets had been sent on it. */
  readonly sent: number | undefined
}

/** Those that were never lent are new. */
const rests = new WeakMap<object, Rest>()

/** When a connection of each pool was last given up. What ended it may have ended those that were idle then. */
const losses = new WeakMap<MysqlPool, number>()

/** For how long a connection may be idle before it is asked whether it is still open. */
const idleMs = 1000

/** How long a connection that was idle may take to answer. One that was cut silently never does. */
const idleAnswerMs = 1000

/** What is done with a connection. */
export interface Errand<Result> {
  /** The first statement, which sets the connection up. */
  readonly settings: string
  readonly work: (connection: MysqlConnection) => Promise<Result>
  /** Whether it only reads, so that it is done again, once, if its connection is lost. */
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
  { settings, work }: Errand<Result>,
  workedSince: number,
): Promise<Result> {
  const connection = await take(pool, call, settings, workedSince)
  const { lent, sent } = watch(connection)
  let isSound = true
  try {
    return await inTime(call, 'MariaDB', () => work(lent))
  } catch (error) {
    isSound = leavesConnection(error)
    throw error
  } finally {
    if (isSound && !isBroken(lent)) giveBack(connection, { settings, sent: sent() })
    else giveUp(pool, connection)
  }
}

/**
 * Returns a connection for an errand, and what tells how many octets had been sent on it after the last statement,
 * unless others have used it meanwhile, because a host program may use a connection that it has given back. What a
 * statement sends later, as when it is prepared first, counts as theirs.
 */
function watch(connection: MysqlConnection): { lent: MysqlConnection; sent(): number | undefined } {
  const start = sentOn(connection)
  let sent = start
  let isAlone = true
  function send<Answer>(statement: () => Answer): Answer {
    isAlone &&= sent === sentOn(connection)
    const answer = statement()
    sent = sentOn(connection)
    return answer
  }
  return {
    lent: {
      query: (text) => send(() => connection.query(text)),
      execute: (statement) => send(() => connection.execute(statement)),
      release: () => connection.release(),
      destroy: () => connection.destroy(),
    },
    // A driver whose number does not grow cannot tell who has used a connection.
    sent: () => (isAlone && sent !== start ? sent : undefined),
  }
}

/**
 * Takes a connection of the pool. Sets it up, unless that was done a moment ago and nobody else has used it since. Setting
 * it up shows whether it was cut while it was idle. If it was, nothing has been done, and the next one is taken; those that
 * have been idle as long are closed unasked.
 */
async function take(
  pool: MysqlPool,
  call: StorageCall,
  settings: string,
  workedSince: number,
): Promise<MysqlConnection> {
  const connection = await pool.getConnection()
  const rest = rests.get(itselfOf(connection))
  try {
    if (rest === undefined) {
      await inTime(call, 'MariaDB', () => setUp(connection, settings))
      return connection
    }
    if (rest.since >= workedSince) {
      const isReady = settings === rest.settings && isAsLeft(pool, connection, rest)
      if (isReady || (await isSetUp(connection, settings))) return connection
    }
  } catch (error) {
    const wasCut = rest !== undefined && lostConnection(error)
    if (!wasCut) {
      if (leavesConnection(error)) giveBack(connection, { settings, sent: undefined })
      else giveUp(pool, connection)
      throw error
    }
  }
  giveUp(pool, connection)
  return take(pool, call, settings, performance.now())
}

/** Tells whether a connection is as it was given back, and probably open. */
function isAsLeft(pool: MysqlPool, connection: MysqlConnection, { since, sent }: Rest): boolean {
  const doubted = Math.max(performance.now() - idleMs, losses.get(pool) ?? 0)
  return since > doubted && sent !== undefined && sent === sentOn(connection)
}

async function isSetUp(connection: MysqlConnection, settings: string): Promise<boolean> {
  const done = setUp(connection, settings).then(() => true)
  return (await within(idleAnswerMs, done)) ?? false
}

function giveBack(connection: MysqlConnection, { settings, sent }: Omit<Rest, 'since'>): void {
  rests.set(itselfOf(connection), { since: performance.now(), settings, sent })
  connection.release()
}

function giveUp(pool: MysqlPool, connection: MysqlConnection): void {
  losses.set(pool, performance.now())
  rests.delete(itselfOf(connection))
  connection.destroy()
}

/**
 * Returns how many octets have been sent on an open connection, if that can be told. While it is idle, only others send
 * more. What waits to be compressed is not counted yet.
 */
function sentOn(connection: MysqlConnection): number | undefined {
  const { stream, config } = itselfOf(connection) as DriverConnection
  if (stream?.writable === false || config?.compress) return undefined
  return stream?.bytesWritten
}

/** What a connection of `mysql2` tells. */
interface DriverConnection {
  readonly stream?: { readonly bytesWritten?: number; readonly writable?: boolean }
  readonly config?: { readonly compress?: unknown }
}

/** `mysql2/promise` lends the same connection in another object each time. */
function itselfOf(connection: MysqlConnection): object {
  return connection.connection ?? connection
}

/**
 * Returns the first statement on a lent connection. Text that is too long is refused, not cut. Each statement sees what
 * was committed before it and commits on its own. The wait for a lock is shorter than the default of 50 seconds, which
 * is longer than anyone waits.
 *
 * The first assignment, to the next transaction alone, is an error while a transaction is open, and then none is made,
 * because `autocommit = 1` would commit what the host has left half done.
 */
export function sessionSettings(isGalera: boolean): string {
  return `SET ${[
    "@@tx_isolation = 'READ-COMMITTED'",
    "SESSION tx_isolation = 'READ-COMMITTED'",
    'SESSION autocommit = 1',
    // With CHAIN, COMMIT begins a transaction, and what is written next is never committed.
    'SESSION completion_type = 0',
    // A lookup for many would find only the first of them.
    'SESSION sql_select_limit = 18446744073709551615',
    // The keys of 256 writes would be cut off, and their rows changed by nobody.
    'SESSION group_concat_max_len = 1048576',
    "SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    `SESSION innodb_lock_wait_timeout = ${lockWaitSeconds}`,
    "SESSION character_set_client = 'utf8mb4'",
    "SESSION character_set_results = 'utf8mb4'",
    // The charset of this collation is the third that counts. The host's own collation stays.
    "SESSION collation_connection = IF(@@character_set_connection = 'utf8mb4', @@collation_connection, 'utf8mb4_general_ci')",
    // Reads, updates and inserts first wait for what other nodes have acknowledged.
    ...(isGalera ? ['SESSION wsrep_sync_wait = 7'] : []),
  ].join(', ')}`
}

/** Sets nothing that lasts, and is an error while a transaction is open, also on MySQL, which is refused afterwards. */
export const requireNoTransaction: string = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

/**
 * Sends the first statement on a lent connection. Throws if the host has left a transaction open, because what we write
 * would be part of it, and undone with it.
 */
export async function setUp(connection: MysqlConnection, settings: string): Promise<void> {
  try {
    await connection.query(settings)
  } catch (error) {
    if (!isInTransaction(error)) throw error
    const message = 'A transaction of the host program is open on a connection that the pool has lent.'
    throw new StorageError('bug', message)
  }
}
