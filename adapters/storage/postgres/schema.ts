import { callWithin, StorageError } from 'utility-api/storage'
import { askedOfStandby, isStandby, onPrimary, requireUnbalanced } from './balancing.ts'
import { requireSpoken, withConnection } from './connection.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'
import { limitOfRole, lostRace, toStorageError } from './errors.ts'
import type { Run, Sql, Statement } from './statement.ts'
import { steps } from './steps.ts'
import { inTimeOf } from '../shared/call-time.ts'
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

const readSchema = `
  SELECT coalesce(max(version), 0) AS version, coalesce(max(step), 0) AS step,
         ${askedOfStandby} AS standby, current_setting('client_encoding') AS encoding
  FROM utility_api_schema`

/** How long the first read of the schema may take before it is tried again. */
const schemaTimeoutMs = 2000

/** The maximum number of attempts at a migration that deadlocks with running servers. */
const maxAttempts = 5

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
  } catch (error) {
    throw toStorageError(error)
  }
}

/** Takes the steps in one transaction. */
async function migrateTables(pool: PostgresPool, attempt = 1): Promise<void> {
  try {
    await withConnection(pool, async (client) => {
      // A role that may only read can migrate a schema that is current.
      if (isCurrent(await schemaOn(client), steps.length)) return
      // At a stricter level, the snapshot would be older than the turn we waited for.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
      // The pool's time limits are for requests. Indexes of large tables take longer, and so may another's migration.
      await client.query(withoutTimeLimits)
      await client.query(takeTurn)
      await takeSteps(client)
      await client.query('COMMIT')
    })
  } catch (error) {
    if (attempt === maxAttempts || !lostRace(error)) throw error
    await migrateTables(pool, attempt + 1)
  }
}

async function schemaOn(client: PostgresClient): Promise<Schema> {
  if (!(await hasTable(client, 'utility_api_schema'))) return noSchema
  const result = await client.query(onPrimary(readSchema))
  await requireUnbalanced(standbyIn(result), () => client.query(isStandby))
  return schemaIn(result)
}

async function hasTable(client: PostgresClient, name: string): Promise<boolean> {
  const { rows } = await client.query(findTable(name))
  return rows.length > 0
}

async function takeSteps(client: PostgresClient): Promise<void> {
  const schema = await schemaOn(client)
  if (isCurrent(schema, steps.length)) return
  if (schema.step === 0) await requireNew(client)
  await client.query(steps.slice(schema.step).join(';\n'))
  // With a condition: the extension safeupdate refuses a DELETE without one.
  await client.query('DELETE FROM utility_api_schema WHERE version > 0')
  await client.query(`INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`)
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
