import { callWithin, StorageError, type MigrationResult } from 'utility-api/storage'
import { askedOfStandby, isStandby, onPrimary, requireUnbalanced } from './balancing.ts'
import { requireSpoken, withConnection } from './connection.ts'
import type { PostgresClient, PostgresPool, PostgresResult } from './driver.ts'
import { isMissingTable, limitOfRole, lostRace, tookTooLong, toStorageError } from './errors.ts'
import type { Run, Sql, Statement } from './statement.ts'
import { steps } from './schema-steps.ts'
import { inTimeOf, wake } from '../shared/call-time.ts'
import {
  isCurrent,
  missingVersion,
  noSchema,
  oldestStep,
  requireSteps,
  type Schema,
} from '../shared/schema-version.ts'

/** Finds a table where it would be created. */
const findTable = (name: string): string =>
  onPrimary(`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = '${name}'`)

/** The encoding of the database, and the schema in which statements would find tables that are there already. */
const readPlace = onPrimary(`
  SELECT current_setting('server_encoding') AS encoding,
         (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('utility_api_clients')) AS place`)

/** The first of our tables, by name, of which the role may not see every row. */
const firstHidden = `
  SELECT min(relname::text) FROM pg_class
  WHERE relname LIKE 'utility\\_api\\_%' AND relkind IN ('r', 'p') AND pg_table_is_visible(oid)
    AND row_security_active(oid)`

const readSchema = `
  SELECT coalesce(max(version), 0) AS version, coalesce(max(step), 0) AS step, (${firstHidden}) AS hidden,
         ${askedOfStandby} AS standby, current_setting('client_encoding') AS encoding
  FROM utility_api_schema`

const numbers = "pg_get_serial_sequence('utility_api_licenses', 'seq')"

const areBehind = `coalesce(max(seq), 0) > coalesce(pg_sequence_last_value(${numbers}::regclass), 0)`

/** What the owner should know. All of it is text, which no parser of the host's changes. */
const readServer = onPrimary(`
  SELECT CASE WHEN has_sequence_privilege(${numbers}, 'SELECT, USAGE') THEN (${areBehind})::text END AS behind,
         (has_sequence_privilege(${numbers}, 'UPDATE') AND has_table_privilege('utility_api_licenses', 'UPDATE')
          AND current_setting('transaction_read_only') = 'off')::text AS writable,
         current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits
  FROM utility_api_licenses`)

interface ServerRow {
  readonly behind: string | null
  readonly writable: string
  readonly fsync: string
  readonly commits: string
}

/** While nobody else inserts a license: others could take numbers meanwhile, and would be put back. */
const putForward = `
  LOCK TABLE utility_api_licenses IN SHARE ROW EXCLUSIVE MODE;
  SELECT setval(${numbers}, max(seq)) FROM utility_api_licenses HAVING ${areBehind};
  COMMIT`

/** How long the first read of the schema may take before it is tried again. */
const schemaTimeoutMs = 2000

/** The maximum number of attempts at a migration that deadlocks with running servers. */
const maxAttempts = 5

/** Only the limits that this version has, because the last one came with PostgreSQL 17. */
const withoutTimeLimits = onPrimary(`
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')`)

const takeTurn = onPrimary("SELECT pg_advisory_xact_lock(hashtext('utility_api_schema'))")

/** Brings the schema up to date. Servers that start at the same time take turns. */
export async function migrateSchema(pool: PostgresPool): Promise<MigrationResult> {
  try {
    await wake(() => withConnection(pool, async () => {}), tookTooLong)
    await requireTimeLimit(pool)
    const changed = await migrateTables(pool)
    return await withConnection(pool, (client) => lookAtServer(client, changed))
  } catch (error) {
    throw toStorageError(error)
  }
}

/** Takes the steps in one transaction. Tells whether there were any. */
async function migrateTables(pool: PostgresPool, attempt = 1): Promise<boolean> {
  try {
    return await withConnection(pool, async (client) => {
      // A role that may only read can migrate a schema that is current.
      if (isCurrent(await schemaOn(client), steps.length)) return false
      await begin(client)
      await client.query(takeTurn)
      const changed = await takeSteps(client)
      await client.query('COMMIT')
      return changed
    })
  } catch (error) {
    if (attempt === maxAttempts || !lostRace(error)) throw error
    return migrateTables(pool, attempt + 1)
  }
}

async function begin(client: PostgresClient): Promise<void> {
  // At a stricter level, the snapshot would be older than the turn or the lock that we wait for.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  // The pool's time limits are for requests. Indexes of large tables take longer, and so may another's migration.
  await client.query(withoutTimeLimits)
}

/**
 * Puts the numbers of licenses forward if they are behind the rows, as they are after a restore or a replication of the
 * rows alone, because otherwise every new license would be refused.
 */
async function lookAtServer(client: PostgresClient, changed: boolean): Promise<MigrationResult> {
  const { rows } = await client.query(readServer)
  const [{ behind, writable, fsync, commits }] = rows as [ServerRow]
  const isPutForward = behind === 'true' && writable === 'true'
  if (isPutForward) {
    await begin(client)
    await client.query(putForward)
  }
  const warnings = [
    behind === 'true' && !isPutForward && numbersBehind,
    behind === null && numbersUnknown,
    fsync === 'off' && 'fsync is off: a power cut may lose or destroy what was acknowledged. Set it to on.',
    commits === 'off' &&
      'synchronous_commit is off: a crash of the server may lose what was acknowledged last. Set it to on.',
  ]
  return { changed: changed || isPutForward, warnings: warnings.filter((each) => each !== false) }
}

const numbersBehind =
  'The numbers of new licenses are behind those of the rows, so that none can be generated: run migrate() on the primary, as the owner of the tables.'
const numbersUnknown =
  'Whether the numbers of new licenses are behind those of the rows could not be read: GRANT SELECT ON SEQUENCE utility_api_licenses_seq_seq to the role.'

async function schemaOn(client: PostgresClient): Promise<Schema> {
  if (!(await hasTable(client, 'utility_api_schema'))) return noSchema
  return schemaIn(await client.query(onPrimary(readSchema)), () => client.query(isStandby))
}

async function hasTable(client: PostgresClient, name: string): Promise<boolean> {
  const { rows } = await client.query(findTable(name))
  return rows.length > 0
}

async function takeSteps(client: PostgresClient): Promise<boolean> {
  const schema = await schemaOn(client)
  if (isCurrent(schema, steps.length)) return false
  if (schema.step === 0) await requireNew(client)
  await client.query(steps.slice(schema.step).join(';\n'))
  // With a condition: the extension safeupdate refuses a DELETE without one.
  await client.query('DELETE FROM utility_api_schema WHERE version > 0')
  await client.query(`INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`)
  return true
}

/**
 * Requires a database in which the first step can be taken. In another encoding than UTF8, the first name in another
 * script would fail, long after the start. In a schema before that of the tables, new ones would hide every row.
 */
async function requireNew(client: PostgresClient): Promise<void> {
  if (await hasTable(client, 'utility_api_clients')) throw missingVersion()
  const { rows } = await client.query(readPlace)
  const [{ encoding, place }] = rows as [{ encoding: string; place: string | null }]
  if (place !== null)
    throw new StorageError(
      'invalid',
      `The tables are in the schema ${place}, but another comes first in search_path: ALTER ROLE … SET search_path = ${place}, or leave ${place} out to create other tables.`,
    )
  if (encoding !== 'UTF8')
    throw new StorageError('invalid', `The encoding of the database is ${encoding}: it must be UTF8.`)
}

/** Throws unless this version can work with the schema. */
export async function requireSchema(pool: PostgresPool, read: Run): Promise<void> {
  // Not limited to the time of the call that happens to be the first, because others wait for the same answer.
  const call = callWithin(schemaTimeoutMs)
  let isSent = false
  const toSql = (): Sql => {
    isSent = true
    return { text: readSchema, values: [] }
  }
  const found = await inTimeOf(
    call,
    requireTimeLimit(pool).then(() => findSchema(read, { toSql, call })),
  )
  if (found === undefined) throw new Error(whyNotInTime(pool, isSent))
  requireSteps(found, steps.length)
}

const askStandby = (): Sql => ({ text: isStandby, values: [] })

async function findSchema(read: Run, statement: Statement): Promise<Schema> {
  try {
    return await schemaIn(await read(statement), () => read({ toSql: askStandby, call: statement.call }))
  } catch (error) {
    if (isMissingTable(error)) return noSchema
    throw error
  }
}

/** A pool, or the pooler behind it, that has too few connections looks like a server that does not answer. */
function whyNotInTime({ options: { max } }: PostgresPool, isSent: boolean): string {
  const time = `within ${schemaTimeoutMs / 1000} s`
  return isSent
    ? `The schema could not be read ${time}: the server does not answer, or a pooler has no server connection left for this one.`
    : `The schema could not be read ${time}: no connection of the pool (max: ${max}) was free.`
}

/**
 * Throws if the pool asks for a time limit that the server does not have, because a pooler can be set up to drop what
 * it does not know (`ignore_startup_parameters`), and statements would wait for locks without end.
 */
async function requireTimeLimit(pool: PostgresPool): Promise<void> {
  if (!pool.options.statement_timeout) return
  const { rows } = await withConnection(pool, (client) => client.query('SHOW statement_timeout'))
  const [row] = rows as { statement_timeout?: unknown }[]
  if (row?.statement_timeout !== '0') return
  const message = `The pool's statement_timeout does not reach the server: a pooler drops it. ${limitOfRole}`
  throw new StorageError('invalid', message)
}

interface SchemaRow extends Record<keyof Schema, number | bigint | string> {
  readonly hidden?: string | null
  readonly standby?: string | null
  readonly encoding?: string
}

/**
 * Returns the schema that was read, if what is read here can be trusted. The host's parsers may return integers as text or
 * as `bigint`, which are equal to no number.
 */
async function schemaIn(
  { rows }: Pick<PostgresResult, 'rows'>,
  askAgain: () => Promise<PostgresResult>,
): Promise<Schema> {
  const [{ version, step, hidden, standby, encoding }] = rows as [SchemaRow]
  requireSpoken(encoding)
  requireAllRows(hidden)
  await requireUnbalanced(standby, askAgain)
  return { version: Number(version), step: Number(step) }
}

/**
 * Throws if row level security applies to the role, because a token whose row is hidden is unknown, and revoking it
 * finds nothing while it stays valid elsewhere. Policies may let every row through, but nobody can tell for the next
 * one.
 */
function requireAllRows(hidden: string | null = null): void {
  if (hidden === null) return
  const message = `Row level security of ${hidden} applies to the role of the pool and would hide rows: ALTER ROLE … BYPASSRLS, let the tables' owner serve, or ALTER TABLE … DISABLE ROW LEVEL SECURITY.`
  throw new StorageError('invalid', message)
}
