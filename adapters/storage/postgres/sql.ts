import type { CredentialKind } from 'utility-api/storage'
import {
  boughtTokenColumns,
  clientColumns,
  codeColumns,
  credentialColumns,
  idempotencyKeyColumns,
  licenseColumns,
  newLicenseColumns,
  resellerColumns,
} from '../shared/rows.ts'

/**
 * Every statement of the PostgreSQL store except those of its schema and its lists. Each task is one statement, so that
 * each decides its race on its own.
 *
 * Columns are named, because a prepared `SELECT *` fails permanently once another server's migration adds a column.
 */

/**
 * Returns a parameter for each column, counted from this one, with its type, because in a SELECT, the server would take
 * all of them for text.
 */
function typedParameters(columns: string, first = 1): string {
  const typed = columns.split(', ').map((column, index) => `$${first + index}::${typeOf(column)}`)
  return typed.join(', ')
}

/** Returns rows named `given` with these columns, of which each parameter has an array. */
function givenRows(columns: string): string {
  const arrays = columns.split(', ').map((column, index) => `$${index + 1}::${typeOf(column)}[]`)
  return `unnest(${arrays.join(', ')}) AS given (${columns})`
}

/** Returns each column of the given rows. */
function givenColumns(columns: string): string {
  return columns.replaceAll(/\w+/g, 'given.$&')
}

/**
 * Ends a statement that inserts many rows if it waits for another transaction: for one that inserts the same key. Has
 * effect until the end of the statement's own transaction.
 */
const withLockTimeout = "set_config('lock_timeout', '100', true)"

/**
 * Whether the server reads NULL in an array as NULL, and not as a text (`array_nulls = off`). Where it does not, each
 * write goes alone, without an array.
 */
const arraysHaveNulls = "current_setting('array_nulls') = 'on'"

function typeOf(column: string): string {
  if (column.endsWith('_at')) return 'bigint'
  return /hash/.test(column) ? 'bytea' : 'text'
}

/** Reads a table, because a server answers although the tables are gone or renamed, or not for this role. */
export const ping: string = 'SELECT version FROM utility_api_schema'

/** Finds the row with the key `$1`, or the rows with an array of keys. The planner takes longer for an array. */
export interface KeyedSelect {
  readonly one: string
  readonly many: string
}

function selectBy(text: string): KeyedSelect {
  return { one: `${text} = $1`, many: `${text} = ANY ($1)` }
}

export const findClient: KeyedSelect = selectBy(
  `SELECT ${clientColumns} FROM utility_api_clients WHERE client_id`,
)

export const findCode: KeyedSelect = selectBy(`SELECT hash, ${codeColumns} FROM utility_api_codes WHERE hash`)

/** Spends the code and stores the token, or does neither, so a token that is refused undoes the whole statement. */
export const redeemCode: string = `
  WITH spent AS (
    UPDATE utility_api_codes SET redeemed_at = $2, token_hash = $4 WHERE hash = $1 AND redeemed_at IS NULL
    RETURNING 1)
  INSERT INTO utility_api_credentials (kind, ${boughtTokenColumns})
  SELECT 'access_token', ${typedParameters(boughtTokenColumns, 3)} FROM spent`

/**
 * Spends many codes and stores their tokens. A code that is locked or spent is left out. `taken` has the rows that it
 * could lock without waiting, checked as they were then, and nobody else can change them before the commit.
 */
export const redeemCodes: string = `
  WITH taken AS MATERIALIZED (
    SELECT given.* FROM ${givenRows(`code_hash, spent_at, ${boughtTokenColumns}`)}
    JOIN utility_api_codes AS code ON code.hash = given.code_hash
    WHERE code.redeemed_at IS NULL AND ${arraysHaveNulls} ORDER BY code_hash FOR NO KEY UPDATE OF code SKIP LOCKED),
  spent AS (
    UPDATE utility_api_codes AS code SET redeemed_at = taken.spent_at, token_hash = taken.hash
    FROM taken WHERE code.hash = taken.code_hash
    RETURNING taken.*),
  stored AS (
    INSERT INTO utility_api_credentials (kind, ${boughtTokenColumns})
    SELECT 'access_token', ${boughtTokenColumns} FROM spent)
  SELECT encode(code_hash, 'hex') AS key FROM spent`

export const revokeTokenOfCode: string = `
  UPDATE utility_api_credentials SET revoked_at = $2
  WHERE hash = (SELECT token_hash FROM utility_api_codes WHERE hash = $1) AND kind = 'access_token' AND revoked_at IS NULL`

/** Revokes the tokens of many codes. A token that is locked or revoked is left out. */
export const revokeTokensOfCodes: string = `
  WITH taken AS MATERIALIZED (
    SELECT code_hash, ended_at, token.id FROM ${givenRows('code_hash, ended_at')}
    JOIN utility_api_codes AS code ON code.hash = given.code_hash
    JOIN utility_api_credentials AS token ON token.hash = code.token_hash AND token.kind = 'access_token'
    WHERE token.revoked_at IS NULL ORDER BY token.id FOR NO KEY UPDATE OF token SKIP LOCKED)
  UPDATE utility_api_credentials AS token SET revoked_at = taken.ended_at
  FROM taken WHERE token.id = taken.id
  RETURNING encode(taken.code_hash, 'hex') AS key`

export const findCredential: KeyedSelect = selectBy(
  `SELECT hash, ${credentialColumns} FROM utility_api_credentials WHERE kind = $2 AND hash`,
)

export const insertLicense: string = `
  INSERT INTO utility_api_licenses (${newLicenseColumns}) VALUES (${typedParameters(newLicenseColumns)})
  ON CONFLICT (license_key) DO NOTHING`

/** Inserts many licenses, except those whose keys are taken. */
export const insertLicenses: string = `
  INSERT INTO utility_api_licenses (${newLicenseColumns})
  SELECT ${givenColumns(newLicenseColumns)} FROM ${withLockTimeout}, ${givenRows(newLicenseColumns)}
  WHERE ${arraysHaveNulls} ORDER BY license_key
  ON CONFLICT (license_key) DO NOTHING
  RETURNING license_key AS key`

/** Replaces what is held under a claimed key if it has expired by the time that follows. What never expires stays. */
const takeOver = `
    SET request_hash = excluded.request_hash, license_key = excluded.license_key, expires_at = excluded.expires_at
    WHERE held.expires_at <=`

/**
 * Claims the idempotency key if nobody holds it at this time, and inserts the license if the claim succeeded. When
 * claims race, all but one wait for the first to commit, then find the key held. A license key that is taken undoes the
 * claim.
 */
export const insertLicenseOnce: string = `
  WITH claimed AS (
    INSERT INTO utility_api_idempotency_keys AS held (${idempotencyKeyColumns})
    VALUES (${typedParameters(idempotencyKeyColumns, 2)})
    ON CONFLICT (reseller_id, key_hash) DO UPDATE
    ${takeOver} $1::bigint
    RETURNING 1)
  INSERT INTO utility_api_licenses (${newLicenseColumns})
  SELECT ${typedParameters(newLicenseColumns, 7)} FROM claimed`

const heldColumns = idempotencyKeyColumns.replaceAll(/\w+/g, 'held_$&')
const givenOnce = `claimed_at, ${heldColumns}, ${newLicenseColumns}`

/**
 * Claims many idempotency keys, and inserts the licenses of those that were free at the earliest of the given times. A
 * license key that is taken undoes the whole statement.
 */
export const insertLicensesOnce: string = `
  WITH given AS MATERIALIZED (
    SELECT given.* FROM ${withLockTimeout}, ${givenRows(givenOnce)} WHERE ${arraysHaveNulls}),
  claimed AS (
    INSERT INTO utility_api_idempotency_keys AS held (${idempotencyKeyColumns})
    SELECT ${heldColumns} FROM given ORDER BY held_reseller_id, held_key_hash
    ON CONFLICT (reseller_id, key_hash) DO UPDATE
    ${takeOver} (SELECT min(claimed_at) FROM given)
    RETURNING reseller_id, key_hash)
  INSERT INTO utility_api_licenses (${newLicenseColumns})
  SELECT ${givenColumns(newLicenseColumns)} FROM claimed
  JOIN given ON given.held_reseller_id = claimed.reseller_id AND given.held_key_hash = claimed.key_hash
  RETURNING license_key AS key`

export const findIdempotencyKey: string = `
  SELECT license_key, request_hash FROM utility_api_idempotency_keys
  WHERE reseller_id = $1 AND key_hash = $2 AND (expires_at > $3) IS NOT FALSE`

/** Ownership is checked by the statement that writes. A column whose value was not sent keeps its value. */
export const updateLicense: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce($4, registered_to), domain_or_ip = coalesce($5, domain_or_ip),
      status = coalesce($6, status), compared_domain = coalesce($7, compared_domain), updated_at = $3
  WHERE license_key = $1 AND reseller_id = $2`

/** Updates many licenses. One that is locked, or is not the reseller's, is left out. */
export const updateLicenses: string = `
  WITH taken AS MATERIALIZED (
    SELECT given.*
    FROM ${givenRows('license_key, reseller_id, changed_at, registered_to, domain_or_ip, status, compared_domain')}
    JOIN utility_api_licenses AS license ON license.license_key = given.license_key
    WHERE license.reseller_id = given.reseller_id AND ${arraysHaveNulls}
    ORDER BY given.license_key FOR NO KEY UPDATE OF license SKIP LOCKED)
  UPDATE utility_api_licenses AS license
  SET registered_to = coalesce(taken.registered_to, license.registered_to),
      domain_or_ip = coalesce(taken.domain_or_ip, license.domain_or_ip),
      status = coalesce(taken.status, license.status),
      compared_domain = coalesce(taken.compared_domain, license.compared_domain), updated_at = taken.changed_at
  FROM taken WHERE license.license_key = taken.license_key
  RETURNING license.license_key AS key`

export const findLicense: string = `SELECT ${licenseColumns} FROM utility_api_licenses WHERE license_key = $1`

/** A reference or an end that is taken away comes as a value that no license has. */
export const changeLicense: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce($3, registered_to), domain_or_ip = coalesce($4, domain_or_ip),
      status = coalesce($5, status), compared_domain = coalesce($6, compared_domain),
      reseller_id = coalesce($7, reseller_id), reference = nullif(coalesce($8, reference), ''),
      expires_at = nullif(coalesce($9, expires_at), -1), updated_at = $2
  WHERE license_key = $1`

export const deleteLicense: string = 'DELETE FROM utility_api_licenses WHERE license_key = $1'

export const insertClient: string = `
  INSERT INTO utility_api_clients (${clientColumns}) VALUES (${typedParameters(clientColumns)})
  ON CONFLICT (client_id) DO NOTHING`

export const updateClient: string = `
  UPDATE utility_api_clients SET name = coalesce($2, name), redirect_uris = coalesce($3, redirect_uris)
  WHERE client_id = $1`

/** Stores the new hash and the 32 bytes of the hash that was first. */
export const rotateSecret: string = `
  UPDATE utility_api_clients SET secret_hashes = $2::bytea || substring(secret_hashes FROM 1 FOR 32)
  WHERE client_id = $1 AND client_type IS DISTINCT FROM 'public'`

export const revokeClient: string =
  'UPDATE utility_api_clients SET revoked_at = $2 WHERE client_id = $1 AND revoked_at IS NULL'

/**
 * Locks the client against a revocation. A revocation in progress is waited for and then seen; a later one finds the
 * code when it looks for unspent ones.
 */
export const insertCode: string = `
  WITH client AS MATERIALIZED (
    SELECT revoked_at FROM utility_api_clients WHERE client_id = $2 FOR SHARE)
  INSERT INTO utility_api_codes (hash, ${codeColumns})
  SELECT ${typedParameters(`hash, ${codeColumns}`)}
  WHERE NOT EXISTS (SELECT 1 FROM client WHERE revoked_at IS NOT NULL)`

export const insertReseller: string = `
  INSERT INTO utility_api_resellers (${resellerColumns}) VALUES (${typedParameters(resellerColumns)})
  ON CONFLICT (reseller_id) DO NOTHING`

export const findReseller: KeyedSelect = selectBy(
  `SELECT ${resellerColumns} FROM utility_api_resellers WHERE reseller_id`,
)

/** Resellers are never deleted, so there is no need to lock one. */
export const insertCredential: string = `
  INSERT INTO utility_api_credentials (kind, hash, ${credentialColumns})
  SELECT ${typedParameters(`kind, hash, ${credentialColumns}`)}
  WHERE $1 <> 'reseller_token' OR EXISTS (SELECT 1 FROM utility_api_resellers WHERE reseller_id = $4)`

/**
 * Notes uses unless later ones are known. Locks the rows in the order of their ids: in the order of the table, which
 * changes with each update, servers that note the same uses at once would wait for one another.
 */
export const recordUse: string = `
  WITH taken AS MATERIALIZED (
    SELECT id FROM utility_api_credentials
    WHERE kind = $1 AND id = ANY ($3) AND (last_used_on IS NULL OR last_used_on < $2)
    ORDER BY id FOR NO KEY UPDATE)
  UPDATE utility_api_credentials AS credential SET last_used_on = $2 FROM taken WHERE credential.id = taken.id`

export const revokeCredentialByHash: string =
  'UPDATE utility_api_credentials SET revoked_at = $2 WHERE hash = $1 AND revoked_at IS NULL'

export const revokeCredentialById: string =
  'UPDATE utility_api_credentials SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'

/**
 * Ends a portion of the codes. Waits for redemptions in progress. Those that win have stored their tokens by the end of
 * this statement, and their codes do not count as part of the portion.
 */
const endCodesOf = (column: 'client_id' | 'subject'): string => `
  DELETE FROM utility_api_codes WHERE hash = ANY (ARRAY (
    SELECT hash FROM utility_api_codes WHERE ${column} = $1 AND redeemed_at IS NULL LIMIT $2 FOR UPDATE))`

export const endCodesOfClient: string = endCodesOf('client_id')
export const endCodesOfSubject: string = endCodesOf('subject')

/** Revokes a portion of the tokens. */
const revokeTokensOf = (column: 'owner_id' | 'subject', kind: CredentialKind = 'access_token'): string => `
  UPDATE utility_api_credentials SET revoked_at = $2 WHERE id = ANY (ARRAY (
    SELECT id FROM utility_api_credentials
    WHERE ${column} = $1 AND kind = '${kind}' AND revoked_at IS NULL LIMIT $3 FOR UPDATE))`

export const revokeTokensOfClient: string = revokeTokensOf('owner_id')
export const revokeTokensOfSubject: string = revokeTokensOf('subject')
export const revokeTokensOfReseller: string = revokeTokensOf('owner_id', 'reseller_token')

/**
 * What follows IN may be read again for each row, with some plans, so more than a portion would be deleted, and some
 * rows missed. An array is made once.
 */
export const purgeTokens: string = `
  DELETE FROM utility_api_credentials WHERE id = ANY (ARRAY (
    SELECT id FROM utility_api_credentials WHERE kind = 'access_token' AND expires_at <= $1
    LIMIT $2 FOR UPDATE SKIP LOCKED))`

/**
 * Reads the next codes, and which of them are dead. The LIMIT inside makes PostgreSQL look up each token, because for
 * an EXISTS, it could read all tokens.
 */
export const readCodes: string = `
  SELECT hash, redeemed_at IS NOT NULL AS spent, expires_at <= $3 AND (
    SELECT true FROM utility_api_credentials WHERE hash = code.token_hash AND kind = 'access_token' LIMIT 1) IS NULL AS dead
  FROM utility_api_codes AS code WHERE hash > $1 ORDER BY hash LIMIT $2`

/** Purges codes, but not those that are being spent, or were spent since they were found unspent. */
export const purgeCodes: string = `
  DELETE FROM utility_api_codes WHERE hash = ANY (ARRAY (
    SELECT hash FROM utility_api_codes WHERE hash = ANY ($1) AND (redeemed_at IS NULL OR hash = ANY ($2))
    FOR UPDATE SKIP LOCKED))`

export const purgeIdempotencyKeys: string = `
  WITH late AS (
    SELECT reseller_id, key_hash FROM utility_api_idempotency_keys WHERE expires_at <= $1
    LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM utility_api_idempotency_keys AS held USING late
  WHERE held.reseller_id = late.reseller_id AND held.key_hash = late.key_hash`
