import { StorageError } from 'utility-api/storage'
import type {
  AccessReference,
  AdminStorage,
  Credential,
  CredentialKind,
  LicenseChange,
  RevokeCounts,
  StorageCall,
  UtilityStorage,
} from 'utility-api/storage'
import { joinHashes, toClient } from './rows.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import type { SqliteQueries, SqliteValue } from './sqlite-driver.ts'
import * as sql from './sqlite-sql.ts'

/** How many rows one transaction purges. A long transaction would hold up everybody else's writes. */
const purgeChunk = 500

type AdminMethods = Omit<AdminStorage, keyof UtilityStorage | 'listing' | 'close'>

/** Returns the methods for provisioning. */
export function adminMethods({ write }: SqliteAccess): AdminMethods {
  async function purge(statement: string, at: number, call: StorageCall): Promise<number> {
    let total = 0
    let deleted: number
    do {
      // oxlint-disable-next-line no-await-in-loop -- chunk after chunk, so that others write in between
      deleted = await write(call, (db) => db.run(statement, at, purgeChunk))
      total += deleted
    } while (deleted === purgeChunk)
    return total
  }

  async function purgeCodes(at: number, call: StorageCall): Promise<number> {
    let total = 0
    let after = 0
    while (after < Infinity) {
      const start = after
      // oxlint-disable-next-line no-await-in-loop -- portion after portion, so that others write in between
      const { deleted, end } = await write(call, (db) => purgePortionOfCodes(db, start, at))
      total += deleted
      after = end
    }
    return total
  }

  return {
    insertClient: ({ clientId, secretHashes, redirectUris, createdAt, revokedAt, name = null }, call) => {
      const hashes = joinHashes(secretHashes)
      const values = [clientId, hashes, JSON.stringify(redirectUris), createdAt, revokedAt, name]
      return write(call, (db) => (db.run(sql.insertClient, ...values) > 0 ? 'inserted' : 'taken'))
    },
    updateClient: (clientId, { name = null, redirectUris }, call) => {
      const uris = redirectUris === undefined ? null : JSON.stringify(redirectUris)
      return write(call, (db) => db.run(sql.updateClient, name, uris, clientId) > 0)
    },
    rotateClientSecret: (clientId, newHash, call) => write(call, (db) => rotateSecret(db, clientId, newHash)),
    revokeClient: (clientId, at, call) =>
      write(call, (db) => {
        const revoked = db.run(sql.revokeClient, at, clientId) > 0
        db.run(sql.endCodesOfClient, clientId)
        return revoked
      }),
    insertAuthorizationCode: async (hash, code, call) => {
      const { clientId, subject, redirectUri, scope, codeChallenge, expiresAt, redeemedAt } = code
      const values = [hash, clientId, subject, redirectUri, scope, codeChallenge, expiresAt, redeemedAt]
      refuseConflict(await write(call, (db) => db.run(sql.insertCode, ...values, clientId)))
    },
    insertReseller: ({ resellerId, createdAt, name = null }, call) =>
      write(call, (db) =>
        db.run(sql.insertReseller, resellerId, createdAt, name) > 0 ? 'inserted' : 'taken',
      ),
    insertCredential: (kind, hash, credential, call) =>
      write(call, (db) => insertCredential(db, kind, hash, credential)),
    revokeCredential: (which, at, call) =>
      write(call, (db) =>
        'id' in which
          ? db.run(sql.revokeCredentialById, at, which.id) > 0
          : db.run(sql.revokeCredentialByHash, at, which.hash) > 0,
      ),
    revokeAccess: (which, at, call) => write(call, (db) => revokeAccess(db, which, at)),
    changeLicense: (licenseKey, change, at, call) =>
      write(call, (db) => db.run(sql.changeLicense, ...changedColumns(change), at, licenseKey) > 0),
    deleteLicense: (licenseKey, call) => write(call, (db) => db.run(sql.deleteLicense, licenseKey) > 0),
    purgeExpired: async (at, call) => ({
      tokens: await purge(sql.purgeTokens, at, call),
      codes: await purgeCodes(at, call),
      idempotency: await purge(sql.purgeAnswers, at, call),
    }),
  }
}

/**
 * Reads the next codes, as many as one transaction may purge, and deletes the dead ones: nearly all can be spent codes
 * whose tokens are still valid. Returns where the portion ends: Infinity if it was the last.
 */
function purgePortionOfCodes(db: SqliteQueries, after: number, at: number): { deleted: number; end: number } {
  const last = db.get<{ rowid: number }>(sql.findEndOfPortion, after, purgeChunk - 1)
  const deleted = db.run(sql.purgeCodes, after, last?.rowid ?? Number.MAX_SAFE_INTEGER, at)
  return { deleted, end: last?.rowid ?? Infinity }
}

function rotateSecret(db: SqliteQueries, clientId: string, newHash: Uint8Array): boolean {
  const client = db.find(toClient, sql.findClient, clientId)
  if (client === null) return false
  db.run(sql.setSecrets, joinHashes([newHash, ...client.secretHashes.slice(0, 1)]), clientId)
  return true
}

function insertCredential(
  db: SqliteQueries,
  kind: CredentialKind,
  hash: Uint8Array,
  credential: Credential,
): 'inserted' | 'no_owner' {
  const { id, ownerId, subject, scope, createdAt, expiresAt, revokedAt, name = null } = credential
  if (kind === 'reseller_token' && db.get(sql.hasReseller, ownerId) === null) return 'no_owner'
  const values = [kind, hash, id, ownerId, subject, scope, createdAt, expiresAt, revokedAt, name]
  refuseConflict(db.run(sql.insertCredential, ...values))
  return 'inserted'
}

function revokeAccess(db: SqliteQueries, which: AccessReference, at: number): RevokeCounts {
  if ('clientId' in which) {
    const codes = db.run(sql.endCodesOfClient, which.clientId)
    const bought = db.run(sql.revokeBoughtTokensOfClient, at, which.clientId)
    return { codes, tokens: bought + db.run(sql.revokeOtherTokensOfClient, at, which.clientId) }
  }
  const codes = db.run(sql.endCodesOfSubject, which.subject)
  const bought = db.run(sql.revokeBoughtTokensOfSubject, at, which.subject)
  return { codes, tokens: bought + db.run(sql.revokeOtherTokensOfSubject, at, which.subject) }
}

/** Returns the columns of a change. A column that was not sent is null and keeps its value. */
function changedColumns(change: LicenseChange): SqliteValue[] {
  const { registeredTo = null, domainOrIp = null, status = null, resellerId = null } = change
  return [registeredTo, domainOrIp, status, resellerId]
}

function refuseConflict(changes: number): void {
  if (changes === 0) throw new StorageError('conflict', 'The row exists.')
}
