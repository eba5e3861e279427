/**
 * A store in PostgreSQL, for any number of servers.
 *
 * @module utility-api/storage/postgres
 */
import { StorageError } from 'utility-api/storage'
import type {
  AdminStorage,
  InsertLicenseResult,
  License,
  LicenseList,
  LicensePage,
  LicenseUpdate,
  NewIdempotencyKey,
  UpdateLicenseResult,
} from 'utility-api/storage'
import { runStatement, toStorageError, violatedConstraint, type PostgresPool } from './postgres-driver.ts'
import { migrateSchema, requireSchema } from './postgres-schema.ts'
import * as sql from './postgres-sql.ts'
import { joinHashes, toClient, toCode, toCredential, toLicense, toPage, toReplay, toSeq } from './rows.ts'
import type { LicenseRow } from './rows.ts'

export type { PostgresClient, PostgresPool, PostgresResult, PostgresStatement } from './postgres-driver.ts'

/** Rows that one statement purges: a long one would hold up everybody else's writes. */
const purgeChunk = 1000

/**
 * A store in a PostgreSQL database.
 *
 * @group Storage
 */
export interface PostgresStorage extends AdminStorage {
  /**
   * Creates the tables in the current schema or brings them up to date. Idempotent; safe with several servers starting
   * at once.
   *
   * @throws `StorageError` `invalid` when the schema is of a newer version of this library.
   */
  migrate(): Promise<void>
}

/** What the methods below work with: the rows of a statement, or how many it changed. */
interface Db {
  rows<Row>(text: string, ...values: unknown[]): Promise<Row[]>
  row<Row, Value>(convert: (row: Row) => Value, text: string, ...values: unknown[]): Promise<Value | null>
  count(text: string, ...values: unknown[]): Promise<number>
}

/**
 * Makes a store of a `pg` Pool, or of whatever has the slice of it that is used.
 *
 * Every race is decided by one statement, at every isolation level; statements that lose one (SQLSTATE 40001 and 40P01) are
 * repeated. Killed backends and restarts fail the calls under way with `unavailable`; later ones find the server again by
 * themselves. Ending the pool stays with whoever made it; where nobody listens for errors of its idle connections, the
 * storage does, because they would end the process otherwise.
 *
 * Give the pool a `connectionTimeoutMillis`, and its connections a `statement_timeout`.
 *
 * @example
 * ```ts
 * import { Pool } from 'pg'
 * import { postgresStorage } from 'utility-api/storage/postgres'
 *
 * const storage = postgresStorage(new Pool({ connectionString: 'postgres://localhost/licences' }))
 * await storage.migrate()
 * ```
 *
 * @group Storage
 */
export function postgresStorage(pool: PostgresPool): PostgresStorage {
  let closed = false
  let ready: Promise<void> | undefined
  // Without a listener, the first idle connection that breaks would end the process.
  if (pool.listenerCount?.('error') === 0) pool.on?.('error', () => {})

  function requireOpen(): void {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
  }
  function requireReady(): Promise<void> {
    ready ??= requireSchema(pool).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }
  async function query(text: string, values: unknown[]): ReturnType<PostgresPool['query']> {
    requireOpen()
    try {
      await requireReady()
      return await runStatement(pool, text, values)
    } catch (error) {
      throw toStorageError(error)
    }
  }
  const db: Db = {
    rows: async <Row>(text: string, ...values: unknown[]) => (await query(text, values)).rows as Row[],
    row: async <Row, Value>(convert: (row: Row) => Value, text: string, ...values: unknown[]) => {
      const [row] = (await query(text, values)).rows as Row[]
      return row === undefined ? null : convert(row)
    },
    count: async (text, ...values) => (await query(text, values)).rowCount ?? 0,
  }

  return {
    migrate: async () => {
      requireOpen()
      await migrateSchema(pool)
    },
    ping: async () => void (await db.rows(sql.ping)),
    close: () => {
      closed = true
    },
    findClient: (clientId) => db.row(toClient, sql.findClient, clientId),
    findAuthorizationCode: (codeHash) => db.row(toCode, sql.findCode, codeHash),
    redeemAuthorizationCode: async (codeHash, at, { id, hash, ownerId, scope, expiresAt }) =>
      (await db.count(sql.redeemCode, codeHash, at, id, hash, ownerId, scope, expiresAt)) > 0,
    revokeAccessTokensOfCode: (codeHash, at) => db.count(sql.revokeTokenOfCode, codeHash, at),
    findCredential: (kind, hash) => db.row(toCredential, sql.findCredential, kind, hash),
    insertLicense: (license, idempotency) => insertLicense(db, license, idempotency),
    updateLicense: (update) => updateLicense(db, update),
    insertClient: async ({ clientId, secretHashes, redirectUris, revokedAt, name = null }) => {
      const values = [clientId, joinHashes(secretHashes), JSON.stringify(redirectUris), revokedAt, name]
      return (await db.count(sql.insertClient, ...values)) > 0 ? 'inserted' : 'taken'
    },
    setClientSecrets: async (clientId, secretHashes) =>
      (await db.count(sql.setClientSecrets, clientId, joinHashes(secretHashes))) > 0,
    revokeClient: async (clientId, at) => (await db.count(sql.revokeClient, clientId, at)) > 0,
    insertAuthorizationCode: async (hash, code) => {
      const { clientId, redirectUri, scope, codeChallenge, expiresAt, redeemedAt } = code
      await db.count(sql.insertCode, hash, clientId, redirectUri, scope, codeChallenge, expiresAt, redeemedAt)
    },
    insertCredential: async (kind, hash, { id, ownerId, scope, expiresAt, revokedAt, name = null }) => {
      await db.count(sql.insertCredential, kind, hash, id, ownerId, scope, expiresAt, revokedAt, name)
    },
    revokeCredential: async (which, at) =>
      ('id' in which
        ? await db.count(sql.revokeCredentialById, which.id, at)
        : await db.count(sql.revokeCredentialByHash, which.hash, at)) > 0,
    getLicense: (licenseKey) => db.row(toLicense, sql.getLicense, licenseKey),
    listLicenses: (page) => listLicenses(db, page),
    purgeExpired: async (at) => ({
      tokens: await purge(db, sql.purgeTokens, at),
      codes: await purge(db, sql.purgeCodes, at),
      idempotency: await purge(db, sql.purgeAnswers, at),
    }),
  }
}

async function insertLicense(
  db: Db,
  license: License,
  idempotency?: NewIdempotencyKey,
): Promise<InsertLicenseResult> {
  const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } = license
  const values = [licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt]
  if (idempotency === undefined) {
    return (await db.count(sql.insertLicense, ...values)) > 0 ? 'inserted' : 'key_taken'
  }
  const { resellerId: sender, keyHash, requestHash, expiresAt } = idempotency
  const claim = [sender, keyHash, requestHash, JSON.stringify(license), expiresAt]
  try {
    if ((await db.count(sql.insertLicenseOnce, ...values, ...claim)) > 0) return 'inserted'
  } catch (error) {
    if (violatedConstraint((error as StorageError).cause) === sql.licenseKeyConstraint) return 'key_taken'
    throw error
  }
  const answer = await db.row(toReplay, sql.findAnswer, sender, keyHash, createdAt)
  // A purge may take the key away between the two statements; then it is free again.
  return answer ?? insertLicense(db, license, idempotency)
}

async function updateLicense(db: Db, update: LicenseUpdate): Promise<UpdateLicenseResult> {
  const { licenseKey, resellerId, at, patch } = update
  const { registeredTo = null, domainOrIp = null, status = null } = patch
  const values = [licenseKey, resellerId, registeredTo, domainOrIp, status, at]
  const [row] = await db.rows<{ updated: boolean; found: boolean }>(sql.updateLicense, ...values)
  if (row?.updated === true) return 'updated'
  return row?.found === true ? 'not_owner' : 'not_found'
}

async function listLicenses(db: Db, { resellerId, after, limit }: LicensePage): Promise<LicenseList> {
  const rows =
    resellerId === undefined
      ? await db.rows<LicenseRow>(sql.listLicenses, toSeq(after), limit + 1)
      : await db.rows<LicenseRow>(sql.listLicensesOfReseller, toSeq(after), limit + 1, resellerId)
  return toPage(rows, limit)
}

async function purge(db: Db, text: string, at: number): Promise<number> {
  let total = 0
  let deleted: number
  do {
    // oxlint-disable-next-line no-await-in-loop -- chunk after chunk, so that others write in between
    deleted = await db.count(text, at, purgeChunk)
    total += deleted
  } while (deleted === purgeChunk)
  return total
}
