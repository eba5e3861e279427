import { StorageError } from 'utility-api/storage'
import type { AccessReference, RevokeCounts } from 'utility-api/storage'
import type { AdminMethods } from '../shared/closing.ts'
import type { PostgresAccess } from './access.ts'
import type { Queries } from '../shared/queries.ts'
import * as sql from './sql.ts'
import {
  clientPatchValues,
  clientValues,
  codeValues,
  credentialValues,
  licenseChangeValues,
  resellerValues,
  toReseller,
  type ResellerRow,
} from '../shared/rows.ts'
import { inPortions, untilFew } from '../shared/portions.ts'

/**
 * How many rows one statement purges or revokes. A longer statement would hold up everybody else's writes, and one
 * without a limit would never finish within the `statement_timeout` of the pool.
 */
const portion = 1000

/** Returns the methods for provisioning. */
export function adminMethods({ on, finder }: PostgresAccess): AdminMethods {
  const findReseller = finder(sql.findReseller, (row: ResellerRow) => row.reseller_id, toReseller)
  return {
    insertClient: async (client, call) =>
      (await on(call).count(sql.insertClient, ...clientValues(client))) > 0 ? 'inserted' : 'taken',
    updateClient: async (clientId, patch, call) =>
      (await on(call).count(sql.updateClient, clientId, ...clientPatchValues(patch))) > 0,
    rotateClientSecret: async (clientId, newHash, call) =>
      (await on(call).count(sql.rotateSecret, clientId, newHash)) > 0,
    revokeClient: async (clientId, at, call) => {
      const revoked = (await on(call).count(sql.revokeClient, clientId, at)) > 0
      // Runs afterwards to see the codes that were being issued, and also if the client was revoked before, to finish
      // that revocation.
      await repeat(on(call), sql.endCodesOfClient, clientId)
      return revoked
    },
    insertAuthorizationCode: async (hash, code, call) => {
      if ((await on(call).count(sql.insertCode, hash, ...codeValues(code))) > 0) return
      throw new StorageError('conflict', 'The client is revoked.')
    },
    insertReseller: async (reseller, call) =>
      (await on(call).count(sql.insertReseller, ...resellerValues(reseller))) > 0 ? 'inserted' : 'taken',
    findReseller: (resellerId, call) => findReseller(call, resellerId),
    insertCredential: async (kind, hash, credential, call) => {
      const values = [kind, hash, ...credentialValues(credential)]
      return (await on(call).count(sql.insertCredential, ...values)) > 0 ? 'inserted' : 'no_owner'
    },
    revokeCredential: async (which, at, call) =>
      ('id' in which
        ? await on(call).count(sql.revokeCredentialById, which.id, at)
        : await on(call).count(sql.revokeCredentialByHash, which.hash, at)) > 0,
    revokeAccess: (which, at, call) => revokeAccess(on(call), which, at),
    changeLicense: async (licenseKey, change, at, call) =>
      (await on(call).count(sql.changeLicense, licenseKey, at, ...licenseChangeValues(change))) > 0,
    deleteLicense: async (licenseKey, call) => (await on(call).count(sql.deleteLicense, licenseKey)) > 0,
    purgeExpired: async (at, call) => ({
      tokens: await repeat(on(call), sql.purgeTokens, at),
      codes: await purgeCodes(on(call), at),
      idempotency: await repeat(on(call), sql.purgeIdempotencyKeys, at),
    }),
  }
}

/**
 * Ends the codes, then revokes the tokens, in this order and with a snapshot for each statement. One statement, or one
 * transaction with a single snapshot, would not see the tokens of the redemptions it waited for.
 */
async function revokeAccess(db: Queries<unknown>, which: AccessReference, at: number): Promise<RevokeCounts> {
  if ('clientId' in which) {
    const codes = await repeat(db, sql.endCodesOfClient, which.clientId)
    return { codes, tokens: await repeat(db, sql.revokeTokensOfClient, which.clientId, at) }
  }
  if ('resellerId' in which)
    return { codes: 0, tokens: await repeat(db, sql.revokeTokensOfReseller, which.resellerId, at) }
  const codes = await repeat(db, sql.endCodesOfSubject, which.subject)
  return { codes, tokens: await repeat(db, sql.revokeTokensOfSubject, which.subject, at) }
}

/** Runs a statement whose last value is the size of a portion until no rows are left. Returns how many it changed. */
function repeat(db: Queries<unknown>, text: string, ...values: (string | number)[]): Promise<number> {
  return untilFew(portion, () => db.count(text, ...values, portion))
}

interface PurgeableCodeRow {
  readonly hash: Uint8Array
  readonly spent: boolean
  readonly dead: boolean
}

/**
 * Reads all codes, portion by portion, and deletes the dead ones, because nearly all can be spent codes whose tokens
 * are still valid. These codes stay, because without one, a replay could no longer revoke the token.
 */
function purgeCodes(db: Queries<unknown>, at: number): Promise<number> {
  return inPortions<Uint8Array>(new Uint8Array(), async (after) => {
    const codes = await db.rows<PurgeableCodeRow>(sql.readCodes, after, portion, at)
    const dead = codes.filter((code) => code.dead)
    const spent = dead.filter((code) => code.spent)
    const hashes = [dead.map(toHash), spent.map(toHash)]
    const changed = dead.length === 0 ? 0 : await db.count(sql.purgeCodes, ...hashes)
    return { changed, next: codes[portion - 1]?.hash }
  })
}

function toHash({ hash }: PurgeableCodeRow): Uint8Array {
  return hash
}
