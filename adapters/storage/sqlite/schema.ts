import { StorageError, type StorageCall } from 'utility-api/storage'
import { missingVersion, noSchema, refuseNewer, requireSteps, type Schema } from '../shared/schema-version.ts'
import type { SqliteAccess } from './access.ts'
import { currentForm } from './compared-domains.ts'
import type { SqliteDatabase } from './driver.ts'

/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add:
 * code that ran on the schema before a step also runs on the schema after it.
 *
 * `seq` is SQLite's rowid, so that licenses are stored and paged in order of creation. A token that is `bought` is
 * found by the client and the subject of its code: indexes of its own would write two more random pages for each
 * exchange. A code that grew when it was spent would split its page: `room` reserves space for what is written then.
 */
const steps: readonly string[] = [
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
  `ALTER TABLE utility_api_schema ADD COLUMN step INTEGER;
   ALTER TABLE utility_api_clients ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE utility_api_codes ADD COLUMN subject TEXT;
   ALTER TABLE utility_api_codes ADD COLUMN room BLOB;
   ALTER TABLE utility_api_credentials ADD COLUMN subject TEXT;
   ALTER TABLE utility_api_credentials ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE utility_api_credentials ADD COLUMN bought INTEGER;
   CREATE TABLE utility_api_resellers (
     reseller_id TEXT NOT NULL PRIMARY KEY,
     created_at INTEGER NOT NULL,
     name TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX utility_api_clients_created_at ON utility_api_clients (created_at, client_id);
   CREATE INDEX utility_api_resellers_created_at ON utility_api_resellers (created_at, reseller_id);
   CREATE INDEX utility_api_codes_client_id ON utility_api_codes (client_id);
   CREATE INDEX utility_api_codes_subject ON utility_api_codes (subject) WHERE subject IS NOT NULL;
   CREATE INDEX utility_api_credentials_owner_id ON utility_api_credentials (owner_id) WHERE bought IS NULL;
   CREATE INDEX utility_api_credentials_subject ON utility_api_credentials (subject)
     WHERE subject IS NOT NULL AND bought IS NULL;
   CREATE INDEX utility_api_credentials_kind ON utility_api_credentials (kind) WHERE kind <> 'access_token';
   INSERT INTO utility_api_resellers (reseller_id, created_at)
   SELECT reseller_id, created_at FROM utility_api_licenses
   WHERE seq IN (SELECT min(seq) FROM utility_api_licenses GROUP BY reseller_id);`,
  `ALTER TABLE utility_api_credentials ADD COLUMN last_used_on INTEGER;
   ALTER TABLE utility_api_licenses ADD COLUMN compared_domain TEXT;
   ALTER TABLE utility_api_licenses ADD COLUMN compared_of TEXT;
   CREATE INDEX utility_api_licenses_domain ON utility_api_licenses (${currentForm});`,
]

/** The oldest step whose library works with the schema after all steps. While steps only add, it is the first. */
const oldestStep = 1

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
  INSERT INTO utility_api_resellers (reseller_id, created_at, name) ${resellersOfTokens}
  ON CONFLICT DO UPDATE SET name = excluded.name
  WHERE utility_api_resellers.name IS NULL AND excluded.name IS NOT NULL`

/** Turns on the write-ahead log, which no transaction can do, and brings the tables up to date. */
export async function migrate(
  { read, write }: SqliteAccess<SqliteDatabase>,
  call: StorageCall,
): Promise<void> {
  await read(call, (database) => database.exec('PRAGMA journal_mode = WAL'))
  // A file that may only be read can be migrated if it is current.
  if (!(await read(call, isCurrent))) await write(call, migrateTables)
}

function isCurrent(database: SqliteDatabase): boolean {
  if (!hasTable(database, 'utility_api_schema')) return false
  const schema = readSchema(database)
  refuseNewer(schema, steps.length)
  return schema.step >= steps.length && !isFound(database.prepare(findAdoptable).get())
}

function migrateTables(database: SqliteDatabase): void {
  database.exec('CREATE TABLE IF NOT EXISTS utility_api_schema (version INTEGER NOT NULL) STRICT')
  const schema = readSchema(database)
  refuseNewer(schema, steps.length)
  if (schema.step === 0 && hasTable(database, 'utility_api_clients')) throw missingVersion()
  if (schema.step < steps.length) {
    for (const step of steps.slice(schema.step)) database.exec(step)
    database.exec('DELETE FROM utility_api_schema')
    database.exec(`INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`)
  }
  database.exec(adoptResellers)
}

/** Throws unless this version can work with the schema. */
export function requireSchema(database: SqliteDatabase): void {
  requireSteps(hasTable(database, 'utility_api_schema') ? readSchema(database) : noSchema, steps.length)
}

function hasTable(database: SqliteDatabase, name: string): boolean {
  return isFound(database.prepare('SELECT 1 AS found FROM sqlite_schema WHERE name = ?').get(name))
}

/** No row is `undefined`, and null in Bun. */
function isFound(row: unknown): boolean {
  return row !== undefined && row !== null
}

/** Reads all columns, because the one named `step` does not exist before step 2. */
function readSchema(database: SqliteDatabase): Schema {
  const row = database.prepare('SELECT * FROM utility_api_schema ORDER BY version DESC LIMIT 1').get()
  if (row === undefined || row === null) return noSchema
  const { version, step } = row as { version?: number | bigint; step?: number | bigint | null }
  if (version === undefined)
    throw new StorageError('bug', 'The connection returns rows in another form than objects.')
  return { version: Number(version), step: Number(step ?? version) }
}
