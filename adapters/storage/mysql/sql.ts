import type { CredentialKind } from 'utility-api/storage'
import { maxCalls } from '../shared/find-together.ts'
import {
  boughtTokenColumns,
  clientColumns,
  codeColumns,
  credentialColumns,
  idempotencyKeyColumns,
  licenseColumns,
  newLicenseColumns,
  placeholders,
  resellerColumns,
} from '../shared/rows.ts'

/**
 * Every statement of the MariaDB store except those of its schema and its lists.
 *
 * Texts of a statement that are no column name their charset, because the database's, the default, may not have the
 * characters of a key.
 *
 * An update always increments `revision`. Drivers differ in whether they count the rows that were found or those that
 * changed; this makes the two the same.
 */

/**
 * Returns rows named `given` with these columns, from an array of rows in JSON, each an array of texts in
 * hexadecimal or null. Hexadecimal, because JSON has no octets, and the server chooses the character set of its texts.
 */
function givenRows(columns: string, json = '?'): string {
  const paths = columns
    .split(', ')
    .map((column, index) => `${column} LONGTEXT CHARACTER SET ascii PATH '$[${index}]' ERROR ON ERROR`)
  return `JSON_TABLE(${json}, '$[*]' COLUMNS (${paths.join(', ')})) AS given`
}

/** Returns the values of these columns of the given rows. */
function givenValues(columns: string): string {
  return columns.replaceAll(/\w+/g, (column) => {
    const octets = `unhex(given.${column})`
    return column.includes('hash') ? octets : `convert(${octets} USING utf8mb4)`
  })
}

/** Reads a table, because a Galera node that is cut off from its cluster still answers what reads none. */
export const ping: string = 'SELECT version FROM utility_api_schema LIMIT 1'

/** Returns a statement with placeholders for at least this many keys, and how many it has. */
export type KeyedSelect = (keys: number) => { readonly text: string; readonly count: number }

/** How many placeholders a statement has. One for each number of keys would be prepared a hundred times on each connection. */
const placeholderCounts = [1, 4, 16, maxCalls]

/** Returns the statement with `:keys` replaced by placeholders. */
function selectBy(text: string): KeyedSelect {
  const selects = placeholderCounts.map((count) => ({ text: text.replace(':keys', repeated(count)), count }))
  return (keys) => selects.find(({ count }) => count >= keys) ?? { text, count: 0 }
}

function repeated(count: number): string {
  return Array.from({ length: count }, () => '?').join(', ')
}

export const findClient: KeyedSelect = selectBy(
  `SELECT ${clientColumns} FROM utility_api_clients WHERE client_id IN (:keys)`,
)

export const findCode: KeyedSelect = selectBy(
  `SELECT hash, ${codeColumns} FROM utility_api_codes WHERE hash IN (:keys)`,
)

/** Returns a transaction of these statements as one, so that it takes a single round trip. */
function transaction(variables: string, ...statements: readonly string[]): string {
  const all = [variables, 'START TRANSACTION', ...statements, 'COMMIT']
  return `BEGIN NOT ATOMIC ${all.join('; ')}; END`
}

/**
 * Returns a transaction that makes many writes, from rows in JSON: those whose rows `lock` finds and need not wait for.
 * Selects their keys, separated by commas.
 */
function writeFree(lock: string, ...writes: readonly string[]): string {
  return transaction(
    'DECLARE given_rows LONGTEXT CHARACTER SET ascii DEFAULT ?; DECLARE free_keys LONGTEXT CHARACTER SET ascii',
    lock,
    ...writes,
    'SELECT free_keys',
  )
}

const isFree = 'find_in_set(given.given_key, free_keys)'

const insertBoughtToken = `INSERT INTO utility_api_credentials (kind, ${boughtTokenColumns})`

/** Spends a code and stores its token, unless the code is spent. */
export const redeemCode: string = transaction(
  'DECLARE spent INT',
  'UPDATE utility_api_codes SET redeemed_at = ?, token_hash = ? WHERE hash = ? AND redeemed_at IS NULL',
  'SET spent = ROW_COUNT()',
  `IF spent > 0 THEN ${insertBoughtToken} VALUES ('access_token', ${placeholders(boughtTokenColumns)}); END IF`,
  'SELECT spent',
)

const givenRedemptions = givenRows(`given_key, spent_at, ${boughtTokenColumns}`, 'given_rows')

/** Spends many codes, but none that is locked or spent. They are looked up in the order in which they are given. */
export const redeemCodes: string = writeFree(
  `SELECT group_concat(given.given_key) INTO free_keys FROM ${givenRedemptions}
   STRAIGHT_JOIN utility_api_codes AS code ON code.hash = unhex(given.given_key)
   WHERE code.redeemed_at IS NULL FOR UPDATE SKIP LOCKED`,
  `UPDATE ${givenRedemptions} STRAIGHT_JOIN utility_api_codes AS code ON code.hash = unhex(given.given_key)
   SET code.redeemed_at = ${givenValues('spent_at')}, code.token_hash = ${givenValues('hash')}
   WHERE ${isFree}`,
  `${insertBoughtToken}
   SELECT 'access_token', ${givenValues(boughtTokenColumns)} FROM ${givenRedemptions} WHERE ${isFree}`,
)

/** Finds the token that a code bought. It never changes, so two statements are as good as one. */
export const findTokenOfCode: string =
  'SELECT token_hash FROM utility_api_codes WHERE hash = ? AND token_hash IS NOT NULL'

export const revokeToken: string = `
  UPDATE utility_api_credentials SET revoked_at = ?
  WHERE hash = ? AND kind = 'access_token' AND revoked_at IS NULL`

export function findCredential(kind: CredentialKind): KeyedSelect {
  return selectBy(
    `SELECT hash, ${credentialColumns} FROM utility_api_credentials WHERE hash IN (:keys) AND kind = '${kind}'`,
  )
}

export const insertLicense: string = `
  INSERT INTO utility_api_licenses (${newLicenseColumns}) VALUES (${placeholders(newLicenseColumns)})`

export const insertLicenses: string = `
  INSERT INTO utility_api_licenses (${newLicenseColumns})
  SELECT ${givenValues(newLicenseColumns)} FROM ${givenRows(newLicenseColumns)}`

const claimKey = `
  INSERT INTO utility_api_idempotency_keys (${idempotencyKeyColumns})
  VALUES (${placeholders(idempotencyKeyColumns)}) ON DUPLICATE KEY UPDATE`

/**
 * Inserts a license with an idempotency key, or if that is held, selects what it is held for, and undoes the rest. The
 * first statement claims the key, held or not, and makes others wait for the end. It counts 1 if the key was free.
 */
export const insertLicenseOnce: string = transaction(
  'DECLARE asked_at BIGINT DEFAULT ?; DECLARE held_key VARCHAR(128) CHARACTER SET utf8mb4; DECLARE held_hash BINARY(32)',
  `${claimKey} revision = revision + 1`,
  `IF ROW_COUNT() > 1 THEN
     SELECT license_key, request_hash INTO held_key, held_hash FROM utility_api_idempotency_keys
     WHERE reseller_id = ? AND key_hash = ? AND (expires_at > asked_at) IS NOT FALSE;
     ${claimKey} request_hash = VALUES(request_hash), license_key = VALUES(license_key), expires_at = VALUES(expires_at);
   END IF`,
  `IF held_key IS NULL THEN ${insertLicense}; ELSE ROLLBACK; END IF`,
  'SELECT held_key AS license_key, held_hash AS request_hash',
)

/** Ownership is checked by the statement that writes. A column whose value was not sent keeps its value. */
export const updateLicense: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce(?, registered_to), domain_or_ip = coalesce(?, domain_or_ip),
      status = coalesce(?, status), compared_domain = coalesce(?, compared_domain), updated_at = ?,
      revision = revision + 1
  WHERE license_key = ? AND reseller_id = ?`

const givenUpdates = givenRows(
  'given_key, reseller_id, changed_at, registered_to, domain_or_ip, status, compared_domain',
  'given_rows',
)

/** Changes those of many licenses that are not locked and are the reseller's, in the order in which they are given. */
export const updateLicenses: string = writeFree(
  `SELECT group_concat(given.given_key) INTO free_keys FROM ${givenUpdates}
   STRAIGHT_JOIN utility_api_licenses AS license ON license.license_key = ${givenValues('given_key')}
   WHERE license.reseller_id = ${givenValues('reseller_id')} FOR UPDATE SKIP LOCKED`,
  `UPDATE ${givenUpdates}
   STRAIGHT_JOIN utility_api_licenses AS license ON license.license_key = ${givenValues('given_key')}
   SET license.registered_to = coalesce(${givenValues('registered_to')}, license.registered_to),
       license.domain_or_ip = coalesce(${givenValues('domain_or_ip')}, license.domain_or_ip),
       license.status = coalesce(${givenValues('status')}, license.status),
       license.compared_domain = coalesce(${givenValues('compared_domain')}, license.compared_domain),
       license.updated_at = ${givenValues('changed_at')}, license.revision = license.revision + 1
   WHERE ${isFree}`,
)

export const findLicense: string = `SELECT ${licenseColumns} FROM utility_api_licenses WHERE license_key = ?`

/** A reference or an end that is taken away comes as a value that no license has. */
export const changeLicense: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce(?, registered_to), domain_or_ip = coalesce(?, domain_or_ip),
      status = coalesce(?, status), compared_domain = coalesce(?, compared_domain),
      reseller_id = coalesce(?, reseller_id), reference = nullif(coalesce(?, reference), ''),
      expires_at = nullif(coalesce(?, expires_at), -1), updated_at = ?, revision = revision + 1
  WHERE license_key = ?`

export const deleteLicense: string = 'DELETE FROM utility_api_licenses WHERE license_key = ?'

export const insertClient: string = `
  INSERT INTO utility_api_clients (${clientColumns}) VALUES (${placeholders(clientColumns)})`

export const updateClient: string = `
  UPDATE utility_api_clients
  SET name = coalesce(?, name), redirect_uris = coalesce(?, redirect_uris), revision = revision + 1
  WHERE client_id = ?`

/** Stores the new hash and the 32 bytes of the hash that was first. */
export const rotateSecret: string = `
  UPDATE utility_api_clients
  SET secret_hashes = concat(?, substring(secret_hashes, 1, 32)), revision = revision + 1
  WHERE client_id = ? AND NOT client_type <=> 'public'`

export const revokeClient: string =
  'UPDATE utility_api_clients SET revoked_at = ? WHERE client_id = ? AND revoked_at IS NULL'

/**
 * Locks the client against a revocation. A revocation in progress is waited for and then seen; a later one finds the
 * code when it looks for unspent ones.
 */
export const lockClient: string =
  'SELECT revoked_at FROM utility_api_clients WHERE client_id = ? LOCK IN SHARE MODE'

export const insertCode: string = `
  INSERT INTO utility_api_codes (hash, ${codeColumns}) VALUES (?, ${placeholders(codeColumns)})`

export const findRevocation: string = 'SELECT revoked_at FROM utility_api_clients WHERE client_id = ?'

export const deleteCode: string = 'DELETE FROM utility_api_codes WHERE hash = ?'

export const insertReseller: string = `
  INSERT INTO utility_api_resellers (${resellerColumns}) VALUES (${placeholders(resellerColumns)})`

export const findReseller: KeyedSelect = selectBy(
  `SELECT ${resellerColumns} FROM utility_api_resellers WHERE reseller_id IN (:keys)`,
)

export const insertCredential: string = `
  INSERT INTO utility_api_credentials (kind, hash, ${credentialColumns})
  VALUES (?, ?, ${placeholders(credentialColumns)})`

/** How many uses one statement notes. They are named one by one. */
export const usePortion: number = 100

/** Notes uses unless later ones are known. */
export const recordUse: string = `
  UPDATE utility_api_credentials SET last_used_on = ?
  WHERE kind = ? AND id IN (${repeated(usePortion)})
    AND coalesce(last_used_on, -1) < ?`

export const revokeCredentialByHash: string =
  'UPDATE utility_api_credentials SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL'

export const revokeCredentialById: string =
  'UPDATE utility_api_credentials SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL'

/** How many rows one statement purges or revokes. A longer statement would hold up everybody else's writes. */
export const portion: number = 1000

/**
 * Ends a portion of the codes. Waits for redemptions in progress. Those that win have stored their tokens by the end of
 * this statement, and their codes do not count as part of the portion.
 */
const endCodesOf = (column: 'client_id' | 'subject'): string =>
  `DELETE FROM utility_api_codes WHERE ${column} = ? AND redeemed_at IS NULL LIMIT ${portion}`

export const endCodesOfClient: string = endCodesOf('client_id')
export const endCodesOfSubject: string = endCodesOf('subject')

/** What revokes the tokens of a client or a subject. */
export interface TokenStatements {
  /** Reads the next ids, whether or not the tokens are revoked. */
  readonly readIds: string
  /** Revokes the tokens between two ids. */
  readonly revoke: string
}

/**
 * Goes through the tokens in the order of their index, which ends in the id. It is named like its first column. Without
 * the hint, the planner reads each portion from the start of the index, or the tokens of all others too.
 */
const tokensOf = (column: 'owner_id' | 'subject'): TokenStatements => ({
  readIds: `
    SELECT id FROM utility_api_credentials FORCE INDEX (${column}) WHERE ${column} = ? AND id > ?
    ORDER BY id LIMIT ${portion}`,
  revoke: `
    UPDATE utility_api_credentials FORCE INDEX (${column}) SET revoked_at = ?
    WHERE ${column} = ? AND id > ? AND id <= ? AND kind = 'access_token' AND revoked_at IS NULL`,
})

export const tokensOfClient: TokenStatements = tokensOf('owner_id')
export const tokensOfSubject: TokenStatements = tokensOf('subject')

/** Revokes a portion of a reseller's tokens. */
export const revokeTokensOfReseller: string = `
  UPDATE utility_api_credentials SET revoked_at = ?
  WHERE owner_id = ? AND kind = 'reseller_token' AND revoked_at IS NULL LIMIT ${portion}`

/** How many codes one statement reads or purges. They are named one by one. */
export const codePortion: number = 250

export const purgeTokens: string = `
  DELETE FROM utility_api_credentials WHERE kind = 'access_token' AND expires_at <= ? LIMIT ${portion}`

/**
 * Reads the next codes, and which of them are dead, in one snapshot. A DELETE that looked for the tokens itself would see
 * the codes of one moment and the tokens of another.
 */
export const readCodes: string = `
  SELECT code.hash, code.redeemed_at IS NOT NULL AS spent, code.expires_at <= ? AND NOT EXISTS (
    SELECT 1 FROM utility_api_credentials AS token
    WHERE token.hash = code.token_hash AND token.kind = 'access_token') AS dead
  FROM utility_api_codes AS code WHERE code.hash > ? ORDER BY code.hash LIMIT ${codePortion}`

export const purgeSpentCodes: string = `
  DELETE FROM utility_api_codes WHERE hash IN (${repeated(codePortion)})`

/** Waits for codes that are being spent, and then keeps them. */
export const purgeUnspentCodes: string = `${purgeSpentCodes} AND redeemed_at IS NULL`

export const purgeIdempotencyKeys: string = `
  DELETE FROM utility_api_idempotency_keys WHERE expires_at <= ? LIMIT ${portion}`
