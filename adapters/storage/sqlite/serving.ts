import type {
  InsertLicenseResult,
  LicenseUpdate,
  NewAccessToken,
  NewIdempotencyKey,
  NewLicense,
  UpdateLicenseResult,
  UtilityStorage,
} from 'utility-api/storage'
import {
  boughtTokenValues,
  idempotencyKeyValues,
  licensePatchValues,
  licenseValues,
  toClient,
  toCode,
  toCredential,
  toIdempotencyKey,
  toLicense,
} from '../shared/rows.ts'
import type { SqliteAccess } from './access.ts'
import type { Queries } from './statement.ts'
import type { RequireSameFiles } from './file-identity.ts'
import * as sql from './sql.ts'

/** Returns the methods that requests need. */
export function servingMethods(
  { read, write }: SqliteAccess,
  requireSameFiles: RequireSameFiles,
): Required<UtilityStorage> {
  return {
    ping: (call) =>
      read(call, (db) => {
        db.get('SELECT version FROM utility_api_schema')
        requireSameFiles()
      }),
    findClient: (clientId, call) => read(call, (db) => db.find(toClient, sql.findClient, clientId)),
    findAuthorizationCode: (codeHash, call) => read(call, (db) => db.find(toCode, sql.findCode, codeHash)),
    redeemAuthorizationCode: (codeHash, at, token, call) =>
      write(call, (db) => redeem(db, codeHash, at, token)),
    revokeAccessTokensOfCode: (codeHash, at, call) =>
      write(call, (db) => db.run(sql.revokeTokenOfCode, at, codeHash)),
    findCredential: (kind, hash, call) =>
      read(call, (db) => db.find(toCredential, sql.findCredential, hash, kind)),
    insertLicense: (license, idempotency, call) =>
      write(call, (db) => insertLicense(db, license, idempotency)),
    updateLicense: (update, call) => write(call, (db) => updateLicense(db, update)),
    recordUse: (kind, ids, at, call) =>
      write(call, (db) => {
        for (const id of ids) db.run(sql.recordUse, at, id, kind, at)
      }),
    findLicense: (licenseKey, call) => read(call, (db) => db.find(toLicense, sql.findLicense, licenseKey)),
  }
}

function redeem(db: Queries, codeHash: Uint8Array, at: number, token: NewAccessToken): boolean {
  if (db.run(sql.spendCode, at, token.hash, codeHash) === 0) return false
  db.run(sql.insertToken, ...boughtTokenValues(token))
  return true
}

function insertLicense(
  db: Queries,
  license: NewLicense,
  idempotency: NewIdempotencyKey | undefined,
): InsertLicenseResult {
  if (idempotency !== undefined) {
    const { resellerId, keyHash, at } = idempotency
    const held = db.find(toIdempotencyKey, sql.findIdempotencyKey, resellerId, keyHash, at)
    if (held !== null) return held
  }
  if (db.run(sql.insertLicense, ...licenseValues(license)) === 0) return 'key_taken'
  if (idempotency !== undefined) db.run(sql.putIdempotencyKey, ...idempotencyKeyValues(idempotency, license))
  return 'inserted'
}

function updateLicense(db: Queries, update: LicenseUpdate): UpdateLicenseResult {
  const { licenseKey, resellerId, at, patch } = update
  const { registeredTo = null, domainOrIp = null, status = null, comparedDomain = null } = patch
  const which = [at, licenseKey, resellerId]
  const changes =
    db.run(sql.updateLicenseOfDomain, registeredTo, domainOrIp, status, ...which, comparedDomain) ||
    db.run(sql.updateLicense, ...licensePatchValues(patch), ...which)
  if (changes > 0) return 'updated'
  return db.get(sql.findLicense, licenseKey) === null ? 'not_found' : 'not_owner'
}
