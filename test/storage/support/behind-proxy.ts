import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import type { StorageFixture } from '../../../src/testing/storage-contract.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import * as mysql from './mysql-server.ts'
import * as postgres from './postgres-server.ts'

/** A database for the contract suite, as two servers reach it: one through a proxy that cuts its connections. */
export interface BehindProxy {
  readonly make: () => Promise<StorageFixture>
  readonly close: () => Promise<void>
}

export async function openBehindProxy(url: string): Promise<BehindProxy> {
  const proxy = await startCuttingProxy(Number(new URL(url).port))
  const open = () => openAt(Object.assign(new URL(url), { port: proxy.port }))
  // One pool for all cases: connecting takes longer than they do.
  let cut = open()
  // What puts the rows in and reads them back keeps its connections.
  const direct = openAt(new URL(url))
  await direct.storage().migrate()
  return {
    async make() {
      await direct.empty()
      proxy.cutAfter(Infinity)
      const [storage, second] = [cut.storage(), direct.storage()]
      async function disconnect(): Promise<void> {
        await cut.end()
        cut = open()
      }
      return { storage, second, cutAfter: proxy.cutAfter, disconnect, close() {} }
    },
    async close() {
      await Promise.all([cut.end(), direct.end()])
      proxy.close()
    },
  }
}

function openAt({ href, protocol }: URL) {
  if (protocol === 'mysql:') {
    const pool = mysql.makePool(href)
    return { storage: () => mysqlStorage(pool), empty: () => mysql.emptyTables(pool), end: () => pool.end() }
  }
  const pool = postgres.makePool(href)
  return {
    storage: () => postgresStorage(pool),
    empty: () => postgres.emptyTables(pool),
    end: () => pool.end(),
  }
}
