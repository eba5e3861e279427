import type {
  InsertLicenseResult,
  License,
  LicenseUpdate,
  NewAccessToken,
  NewIdempotencyKey,
  UpdateLicenseResult,
  UtilityStorage,
} from 'utility-api/storage'
import { toClient, toCode, toCredential, toLicense, toReplay } from '../shared/rows.ts'
import type { AnswerRow } from '../shared/rows.ts'
import type { SqliteAccess } from './access.ts'
import type { SqliteQueries } from './driver.ts'
import * as sql from './sql.ts'

/** Returns the methods that requests need. */
export function servingMethods({ read, write }: SqliteAccess): Required<UtilityStorage> {
  return {
    ping: (call) => read(call, (db) => void db.get('SELECT 1')),
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
    findLicense: (licenseKey, call) => read(call, (db) => db.find(toLicense, sql.findLicense, licenseKey)),
  }
}

function redeem(db: SqliteQueries, codeHash: Uint8Array, at: number, token: NewAccessToken): boolean {
  const { id, hash, ownerId, subject, scope, createdAt, expiresAt } = token
  if (db.run(sql.spendCode, at, hash, codeHash) === 0) return false
  db.run(sql.insertToken, id, hash, ownerId, subject, scope, createdAt, expiresAt)
  return true
}

function insertLicense(
  db: SqliteQueries,
  license: License,
  idempotency: NewIdempotencyKey | undefined,
): InsertLicenseResult {
  const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } = license
  if (idempotency !== undefined) {
    const { resellerId: sender, keyHash } = idempotency
    const answer = db.get<AnswerRow>(sql.findAnswer, sender, keyHash, createdAt)
    if (answer !== null) return toReplay(answer)
  }
  const values = [licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt]
  if (db.run(sql.insertLicense, ...values) === 0) return 'key_taken'
  if (idempotency !== undefined) putAnswer(db, license, idempotency)
  return 'inserted'
}

function putAnswer(
  db: SqliteQueries,
  license: License,
  { resellerId, keyHash, requestHash, expiresAt }: NewIdempotencyKey,
): void {
  db.run(sql.putAnswer, resellerId, keyHash, requestHash, JSON.stringify(license), expiresAt)
}

function updateLicense(db: SqliteQueries, update: LicenseUpdate): UpdateLicenseResult {
  const { licenseKey, resellerId, at, patch } = update
  const { registeredTo = null, domainOrIp = null, status = null } = patch
  const changes = db.run(sql.updateLicense, registeredTo, domainOrIp, status, at, licenseKey, resellerId)
  if (changes > 0) return 'updated'
  return db.get(sql.findLicense, licenseKey) === null ? 'not_found' : 'not_owner'
}
