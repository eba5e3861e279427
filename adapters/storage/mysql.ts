/**
 * A store in MariaDB, for any number of servers.
 *
 * @module utility-api/storage/mysql
 */
import {
  callWithin,
  StorageError,
  withCheckedRows,
  type AdminStorage,
  type StorageCall,
} from 'utility-api/storage'
import { createGate } from './shared/closing.ts'
import { adminMethods } from './mysql/admin.ts'
import { renewComparedDomains } from './mysql/compared-domains.ts'
import { withConnection } from './mysql/connection.ts'
import type { MysqlConnection, MysqlPool } from './mysql/driver.ts'
import { isUndone, toStorageError } from './mysql/errors.ts'
import { listingOf } from './mysql/listing.ts'
import { migrateSchema, requireSchema, type Flavor } from './mysql/schema.ts'
import { servingMethods } from './mysql/serving.ts'
import { sessionOn, type Access, type Lend, type Session } from './mysql/session.ts'
import { inTime } from './mysql/time.ts'
import { createConnectionLimit } from './shared/connection-limit.ts'
import { writeTogether } from './shared/write-together.ts'

export type { MysqlConnection, MysqlPool, MysqlStatement, MysqlValue } from './mysql/driver.ts'

/** How long a migration waits for each portion of the rows that it changes. */
const portionTimeoutMs = 30_000

/**
 * A store in a MariaDB database.
 *
 * @group Storage
 */
export interface MysqlStorage extends AdminStorage {
  /**
   * Creates the tables in the pool's database or brings them up to date. Idempotent, and safe with several servers
   * starting at the same time.
   *
   * @throws `StorageError` `invalid` if the schema is from a newer version of this library.
   */
  migrate(): Promise<void>
}

/**
 * Creates a store from a `mysql2/promise` Pool, or from anything that has the part of it that is used. Requires MariaDB
 * 10.6 or newer.
 *
 * Every call borrows one connection and sets on it what the store needs: a strict `sql_mode`, READ COMMITTED,
 * `autocommit`, text in utf8mb4 and at most 3 seconds of waiting for a lock. Writes use all connections but one, so that
 * reads go on while writes wait. Work that loses a race (1213, 1205, 1020) is undone and repeated. If connections are
 * lost, the calls in progress fail with `unavailable`; later calls reconnect on their own. The caller is responsible for
 * ending the pool.
 *
 * Exchanges, updates and new licenses without an idempotency key that arrive together, or while others of their kind are
 * under way, share one transaction, and each has its own answer. A single one is sent at once.
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
  const gate = createGate()
  let ready: Promise<Flavor> | undefined

  function requireReady(): Promise<Flavor> {
    ready ??= requireSchema(pool).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }
  // The pool keeps everybody who asks for a connection in its queue until there is one. While a database hangs, callers
  // that gave up long ago would pile up there. So no more ask than there are connections, and the others wait here.
  const limit = createConnectionLimit(connectionsOf(pool), 'MariaDB')
  const lend = async <Result>(
    call: StorageCall,
    work: (session: Session) => Promise<Result>,
    reads: boolean,
  ): Promise<Result> => {
    try {
      return await inTime(call, async () => {
        const { settings, isNode } = await requireReady()
        const onSession = (connection: MysqlConnection): Promise<Result> =>
          work(sessionOn(connection, call, isNode))
        const errand = { first: settings, work: onSession, reads }
        return limit.run(call, () => withConnection(pool, call, errand))
      })
    } catch (error) {
      throw toStorageError(error)
    }
  }
  const read: Lend = (call, work) => lend(call, work, true)
  const writeLimit = createConnectionLimit(Math.max(1, connectionsOf(pool) - 1), 'MariaDB')
  const write: Lend = (call, work) => writeLimit.run(call, () => lend(call, work, false))
  const access: Access = {
    read,
    write,
    writer({ together, ...kind }) {
      const make = writeTogether(
        { name: 'MariaDB', isUndone },
        {
          ...kind,
          together: (call, takeWrites) =>
            write(call, (db) => db.transactOnce((queries) => together(queries, takeWrites()))),
        },
      )
      return async (call, one) => {
        try {
          return await inTime(call, () => make(call, one))
        } catch (error) {
          throw toStorageError(error)
        }
      }
    },
  }

  return withCheckedRows({
    ...gate.guard({
      migrate: async () => {
        await migrateSchema(pool)
        await renewComparedDomains(access, () => callWithin(portionTimeoutMs))
      },
      ...servingMethods(access),
      ...adminMethods(access),
    }),
    listing: gate.guard(listingOf(access)),
    close: gate.close,
  })
}

function connectionsOf({ pool }: MysqlPool): number {
  // For `mysql2`, 0 is no limit.
  return pool?.config?.connectionLimit || Number.POSITIVE_INFINITY
}

function requirePool(pool: (Partial<MysqlPool> & { readonly promise?: unknown }) | undefined): void {
  // The pool of `mysql2` itself, whose methods take callbacks, has the other one behind `promise()`.
  if (typeof pool?.getConnection === 'function' && pool.promise === undefined) return
  const write = pool?.promise === undefined ? 'createPool(url)' : 'pool.promise()'
  throw new StorageError('bug', `mysqlStorage takes a Pool of mysql2/promise. Write mysqlStorage(${write}).`)
}
