import { callWithin, StorageError } from 'utility-api/storage'
import { askedOfStandby, isStandby, onPrimary, requireUnbalanced } from './balancing.ts'
import { requireSpoken, withConnection } from './connection.ts'
import { buildDomainIndex, createDomainIndex } from './domain-index.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'
import { limitOfRole, lostRace, toStorageError } from './errors.ts'
import type { Run, Sql, Statement } from './statement.ts'
import { oldestStep, steps } from './steps.ts'
import { inTimeOf } from '../shared/call-time.ts'
import { missingVersion, noSchema, refuseNewer, requireSteps, type Schema } from '../shared/schema-version.ts'

// The second condition is that of the index.
const resellersOfTokens = `
  SELECT owner_id, min(created_at), min(name) AS name FROM utility_api_credentials
  WHERE kind = 'reseller_token' AND kind <> 'access_token'
  GROUP BY owner_id`

/** Finds out whether there is a reseller to add. */
const findAdoptable = `
  SELECT 1 FROM (${resellersOfTokens}) AS found LEFT JOIN utility_api_resellers AS known ON reseller_id = owner_id
  WHERE reseller_id IS NULL OR known.name IS NULL AND found.name IS NOT NULL LIMIT 1`

/** Adds a row for each reseller known only from its tokens: those of step 1, and of processes that still run it. */
const adoptResellers = `
  INSERT INTO utility_api_resellers AS known (reseller_id, created_at, name) ${resellersOfTokens}
  ON CONFLICT (reseller_id) DO UPDATE SET name = excluded.name
  WHERE known.name IS NULL AND excluded.name IS NOT NULL`

/**
 * Finds the table where it would be created. `CREATE TABLE IF NOT EXISTS` would fail for a role that may not create
 * tables, even if the table exists and nothing is left to do.
 */
const findTable = (name: string): string =>
  onPrimary(`SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = '${name}'`)

/** Reads the schema through JSON, because the column named `step` does not exist before step 2. */
const readSchema = `
  SELECT coalesce(max(version), 0) AS version,
         coalesce(max((to_jsonb(row)->>'step')::integer), max(version), 0) AS step,
         ${askedOfStandby} AS standby, current_setting('client_encoding') AS encoding
  FROM utility_api_schema AS row`

/** How long the first read of the schema may take before it is tried again. */
const schemaTimeoutMs = 2000

/** The maximum number of attempts at a migration that deadlocks with running servers. */
const maxAttempts = 5

/**
 * Locks the tables of step 1 in the order in which its statements do: in another, servers that run it and the migration
 * would wait for each other.
 */
const lockTables = `
  LOCK TABLE utility_api_credentials, utility_api_codes, utility_api_licenses, utility_api_clients
  IN ACCESS EXCLUSIVE MODE`

/** Only the limits that this version has: the last one came with PostgreSQL 17. */
const withoutTimeLimits = onPrimary(`
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')`)

const takeTurn = onPrimary("SELECT pg_advisory_xact_lock(hashtext('utility_api_schema'))")

/** Brings the schema up to date. Servers that start at the same time take turns. */
export async function migrateSchema(pool: PostgresPool): Promise<void> {
  try {
    await requireTimeLimit(pool)
    await migrateTables(pool)
    await buildDomainIndex(pool)
  } catch (error) {
    throw toStorageError(error)
  }
}

/** Takes the steps in one transaction. */
async function migrateTables(pool: PostgresPool, attempt = 1): Promise<void> {
  try {
    await withConnection(pool, async (client) => {
      if (await isCurrent(client)) return adopt(client)
      // At a stricter level, the snapshot would be older than the turn we waited for.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
      // The pool's time limits are for requests. Indexes of large tables take longer, and so may another's migration.
      await client.query(withoutTimeLimits)
      await client.query(takeTurn)
      await runSteps(client)
      await client.query('COMMIT')
    })
  } catch (error) {
    if (attempt === maxAttempts || !lostRace(error)) throw error
    await migrateTables(pool, attempt + 1)
  }
}

/** Tells whether no step is left to take. */
async function isCurrent(client: PostgresClient): Promise<boolean> {
  if (!(await hasTable(client, 'utility_api_schema'))) return false
  const result = await client.query(onPrimary(readSchema))
  await requireUnbalanced(standbyIn(result), () => client.query(isStandby))
  const schema = schemaIn(result)
  refuseNewer(schema, steps.length)
  return schema.step >= steps.length
}

/** Reads first: a role that may only read can migrate a schema that is current. */
async function adopt(client: PostgresClient): Promise<void> {
  const { rows } = await client.query(onPrimary(findAdoptable))
  if (rows.length > 0) await client.query(adoptResellers)
}

async function hasTable(client: PostgresClient, name: string): Promise<boolean> {
  const { rows } = await client.query(findTable(name))
  return rows.length > 0
}

async function runSteps(client: PostgresClient): Promise<void> {
  if (!(await hasTable(client, 'utility_api_schema')))
    await client.query('CREATE TABLE utility_api_schema (version integer NOT NULL)')
  const schema = schemaIn(await client.query(onPrimary(readSchema)))
  refuseNewer(schema, steps.length)
  if (schema.step === 0) await requireNew(client)
  if (schema.step < steps.length) {
    if (schema.step > 0) await client.query(lockTables)
    await client.query(steps.slice(schema.step).join(';\n'))
    // On tables that have rows, it is built afterwards, without these locks.
    if (schema.step === 0) await client.query(createDomainIndex)
    // With a condition: the extension safeupdate refuses a DELETE without one.
    await client.query('DELETE FROM utility_api_schema WHERE version > 0')
    await client.query(
      `INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`,
    )
  }
  await adopt(client)
}

/** Requires a database in which the first step can be taken. */
async function requireNew(client: PostgresClient): Promise<void> {
  if (await hasTable(client, 'utility_api_clients')) throw missingVersion()
  await requireUnicode(client)
}

/** Requires UTF8. In another encoding, the first name in another script would fail, long after the start. */
async function requireUnicode(client: PostgresClient): Promise<void> {
  const { rows } = await client.query('SHOW server_encoding')
  const [{ server_encoding: encoding }] = rows as [{ server_encoding: string }]
  if (encoding === 'UTF8') return
  throw new StorageError('invalid', `The encoding of the database is ${encoding}: it must be UTF8.`)
}

/** Throws unless this version can work with the schema. */
export async function requireSchema(pool: PostgresPool, read: Run): Promise<void> {
  // Not limited to the time of the call that happens to be the first: others wait for the same answer.
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

async function findSchema(read: Run, statement: Statement): Promise<Schema> {
  try {
    const result = await read(statement)
    const { call } = statement
    requireSpoken(encodingIn(result))
    await requireUnbalanced(standbyIn(result), () =>
      read({ toSql: () => ({ text: isStandby, values: [] }), call }),
    )
    return schemaIn(result)
  } catch (error) {
    const missingTable = (error as { code?: unknown }).code === '42P01'
    if (missingTable) return noSchema
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
 * Throws if the pool asks for a time limit that the server does not have: a pooler can be set up to drop what it does not
 * know (`ignore_startup_parameters`), and statements would wait for locks without end.
 */
async function requireTimeLimit(pool: PostgresPool): Promise<void> {
  if (!pool.options.statement_timeout) return
  const { rows } = await withConnection(pool, (client) => client.query('SHOW statement_timeout'))
  const [row] = rows as { statement_timeout?: unknown }[]
  if (row?.statement_timeout !== '0') return
  const message = `The pool's statement_timeout does not reach the server: a pooler drops it. ${limitOfRole}`
  throw new StorageError('invalid', message)
}

/** The host's parsers may return integers as text or as `bigint`, which are equal to no number. */
function schemaIn({ rows }: { readonly rows: unknown[] }): Schema {
  const [{ version, step }] = rows as [Record<keyof Schema, number | bigint | string>]
  return { version: Number(version), step: Number(step) }
}

function encodingIn({ rows }: { readonly rows: unknown[] }): string | undefined {
  const [row] = rows as { readonly encoding?: string }[]
  return row?.encoding
}

function standbyIn({ rows }: { readonly rows: unknown[] }): string | null | undefined {
  const [row] = rows as { readonly standby?: string | null }[]
  return row?.standby
}
