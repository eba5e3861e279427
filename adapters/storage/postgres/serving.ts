import type {
  Credential,
  CredentialKind,
  InsertLicenseResult,
  LicenseUpdate,
  NewIdempotencyKey,
  NewLicense,
  StorageError,
  UpdateLicenseResult,
  UtilityStorage,
} from 'utility-api/storage'
import type { PostgresAccess } from './access.ts'
import { isDuplicate } from './errors.ts'
import * as sql from './sql.ts'
import {
  idempotencyKeyValues,
  licenseUpdateValues,
  licenseValues,
  redemptionValues,
  toClient,
  toCode,
  toCredential,
  toIdempotencyKey,
  toLicense,
  type ClientRow,
  type CodeRow,
  type ColumnValue,
  type CredentialRow,
  type LicenseRow,
  type Redemption,
} from '../shared/rows.ts'
import type { Find } from '../shared/find-together.ts'
import type { Queries } from '../shared/queries.ts'

/** Returns the methods that requests need. */
export function servingMethods({ on, finder, writer }: PostgresAccess): Required<UtilityStorage> {
  const findClient = finder(sql.findClient, (row: ClientRow) => row.client_id, toClient)
  const findCode = finder(sql.findCode, hashKeyOf<CodeRow>, toCode)
  const credentialFinder = (kind: CredentialKind): Find<Credential> =>
    finder(sql.findCredential, hashKeyOf<CredentialRow>, toCredential, kind)
  const findCredential: Record<CredentialKind, Find<Credential>> = {
    access_token: credentialFinder('access_token'),
    reseller_token: credentialFinder('reseller_token'),
    api_key: credentialFinder('api_key'),
  }
  const redeem = writer<Redemption, boolean>({
    keysOf: ({ codeHash }) => [toHex(codeHash)],
    valuesOf: redemptionValues,
    many: sql.redeemCodes,
    made: true,
    alone: async (each, call) => (await on(call).count(sql.redeemCode, ...redemptionValues(each))) > 0,
  })
  const revokeTokens = writer<Omit<Redemption, 'token'>, number>({
    keysOf: ({ codeHash }) => [toHex(codeHash)],
    valuesOf: ({ codeHash, at }) => [codeHash, at],
    many: sql.revokeTokensOfCodes,
    made: 1,
    alone: ({ codeHash, at }, call) => on(call).count(sql.revokeTokenOfCode, codeHash, at),
  })
  const insert = writer<NewLicense, InsertLicenseResult>({
    keysOf: ({ licenseKey }) => [licenseKey],
    valuesOf: licenseValues,
    many: sql.insertLicenses,
    made: 'inserted',
    alone: (license, call) => insertLicense(on(call), license),
  })
  const insertOnce = writer<LicenseOnce, InsertLicenseResult>({
    keysOf: ({ license, idempotency: { resellerId, keyHash } }) => [
      license.licenseKey,
      `${resellerId} ${toHex(keyHash)}`,
    ],
    valuesOf: licenseOnceValues,
    many: sql.insertLicensesOnce,
    made: 'inserted',
    alone: (once, call) => insertLicenseOnce(on(call), once),
  })
  const update = writer<LicenseUpdate, UpdateLicenseResult>({
    keysOf: ({ licenseKey }) => [licenseKey],
    valuesOf: licenseUpdateValues,
    many: sql.updateLicenses,
    made: 'updated',
    alone: (each, call) => updateLicense(on(call), each),
  })
  return {
    ping: async (call) => void (await on(call).rows(sql.ping)),
    findClient: (clientId, call) => findClient(call, clientId),
    findAuthorizationCode: (codeHash, call) => findCode(call, toKey(codeHash)),
    redeemAuthorizationCode: (codeHash, at, token, call) => redeem(call, { codeHash, at, token }),
    revokeAccessTokensOfCode: (codeHash, at, call) => revokeTokens(call, { codeHash, at }),
    findCredential: (kind, hash, call) => findCredential[kind](call, toKey(hash)),
    insertLicense: (license, idempotency, call) =>
      idempotency === undefined ? insert(call, license) : insertOnce(call, { license, idempotency }),
    updateLicense: (each, call) => update(call, each),
    recordUse: async (kind, ids, at, call) => void (await on(call).count(sql.recordUse, kind, at, ids)),
    findLicense: (licenseKey, call) => on(call).row(toLicense, sql.findLicense, licenseKey),
  }
}

/** Formats a hash the way PostgreSQL writes octets. */
function toKey(hash: Uint8Array): string {
  return `\\x${toHex(hash)}`
}

function toHex(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex')
}

function hashKeyOf<Row>({ hash }: Row & { readonly hash: Uint8Array }): string {
  return toKey(hash)
}

interface LicenseOnce {
  readonly license: NewLicense
  readonly idempotency: NewIdempotencyKey
}

function licenseOnceValues({ license, idempotency }: LicenseOnce): ColumnValue[] {
  return [idempotency.at, ...idempotencyKeyValues(idempotency, license), ...licenseValues(license)]
}

async function insertLicense(db: Queries, license: NewLicense): Promise<InsertLicenseResult> {
  return (await db.count(sql.insertLicense, ...licenseValues(license))) > 0 ? 'inserted' : 'key_taken'
}

async function insertLicenseOnce(db: Queries, once: LicenseOnce): Promise<InsertLicenseResult> {
  try {
    if ((await db.count(sql.insertLicenseOnce, ...licenseOnceValues(once))) > 0) return 'inserted'
  } catch (error) {
    if (!isDuplicate((error as StorageError).cause)) throw error
    // Not by the name of the constraint, because each partition that an owner makes has its own.
    if ((await db.row(toLicense, sql.findLicense, once.license.licenseKey)) === null) throw error
    return 'key_taken'
  }
  const { resellerId, keyHash, at } = once.idempotency
  const held = await db.row(toIdempotencyKey, sql.findIdempotencyKey, resellerId, keyHash, at)
  // A purge may delete the key between the two statements; then it is free again.
  return held ?? insertLicenseOnce(db, once)
}

/**
 * Updates a license. The second statement sees what the first one waited for, so a license that was being deleted is
 * gone by then.
 */
async function updateLicense(db: Queries, update: LicenseUpdate): Promise<UpdateLicenseResult> {
  const { licenseKey, resellerId } = update
  if ((await db.count(sql.updateLicense, ...licenseUpdateValues(update))) > 0) return 'updated'
  const [found] = await db.rows<LicenseRow>(sql.findLicense, licenseKey)
  if (found === undefined) return 'not_found'
  // The license was created, or moved to this reseller, between the two statements.
  return found.reseller_id === resellerId ? updateLicense(db, update) : 'not_owner'
}
