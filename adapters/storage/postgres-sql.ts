/**
 * Every statement of the PostgreSQL store but the schema's: one each, so that each decides its race by itself.
 *
 * Columns are named: a prepared `SELECT *` fails for good once another server's migration adds one.
 */

const clientColumns = 'client_id, secret_hashes, redirect_uris, revoked_at, name'
const codeColumns = 'client_id, redirect_uri, scope, code_challenge, expires_at, redeemed_at'
const credentialColumns = 'id, owner_id, scope, expires_at, revoked_at, name'
const licenseColumns = 'license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at'

/** The constraint that a license key which is taken violates. */
export const licenseKeyConstraint: string = 'utility_api_licenses_license_key_key'

export const ping: string = 'SELECT 1'

export const findClient: string = `SELECT ${clientColumns} FROM utility_api_clients WHERE client_id = $1`

export const findCode: string = `SELECT ${codeColumns} FROM utility_api_codes WHERE hash = $1`

/** Spends the code and stores the token, or neither: a token that is refused undoes the whole statement. */
export const redeemCode: string = `
  WITH spent AS (
    UPDATE utility_api_codes SET redeemed_at = $2, token_hash = $4 WHERE hash = $1 AND redeemed_at IS NULL
    RETURNING token_hash)
  INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, expires_at)
  SELECT $3::text, 'access_token', token_hash, $5::text, $6::text, $7::bigint FROM spent`

export const revokeTokenOfCode: string = `
  UPDATE utility_api_credentials SET revoked_at = $2
  WHERE hash = (SELECT token_hash FROM utility_api_codes WHERE hash = $1) AND kind = 'access_token' AND revoked_at IS NULL`

export const findCredential: string = `
  SELECT ${credentialColumns} FROM utility_api_credentials WHERE hash = $2 AND kind = $1`

export const insertLicense: string = `
  INSERT INTO utility_api_licenses (${licenseColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`

/**
 * Claims the idempotency key, if nobody holds it at this time, and inserts the licence if that was so. Of racing claims
 * all but one wait for the first to commit, then find the key held. A license key that is taken undoes the claim.
 */
export const insertLicenseOnce: string = `
  WITH claimed AS (
    INSERT INTO utility_api_idempotency_keys AS held (reseller_id, key_hash, request_hash, license, expires_at)
    VALUES ($8, $9, $10, $11, $12)
    ON CONFLICT (reseller_id, key_hash) DO UPDATE
    SET request_hash = excluded.request_hash, license = excluded.license, expires_at = excluded.expires_at
    WHERE held.expires_at <= $6::bigint
    RETURNING 1)
  INSERT INTO utility_api_licenses (${licenseColumns})
  SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::bigint FROM claimed`

export const findAnswer: string = `
  SELECT license, request_hash FROM utility_api_idempotency_keys
  WHERE reseller_id = $1 AND key_hash = $2 AND expires_at > $3`

/** Ownership is tested where it is written; a column whose value was not sent keeps the one it has. */
export const updateLicense: string = `
  WITH updated AS (
    UPDATE utility_api_licenses
    SET registered_to = coalesce($3, registered_to), domain_or_ip = coalesce($4, domain_or_ip),
        status = coalesce($5, status), updated_at = $6
    WHERE license_key = $1 AND reseller_id = $2
    RETURNING 1)
  SELECT EXISTS (SELECT 1 FROM updated) AS updated,
         EXISTS (SELECT 1 FROM utility_api_licenses WHERE license_key = $1) AS found`

export const getLicense: string = `SELECT ${licenseColumns} FROM utility_api_licenses WHERE license_key = $1`

export const listLicenses: string = `
  SELECT seq, ${licenseColumns} FROM utility_api_licenses WHERE seq > $1 ORDER BY seq LIMIT $2`

export const listLicensesOfReseller: string = `
  SELECT seq, ${licenseColumns} FROM utility_api_licenses WHERE seq > $1 AND reseller_id = $3 ORDER BY seq LIMIT $2`

export const insertClient: string = `
  INSERT INTO utility_api_clients (${clientColumns})
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`

export const setClientSecrets: string =
  'UPDATE utility_api_clients SET secret_hashes = $2 WHERE client_id = $1'

export const revokeClient: string =
  'UPDATE utility_api_clients SET revoked_at = $2 WHERE client_id = $1 AND revoked_at IS NULL'

export const insertCode: string = `
  INSERT INTO utility_api_codes (hash, ${codeColumns})
  VALUES ($1, $2, $3, $4, $5, $6, $7)`

export const insertCredential: string = `
  INSERT INTO utility_api_credentials (kind, hash, ${credentialColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

export const revokeCredentialByHash: string =
  'UPDATE utility_api_credentials SET revoked_at = $2 WHERE hash = $1 AND revoked_at IS NULL'

export const revokeCredentialById: string =
  'UPDATE utility_api_credentials SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'

export const purgeTokens: string = `
  DELETE FROM utility_api_credentials WHERE id IN (
    SELECT id FROM utility_api_credentials WHERE kind = 'access_token' AND expires_at <= $1
    LIMIT $2 FOR UPDATE SKIP LOCKED)`

/** A spent code stays with its token: without it a replay could no longer revoke that. One being spent is skipped. */
export const purgeCodes: string = `
  DELETE FROM utility_api_codes WHERE hash IN (
    SELECT hash FROM utility_api_codes AS code WHERE expires_at <= $1 AND NOT EXISTS (
      SELECT 1 FROM utility_api_credentials WHERE hash = code.token_hash AND kind = 'access_token')
    LIMIT $2 FOR UPDATE SKIP LOCKED)`

export const purgeAnswers: string = `
  DELETE FROM utility_api_idempotency_keys WHERE (reseller_id, key_hash) IN (
    SELECT reseller_id, key_hash FROM utility_api_idempotency_keys WHERE expires_at <= $1
    LIMIT $2 FOR UPDATE SKIP LOCKED)`
