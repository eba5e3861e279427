// A server of an older version of this package, and its callers, in a process of its own: `older-server.ts DIST STORE NUMBER`.
// Told to prepare, it makes the tables and the first licenses; told to serve, it sells licenses and moves them from domain to
// domain until it is told to stop. It says how its callers were answered.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import type * as Core from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'

/** What callers of an old server got. */
export interface OlderReport {
  readonly sold: number
  readonly moved: number
  /** How many answers had which status other than 200. */
  readonly refused: Readonly<Record<number, number>>
  /** The longest that a caller waited, in milliseconds. */
  readonly slowest: number
}

/** What an old server is told to do. */
export type OlderTask =
  | { readonly task: 'prepare'; readonly licenses: number }
  | { readonly task: 'serve'; readonly token: string; readonly keys: readonly string[] }
  | { readonly task: 'stop' }

type Migrated = AdminStorage & { migrate(): Promise<void> }

const [, , dist = '', store = '', number = '0'] = process.argv

async function load<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(join(dist, name)).href)) as Module
}

async function open(): Promise<{ storage: Migrated; close(): unknown }> {
  if (store.startsWith('postgres')) {
    const pool = new Pool({ connectionString: store, max: 10 })
    const { postgresStorage } = await load<{ postgresStorage: (pool: Pool) => Migrated }>(
      'storage/postgres.js',
    )
    return { storage: postgresStorage(pool), close: () => pool.end() }
  }
  if (store.startsWith('mysql')) {
    const pool = createPool({ uri: store, connectionLimit: 10 })
    const { mysqlStorage } = await load<{ mysqlStorage: (pool: object) => Migrated }>('storage/mysql.js')
    return { storage: mysqlStorage(pool), close: () => pool.end() }
  }
  const database = new DatabaseSync(store)
  const { sqliteStorage } = await load<{ sqliteStorage: (database: object) => Migrated }>('storage/sqlite.js')
  return { storage: sqliteStorage(database), close: () => database.close() }
}

const { createAdmin, createUtilityApi } = await load<typeof Core>('index.js')
const { storage, close } = await open()
const api = createUtilityApi({ storage, dns: false, blockgame: false })
const stop = new AbortController()
let count = 0

/** A domain that nobody had before, in one of the spellings that people use. */
function newDomain(): string {
  count += 1
  return [
    `shop-${number}-${count}.example`,
    `SHOP-${number}-${count}.Example.`,
    `münchen-${number}-${count}.example`,
  ][count % 3] as string
}

function ask(method: string, path: string, token: string, fields: Record<string, string>): Promise<Response> {
  const entries = Object.entries(fields).map(([name, text]) => [name, Buffer.from(text).toString('latin1')])
  const headers = { ...Object.fromEntries(entries), Authorization: `Bearer ${token}` }
  return api.fetch(new Request(`http://host${path}`, { method, headers }))
}

async function prepare(licenses: number): Promise<object> {
  await storage.migrate()
  const { token } = await createAdmin({ storage }).createReseller()
  const keys: string[] = []
  while (keys.length < licenses) {
    const batch = Array.from({ length: 50 }, () => sell(token))
    // oxlint-disable-next-line no-await-in-loop
    keys.push(...(await Promise.all(batch)))
  }
  return { token, keys }
}

async function sell(token: string): Promise<string> {
  const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': newDomain(), 'X-Status': 'valid' }
  const response = await ask('POST', '/v2/reseller/licenses/generate', token, fields)
  if (response.status !== 200) throw new Error(String(response.status))
  return ((await response.json()) as { data: { license_key: string } }).data.license_key
}

async function serve(token: string, keys: readonly string[]): Promise<OlderReport> {
  const known = [...keys]
  const refused: Record<number, number> = {}
  let [sold, moved, slowest] = [0, 0, 0]
  async function caller(): Promise<void> {
    while (!stop.signal.aborted) {
      const begun = performance.now()
      if (Math.random() < 0.2) {
        // oxlint-disable-next-line no-await-in-loop
        known.push(await sell(token))
        sold += 1
      } else {
        const key = known[Math.floor(Math.random() * known.length)] ?? ''
        // oxlint-disable-next-line no-await-in-loop
        const { status } = await ask('PUT', `/v2/reseller/${key}/update`, token, {
          'X-Domain-Or-IP': newDomain(),
        })
        if (status === 200) moved += 1
        else refused[status] = (refused[status] ?? 0) + 1
      }
      slowest = Math.max(slowest, performance.now() - begun)
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  await Promise.all([caller(), caller(), caller(), caller()])
  return { sold, moved, refused, slowest: Math.round(slowest) }
}

process.on('message', async (asked: OlderTask) => {
  if (asked.task === 'stop') stop.abort()
  else {
    process.send?.(
      await (asked.task === 'prepare' ? prepare(asked.licenses) : serve(asked.token, asked.keys)),
    )
    await api.close()
    await close()
    process.disconnect()
  }
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
