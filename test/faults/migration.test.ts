/**
 * A migration while servers of an older version go on serving and moving licenses. MIGRATE_FROM names the `dist` of that
 * version; MIGRATE_LICENSES sets how many licenses there are at first.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { coversHost, createAdmin, type Admin } from 'utility-api'
import type { AdminStorage, License } from 'utility-api/storage'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import * as mysql from '../storage/support/mysql-server.ts'
import * as postgres from '../storage/support/postgres-server.ts'
import { temporaryFile } from '../storage/support/sqlite-fixture.ts'
import type { OlderReport, OlderTask } from './migration/older-server.ts'

const older = process.env['MIGRATE_FROM'] ?? ''
if (older === '') console.log('Skipped: MIGRATE_FROM names no older version.')
const licenseCount = Number(process.env['MIGRATE_LICENSES'] ?? 500)
const timeout = 120_000 + licenseCount * 20

const program = fileURLToPath(new URL('migration/older-server.ts', import.meta.url))

interface Opened {
  readonly store: string
  readonly storage: AdminStorage & { migrate(): Promise<void> }
  close(): Promise<void>
}

const stores: Readonly<Record<string, () => Promise<Opened>>> = {
  async SQLite() {
    const { path, remove } = temporaryFile()
    const database = new DatabaseSync(path)
    const close = async (): Promise<void> => {
      database.close()
      remove()
    }
    return { store: path, storage: sqliteStorage(database), close }
  },
  async PostgreSQL() {
    const server = await postgres.startPostgres()
    const store = await server.createDatabase()
    const pool = postgres.makePool(store)
    const close = async (): Promise<void> => {
      await pool.end()
      await server.stop()
    }
    return { store, storage: postgresStorage(pool), close }
  },
  async MariaDB() {
    const server = await mysql.startMysql()
    const store = await server.createDatabase()
    const pool = mysql.makePool(store)
    const close = async (): Promise<void> => {
      await pool.end()
      await server.stop()
    }
    return { store, storage: mysqlStorage(pool), close }
  },
}

interface Older {
  tell(task: OlderTask): void
  /** What it says when it is done. */
  readonly done: Promise<unknown>
}

async function startOlder(store: string, number: number): Promise<Older> {
  const child: ChildProcess = fork(program, [older, store, String(number)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  const done = once(child, 'message').then(([report]) => report as unknown)
  return { tell: (task) => void child.send(task), done }
}

async function allLicenses(admin: Admin): Promise<License[]> {
  const found: License[] = []
  let after: string | undefined
  do {
    // oxlint-disable-next-line no-await-in-loop
    const page = await admin.listLicenses({ limit: 1000, ...(after !== undefined && { after }) })
    found.push(...page.licenses)
    after = page.next
  } while (after !== undefined)
  return found
}

/** Lists what a domain has. Throws if a license is among it whose domain is another one. */
async function listed(admin: Admin, domain: string): Promise<readonly string[]> {
  const { licenses } = await admin.listLicenses({ domainOrIp: domain })
  for (const { licenseKey, domainOrIp } of licenses)
    expect(coversHost(domainOrIp, domain), `${licenseKey}: ${domainOrIp} by ${domain}`).toBe(true)
  return licenses.map(({ licenseKey }) => licenseKey)
}

/** Reads lists, and moves licenses as a server of the new version does, until told to stop. */
async function serveNew(admin: Admin, keys: readonly string[], stop: AbortSignal): Promise<number> {
  let lists = 0
  for (let at = 0; !stop.aborted; at += 1) {
    const key = keys[at % keys.length] ?? ''
    // oxlint-disable-next-line no-await-in-loop -- one caller
    const license = await admin.getLicense(key)
    // oxlint-disable-next-line no-await-in-loop
    await listed(admin, license?.domainOrIp ?? '')
    lists += 1
    // oxlint-disable-next-line no-await-in-loop
    if (at % 3 === 0) await admin.updateLicense(key, { domainOrIp: `New-${at}.example` })
    // oxlint-disable-next-line no-await-in-loop
    await sleep(1)
  }
  return lists
}

/** Lets old and new servers work side by side for a while, and stops the old ones. */
async function stopOlder(servers: readonly Older[]): Promise<readonly OlderReport[]> {
  await sleep(3000)
  for (const server of servers) server.tell({ task: 'stop' })
  return Promise.all(servers.map(({ done }) => done as Promise<OlderReport>))
}

/** Does something for all, a few at a time. */
async function inGroups<Value>(
  values: readonly Value[],
  work: (value: Value) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < values.length; from += 20)
    // oxlint-disable-next-line no-await-in-loop
    await Promise.all(values.slice(from, from + 20).map(work))
}

/** Every license is found by its domain, and by no other that licenses had before. */
async function verifyAll(admin: Admin, former: readonly License[]): Promise<number> {
  const licenses = await allLicenses(admin)
  await inGroups(licenses, async ({ licenseKey, domainOrIp }) =>
    expect(await listed(admin, domainOrIp)).toContain(licenseKey),
  )
  await inGroups(former, ({ domainOrIp }) => listed(admin, domainOrIp))
  return licenses.length
}

test.skipIf(older === '').each(Object.keys(stores))(
  '%s: no license is listed under a domain that it does not have, whichever server moved it',
  { timeout },
  async (name) => {
    const { store, storage, close } = await (stores[name] as () => Promise<Opened>)()
    const first = await startOlder(store, 0)
    first.tell({ task: 'prepare', licenses: licenseCount })
    const { token, keys } = (await first.done) as { token: string; keys: string[] }
    const servers = [await startOlder(store, 1), await startOlder(store, 2)]
    for (const server of servers) server.tell({ task: 'serve', token, keys })
    await sleep(500)
    const begun = performance.now()
    await storage.migrate()
    const migratedMs = Math.round(performance.now() - begun)
    const admin = createAdmin({ storage })
    const former = await allLicenses(admin)
    const stop = new AbortController()
    const [lists, reports] = await Promise.all([
      serveNew(admin, keys, stop.signal),
      stopOlder(servers).finally(() => stop.abort()),
    ])
    const licenses = await verifyAll(admin, former)
    await storage.migrate()
    expect(await verifyAll(admin, former)).toBe(licenses)
    await close()
    console.log(name, JSON.stringify({ licenses, migratedMs, lists, reports }))
    expect(reports.map(({ refused }) => refused)).toEqual([{}, {}])
    expect(reports.every(({ moved }) => moved > 0)).toBe(true)
  },
)
