// A server in a process of its own, to be killed: `node --import test/storage/sources.ts test/faults/server.ts <store>`.
// `<store>` is a PostgreSQL URL or the path of a SQLite file. Sends its port, then figures of its event loop when asked.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import type { AdminStorage } from 'utility-api/storage'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'

/** The longest the event loop stood still, in milliseconds, and for what: a busy machine is in all of them. */
export interface Stalls {
  readonly loop: number
  /** Waiting for another process's lock. */
  lock: number
  /** Waiting for the disk. */
  disk: number
  /** How often the lock was not to be had. */
  busy: number
}

const stalls = { lock: 0, disk: 0, busy: 0 }

/** A connection that notes how long it waits for locks and for the disk, and how often in vain. */
function timed(database: SqliteDatabase): SqliteDatabase {
  return {
    exec(sql) {
      const start = performance.now()
      try {
        return database.exec(sql)
      } catch (error) {
        if (sql === 'BEGIN IMMEDIATE') stalls.busy += 1
        throw error
      } finally {
        const took = performance.now() - start
        if (sql === 'BEGIN IMMEDIATE') stalls.lock = Math.max(stalls.lock, took)
        if (sql === 'COMMIT') stalls.disk = Math.max(stalls.disk, took)
      }
    },
    prepare: (sql) => database.prepare(sql),
  }
}

function openStorage(store: string): AdminStorage {
  if (!store.startsWith('postgres:')) return sqliteStorage(timed(new DatabaseSync(store)))
  return postgresStorage(new Pool({ connectionString: store, max: 10, connectionTimeoutMillis: 2000 }))
}

const api = createUtilityApi({ storage: openStorage(process.argv[2] ?? ''), dns: false, blockgame: false })
const server = createServer(toNodeHandler(api))
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

const delay = monitorEventLoopDelay({ resolution: 1 })
process.on('message', (message) => {
  if (message === 'reset') {
    delay.enable()
    delay.reset()
    stalls.lock = stalls.disk = stalls.busy = 0
  } else process.send?.({ ...stalls, loop: delay.max / 1e6 } satisfies Stalls)
})
process.on('disconnect', () => process.exit())
