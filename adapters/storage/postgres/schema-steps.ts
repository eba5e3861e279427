/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add,
 * so code that ran on the schema before a step also runs on the schema after it. A step that changes several tables
 * begins with those that an exchange locks first, tokens and then codes, or each would wait for the other.
 *
 * Text that is compared has the collation "C". The rules of others change with the operating system, and an index that was
 * built by the old ones finds no row, or stores a key twice. The schema's table has a primary key, or a publication of all
 * tables would refuse that its row is replaced.
 *
 * @see {@link https://wiki.postgresql.org/wiki/Locale_data_changes}
 */
export const steps: readonly string[] = [
  `CREATE TABLE utility_api_schema (
     version integer NOT NULL PRIMARY KEY,
     step integer NOT NULL
   );
   CREATE TABLE utility_api_clients (
     client_id text COLLATE "C" NOT NULL PRIMARY KEY,
     secret_hashes bytea NOT NULL CHECK (length(secret_hashes) % 32 = 0),
     redirect_uris text NOT NULL,
     created_at bigint NOT NULL,
     revoked_at bigint,
     name text,
     client_type text
   );
   CREATE INDEX utility_api_clients_created_at ON utility_api_clients (created_at, client_id);
   CREATE TABLE utility_api_resellers (
     reseller_id text COLLATE "C" NOT NULL PRIMARY KEY,
     created_at bigint NOT NULL,
     name text
   );
   CREATE INDEX utility_api_resellers_created_at ON utility_api_resellers (created_at, reseller_id);
   CREATE TABLE utility_api_codes (
     hash bytea NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
     client_id text COLLATE "C" NOT NULL,
     subject text COLLATE "C",
     redirect_uri text NOT NULL,
     scope text NOT NULL,
     code_challenge text,
     expires_at bigint NOT NULL,
     redeemed_at bigint,
     token_hash bytea CHECK (length(token_hash) = 32)
   );
   CREATE INDEX utility_api_codes_expires_at ON utility_api_codes (expires_at);
   CREATE INDEX utility_api_codes_client_id ON utility_api_codes (client_id);
   CREATE INDEX utility_api_codes_subject ON utility_api_codes (subject) WHERE subject IS NOT NULL;
   CREATE TABLE utility_api_credentials (
     id text COLLATE "C" NOT NULL PRIMARY KEY,
     kind text COLLATE "C" NOT NULL,
     hash bytea NOT NULL CHECK (length(hash) = 32),
     owner_id text COLLATE "C" NOT NULL,
     subject text COLLATE "C",
     scope text NOT NULL,
     created_at bigint NOT NULL,
     expires_at bigint,
     revoked_at bigint,
     name text,
     last_used_on bigint,
     UNIQUE (hash, kind)
   );
   CREATE INDEX utility_api_credentials_expires_at ON utility_api_credentials (expires_at)
     WHERE kind = 'access_token';
   CREATE INDEX utility_api_credentials_owner_id ON utility_api_credentials (owner_id);
   CREATE INDEX utility_api_credentials_subject ON utility_api_credentials (subject) WHERE subject IS NOT NULL;
   CREATE INDEX utility_api_credentials_kind ON utility_api_credentials (kind, created_at, id)
     WHERE kind <> 'access_token';
   CREATE TABLE utility_api_licenses (
     seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     license_key text COLLATE "C" NOT NULL UNIQUE,
     registered_to text NOT NULL,
     domain_or_ip text NOT NULL,
     compared_domain text COLLATE "C" NOT NULL,
     status text COLLATE "C" NOT NULL,
     reseller_id text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL,
     updated_at bigint NOT NULL,
     reference text COLLATE "C",
     expires_at bigint
   );
   CREATE INDEX utility_api_licenses_reseller_id ON utility_api_licenses (reseller_id, seq);
   CREATE INDEX utility_api_licenses_compared_domain ON utility_api_licenses (compared_domain, seq);
   CREATE INDEX utility_api_licenses_reference ON utility_api_licenses (reference, seq) WHERE reference IS NOT NULL;
   CREATE INDEX utility_api_licenses_expires_at ON utility_api_licenses (expires_at, seq)
     WHERE expires_at IS NOT NULL;
   CREATE TABLE utility_api_idempotency_keys (
     reseller_id text COLLATE "C" NOT NULL,
     key_hash bytea NOT NULL CHECK (length(key_hash) = 32),
     request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
     license_key text COLLATE "C" NOT NULL,
     expires_at bigint,
     PRIMARY KEY (reseller_id, key_hash)
   );
   CREATE INDEX utility_api_idempotency_keys_expires_at ON utility_api_idempotency_keys (expires_at)
     WHERE expires_at IS NOT NULL;`,
]
