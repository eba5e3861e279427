/**
 * A store in MariaDB, for any number of servers.
 *
 * @module utility-api/storage/mysql
 */
import { StorageError, type AdminStorage, type MigrationResult } from 'utility-api/storage'
import { closable } from './shared/closing.ts'
import { createMysqlAccess } from './mysql/access.ts'
import { adminMethods } from './mysql/admin.ts'
import type { MysqlPool } from './mysql/driver.ts'
import { listingOf } from './mysql/listing.ts'
import { migrateSchema } from './mysql/schema.ts'
import { servingMethods } from './mysql/serving.ts'

export type { MysqlConnection, MysqlPool, MysqlStatement, MysqlValue } from './mysql/driver.ts'

/**
 * A store in a MariaDB database.
 *
 * @group Storage
 */
export interface MysqlStorage extends AdminStorage {
  /**
   * Creates the tables in the pool's database or brings them up to date. Idempotent, and safe with several servers
   * starting at the same time. Waits up to 30 s for a first connection that takes longer than the pool's timeout.
   *
   * @throws `StorageError` `invalid` if the schema is from a newer version of this library, or the server is MySQL;
   *   `unavailable` if the server does not answer, or is a node that is cut off from its cluster.
   */
  migrate(): Promise<MigrationResult>
}

/**
 * Creates a store from a `mysql2/promise` Pool, or from anything that has the part of it that is used. Requires MariaDB
 * 10.6 or newer.
 *
 * Every call, or several that share a statement, borrows one connection. If it is new, others have used it, or it was
 * idle for a second, the store first sets on it what it needs: a strict `sql_mode`, READ COMMITTED, `autocommit`, no
 * `completion_type`, no `sql_select_limit`, text in utf8mb4 and at most 3 seconds of waiting for a lock. Writes use all
 * connections but one, so that reads go on while writes wait. Work that loses a race (1213, 1205, 1020) is undone and
 * repeated. If connections are lost, the calls in progress fail with `unavailable`; later calls reconnect.
 * The caller is responsible for ending the pool.
 *
 * Clients, resellers, codes and credentials that are looked up together share one statement. Exchanges, updates and new
 * licenses without an idempotency key that arrive together, or while others of their kind are under way, share one
 * commit, and each has its own answer. A single one is sent at once.
 *
 * A statement is sent only while its call has time left, however long it waited for a connection. If it does not answer
 * in that time, its connection is closed; the server may still finish it. A pool is refused if its `charset`
 * is not `utf8mb4`, the default. Give the pool a `connectTimeout`.
 *
 * @example
 * ```ts
 * import { createPool } from 'mysql2/promise'
 * import { mysqlStorage } from 'utility-api/storage/mysql'
 *
 * const storage = mysqlStorage(createPool('mysql://localhost/licenses'))
 * await storage.migrate()
 * ```
 *
 * @throws `StorageError` if it is not given a pool.
 *
 * @group Storage
 */
export function mysqlStorage(pool: MysqlPool): MysqlStorage {
  requirePool(pool)
  const access = createMysqlAccess(pool)
  const methods = { ...servingMethods(access), ...adminMethods(access) }
  return closable({ migrate: () => migrateSchema(pool), ...methods }, listingOf(access))
}

function requirePool(pool: (Partial<MysqlPool> & { readonly promise?: unknown }) | undefined): void {
  // Without its callback, a pool or a cluster of `mysql2` itself throws where nothing catches it. A cluster of
  // `mysql2/promise`, which takes a pattern, would lend connections to any of its servers.
  if (typeof pool?.getConnection === 'function' && pool.getConnection.length === 0) return
  const write = pool?.promise === undefined ? 'createPool(url)' : 'pool.promise()'
  throw new StorageError('bug', `mysqlStorage takes a Pool of mysql2/promise. Write mysqlStorage(${write}).`)
}
