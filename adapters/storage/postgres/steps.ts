/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add:
 * code that ran on the schema before a step also runs on the schema after it.
 */
export const steps: readonly string[] = [
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
export const oldestStep: number = 1
