import { StorageError } from 'utility-api/storage'
import type { AccessReference, CredentialKind, RevokeCounts, StorageCall } from 'utility-api/storage'
import type { AdminMethods } from '../shared/closing.ts'
import type { MysqlAccess } from './access.ts'
import { isInserted } from './serving.ts'
import type { Session } from './statement.ts'
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
  type ColumnValue,
  type ResellerRow,
} from '../shared/rows.ts'
import { inPortions, untilFew } from '../shared/portions.ts'

/** Returns the methods for provisioning. */
export function adminMethods({ write, finder }: MysqlAccess): AdminMethods {
  const findReseller = finder(sql.findReseller, (row: ResellerRow) => row.reseller_id, toReseller)
  /** Tells whether a statement has changed a row. */
  function changes(call: StorageCall, text: string, ...values: ColumnValue[]): Promise<boolean> {
    return write(call, async (db) => (await db.count(text, ...values)) > 0)
  }
  return {
    insertClient: (client, call) =>
      write(call, async (db) =>
        (await isInserted(db, sql.insertClient, clientValues(client))) ? 'inserted' : 'taken',
      ),
    updateClient: (clientId, patch, call) =>
      changes(call, sql.updateClient, ...clientPatchValues(patch), clientId),
    rotateClientSecret: (clientId, newHash, call) => changes(call, sql.rotateSecret, newHash, clientId),
    revokeClient: (clientId, at, call) =>
      write(call, async (db) => {
        const revoked = (await db.count(sql.revokeClient, at, clientId)) > 0
        // Runs afterwards to see the codes that were being issued, and also if the client was revoked before, to finish
        // that revocation.
        await repeat(db, sql.endCodesOfClient, clientId)
        return revoked
      }),
    insertAuthorizationCode: (hash, code, call) => {
      return write(call, async (db) => {
        await db.transact(async (queries) => {
          await requireUnrevoked(queries, sql.lockClient, code.clientId)
          await queries.count(sql.insertCode, hash, ...codeValues(code))
        })
        if (db.isGalera) await confirmCode(db, hash, code.clientId)
      })
    },
    insertReseller: (reseller, call) =>
      write(call, async (db) =>
        (await isInserted(db, sql.insertReseller, resellerValues(reseller))) ? 'inserted' : 'taken',
      ),
    findReseller: (resellerId, call) => findReseller(call, resellerId),
    insertCredential: (kind, hash, credential, call) =>
      write(call, async (db) => {
        if (!(await hasOwner(db, kind, credential.ownerId))) return 'no_owner'
        await db.count(sql.insertCredential, kind, hash, ...credentialValues(credential))
        return 'inserted'
      }),
    revokeCredential: (which, at, call) =>
      'id' in which
        ? changes(call, sql.revokeCredentialById, at, which.id)
        : changes(call, sql.revokeCredentialByHash, at, which.hash),
    revokeAccess: (which, at, call) => write(call, (db) => revokeAccess(db, which, at)),
    changeLicense: (licenseKey, change, at, call) =>
      changes(call, sql.changeLicense, ...licenseChangeValues(change), at, licenseKey),
    deleteLicense: (licenseKey, call) => changes(call, sql.deleteLicense, licenseKey),
    purgeExpired: (at, call) =>
      write(call, async (db) => ({
        tokens: await repeat(db, sql.purgeTokens, at),
        codes: await purgeCodes(db, at),
        idempotency: await repeat(db, sql.purgeIdempotencyKeys, at),
      })),
  }
}

/** Throws if the client is revoked. */
async function requireUnrevoked(db: Queries, text: string, clientId: string): Promise<void> {
  const [client] = await db.rows<{ revoked_at: number | null }>(text, clientId)
  if ((client?.revoked_at ?? null) !== null) throw new StorageError('conflict', 'The client is revoked.')
}

/**
 * Takes a code back whose client another node has revoked meanwhile, since the lock on the client is local to this node.
 * A revocation that comes after the code finds the code, and one that came before is seen here.
 */
async function confirmCode(db: Session, hash: Uint8Array, clientId: string): Promise<void> {
  try {
    await requireUnrevoked(db, sql.findRevocation, clientId)
  } catch (error) {
    if (error instanceof StorageError) await db.count(sql.deleteCode, hash)
    throw error
  }
}

/** Tells whether the owner exists. Resellers are never deleted, so there is no need to lock one. */
async function hasOwner(db: Session, kind: CredentialKind, ownerId: string): Promise<boolean> {
  return kind !== 'reseller_token' || (await db.rows(sql.findReseller(1).text, ownerId)).length > 0
}

/**
 * Ends the codes, then revokes the tokens, in this order, because the second statement sees the tokens of the
 * redemptions that the first waited for.
 */
async function revokeAccess(db: Session, which: AccessReference, at: number): Promise<RevokeCounts> {
  if ('clientId' in which) {
    const codes = await repeat(db, sql.endCodesOfClient, which.clientId)
    return { codes, tokens: await revokeTokens(db, sql.tokensOfClient, which.clientId, at) }
  }
  if ('resellerId' in which) {
    // Again until there are none, because a statement misses what is stored behind it, and may revoke what came later.
    const revoke = () => db.count(sql.revokeTokensOfReseller, at, which.resellerId)
    return { codes: 0, tokens: await untilFew(1, revoke) }
  }
  const codes = await repeat(db, sql.endCodesOfSubject, which.subject)
  return { codes, tokens: await revokeTokens(db, sql.tokensOfSubject, which.subject, at) }
}

/** Runs a statement that deletes a portion of rows until none are left. Returns how many it deleted. */
function repeat(db: Session, text: string, value: string | number): Promise<number> {
  return untilFew(sql.portion, () => db.count(text, value))
}

/**
 * Revokes tokens portion by portion, in the order of their ids: a statement that looked for the next ones that are not
 * revoked would read all those before them again.
 */
function revokeTokens(
  db: Session,
  { readIds, revoke }: sql.TokenStatements,
  owner: string,
  at: number,
): Promise<number> {
  return inPortions('', async (after) => {
    const rows = await db.rows<{ readonly id: string }>(readIds, owner, after)
    const last = rows.at(-1)
    const changed = last === undefined ? 0 : await db.count(revoke, at, owner, after, last.id)
    return { changed, next: rows[sql.portion - 1]?.id }
  })
}

interface PurgeableCodeRow {
  readonly hash: Uint8Array
  readonly spent: number | string
  readonly dead: number | string
}

/**
 * Reads all codes, portion by portion, and deletes the dead ones, because nearly all can be spent codes whose tokens
 * are still valid. These codes stay, because without one, a replay could no longer revoke the token.
 */
function purgeCodes(db: Session, at: number): Promise<number> {
  return inPortions<Uint8Array>(new Uint8Array(), async (after) => {
    const codes = await db.rows<PurgeableCodeRow>(sql.readCodes, at, after)
    const dead = codes.filter((code) => Number(code.dead) === 1)
    const spent = dead.filter((code) => Number(code.spent) === 1)
    const unspent = dead.filter((code) => Number(code.spent) === 0)
    const deleted = await deleteCodes(db, sql.purgeSpentCodes, spent)
    const changed = deleted + (await deleteCodes(db, sql.purgeUnspentCodes, unspent))
    return { changed, next: codes[sql.codePortion - 1]?.hash }
  })
}

async function deleteCodes(db: Session, text: string, codes: readonly PurgeableCodeRow[]): Promise<number> {
  const [first] = codes
  if (first === undefined) return 0
  // As many hashes as the statement has placeholders. One that is named twice is deleted once.
  const hashes = Array.from({ length: sql.codePortion }, (_, index) => (codes[index] ?? first).hash)
  return db.count(text, ...hashes)
}
