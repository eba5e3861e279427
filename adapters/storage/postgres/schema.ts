import { callWithin, StorageError } from 'utility-api/storage'
import { withConnection } from './connection.ts'
import { buildDomainIndex, createDomainIndex } from './domain-index.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'
import { lostRace, toStorageError } from './errors.ts'
import type { Run } from './statement.ts'
import { within } from '../shared/call-time.ts'
import { noSchema, refuseNewer, requireSteps, type Schema } from '../shared/schema-version.ts'

/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add:
 * code that ran on the schema before a step also runs on the schema after it.
 */
const steps: readonly string[] = [
  `CREATE TABLE utility_api_clients (
     client_id text NOT NULL PRIMARY KEY,
     secret_hashes bytea NOT NULL CHECK (length(secret_hashes) % 32 = 0),
     redirect_uris text NOT NULL,
     revoked_at bigint,
     name text
   );
   CREATE TABLE utility_api_codes (
     hash bytea NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
     client_id text NOT NULL,
     redirect_uri text NOT NULL,
     scope text NOT NULL,
     code_challenge text,
     expires_at bigint NOT NULL,
     redeemed_at bigint,
     token_hash bytea CHECK (length(token_hash) = 32)
   );
   CREATE INDEX utility_api_codes_expires_at ON utility_api_codes (expires_at);
   CREATE TABLE utility_api_credentials (
     id text NOT NULL PRIMARY KEY,
     kind text NOT NULL,
     hash bytea NOT NULL CHECK (length(hash) = 32),
     owner_id text NOT NULL,
     scope text NOT NULL,
     expires_at bigint,
     revoked_at bigint,
     name text,
     UNIQUE (hash, kind)
   );
   CREATE INDEX utility_api_credentials_expires_at ON utility_api_credentials (expires_at)
     WHERE kind = 'access_token';
   CREATE TABLE utility_api_licenses (
     seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     license_key text NOT NULL,
     registered_to text NOT NULL,
     domain_or_ip text NOT NULL,
     status text NOT NULL,
     reseller_id text NOT NULL,
     created_at bigint NOT NULL,
     updated_at bigint NOT NULL,
     CONSTRAINT utility_api_licenses_license_key_key UNIQUE (license_key)
   );
   CREATE INDEX utility_api_licenses_reseller_id ON utility_api_licenses (reseller_id, seq);
   CREATE TABLE utility_api_idempotency_keys (
     reseller_id text NOT NULL,
     key_hash bytea NOT NULL CHECK (length(key_hash) = 32),
     request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
     license text NOT NULL,
     expires_at bigint NOT NULL,
     PRIMARY KEY (reseller_id, key_hash)
   );
   CREATE INDEX utility_api_idempotency_keys_expires_at ON utility_api_idempotency_keys (expires_at);`,
  `ALTER TABLE utility_api_schema ADD COLUMN step integer;
   ALTER TABLE utility_api_clients ADD COLUMN created_at bigint NOT NULL DEFAULT 0;
   ALTER TABLE utility_api_codes ADD COLUMN subject text;
   ALTER TABLE utility_api_credentials ADD COLUMN subject text, ADD COLUMN created_at bigint NOT NULL DEFAULT 0;
   CREATE TABLE utility_api_resellers (
     reseller_id text NOT NULL PRIMARY KEY,
     created_at bigint NOT NULL,
     name text
   );
   CREATE INDEX utility_api_clients_created_at ON utility_api_clients (created_at, client_id);
   CREATE INDEX utility_api_resellers_created_at ON utility_api_resellers (created_at, reseller_id);
   CREATE INDEX utility_api_codes_client_id ON utility_api_codes (client_id);
   CREATE INDEX utility_api_codes_subject ON utility_api_codes (subject) WHERE subject IS NOT NULL;
   CREATE INDEX utility_api_credentials_owner_id ON utility_api_credentials (owner_id);
   CREATE INDEX utility_api_credentials_subject ON utility_api_credentials (subject) WHERE subject IS NOT NULL;
   CREATE INDEX utility_api_credentials_kind ON utility_api_credentials (kind, created_at, id)
     WHERE kind <> 'access_token';
   INSERT INTO utility_api_resellers (reseller_id, created_at)
   SELECT reseller_id, created_at FROM utility_api_licenses
   WHERE seq IN (SELECT min(seq) FROM utility_api_licenses GROUP BY reseller_id);`,
  `ALTER TABLE utility_api_credentials ADD COLUMN last_used_on bigint;
   ALTER TABLE utility_api_licenses ADD COLUMN compared_domain text, ADD COLUMN compared_of text;`,
]

/** The oldest step whose library works with the schema after all steps. While steps only add, it is the first. */
const oldestStep = 1

/** Adds a row for each reseller known only from its tokens: those of step 1, and of processes that still run it. */
const adoptResellers = `
  INSERT INTO utility_api_resellers AS known (reseller_id, created_at, name)
  SELECT owner_id, min(created_at), min(name) FROM utility_api_credentials
  WHERE kind = 'reseller_token' AND kind <> 'access_token'
  GROUP BY owner_id
  ON CONFLICT (reseller_id) DO UPDATE SET name = excluded.name
  WHERE known.name IS NULL AND excluded.name IS NOT NULL`

/**
 * Finds the table where it would be created. `CREATE TABLE IF NOT EXISTS` would fail for a role that may not create
 * tables, even if the table exists and nothing is left to do.
 */
const findSchemaTable = `
  SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'utility_api_schema'`

/** Reads the schema through JSON, because the column named `step` does not exist before step 2. */
const readSchema = `
  SELECT coalesce(max(version), 0) AS version,
         coalesce(max((to_jsonb(row)->>'step')::integer), max(version), 0) AS step
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
const withoutTimeLimits = `
  SELECT set_config(name, '0', true) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')`

/** Brings the schema up to date. Servers that start at the same time take turns. */
export async function migrateSchema(pool: PostgresPool): Promise<void> {
  try {
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
      // At a stricter level, the snapshot would be older than the turn we waited for.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
      // The pool's time limits are for requests. Indexes of large tables take longer, and so may another's migration.
      await client.query(withoutTimeLimits)
      await client.query("SELECT pg_advisory_xact_lock(hashtext('utility_api_schema'))")
      await runSteps(client)
      await client.query('COMMIT')
    })
  } catch (error) {
    if (attempt === maxAttempts || !lostRace(error)) throw error
    await migrateTables(pool, attempt + 1)
  }
}

async function runSteps(client: PostgresClient): Promise<void> {
  const { rows: found } = await client.query(findSchemaTable)
  if (found.length === 0) await client.query('CREATE TABLE utility_api_schema (version integer NOT NULL)')
  const schema = schemaIn(await client.query(readSchema))
  refuseNewer(schema, steps.length)
  if (schema.step === 0) await requireUnicode(client)
  if (schema.step < steps.length) {
    if (schema.step > 0) await client.query(lockTables)
    await client.query(steps.slice(schema.step).join(';\n'))
    // On tables that have rows, it is built afterwards, without these locks.
    if (schema.step === 0) await client.query(createDomainIndex)
    await client.query('DELETE FROM utility_api_schema')
    await client.query(
      `INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`,
    )
  }
  await client.query(adoptResellers)
}

/** Requires UTF8. In another encoding, the first name in another script would fail, long after the start. */
async function requireUnicode(client: PostgresClient): Promise<void> {
  const { rows } = await client.query('SHOW server_encoding')
  const [{ server_encoding: encoding }] = rows as [{ server_encoding: string }]
  if (encoding === 'UTF8') return
  throw new StorageError('invalid', `The encoding of the database is ${encoding}: it must be UTF8.`)
}

/** Throws unless this version can work with the schema. */
export async function requireSchema(read: Run): Promise<void> {
  requireSteps(await findSchema(read), steps.length)
}

async function findSchema(read: Run): Promise<Schema> {
  try {
    // Not limited to the time of the call that happens to be the first: others wait for the same answer.
    const call = callWithin(schemaTimeoutMs)
    const answer = read({ toSql: () => ({ text: readSchema, values: [] }), call })
    const result = await within(schemaTimeoutMs, answer)
    if (result === undefined) throw new Error('The schema could not be read in time.')
    return schemaIn(result)
  } catch (error) {
    const missingTable = (error as { code?: unknown }).code === '42P01'
    if (missingTable) return noSchema
    throw error
  }
}

/** The host's parsers may return integers as text or as `bigint`, which are equal to no number. */
function schemaIn({ rows }: { readonly rows: unknown[] }): Schema {
  const [{ version, step }] = rows as [Record<keyof Schema, number | bigint | string>]
  return { version: Number(version), step: Number(step) }
}
