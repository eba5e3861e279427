import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { createAdmin, createUtilityApi } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startIdleForwarder, type IdleCut } from './support/idle-forwarder.ts'
import { makePool, startMysql, whyNoMysql } from './support/mysql-server.ts'
import { startPostgres } from './support/postgres-server.ts'
import { licenseHeaders } from '../support/license-headers.ts'

// A proxy that cuts idle connections, and requests that come just when it does.

/** IDLE_REQUESTS sets how many requests come, in all, for each way of cutting. */
const requests = Number(process.env['IDLE_REQUESTS'] ?? 200)
// Each has a connection, and for a moment the one that was cut. PostgreSQL takes a hundred.
const lanes = Math.min(40, requests / 5)
const limitMs = 1500

interface Opened {
  readonly storage: AdminStorage & { migrate(): Promise<unknown> }
  end(): Promise<unknown>
}

interface Database {
  readonly url: string
  open(url: string): Opened
  stop(): Promise<void>
}

const databases: Readonly<Record<string, () => Promise<Database>>> = {
  async PostgreSQL() {
    const server = await startPostgres()
    return {
      url: await server.createDatabase(),
      open(connectionString) {
        const pool = new Pool({ connectionString, max: 2, connectionTimeoutMillis: 1500 })
        return { storage: postgresStorage(pool), end: () => pool.end() }
      },
      stop: () => server.stop(),
    }
  },
  async MariaDB() {
    const server = await startMysql()
    return {
      url: await server.createDatabase(),
      open(url) {
        const pool = makePool(url, { connectionLimit: 2, connectTimeout: 1500 })
        return { storage: mysqlStorage(pool), end: () => pool.end() }
      },
      stop: () => server.stop(),
    }
  },
}

const cuts: readonly IdleCut[] = ['closes', 'resets', 'says nothing']

describe.each(Object.keys(databases))('%s', (name) => {
  const reason = name === 'MariaDB' ? whyNoMysql() : null
  let database: Database

  beforeAll(async () => {
    if (reason === null) database = await (databases[name] as () => Promise<Database>)()
  }, 60_000)
  afterAll(() => database?.stop())

  test.for(cuts)(
    'behind a proxy that %s, no request is answered 500 because its connection was idle',
    { timeout: 240_000 },
    async (cut, { skip, annotate }) => {
      if (reason !== null) skip(reason)
      const direct = database.open(database.url)
      await direct.storage.migrate()
      const { token } = await createAdmin({ storage: direct.storage }).createReseller()
      await direct.end()
      const forwarder = await startIdleForwarder(Number(new URL(database.url).port), limitMs, cut)
      const url = Object.assign(new URL(database.url), { port: String(forwarder.port) }).href
      const statuses = new Map<number, number>()

      async function lane(): Promise<void> {
        const { storage, end } = database.open(url)
        const api = createUtilityApi({ storage, dns: false, blockgame: false })
        const headers = licenseHeaders(token)
        for (let request = 0; request < requests / lanes; request += 1) {
          const { status } = await api.fetch(
            new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST', headers }),
          )
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          await sleep(limitMs)
        }
        await end().catch(() => {})
      }
      await Promise.all(Array.from({ length: lanes }, lane))
      forwarder.close()
      await annotate(`${forwarder.cuts} cuts, ${JSON.stringify([...statuses])}`)
      expect(statuses).toEqual(new Map([[200, requests]]))
      expect(forwarder.cuts).toBeGreaterThan(0)
    },
  )
})
