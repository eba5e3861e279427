import type {
  Credential,
  CredentialKind,
  InsertLicenseResult,
  LicenseUpdate,
  NewIdempotencyKey,
  NewLicense,
  UpdateLicenseResult,
  UtilityStorage,
} from 'utility-api/storage'
import type { MysqlAccess } from './access.ts'
import { isDuplicate } from './errors.ts'
import type { Session } from './statement.ts'
import type { Queries } from '../shared/queries.ts'
import * as sql from './sql.ts'
import {
  boughtTokenValues,
  idempotencyKeyValues,
  licensePatchValues,
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
  type IdempotencyKeyRow,
  type LicenseRow,
  type Redemption,
} from '../shared/rows.ts'
import type { Find } from '../shared/find-together.ts'

/** Returns the methods that requests need. */
export function servingMethods({ read, write, finder, writer }: MysqlAccess): Required<UtilityStorage> {
  const findClient = finder(sql.findClient, (row: ClientRow) => row.client_id, toClient)
  const findCode = finder(sql.findCode, hashKeyOf<CodeRow>, toCode, fromHex)
  const credentialFinder = (kind: CredentialKind): Find<Credential> =>
    finder(sql.findCredential(kind), hashKeyOf<CredentialRow>, toCredential, fromHex)
  const findCredential: Record<CredentialKind, Find<Credential>> = {
    access_token: credentialFinder('access_token'),
    reseller_token: credentialFinder('reseller_token'),
    api_key: credentialFinder('api_key'),
  }
  const redeemCode = writer<Redemption, boolean>({
    keysOf: ({ codeHash }) => [toHex(codeHash)],
    together: redeemMany,
    made: true,
    alone: redeem,
  })
  const insertLicense = writer<NewLicense, InsertLicenseResult>({
    keysOf: ({ licenseKey }) => [toHex(licenseKey)],
    together: insertMany,
    made: 'inserted',
    alone: insert,
  })
  const update = writer<LicenseUpdate, UpdateLicenseResult>({
    keysOf: ({ licenseKey }) => [toHex(licenseKey)],
    together: updateMany,
    made: 'updated',
    alone: updateLicense,
  })
  return {
    ping: (call) => read(call, async (db) => void (await db.rows(sql.ping))),
    findClient: (clientId, call) => findClient(call, clientId),
    findAuthorizationCode: (codeHash, call) => findCode(call, toHex(codeHash)),
    redeemAuthorizationCode: (codeHash, at, token, call) => redeemCode(call, { codeHash, at, token }),
    revokeAccessTokensOfCode: (codeHash, at, call) =>
      write(call, async (db) => {
        const [code] = await db.rows<{ token_hash: Uint8Array }>(sql.findTokenOfCode, codeHash)
        return code === undefined ? 0 : db.count(sql.revokeToken, at, code.token_hash)
      }),
    findCredential: (kind, hash, call) => findCredential[kind](call, toHex(hash)),
    insertLicense: (license, idempotency, call) =>
      idempotency === undefined
        ? insertLicense(call, license)
        : write(call, (db) => insertOnce(db, license, idempotency)),
    updateLicense: (each, call) => update(call, each),
    recordUse: (kind, ids, at, call) => write(call, (db) => recordUse(db, kind, ids, at)),
    findLicense: (licenseKey, call) => read(call, (db) => db.row(toLicense, sql.findLicense, licenseKey)),
  }
}

async function redeem(db: Session, { codeHash, at, token }: Redemption): Promise<boolean> {
  const values = [at, token.hash, codeHash, ...boughtTokenValues(token)]
  const [row] = await db.transactAtOnce<{ spent: number }>(sql.redeemCode, ...values)
  return Number(row?.spent) > 0
}

async function insert(db: Queries, license: NewLicense): Promise<'inserted' | 'key_taken'> {
  return (await isInserted(db, sql.insertLicense, licenseValues(license))) ? 'inserted' : 'key_taken'
}

/** Inserts a row and tells whether its key was free. An `INSERT IGNORE` would also ignore all other errors. */
export async function isInserted(
  db: Queries,
  text: string,
  values: readonly ColumnValue[],
): Promise<boolean> {
  try {
    await db.count(text, ...values)
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

async function insertOnce(
  db: Session,
  license: NewLicense,
  idempotency: NewIdempotencyKey,
): Promise<InsertLicenseResult> {
  const { at, resellerId, keyHash } = idempotency
  const claim = idempotencyKeyValues(idempotency, license)
  const values = [at, ...claim, resellerId, keyHash, ...claim, ...licenseValues(license)]
  try {
    const [held] = await db.transactAtOnce<IdempotencyKeyRow>(sql.insertLicenseOnce, ...values)
    return held === undefined || held.license_key === null ? 'inserted' : toIdempotencyKey(held)
  } catch (error) {
    if (isDuplicate(error)) return 'key_taken'
    throw error
  }
}

async function updateLicense(db: Session, update: LicenseUpdate): Promise<UpdateLicenseResult> {
  const { licenseKey, resellerId, at, patch } = update
  const values = [...licensePatchValues(patch), at, licenseKey, resellerId]
  if ((await db.count(sql.updateLicense, ...values)) > 0) return 'updated'
  const [found] = await db.rows<LicenseRow>(sql.findLicense, licenseKey)
  if (found === undefined) return 'not_found'
  // The license was created, or moved to this reseller, between the two statements.
  return found.reseller_id === resellerId ? updateLicense(db, update) : 'not_owner'
}

async function recordUse(
  db: Session,
  kind: CredentialKind,
  [first, ...ids]: readonly string[],
  at: number,
): Promise<void> {
  if (first === undefined) return
  // As many ids as the statement has placeholders. One that is named twice is changed once.
  const portion = Array.from({ length: sql.usePortion }, (_, index) => ids[index - 1] ?? first)
  await db.count(sql.recordUse, at, kind, ...portion, at)
  await recordUse(db, kind, ids.slice(sql.usePortion - 1), at)
}

// Each of these makes the writes of a kind that need not wait for a locked row, by one commit, and returns their keys in
// hexadecimal.

function redeemMany(db: Session, redemptions: readonly Redemption[]): Promise<readonly string[]> {
  return writeFree(db, sql.redeemCodes, redemptions.map(redemptionValues))
}

/** Inserts all of the licenses. A key that is taken undoes them. */
async function insertMany(db: Session, licenses: readonly NewLicense[]): Promise<readonly string[]> {
  await db.count(sql.insertLicenses, toJson(licenses.map(licenseValues)))
  return licenses.map(({ licenseKey }) => toHex(licenseKey))
}

function updateMany(db: Session, updates: readonly LicenseUpdate[]): Promise<readonly string[]> {
  return writeFree(db, sql.updateLicenses, updates.map(licenseUpdateValues))
}

async function writeFree(
  db: Session,
  text: string,
  rows: readonly (readonly ColumnValue[])[],
): Promise<readonly string[]> {
  const [row] = await db.transactAtOnce<{ free_keys: string | null }>(text, toJson(rows))
  return row?.free_keys?.split(',') ?? []
}

/** Formats rows for a statement of many, in the order of their keys: all servers then lock them in one order. */
function toJson(rows: readonly (readonly ColumnValue[])[]): string {
  const inHex = rows.map((row) => row.map((value) => (value === null ? null : toHex(value))))
  return JSON.stringify(inHex.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1)))
}

function toHex(value: string | number | Uint8Array): string {
  const octets = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))
  return octets.toString('hex')
}

function hashKeyOf<Row>({ hash }: Row & { readonly hash: Uint8Array }): string {
  return toHex(hash)
}

function fromHex(key: string): Uint8Array {
  return Buffer.from(key, 'hex')
}
