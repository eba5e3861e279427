import type {
  InsertLicenseResult,
  NewLicense,
  LicenseUpdate,
  NewAccessToken,
  NewIdempotencyKey,
  UpdateLicenseResult,
  UtilityStorage,
} from 'utility-api/storage'
import { withoutCompared } from '../shared/rows.ts'
import { changed, copy, copyClient, insertCredential, revoke, toKey, withRoom, type Tables } from './data.ts'

/** Returns the methods that requests need. None of them ever waits, so none checks the time of its call. */
export function servingMethods(tables: Tables): Required<UtilityStorage> {
  return {
    ping: () => {},
    findClient: (clientId) => {
      const client = tables.clients.get(clientId)
      return client === undefined ? null : copyClient(client)
    },
    findAuthorizationCode: (codeHash) => copy(tables.codes.get(toKey(codeHash))?.code),
    redeemAuthorizationCode: (codeHash, at, token) => redeem(withRoom(tables), toKey(codeHash), at, token),
    revokeAccessTokensOfCode: (codeHash, at) => {
      const key = tables.codes.get(toKey(codeHash))?.token ?? ''
      return revoke(tables, { kind: 'access_token', key }, at) ? 1 : 0
    },
    findCredential: (kind, hash) => copy(tables.credentials[kind].get(toKey(hash))),
    insertLicense: (license, idempotency) => insertLicense(withRoom(tables), license, idempotency),
    updateLicense: (update) => updateLicense(tables, update),
    findLicense: (licenseKey) => {
      const license = tables.licenses.get(licenseKey)
      return license === undefined ? null : withoutCompared(license)
    },
    recordUse: (kind, ids, at) => {
      const { credentialIds, lastUses } = tables
      for (const id of ids)
        if (credentialIds.get(id)?.kind === kind) lastUses.set(id, Math.max(at, lastUses.get(id) ?? at))
    },
  }
}

function redeem(tables: Tables, codeHash: string, at: number, token: NewAccessToken): boolean {
  const row = tables.codes.get(codeHash)
  if (row === undefined || row.code.redeemedAt !== null) return false
  const { hash, ...credential } = token
  const key = toKey(hash)
  // What can fail comes first, because a token that is refused must leave the code unspent.
  insertCredential(tables, { kind: 'access_token', key }, { ...credential, revokedAt: null })
  tables.codes.put(codeHash, { code: { ...row.code, redeemedAt: at }, token: key })
  return true
}

function insertLicense(
  tables: Tables,
  license: NewLicense,
  idempotency: NewIdempotencyKey | undefined,
): InsertLicenseResult {
  const key = idempotency === undefined ? '' : `${toKey(idempotency.keyHash)}${idempotency.resellerId}`
  const held = tables.idempotencyKeys.get(key)
  if (idempotency !== undefined && held !== undefined && held.expiresAt > idempotency.at) {
    return { replay: held.licenseKey, requestHash: Uint8Array.from(held.requestHash) }
  }
  if (tables.licenses.has(license.licenseKey)) return 'key_taken'
  tables.licenses.put(license.licenseKey, { ...license })
  if (idempotency !== undefined) {
    const requestHash = Uint8Array.from(idempotency.requestHash)
    const expiresAt = idempotency.expiresAt ?? Infinity
    tables.idempotencyKeys.put(key, { licenseKey: license.licenseKey, requestHash, expiresAt })
  }
  return 'inserted'
}

function updateLicense(
  tables: Tables,
  { licenseKey, resellerId, patch, at }: LicenseUpdate,
): UpdateLicenseResult {
  const license = tables.licenses.get(licenseKey)
  if (license === undefined) return 'not_found'
  if (license.resellerId !== resellerId) return 'not_owner'
  tables.licenses.put(licenseKey, changed(license, patch, at))
  return 'updated'
}
