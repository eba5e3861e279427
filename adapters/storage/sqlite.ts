/**
 * A store in one SQLite file, for one machine.
 *
 * @module utility-api/storage/sqlite
 */
import { StorageError } from 'utility-api/storage'
import type {
  AdminStorage,
  InsertLicenseResult,
  License,
  LicenseList,
  LicensePage,
  LicenseUpdate,
  NewAccessToken,
  NewIdempotencyKey,
  UpdateLicenseResult,
} from 'utility-api/storage'
import { joinHashes, toClient, toCode, toCredential, toLicense, toPage, toReplay, toSeq } from './rows.ts'
import type { AnswerRow, ClientRow, CodeRow, CredentialRow, LicenseRow } from './rows.ts'
import {
  createSqliteQueries,
  requireNoTransaction,
  toStorageError,
  type SqliteDatabase,
  type SqliteQueries,
} from './sqlite-driver.ts'
import { createSqliteQueue } from './sqlite-queue.ts'
import { migrateSchema, requireSchema } from './sqlite-schema.ts'
import * as sql from './sqlite-sql.ts'

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-driver.ts'

/** Rows that one transaction purges: a long one would hold up everybody else's writes. */
const purgeChunk = 500

/**
 * What {@link sqliteStorage} can be told.
 *
 * @group Storage
 */
export interface SqliteStorageOptions {
  /**
   * `'full'` waits for the disk before it answers, so that a power cut loses nothing; `'normal'` does not, and a power cut
   * (never a crash of the process) may lose the last moments. Default: `'full'`.
   */
  readonly durability?: 'full' | 'normal'
}

/**
 * A store in a SQLite file.
 *
 * @group Storage
 */
export interface SqliteStorage extends AdminStorage {
  /**
   * Creates the tables or brings them up to date, and turns the write-ahead log on. Idempotent; safe with several
   * processes starting at once.
   *
   * @throws `StorageError` `invalid` when the schema is of a newer version of this library.
   */
  migrate(): Promise<void>
}

/**
 * Makes a store of a SQLite connection: better-sqlite3's `Database`, `node:sqlite`'s `DatabaseSync` or `bun:sqlite`'s
 * `Database`.
 *
 * The connection is the storage's alone: it sets the connection's `synchronous`, `busy_timeout` and `cache_size`, and
 * decides when transactions begin and end. The tables' names begin with `utility_api_`, so they may share a file with
 * others. Several processes may open the same file; closing the connection stays with whoever opened it.
 *
 * Writes of one turn of the event loop share one transaction and are answered after its commit. A database that others
 * keep busy is tried for 5 s, without blocking the event loop for more than 3 ms at a time.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { sqliteStorage } from 'utility-api/storage/sqlite'
 *
 * const storage = sqliteStorage(new DatabaseSync('utility-api.sqlite'))
 * await storage.migrate()
 * ```
 *
 * @throws `StorageError` when the connection is closed or has a transaction open.
 *
 * @group Storage
 */
export function sqliteStorage(database: SqliteDatabase, options: SqliteStorageOptions = {}): SqliteStorage {
  configure(database, options.durability ?? 'full')
  const queries = createSqliteQueries(database)
  const queue = createSqliteQueue(database)
  let closed = false
  let schemaChecked = false

  function requireOpen(): void {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
  }
  function requireReady(): void {
    if (schemaChecked) return
    requireSchema(database)
    schemaChecked = true
  }
  function read<Result>(work: (db: SqliteQueries) => Result): Result | Promise<Result> {
    requireOpen()
    return queue.read(() => {
      requireReady()
      return work(queries)
    })
  }
  async function write<Result>(work: (db: SqliteQueries) => Result): Promise<Result> {
    requireOpen()
    return queue.write(() => {
      requireReady()
      return work(queries)
    })
  }
  async function purge(statement: string, at: number): Promise<number> {
    let total = 0
    let deleted: number
    do {
      // oxlint-disable-next-line no-await-in-loop -- chunk after chunk, so that others write in between
      deleted = await write((db) => db.run(statement, at, purgeChunk))
      total += deleted
    } while (deleted === purgeChunk)
    return total
  }

  return {
    migrate: async () => {
      requireOpen()
      await queue.read(() => database.exec('PRAGMA journal_mode = WAL'))
      await queue.write(() => migrateSchema(database))
    },
    ping: () => read((db) => void db.get('SELECT 1')),
    close: async () => {
      closed = true
      await queue.drain()
    },
    findClient: (clientId) => read((db) => map(db.get<ClientRow>(sql.findClient, clientId), toClient)),
    findAuthorizationCode: (codeHash) => read((db) => map(db.get<CodeRow>(sql.findCode, codeHash), toCode)),
    redeemAuthorizationCode: (codeHash, at, token) => write((db) => redeem(db, codeHash, at, token)),
    revokeAccessTokensOfCode: (codeHash, at) => write((db) => db.run(sql.revokeTokenOfCode, at, codeHash)),
    findCredential: (kind, hash) =>
      read((db) => map(db.get<CredentialRow>(sql.findCredential, hash, kind), toCredential)),
    insertLicense: (license, idempotency) => write((db) => insertLicense(db, license, idempotency)),
    updateLicense: (update) => write((db) => updateLicense(db, update)),
    insertClient: ({ clientId, secretHashes, redirectUris, revokedAt, name = null }) =>
      write((db) => {
        const uris = JSON.stringify(redirectUris)
        const changes = db.run(sql.insertClient, clientId, joinHashes(secretHashes), uris, revokedAt, name)
        return changes === 0 ? 'taken' : 'inserted'
      }),
    setClientSecrets: (clientId, secretHashes) =>
      write((db) => db.run(sql.setClientSecrets, joinHashes(secretHashes), clientId) > 0),
    revokeClient: (clientId, at) => write((db) => db.run(sql.revokeClient, at, clientId) > 0),
    insertAuthorizationCode: async (hash, code) => {
      const { clientId, redirectUri, scope, codeChallenge, expiresAt, redeemedAt } = code
      const values = [hash, clientId, redirectUri, scope, codeChallenge, expiresAt, redeemedAt]
      refuseConflict(await write((db) => db.run(sql.insertCode, ...values)))
    },
    insertCredential: async (kind, hash, { id, ownerId, scope, expiresAt, revokedAt, name = null }) => {
      const values = [kind, hash, id, ownerId, scope, expiresAt, revokedAt, name]
      refuseConflict(await write((db) => db.run(sql.insertCredential, ...values)))
    },
    revokeCredential: (which, at) =>
      write((db) =>
        'id' in which
          ? db.run(sql.revokeCredentialById, at, which.id) > 0
          : db.run(sql.revokeCredentialByHash, at, which.hash) > 0,
      ),
    getLicense: (licenseKey) => read((db) => map(db.get<LicenseRow>(sql.getLicense, licenseKey), toLicense)),
    listLicenses: (page) => read((db) => listLicenses(db, page)),
    purgeExpired: async (at) => ({
      tokens: await purge(sql.purgeTokens, at),
      codes: await purge(sql.purgeCodes, at),
      idempotency: await purge(sql.purgeAnswers, at),
    }),
  }
}

function configure(database: SqliteDatabase, durability: 'full' | 'normal'): void {
  try {
    requireNoTransaction(database)
    // First the time-out: drivers wait seconds by default, and the event loop with them.
    database.exec('PRAGMA busy_timeout = 3')
    // 16 MB hold the inner pages of the indexes over millions of licences; SQLite's 2 MB do not.
    database.exec('PRAGMA cache_size = -16000')
    database.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  } catch (error) {
    throw toStorageError(error)
  }
}

function map<Row, Value>(row: Row | null, convert: (row: Row) => Value): Value | null {
  return row === null ? null : convert(row)
}

function refuseConflict(changes: number): void {
  if (changes === 0) throw new StorageError('conflict', 'The row exists.')
}

function redeem(db: SqliteQueries, codeHash: Uint8Array, at: number, token: NewAccessToken): boolean {
  const { id, hash, ownerId, scope, expiresAt } = token
  if (db.run(sql.spendCode, at, hash, codeHash) === 0) return false
  db.run(sql.insertToken, id, hash, ownerId, scope, expiresAt)
  return true
}

function insertLicense(
  db: SqliteQueries,
  license: License,
  idempotency?: NewIdempotencyKey,
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
  return db.get(sql.getLicense, licenseKey) === null ? 'not_found' : 'not_owner'
}

function listLicenses(db: SqliteQueries, { resellerId, after, limit }: LicensePage): LicenseList {
  const rows =
    resellerId === undefined
      ? db.all<LicenseRow>(sql.listLicenses, toSeq(after), limit + 1)
      : db.all<LicenseRow>(sql.listLicensesOfReseller, toSeq(after), resellerId, limit + 1)
  return toPage(rows, limit)
}
