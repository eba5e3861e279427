/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add,
 * so code that ran on the schema before a step also runs on the schema after it.
 *
 * `seq` is SQLite's rowid, so that licenses are stored and paged in order of creation. A token that is `bought` is
 * found by the client and the subject of its code, because separate indexes would write two more random pages for each
 * exchange. A code that grew when it was spent would split its page, so `room` reserves space for what is written then.
 */
export const steps: readonly string[] = [
  `CREATE TABLE utility_api_schema (
     version INTEGER NOT NULL PRIMARY KEY,
     step INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE utility_api_clients (
     client_id TEXT NOT NULL PRIMARY KEY,
     secret_hashes BLOB NOT NULL CHECK (length(secret_hashes) % 32 = 0),
     redirect_uris TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     revoked_at INTEGER,
     name TEXT,
     client_type TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX utility_api_clients_created_at ON utility_api_clients (created_at, client_id);
   CREATE TABLE utility_api_resellers (
     reseller_id TEXT NOT NULL PRIMARY KEY,
     created_at INTEGER NOT NULL,
     name TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX utility_api_resellers_created_at ON utility_api_resellers (created_at, reseller_id);
   CREATE TABLE utility_api_codes (
     hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
     client_id TEXT NOT NULL,
     subject TEXT,
     redirect_uri TEXT NOT NULL,
     scope TEXT NOT NULL,
     code_challenge TEXT,
     expires_at INTEGER NOT NULL,
     redeemed_at INTEGER,
     token_hash BLOB CHECK (length(token_hash) = 32),
     room BLOB
   ) STRICT;
   CREATE INDEX utility_api_codes_expires_at ON utility_api_codes (expires_at);
   CREATE INDEX utility_api_codes_client_id ON utility_api_codes (client_id);
   CREATE INDEX utility_api_codes_subject ON utility_api_codes (subject) WHERE subject IS NOT NULL;
   CREATE TABLE utility_api_credentials (
     id TEXT NOT NULL UNIQUE,
     kind TEXT NOT NULL,
     hash BLOB NOT NULL CHECK (length(hash) = 32),
     owner_id TEXT NOT NULL,
     subject TEXT,
     scope TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     expires_at INTEGER,
     revoked_at INTEGER,
     name TEXT,
     last_used_on INTEGER,
     bought INTEGER,
     UNIQUE (hash, kind)
   ) STRICT;
   CREATE INDEX utility_api_credentials_expires_at ON utility_api_credentials (expires_at)
     WHERE kind = 'access_token';
   CREATE INDEX utility_api_credentials_owner_id ON utility_api_credentials (owner_id) WHERE bought IS NULL;
   CREATE INDEX utility_api_credentials_subject ON utility_api_credentials (subject)
     WHERE subject IS NOT NULL AND bought IS NULL;
   CREATE INDEX utility_api_credentials_kind ON utility_api_credentials (kind) WHERE kind <> 'access_token';
   CREATE TABLE utility_api_licenses (
     seq INTEGER PRIMARY KEY,
     license_key TEXT NOT NULL UNIQUE,
     registered_to TEXT NOT NULL,
     domain_or_ip TEXT NOT NULL,
     compared_domain TEXT NOT NULL,
     status TEXT NOT NULL,
     reseller_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     reference TEXT,
     expires_at INTEGER
   ) STRICT;
   CREATE INDEX utility_api_licenses_reseller_id ON utility_api_licenses (reseller_id);
   CREATE INDEX utility_api_licenses_compared_domain ON utility_api_licenses (compared_domain);
   CREATE INDEX utility_api_licenses_reference ON utility_api_licenses (reference) WHERE reference IS NOT NULL;
   CREATE INDEX utility_api_licenses_expires_at ON utility_api_licenses (expires_at, seq)
     WHERE expires_at IS NOT NULL;
   CREATE INDEX utility_api_licenses_reseller_expires_at ON utility_api_licenses (reseller_id, expires_at, seq)
     WHERE expires_at IS NOT NULL;
   CREATE TABLE utility_api_idempotency_keys (
     reseller_id TEXT NOT NULL,
     key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
     request_hash BLOB NOT NULL CHECK (length(request_hash) = 32),
     license_key TEXT NOT NULL,
     expires_at INTEGER,
     PRIMARY KEY (reseller_id, key_hash)
   ) STRICT;
   CREATE INDEX utility_api_idempotency_keys_expires_at ON utility_api_idempotency_keys (expires_at)
     WHERE expires_at IS NOT NULL;`,
]
