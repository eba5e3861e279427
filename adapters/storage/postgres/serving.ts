import type {
  Credential,
  CredentialKind,
  InsertLicenseResult,
  LicenseUpdate,
  NewIdempotencyKey,
  NewLicense,
  StorageCall,
  StorageError,
  UpdateLicenseResult,
  UtilityStorage,
} from 'utility-api/storage'
import type { PostgresAccess } from './access.ts'
import { violatedConstraint } from './errors.ts'
import type { Find } from './find.ts'
import * as sql from './sql.ts'
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
  type ClientRow,
  type CodeRow,
  type CredentialRow,
  type LicenseRow,
} from '../shared/rows.ts'

/** Returns the methods that requests need. */
export function servingMethods(db: PostgresAccess): Required<UtilityStorage> {
  const findClient = db.finder(sql.findClient, (row: ClientRow) => row.client_id, toClient)
  const findCode = db.finder(sql.findCode, keyOf<CodeRow>, toCode)
  const findCredential: Record<CredentialKind, Find<Credential>> = {
    access_token: credentialFinder(db, 'access_token'),
    reseller_token: credentialFinder(db, 'reseller_token'),
    api_key: credentialFinder(db, 'api_key'),
  }
  return {
    ping: async (call) => void (await db.rows(call, sql.ping)),
    findClient: (clientId, call) => findClient(call, clientId),
    findAuthorizationCode: (codeHash, call) => findCode(call, toKey(codeHash)),
    redeemAuthorizationCode: async (codeHash, at, token, call) =>
      (await db.count(call, sql.redeemCode, codeHash, at, ...boughtTokenValues(token))) > 0,
    revokeAccessTokensOfCode: (codeHash, at, call) => db.count(call, sql.revokeTokenOfCode, codeHash, at),
    findCredential: (kind, hash, call) => findCredential[kind](call, toKey(hash)),
    insertLicense: (license, idempotency, call) => insertLicense(db, license, idempotency, call),
    updateLicense: (update, call) => updateLicense(db, update, call),
    recordUse: async (kind, ids, at, call) => void (await db.count(call, sql.recordUse, kind, at, ids)),
    findLicense: (licenseKey, call) => db.row(call, toLicense, sql.findLicense, licenseKey),
  }
}

function credentialFinder(db: PostgresAccess, kind: CredentialKind): Find<Credential> {
  return db.finder(sql.findCredential, keyOf<CredentialRow>, toCredential, kind)
}

/** Formats a hash the way PostgreSQL writes octets. */
function toKey(hash: Uint8Array): string {
  return `\\x${Buffer.from(hash).toString('hex')}`
}

function keyOf<Row>({ hash }: Row & { readonly hash: Uint8Array }): string {
  return toKey(hash)
}

async function insertLicense(
  db: PostgresAccess,
  license: NewLicense,
  idempotency: NewIdempotencyKey | undefined,
  call: StorageCall,
): Promise<InsertLicenseResult> {
  const values = licenseValues(license)
  if (idempotency === undefined) {
    return (await db.count(call, sql.insertLicense, ...values)) > 0 ? 'inserted' : 'key_taken'
  }
  const { createdAt } = license
  const claim = [createdAt, ...idempotencyKeyValues(idempotency, license)]
  try {
    if ((await db.count(call, sql.insertLicenseOnce, ...claim, ...values)) > 0) return 'inserted'
  } catch (error) {
    if (violatedConstraint((error as StorageError).cause) === sql.licenseKeyConstraint) return 'key_taken'
    throw error
  }
  const { resellerId, keyHash } = idempotency
  const held = await db.row(call, toIdempotencyKey, sql.findIdempotencyKey, resellerId, keyHash, createdAt)
  // A purge may delete the key between the two statements; then it is free again.
  return held ?? insertLicense(db, license, idempotency, call)
}

/**
 * Updates a license. The second statement sees what the first one waited for: a license that was being deleted is gone
 * by then.
 */
async function updateLicense(
  db: PostgresAccess,
  update: LicenseUpdate,
  call: StorageCall,
): Promise<UpdateLicenseResult> {
  const { licenseKey, resellerId, at, patch } = update
  const values = [licenseKey, resellerId, at, ...licensePatchValues(patch)]
  if ((await db.count(call, sql.updateLicense, ...values)) > 0) return 'updated'
  const [found] = await db.rows<LicenseRow>(call, sql.findLicense, licenseKey)
  if (found === undefined) return 'not_found'
  // The license was created, or moved to this reseller, between the two statements.
  return found.reseller_id === resellerId ? updateLicense(db, update, call) : 'not_owner'
}
