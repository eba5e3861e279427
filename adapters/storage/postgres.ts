/**
 * A store in PostgreSQL, for any number of servers.
 *
 * @module utility-api/storage/postgres
 */
import { StorageError, type AdminStorage, type MigrationResult } from 'utility-api/storage'
import { closable } from './shared/closing.ts'
import { createPostgresAccess } from './postgres/access.ts'
import { adminMethods } from './postgres/admin.ts'
import { guardConnections } from './postgres/connection.ts'
import type { PostgresPool } from './postgres/driver.ts'
import { listingOf } from './postgres/listing.ts'
import { migrateSchema } from './postgres/schema.ts'
import { servingMethods } from './postgres/serving.ts'

export type {
  PostgresClient,
  PostgresNotice,
  PostgresParameter,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
  PostgresTypes,
} from './postgres/driver.ts'

/**
 * A store in a PostgreSQL database.
 *
 * @group Storage
 */
export interface PostgresStorage extends AdminStorage {
  /**
   * Creates the tables in the current schema or brings them up to date. Idempotent, and safe with several servers
   * starting at the same time. Puts the numbers of licenses forward if a restore or a replication has left them behind
   * the rows. Waits up to 30 s for a first connection that takes longer than the pool's timeout.
   *
   * @throws `StorageError` `invalid` if the schema is from a newer version of this library, a new database is not UTF8, the
   *   tables are in a later schema of `search_path`, or row level security applies to the role; `unavailable` if the
   *   server does not answer.
   */
  migrate(): Promise<MigrationResult>
}

/**
 * Creates a store from a `pg` Pool, or from anything that has the part of it that is used. Requires `pg` 8.21 or newer.
 *
 * Every race is decided by one statement, at every isolation level. Statements that lose a race (SQLSTATE 40001 and
 * 40P01) are repeated. If a backend is killed or the server restarts, the calls in progress fail with `unavailable`;
 * later calls reconnect. The caller is responsible for ending the pool. If nobody listens for errors of
 * its idle connections, the storage does, because they would otherwise end the process.
 *
 * A statement is sent only while its call has time left, however long it waited for a connection, and answers in that
 * time or fails with `unavailable`. A connection that has not answered by then is closed, so that servers find a new
 * primary behind the same address. Only a connection whose commit waits for a standby is kept until that wait is over.
 * Writes use all connections but one, so that reads are still answered. A commit that no standby confirmed, if one has
 * to, fails with `unavailable`.
 *
 * Clients, resellers, codes and credentials that are looked up while no connection is free are read by one statement.
 * Exchanges, new licenses and updates that arrive together, or while others of their kind are under way, share one
 * statement and its commit, and each has its own answer. A single one is sent at once.
 *
 * Give the pool a `connectionTimeoutMillis` below the time of a call, because opening a connection is up to the pool.
 *
 * @example
 * ```ts
 * import { Pool } from 'pg'
 * import { postgresStorage } from 'utility-api/storage/postgres'
 *
 * const storage = postgresStorage(new Pool({ connectionString: 'postgres://localhost/licenses' }))
 * await storage.migrate()
 * ```
 *
 * @throws `StorageError` if it is not given a pool.
 *
 * @group Storage
 */
export function postgresStorage(pool: PostgresPool): PostgresStorage {
  requirePool(pool)
  const access = createPostgresAccess(pool)
  guardConnections(pool)
  const methods = { ...servingMethods(access), ...adminMethods(access) }
  return closable({ migrate: () => migrateSchema(pool), ...methods }, listingOf(access))
}

function requirePool(pool: Partial<PostgresPool> | undefined): void {
  // A client can connect too, but has no number of connections.
  if (typeof pool?.connect !== 'function' || Number.isNaN(Number(pool.options?.max)))
    throw new StorageError(
      'bug',
      'postgresStorage takes a Pool of pg. Write postgresStorage(new Pool({ connectionString })).',
    )
  if (pool.options?.binary !== true) return
  throw new StorageError(
    'invalid',
    'The pool has the option binary, and the storage reads rows as text: leave it out.',
  )
}
