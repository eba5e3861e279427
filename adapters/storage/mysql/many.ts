import type { LicenseUpdate, NewAccessToken, NewLicense } from 'utility-api/storage'
import type { Queries, Session } from './session.ts'
import * as sql from './sql.ts'
import { boughtTokenValues, licensePatchValues, licenseValues, type ColumnValue } from '../shared/rows.ts'

// Writes of one kind with one commit. Each function makes those that need not wait for a locked row, and returns the keys
// of these in hexadecimal.

/** A code that is spent for a token. */
export interface Redemption {
  readonly codeHash: Uint8Array
  readonly at: number
  readonly token: NewAccessToken
}

export function redeemMany(db: Session, redemptions: readonly Redemption[]): Promise<readonly string[]> {
  const rows = redemptions.map(({ codeHash, at, token }) => [codeHash, at, ...boughtTokenValues(token)])
  return db.transact(async (queries) => {
    const { keys, given } = await lockRows(queries, sql.lockCodes, rows)
    await queries.count(sql.spendCodes, given)
    await queries.count(sql.insertTokens, given)
    return keys
  })
}

/** Inserts all of the licenses. A key that is taken undoes them. */
export async function insertMany(db: Session, licenses: readonly NewLicense[]): Promise<readonly string[]> {
  await db.count(sql.insertLicenses, toGiven(licenses.map(licenseValues)))
  return licenses.map(({ licenseKey }) => toHex(licenseKey))
}

export function updateMany(db: Session, updates: readonly LicenseUpdate[]): Promise<readonly string[]> {
  const rows = updates.map(({ licenseKey, resellerId, at, patch }) => [
    licenseKey,
    resellerId,
    at,
    ...licensePatchValues(patch),
  ])
  return db.transact(async (queries) => {
    const { keys, given } = await lockRows(queries, sql.lockLicenses, rows)
    await queries.count(sql.updateLicenses, given)
    return keys
  })
}

/** Locks the rows that are free, by the first of their values, and returns their keys and the values given for them. */
async function lockRows(
  db: Queries,
  text: string,
  values: readonly (readonly ColumnValue[])[],
): Promise<{ keys: readonly string[]; given: string }> {
  const locked = await db.rows<{ given_key: string }>(text, toGiven(values))
  const keys = locked.map((row) => row.given_key)
  const free = new Set(keys)
  return { keys, given: toGiven(values.filter(([key = null]) => key !== null && free.has(toHex(key)))) }
}

/** Formats rows for a statement of many, in the order of their keys: all servers then lock them in one order. */
function toGiven(rows: readonly (readonly ColumnValue[])[]): string {
  const inHex = rows.map((row) => row.map((value) => (value === null ? null : toHex(value))))
  return JSON.stringify(inHex.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1)))
}

export function toHex(value: string | number | Uint8Array): string {
  const octets = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))
  return octets.toString('hex')
}
