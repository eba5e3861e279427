import { callWithin, StorageError, type MigrationResult, type StorageCall } from 'utility-api/storage'
import { requireNoTransaction, sessionSettings, setUp, withConnection } from './connection.ts'
import { setTimeout } from '../shared/timers.ts'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import {
  isDuplicate,
  isInterrupted,
  isMissingDatabase,
  isMissingTable,
  lostRace,
  tookTooLong,
  toStorageError,
} from './errors.ts'
import { requireCaughtUp, run, transact } from './statement.ts'
import { steps } from './schema-steps.ts'
import { inTimeOf, wake } from '../shared/call-time.ts'
import { isCurrent, noSchema, oldestStep, requireSteps, type Schema } from '../shared/schema-version.ts'

/** How a server is used. */
export interface Flavor {
  /** The first statement on a lent connection. */
  readonly settings: string
  /** Whether the server is a node of a Galera cluster. */
  readonly isGalera: boolean
}

const single: Flavor = { settings: sessionSettings(false), isGalera: false }
const galera: Flavor = { settings: sessionSettings(true), isGalera: true }

const readSchema = 'SELECT version, step FROM utility_api_schema'
/** MySQL, which is refused, takes for a comment what asks whether the server is a node of a Galera cluster. */
const readFlavor = `
  SELECT version() AS version, @@character_set_client AS charset /*M!100600 ,
    (SELECT variable_value FROM information_schema.global_variables WHERE variable_name = 'WSREP_ON') AS wsrep */`

const readFlushes =
  'SELECT @@innodb_flush_log_at_trx_commit AS flushes, @@log_bin AS binlog, @@sync_binlog AS syncs'

/** How long the first read of the schema may take before it is tried again. */
const schemaTimeoutMs = 2000

/** A migration takes as long as it takes. */
const patient: StorageCall = callWithin(Infinity)

// Each database of a server has its own name.
const lockName = "concat('utility_api_schema:', md5(database()))"
/** The maximum number of attempts at a migration that other nodes of a cluster make at the same time. */
const maxAttempts = 12
/** Indexes of large tables take longer than a server may let statements take, and so may another's migration. */
const withoutTimeLimit = 'SET STATEMENT max_statement_time = 0 FOR'
const takeLock = `${withoutTimeLimit} SELECT get_lock(${lockName}, 30) AS got`

/** Brings the schema up to date. Servers that start at the same time take turns. */
export async function migrateSchema(pool: MysqlPool): Promise<MigrationResult> {
  const lend = <Result>(work: (connection: MysqlConnection) => Promise<Result>): Promise<Result> =>
    withConnection(pool, patient, { settings: requireNoTransaction, work })
  try {
    await wake(() => lend(async () => {}), tookTooLong)
    return await lend(migrateOn)
  } catch (error) {
    throw toStorageError(error)
  }
}

async function migrateOn(connection: MysqlConnection): Promise<MigrationResult> {
  const flavor = await flavorOf(connection)
  await setUp(connection, flavor.settings)
  // A role that may only read can migrate a schema that is current.
  const schema = await despiteOthers(flavor, () => schemaOn(connection))
  const changed = !isCurrent(schema, steps.length) && (await migrateAlone(connection, flavor))
  return { changed, warnings: await warningsOf(connection) }
}

/**
 * Returns what a power cut would lose. Without a flush of the binary log, InnoDB undoes at its restart what that log does
 * not have.
 */
async function warningsOf(connection: MysqlConnection): Promise<string[]> {
  const [row] = (await run(connection, readFlushes)) as [Record<'flushes' | 'binlog' | 'syncs', unknown>]
  const [flushes, binlog, syncs] = [Number(row.flushes), Number(row.binlog), Number(row.syncs)]
  const loses = 'a power cut may lose what was acknowledged last. Set it to 1.'
  return [
    ...([0, 2].includes(flushes) ? [`innodb_flush_log_at_trx_commit is ${flushes}: ${loses}`] : []),
    ...(binlog === 1 && syncs !== 1 ? [`sync_binlog is ${syncs}: ${loses}`] : []),
  ]
}

/**
 * Does its work again whenever it loses against another server. A lock of the database is local to a node of a cluster.
 * On the others, servers may take the same steps, and interrupt whatever is in their way.
 */
async function despiteOthers<T>(flavor: Flavor, work: () => Promise<T>, attempt = 1): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const hasLost = lostRace(error) || isDuplicate(error) || (flavor.isGalera && isInterrupted(error))
    if (attempt === maxAttempts || !hasLost) throw error
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(attempt + 3, 9)))
    return despiteOthers(flavor, work, attempt + 1)
  }
}

async function migrateAlone(connection: MysqlConnection, flavor: Flavor): Promise<boolean> {
  await takeTurn(connection)
  let changed: boolean
  try {
    changed = await despiteOthers(flavor, () => takeSteps(connection))
  } catch (error) {
    // Gives the lock back, and ends a transaction that later writes would become part of.
    connection.destroy()
    throw error
  }
  await connection.query(`DO release_lock(${lockName})`)
  return changed
}

/** Waits for a migration on another server, however long it takes: it builds indexes on tables of any length. */
async function takeTurn(connection: MysqlConnection): Promise<void> {
  const [lock] = (await run(connection, takeLock)) as { got: number | null }[]
  if (lock?.got === 0) return takeTurn(connection)
  if (lock?.got !== 1) throw new StorageError('unavailable', 'MariaDB gives no lock for the migration.')
}

async function takeSteps(connection: MysqlConnection): Promise<boolean> {
  const schema = await schemaOn(connection)
  if (isCurrent(schema, steps.length)) return false
  for (const statement of steps.slice(schema.step).flat())
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await connection.query(`${withoutTimeLimit} ${statement}`)
  await transact(connection, async () => {
    // With a condition on the key: safe updates refuse a DELETE without one.
    await connection.query('DELETE FROM utility_api_schema WHERE version >= 0')
    await connection.query(
      `INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`,
    )
  })
  return true
}

/** Throws unless this version can work with the schema. Returns how the server is used. */
export async function requireSchema(pool: MysqlPool): Promise<Flavor> {
  // Not limited to the time of the call that happens to be the first, because others wait for the same answer.
  const call = callWithin(schemaTimeoutMs)
  let isLent = false
  const work = (connection: MysqlConnection): Promise<Flavor> => {
    isLent = true
    return flavorWithSchema(connection)
  }
  const errand = { settings: requireNoTransaction, work, reads: true }
  const flavor = await inTimeOf(call, withConnection(pool, call, errand))
  if (flavor !== undefined) return flavor
  const why = isLent ? 'the server does not answer' : 'no connection of the pool was free'
  throw new Error(`The schema could not be read within ${schemaTimeoutMs / 1000} s: ${why}.`)
}

async function flavorWithSchema(connection: MysqlConnection): Promise<Flavor> {
  // In a transaction that stays open, a migration would never be seen.
  await connection.query('SET SESSION autocommit = 1')
  requireSteps(await schemaOn(connection), steps.length)
  return flavorOf(connection)
}

async function schemaOn(connection: MysqlConnection): Promise<Schema> {
  try {
    const [schema] = (await readOn(connection, readSchema)) as Schema[]
    return schema ?? noSchema
  } catch (error) {
    if (isMissingTable(error)) return noSchema
    if (isMissingDatabase(error)) throw missingDatabase(error)
    throw error
  }
}

/** Runs a statement that waits for no lock, but on a node for the writes of others. */
async function readOn(connection: MysqlConnection, sql: string): Promise<unknown> {
  try {
    return await run(connection, sql)
  } catch (error) {
    requireCaughtUp(error, 0)
    throw error
  }
}

/**
 * Throws if the server is not MariaDB, or if the pool's text is not utf8mb4, because the server would store other
 * characters than it was sent, and not say so.
 */
async function flavorOf(connection: MysqlConnection): Promise<Flavor> {
  const [{ version, charset, wsrep }] = (await readOn(connection, readFlavor)) as [FlavorRow]
  if (!/mariadb/i.test(version))
    throw new StorageError('invalid', `The server is MySQL ${version}: use MariaDB 10.6 or newer.`)
  if (charset === 'utf8mb4') return wsrep === 'ON' ? galera : single
  const message = `The connections of the pool have the charset ${charset}: leave its option charset out, or set it to utf8mb4.`
  throw new StorageError('invalid', message)
}

interface FlavorRow {
  readonly version: string
  readonly charset: string
  readonly wsrep?: string
}

function missingDatabase(cause: unknown): StorageError {
  return new StorageError('invalid', 'The pool has no database: name one in its URL.', { cause })
}
