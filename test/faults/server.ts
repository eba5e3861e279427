// A server in a process of its own, to be killed: `node --import test/support/sources.ts test/faults/server.ts <store>
// [<resolver port>]`. `<store>` is a PostgreSQL URL or the path of a SQLite file. With the port of a resolver on loopback, it
// checks and looks up too, on loopback alone. Sends its port, then figures of its event loop and its memory when asked.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import { createUtilityApi, type UtilityApiOptions } from 'utility-api'
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

/** What the process holds, garbage aside. */
export interface Holdings {
  /** Bytes. */
  readonly rss: number
  /** Bytes. */
  readonly heap: number
  /** Sockets, timers and the like. */
  readonly handles: number
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

/** Short deadlines and caches, so that a minute shows what a day does. */
function networks(resolverPort: number): Pick<UtilityApiOptions, 'dns' | 'blockgame'> {
  const resolver = { ip: '127.0.0.1', port: resolverPort }
  const location = { location: 'Here', provider: 'Loopback', ...resolver }
  return {
    dns: { locations: [location], timeoutMs: 1500, cacheTtlMs: 500 },
    blockgame: {
      timeoutMs: 1500,
      cacheTtlMs: 500,
      resolvers: [resolver],
      allowAddress: ({ ip, port }) => ip === '127.0.0.1' && port >= 1024,
    },
  }
}

const [, , store = '', resolverPort] = process.argv
const api = createUtilityApi({
  storage: openStorage(store),
  ...(resolverPort === undefined ? { dns: false, blockgame: false } : networks(Number(resolverPort))),
})
const server = createServer(toNodeHandler(api))
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

function holdings(): Holdings {
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, heap: heapUsed + external, handles: process.getActiveResourcesInfo().length }
}

const delay = monitorEventLoopDelay({ resolution: 1 })
process.on('message', (message) => {
  if (message === 'reset') {
    delay.enable()
    delay.reset()
    stalls.lock = stalls.disk = stalls.busy = 0
  } else if (message === 'holdings') process.send?.(holdings())
  else process.send?.({ ...stalls, loop: delay.max / 1e6 } satisfies Stalls)
})
process.on('disconnect', () => process.exit())
