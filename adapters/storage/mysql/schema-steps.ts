/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add,
 * so code that ran on the schema before a step also runs on the schema after it. Statements that define tables commit
 * on their own, so each one can be repeated (`IF NOT EXISTS`) after a migration that was interrupted.
 */
export const steps: readonly (readonly string[])[] = [
  [
    table(
      'schema',
      `version INT NOT NULL PRIMARY KEY,
       step INT NOT NULL`,
    ),
    table(
      'clients',
      `client_id VARCHAR(255) NOT NULL PRIMARY KEY,
       secret_hashes VARBINARY(2048) NOT NULL,
       redirect_uris MEDIUMTEXT NOT NULL,
       created_at BIGINT NOT NULL,
       revoked_at BIGINT,
       name VARCHAR(255),
       client_type VARCHAR(16),
       revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
       KEY (created_at, client_id)`,
    ),
    table(
      'resellers',
      `reseller_id VARCHAR(255) NOT NULL PRIMARY KEY,
       created_at BIGINT NOT NULL,
       name VARCHAR(255),
       KEY (created_at, reseller_id)`,
    ),
    table(
      'codes',
      `hash BINARY(32) NOT NULL PRIMARY KEY,
       client_id VARCHAR(255) NOT NULL,
       subject VARCHAR(255),
       redirect_uri VARCHAR(2048) NOT NULL,
       scope VARCHAR(1024) NOT NULL,
       code_challenge VARCHAR(128),
       expires_at BIGINT NOT NULL,
       redeemed_at BIGINT,
       token_hash BINARY(32),
       KEY (expires_at),
       KEY (client_id),
       KEY (subject)`,
    ),
    table(
      'credentials',
      `id VARCHAR(255) NOT NULL PRIMARY KEY,
       kind VARCHAR(16) NOT NULL,
       hash BINARY(32) NOT NULL,
       owner_id VARCHAR(255) NOT NULL,
       subject VARCHAR(255),
       scope VARCHAR(1024) NOT NULL,
       created_at BIGINT NOT NULL,
       expires_at BIGINT,
       revoked_at BIGINT,
       name VARCHAR(255),
       last_used_on BIGINT,
       UNIQUE KEY (hash, kind),
       KEY (expires_at),
       KEY (owner_id),
       KEY (subject),
       KEY (kind, created_at, id)`,
    ),
    table(
      'licenses',
      `seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
       license_key VARCHAR(128) NOT NULL,
       registered_to VARCHAR(255) NOT NULL,
       domain_or_ip VARCHAR(255) NOT NULL,
       compared_domain VARCHAR(255) NOT NULL,
       status VARCHAR(255) NOT NULL,
       reseller_id VARCHAR(255) NOT NULL,
       created_at BIGINT NOT NULL,
       updated_at BIGINT NOT NULL,
       reference VARCHAR(255),
       expires_at BIGINT,
       revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
       UNIQUE KEY (license_key),
       KEY (reseller_id, seq),
       KEY (compared_domain, seq),
       KEY (reference, seq),
       KEY (expires_at, seq)`,
    ),
    table(
      'idempotency_keys',
      `reseller_id VARCHAR(255) NOT NULL,
       key_hash BINARY(32) NOT NULL,
       request_hash BINARY(32) NOT NULL,
       license_key VARCHAR(128) NOT NULL,
       expires_at BIGINT,
       revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
       PRIMARY KEY (reseller_id, key_hash),
       KEY (expires_at)`,
    ),
  ],
]

/** Defines a table. Its text is compared code point by code point, and trailing spaces count. */
function table(name: string, columns: string): string {
  const options =
    'ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin'
  return `CREATE TABLE IF NOT EXISTS utility_api_${name} (${columns}) ${options}`
}
