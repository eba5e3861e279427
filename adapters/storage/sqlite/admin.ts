import { StorageError } from 'utility-api/storage'
import type {
  AccessReference,
  Credential,
  CredentialKind,
  RevokeCounts,
  StorageCall,
} from 'utility-api/storage'
import type { AdminMethods } from '../shared/closing.ts'
import {
  clientPatchValues,
  clientValues,
  codeValues,
  credentialValues,
  joinHashes,
  licenseChangeValues,
  resellerValues,
  toClient,
  toReseller,
} from '../shared/rows.ts'
import { inPortions, untilFew } from '../shared/portions.ts'
import type { SqliteAccess } from './access.ts'
import type { SqliteValue } from './driver.ts'
import type { Queries } from './statement.ts'
import * as sql from './sql.ts'

/**
 * How many rows one transaction purges or revokes. A longer one would hold up the event loop and everybody else's
 * writes.
 */
const portion = 500

/** A statement and its first values. The last two say which portion. */
type Bound = readonly [text: string, ...values: SqliteValue[]]

/** Returns the methods for provisioning. */
export function adminMethods({ read, write }: SqliteAccess): AdminMethods {
  /** Runs a statement whose last value is the size of a portion until no rows are left. Returns how many it changed. */
  function repeat(call: StorageCall, ...[text, ...values]: Bound): Promise<number> {
    return untilFew(portion, () => write(call, (db) => db.run(text, ...values, portion)))
  }

  /**
   * Goes through rows in their order, as many at a time as one transaction may change, and runs a statement on each
   * portion, because nearly all can be rows that stay as they are. Returns how many rows it changed.
   */
  function onEach(call: StorageCall, findEnd: Bound, statement: Bound): Promise<number> {
    return inPortions(0, (after) =>
      write(call, (db) => {
        const next = db.get<{ rowid: number }>(...findEnd, after, portion - 1)?.rowid
        return { changed: db.run(...statement, after, next ?? Number.MAX_SAFE_INTEGER), next }
      }),
    )
  }

  /**
   * Ends the codes, then revokes the tokens, in this order, because a redemption between two portions has stored a
   * token that the tokens' turn finds, or finds its code gone.
   */
  async function revokeAccess(which: AccessReference, at: number, call: StorageCall): Promise<RevokeCounts> {
    if ('resellerId' in which) {
      const tokens = await repeat(call, sql.revokeTokensOfReseller, at, which.resellerId)
      return { codes: 0, tokens }
    }
    const access = 'clientId' in which ? sql.accessOfClient : sql.accessOfSubject
    const owner = 'clientId' in which ? which.clientId : which.subject
    const { findEndOfCodes, endCodes, revokeBoughtTokens, findEndOfTokens, revokeOtherTokens } = access
    const codes = await onEach(call, [findEndOfCodes, owner], [endCodes, owner])
    const bought = await onEach(call, [findEndOfCodes, owner], [revokeBoughtTokens, at, owner])
    const others = await onEach(call, [findEndOfTokens, owner], [revokeOtherTokens, at, owner])
    return { codes, tokens: bought + others }
  }

  return {
    insertClient: (client, call) =>
      write(call, (db) => (db.run(sql.insertClient, ...clientValues(client)) > 0 ? 'inserted' : 'taken')),
    updateClient: (clientId, patch, call) =>
      write(call, (db) => db.run(sql.updateClient, ...clientPatchValues(patch), clientId) > 0),
    rotateClientSecret: (clientId, newHash, call) => write(call, (db) => rotateSecret(db, clientId, newHash)),
    revokeClient: async (clientId, at, call) => {
      const revoked = await write(call, (db) => db.run(sql.revokeClient, at, clientId) > 0)
      // Runs afterwards, when no code can be issued anymore, and also if the client was revoked before, to finish that
      // revocation.
      const { findEndOfCodes, endCodes } = sql.accessOfClient
      await onEach(call, [findEndOfCodes, clientId], [endCodes, clientId])
      return revoked
    },
    insertAuthorizationCode: async (hash, code, call) => {
      const values = [hash, ...codeValues(code), code.clientId]
      refuseConflict(await write(call, (db) => db.run(sql.insertCode, ...values)))
    },
    insertReseller: (reseller, call) =>
      write(call, (db) =>
        db.run(sql.insertReseller, ...resellerValues(reseller)) > 0 ? 'inserted' : 'taken',
      ),
    findReseller: async (resellerId, call) =>
      read(call, (db) => db.find(toReseller, sql.findReseller, resellerId)),
    insertCredential: (kind, hash, credential, call) =>
      write(call, (db) => insertCredential(db, kind, hash, credential)),
    revokeCredential: (which, at, call) =>
      write(call, (db) =>
        'id' in which
          ? db.run(sql.revokeCredentialById, at, which.id) > 0
          : db.run(sql.revokeCredentialByHash, at, which.hash) > 0,
      ),
    revokeAccess,
    changeLicense: (licenseKey, change, at, call) =>
      write(call, (db) => db.run(sql.changeLicense, ...licenseChangeValues(change), at, licenseKey) > 0),
    deleteLicense: (licenseKey, call) => write(call, (db) => db.run(sql.deleteLicense, licenseKey) > 0),
    purgeExpired: async (at, call) => ({
      tokens: await repeat(call, sql.purgeTokens, at),
      codes: await onEach(call, [sql.findEndOfCodes], [sql.purgeCodes, at]),
      idempotency: await repeat(call, sql.purgeIdempotencyKeys, at),
    }),
  }
}

function rotateSecret(db: Queries, clientId: string, newHash: Uint8Array): boolean {
  const client = db.find(toClient, sql.findClient, clientId)
  if (client === null || client.clientType === 'public') return false
  db.run(sql.setSecrets, joinHashes([newHash, ...client.secretHashes.slice(0, 1)]), clientId)
  return true
}

function insertCredential(
  db: Queries,
  kind: CredentialKind,
  hash: Uint8Array,
  credential: Credential,
): 'inserted' | 'no_owner' {
  if (kind === 'reseller_token' && db.get(sql.findReseller, credential.ownerId) === null) return 'no_owner'
  refuseConflict(db.run(sql.insertCredential, kind, hash, ...credentialValues(credential)))
  return 'inserted'
}

function refuseConflict(changes: number): void {
  if (changes === 0) throw new StorageError('conflict', 'The row exists.')
}
