import { StorageError } from 'utility-api/storage'
import { runStatement, toStorageError, type PostgresClient, type PostgresPool } from './postgres-driver.ts'

/** The steps from an empty database to the current schema: step n makes version n. A step that was released never changes. */
const migrations: readonly string[] = [
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
]

const readVersion = 'SELECT coalesce(max(version), 0) AS version FROM utility_api_schema'

/** Brings the schema up to date, in one transaction; servers that start at once take turns. */
export async function migrateSchema(pool: PostgresPool): Promise<void> {
  const client = await pool.connect()
  try {
    // At a stricter level the snapshot would be older than the turn we waited for.
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
    await client.query("SELECT pg_advisory_xact_lock(hashtext('utility_api_schema'))")
    await runSteps(client)
    await client.query('COMMIT')
  } catch (error) {
    // Closing the connection rolls back, whatever state it is in.
    client.release(true)
    throw toStorageError(error)
  }
  client.release()
}

async function runSteps(client: PostgresClient): Promise<void> {
  await client.query('CREATE TABLE IF NOT EXISTS utility_api_schema (version integer NOT NULL)')
  const version = versionIn(await client.query(readVersion))
  refuseNewer(version)
  if (version === migrations.length) return
  const record = `DELETE FROM utility_api_schema; INSERT INTO utility_api_schema (version) VALUES (${migrations.length})`
  await client.query([...migrations.slice(version), record].join(';\n'))
}

/** Throws unless the schema is the one this version works with. */
export async function requireSchema(pool: PostgresPool): Promise<void> {
  const version = await schemaVersion(pool)
  refuseNewer(version)
  if (version === migrations.length) return
  const message = `The database has schema version ${version}, and ${migrations.length} is needed: run migrate() first.`
  throw new StorageError('invalid', message)
}

async function schemaVersion(pool: PostgresPool): Promise<number> {
  try {
    return versionIn(await runStatement(pool, readVersion, []))
  } catch (error) {
    const missingTable = (error as { code?: unknown }).code === '42P01'
    if (missingTable) return 0
    throw error
  }
}

function versionIn({ rows }: { readonly rows: unknown[] }): number {
  return Number((rows[0] as { version: number }).version)
}

function refuseNewer(version: number): void {
  if (version <= migrations.length) return
  const message = `The database has schema version ${version}; this version of utility-api knows ${migrations.length} at most. Update utility-api.`
  throw new StorageError('invalid', message)
}
