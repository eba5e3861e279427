import {
  boughtTokenColumns,
  clientColumns,
  codeColumns,
  credentialColumns,
  idempotencyKeyColumns,
  licenseColumns,
  listedClientColumns,
  newLicenseColumns,
  placeholders,
  resellerColumns,
} from '../shared/rows.ts'

/** Every statement of the SQLite store except those of its schema and its lists. */

/**
 * Reads the hashes in hexadecimal, because better-sqlite3 creates a buffer for each BLOB, which takes longer than the
 * rest of the row.
 */
export const findClient: string = `
  SELECT hex(secret_hashes) AS secret_hashes, ${listedClientColumns}
  FROM utility_api_clients WHERE client_id = ?`

export const findCode: string = `SELECT ${codeColumns} FROM utility_api_codes WHERE hash = ?`

export const spendCode: string = `
  UPDATE utility_api_codes SET redeemed_at = ?, token_hash = ?, room = NULL
  WHERE hash = ? AND redeemed_at IS NULL`

export const insertToken: string = `
  INSERT INTO utility_api_credentials (kind, bought, ${boughtTokenColumns})
  VALUES ('access_token', 1, ${placeholders(boughtTokenColumns)})`

export const revokeTokenOfCode: string = `
  UPDATE utility_api_credentials SET revoked_at = ?
  WHERE hash = (SELECT token_hash FROM utility_api_codes WHERE hash = ?) AND kind = 'access_token' AND revoked_at IS NULL`

export const findCredential: string = `
  SELECT ${credentialColumns} FROM utility_api_credentials WHERE hash = ? AND kind = ?`

export const findIdempotencyKey: string = `
  SELECT license_key, request_hash FROM utility_api_idempotency_keys
  WHERE reseller_id = ? AND key_hash = ? AND (expires_at > ?) IS NOT FALSE`

export const insertLicense: string = `
  INSERT INTO utility_api_licenses (${newLicenseColumns}) VALUES (${placeholders(newLicenseColumns)})
  ON CONFLICT (license_key) DO NOTHING`

export const putIdempotencyKey: string = `
  INSERT OR REPLACE INTO utility_api_idempotency_keys (${idempotencyKeyColumns})
  VALUES (${placeholders(idempotencyKeyColumns)})`

/**
 * Ownership is checked by the statement that writes. A column whose value was not sent keeps its value.
 *
 * Changes nothing if the compared domain is another one. SQLite writes the index of a column that a statement names,
 * even if its value stays the same, so this statement does not set it.
 */
export const updateLicenseOfDomain: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce(?, registered_to), domain_or_ip = coalesce(?, domain_or_ip),
      status = coalesce(?, status), updated_at = ?
  WHERE license_key = ? AND reseller_id = ? AND compared_domain = coalesce(?, compared_domain)`

export const updateLicense: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce(?, registered_to), domain_or_ip = coalesce(?, domain_or_ip),
      status = coalesce(?, status), compared_domain = coalesce(?, compared_domain), updated_at = ?
  WHERE license_key = ? AND reseller_id = ?`

export const findLicense: string = `SELECT ${licenseColumns} FROM utility_api_licenses WHERE license_key = ?`

/** A reference or an end that is taken away comes as a value that no license has. */
export const changeLicense: string = `
  UPDATE utility_api_licenses
  SET registered_to = coalesce(?, registered_to), domain_or_ip = coalesce(?, domain_or_ip),
      status = coalesce(?, status), compared_domain = coalesce(?, compared_domain),
      reseller_id = coalesce(?, reseller_id), reference = nullif(coalesce(?, reference), ''),
      expires_at = nullif(coalesce(?, expires_at), -1), updated_at = ?
  WHERE license_key = ?`

export const deleteLicense: string = 'DELETE FROM utility_api_licenses WHERE license_key = ?'

export const insertClient: string = `
  INSERT INTO utility_api_clients (${clientColumns}) VALUES (${placeholders(clientColumns)})
  ON CONFLICT (client_id) DO NOTHING`

export const updateClient: string = `
  UPDATE utility_api_clients SET name = coalesce(?, name), redirect_uris = coalesce(?, redirect_uris)
  WHERE client_id = ?`

export const setSecrets: string = 'UPDATE utility_api_clients SET secret_hashes = ? WHERE client_id = ?'

export const revokeClient: string =
  'UPDATE utility_api_clients SET revoked_at = ? WHERE client_id = ? AND revoked_at IS NULL'

/** The room is for the 6 octets of `redeemed_at` and the 32 of `token_hash`. */
export const insertCode: string = `
  INSERT INTO utility_api_codes (hash, ${codeColumns}, room)
  SELECT ?, ${placeholders(codeColumns)}, zeroblob(38)
  WHERE NOT EXISTS (SELECT 1 FROM utility_api_clients WHERE client_id = ? AND revoked_at IS NOT NULL)
  ON CONFLICT (hash) DO NOTHING`

export const insertReseller: string = `
  INSERT INTO utility_api_resellers (${resellerColumns}) VALUES (${placeholders(resellerColumns)})
  ON CONFLICT (reseller_id) DO NOTHING`

export const findReseller: string = `SELECT ${resellerColumns} FROM utility_api_resellers WHERE reseller_id = ?`

export const insertCredential: string = `
  INSERT INTO utility_api_credentials (kind, hash, ${credentialColumns})
  VALUES (?, ?, ${placeholders(credentialColumns)})
  ON CONFLICT (id) DO NOTHING ON CONFLICT (hash, kind) DO NOTHING`

/** Notes a use unless a later one is known. */
export const recordUse: string = `
  UPDATE utility_api_credentials SET last_used_on = ?
  WHERE id = ? AND kind = ? AND (last_used_on IS NULL OR last_used_on < ?)`

export const revokeCredentialByHash: string =
  'UPDATE utility_api_credentials SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL'

export const revokeCredentialById: string =
  'UPDATE utility_api_credentials SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL'

/** What ends the access of a client or a subject. Each statement works on one portion of rows, in their order. */
export interface AccessStatements {
  /** Finds the code that ends a portion: the one after so many others. */
  readonly findEndOfCodes: string
  readonly endCodes: string
  /** Revokes the tokens that these codes have bought. */
  readonly revokeBoughtTokens: string
  /** Finds the token that ends a portion: the one after so many others. */
  readonly findEndOfTokens: string
  readonly revokeOtherTokens: string
}

const accessOf = (ofCode: string, ofToken: string): AccessStatements => ({
  findEndOfCodes: `
    SELECT rowid FROM utility_api_codes WHERE ${ofCode} = ? AND rowid > ? ORDER BY rowid LIMIT 1 OFFSET ?`,
  endCodes: `
    DELETE FROM utility_api_codes WHERE ${ofCode} = ? AND rowid > ? AND rowid <= ? AND redeemed_at IS NULL`,
  revokeBoughtTokens: `
    UPDATE utility_api_credentials SET revoked_at = ?
    WHERE hash IN (SELECT token_hash FROM utility_api_codes WHERE ${ofCode} = ? AND rowid > ? AND rowid <= ?)
      AND kind = 'access_token' AND revoked_at IS NULL`,
  findEndOfTokens: `
    SELECT rowid FROM utility_api_credentials WHERE ${ofToken} = ? AND bought IS NULL AND rowid > ?
    ORDER BY rowid LIMIT 1 OFFSET ?`,
  revokeOtherTokens: `
    UPDATE utility_api_credentials SET revoked_at = ?
    WHERE ${ofToken} = ? AND bought IS NULL AND rowid > ? AND rowid <= ?
      AND kind = 'access_token' AND revoked_at IS NULL`,
})

export const accessOfClient: AccessStatements = accessOf('client_id', 'owner_id')
export const accessOfSubject: AccessStatements = accessOf('subject', 'subject')

export const revokeTokensOfReseller: string = `
  UPDATE utility_api_credentials SET revoked_at = ? WHERE rowid IN (
    SELECT rowid FROM utility_api_credentials
    WHERE owner_id = ? AND bought IS NULL AND kind = 'reseller_token' AND revoked_at IS NULL LIMIT ?)`

export const purgeTokens: string = `
  DELETE FROM utility_api_credentials WHERE rowid IN (
    SELECT rowid FROM utility_api_credentials WHERE kind = 'access_token' AND expires_at <= ? LIMIT ?)`

/** Finds the code that ends a portion: the one after so many others. */
export const findEndOfCodes: string =
  'SELECT rowid FROM utility_api_codes WHERE rowid > ? ORDER BY rowid LIMIT 1 OFFSET ?'

/**
 * Purges one portion of the codes. A spent code stays as long as its token, because without the code, a replay could no
 * longer revoke the token.
 */
export const purgeCodes: string = `
  DELETE FROM utility_api_codes WHERE expires_at <= ? AND rowid > ? AND rowid <= ? AND NOT EXISTS (
    SELECT 1 FROM utility_api_credentials WHERE hash = token_hash AND kind = 'access_token')`

export const purgeIdempotencyKeys: string = `
  DELETE FROM utility_api_idempotency_keys WHERE rowid IN (
    SELECT rowid FROM utility_api_idempotency_keys WHERE expires_at <= ? LIMIT ?)`
