import { StorageError } from 'utility-api/storage'
import type { SqliteDatabase } from './sqlite-driver.ts'

/**
 * The steps from an empty database to the current schema: step n makes version n. A step that was released never changes.
 *
 * `seq` is SQLite's rowid, so that licences lie and are paged in order of creation.
 */
const migrations: readonly string[] = [
  `CREATE TABLE utility_api_clients (
     client_id TEXT NOT NULL PRIMARY KEY,
     secret_hashes BLOB NOT NULL CHECK (length(secret_hashes) % 32 = 0),
     redirect_uris TEXT NOT NULL,
     revoked_at INTEGER,
     name TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE utility_api_codes (
     hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
     client_id TEXT NOT NULL,
     redirect_uri TEXT NOT NULL,
     scope TEXT NOT NULL,
     code_challenge TEXT,
     expires_at INTEGER NOT NULL,
     redeemed_at INTEGER,
     token_hash BLOB CHECK (length(token_hash) = 32)
   ) STRICT;
   CREATE INDEX utility_api_codes_expires_at ON utility_api_codes (expires_at);
   CREATE TABLE utility_api_credentials (
     id TEXT NOT NULL UNIQUE,
     kind TEXT NOT NULL,
     hash BLOB NOT NULL CHECK (length(hash) = 32),
     owner_id TEXT NOT NULL,
     scope TEXT NOT NULL,
     expires_at INTEGER,
     revoked_at INTEGER,
     name TEXT,
     UNIQUE (hash, kind)
   ) STRICT;
   CREATE INDEX utility_api_credentials_expires_at ON utility_api_credentials (expires_at)
     WHERE kind = 'access_token';
   CREATE TABLE utility_api_licenses (
     seq INTEGER PRIMARY KEY,
     license_key TEXT NOT NULL UNIQUE,
     registered_to TEXT NOT NULL,
     domain_or_ip TEXT NOT NULL,
     status TEXT NOT NULL,
     reseller_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX utility_api_licenses_reseller_id ON utility_api_licenses (reseller_id);
   CREATE TABLE utility_api_idempotency_keys (
     reseller_id TEXT NOT NULL,
     key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
     request_hash BLOB NOT NULL CHECK (length(request_hash) = 32),
     license TEXT NOT NULL,
     expires_at INTEGER NOT NULL,
     PRIMARY KEY (reseller_id, key_hash)
   ) STRICT;
   CREATE INDEX utility_api_idempotency_keys_expires_at ON utility_api_idempotency_keys (expires_at);`,
]

/** Brings the schema up to date. Runs inside a transaction that the caller holds. */
export function migrateSchema(database: SqliteDatabase): void {
  database.exec('CREATE TABLE IF NOT EXISTS utility_api_schema (version INTEGER NOT NULL) STRICT')
  const version = schemaVersion(database)
  refuseNewer(version)
  if (version === migrations.length) return
  for (const step of migrations.slice(version)) database.exec(step)
  database.exec(
    `DELETE FROM utility_api_schema; INSERT INTO utility_api_schema (version) VALUES (${migrations.length})`,
  )
}

/** Throws unless the schema is the one this version works with. */
export function requireSchema(database: SqliteDatabase): void {
  const version = hasSchemaTable(database) ? schemaVersion(database) : 0
  refuseNewer(version)
  if (version === migrations.length) return
  const message = `The database has schema version ${version}, and ${migrations.length} is needed: run migrate() first.`
  throw new StorageError('invalid', message)
}

function hasSchemaTable(database: SqliteDatabase): boolean {
  const row = database.prepare("SELECT 1 AS found FROM sqlite_schema WHERE name = 'utility_api_schema'").get()
  return row !== undefined && row !== null
}

function schemaVersion(database: SqliteDatabase): number {
  const row = database.prepare('SELECT max(version) AS version FROM utility_api_schema').get()
  return Number((row as { version: number | null }).version ?? 0)
}

function refuseNewer(version: number): void {
  if (version <= migrations.length) return
  const message = `The database has schema version ${version}; this version of utility-api knows ${migrations.length} at most. Update utility-api.`
  throw new StorageError('invalid', message)
}
