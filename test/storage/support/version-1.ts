/**
 * The schema of version 1, the rows it may hold, and the statements that its library runs: as they were released. What
 * comes after only adds, so all of it must go on working.
 */

export const sqliteSchema: string = `
  CREATE TABLE utility_api_schema (version INTEGER NOT NULL) STRICT;
  INSERT INTO utility_api_schema (version) VALUES (1);
  CREATE TABLE utility_api_clients (
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
   CREATE INDEX utility_api_idempotency_keys_expires_at ON utility_api_idempotency_keys (expires_at);`

export const postgresSchema: string = `
  CREATE TABLE utility_api_schema (version integer NOT NULL);
  INSERT INTO utility_api_schema (version) VALUES (1);
  CREATE TABLE utility_api_clients (
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
   CREATE INDEX utility_api_idempotency_keys_expires_at ON utility_api_idempotency_keys (expires_at);`

/** A hash, in a form that is turned into the literal of either database. */
const h = (byte: string): string => `HASH(${byte})`

/** Rows in every table; `HASH(61)` stands for 32 bytes 61. */
export const rows: readonly string[] = [
  `INSERT INTO utility_api_clients (client_id, secret_hashes, redirect_uris, revoked_at, name)
   VALUES ('shop', ${h('01')}, '["https://shop.example/"]', NULL, 'Shop')`,
  `INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, code_challenge, expires_at, redeemed_at, token_hash)
   VALUES (${h('02')}, 'shop', 'https://shop.example/', 'a', NULL, 9000, 5, ${h('03')}),
          (${h('04')}, 'shop', 'https://shop.example/', '', NULL, 9000, NULL, NULL)`,
  `INSERT INTO utility_api_credentials (kind, hash, id, owner_id, scope, expires_at, revoked_at, name)
   VALUES ('access_token', ${h('03')}, 't-1', 'shop', 'a', 9000, NULL, NULL),
          ('reseller_token', ${h('05')}, 'r-1', 'hosting', '', NULL, NULL, 'Hosting'),
          ('reseller_token', ${h('06')}, 'r-2', 'hosting', '', NULL, 7, NULL),
          ('reseller_token', ${h('07')}, 'r-3', 'newcomer', '', NULL, NULL, NULL),
          ('api_key', ${h('08')}, 'k-1', 'k-1', 'blockgame:lookup', NULL, NULL, 'Page')`,
  `INSERT INTO utility_api_licenses (license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at)
   VALUES ('LIC-1', 'Ada', 'a.example', 'valid', 'hosting', 100, 200),
          ('LIC-2', 'Bob', 'b.example', 'valid', 'departed', 300, 300),
          ('LIC-3', 'Cy', 'c.example', 'valid', 'hosting', 400, 400)`,
  `INSERT INTO utility_api_idempotency_keys (reseller_id, key_hash, request_hash, license, expires_at)
   VALUES ('hosting', ${h('09')}, ${h('0a')}, '{"licenseKey":"LIC-1"}', 9000)`,
]

/** What a process of version 1 goes on writing after the migration; none names a column of later. */
export const oldWrites: readonly string[] = [
  `UPDATE utility_api_codes SET redeemed_at = 6, token_hash = ${h('0b')} WHERE hash = ${h('04')} AND redeemed_at IS NULL`,
  `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, expires_at)
   VALUES ('t-2', 'access_token', ${h('0b')}, 'shop', '', 9000)`,
  `INSERT INTO utility_api_clients (client_id, secret_hashes, redirect_uris, revoked_at, name)
   VALUES ('late', ${h('0c')}, '[]', NULL, NULL) ON CONFLICT DO NOTHING`,
  `UPDATE utility_api_clients SET secret_hashes = ${h('0d')} WHERE client_id = 'late'`,
  `INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, code_challenge, expires_at, redeemed_at)
   VALUES (${h('0e')}, 'late', 'x:/', '', NULL, 9000, NULL)`,
  `INSERT INTO utility_api_credentials (kind, hash, id, owner_id, scope, expires_at, revoked_at, name)
   VALUES ('reseller_token', ${h('0f')}, 'r-4', 'late-reseller', '', NULL, NULL, 'Late')`,
  `INSERT INTO utility_api_licenses (license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at)
   VALUES ('LIC-4', 'Di', 'd.example', 'valid', 'hosting', 500, 500) ON CONFLICT DO NOTHING`,
  `UPDATE utility_api_licenses SET registered_to = coalesce(NULL, registered_to), updated_at = 600
   WHERE license_key = 'LIC-4' AND reseller_id = 'hosting'`,
  `DELETE FROM utility_api_credentials WHERE kind = 'access_token' AND expires_at <= 1`,
]

/** What version 1 asks before it works, and must go on being told: 1. */
export const oldVersionCheck = 'SELECT max(version) AS version FROM utility_api_schema'

export function forSqlite(sql: string): string {
  return sql.replaceAll(/HASH\((..)\)/g, (_, byte: string) => `x'${byte.repeat(32)}'`)
}

export function forPostgres(sql: string): string {
  return sql.replaceAll(/HASH\((..)\)/g, (_, byte: string) => `'\\x${byte.repeat(32)}'::bytea`)
}

export function hashOfByte(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte)
}
