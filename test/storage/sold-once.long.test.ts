/** A reference is sold once, for ever, whatever is killed; and what is erased is gone from the files. */
import { fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createAdmin, createUtilityApi, type Admin } from 'utility-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRaceStore, type RaceStore } from '../http/support/race-store.ts'
import { removeFolder } from '../support/remove-folder.ts'
import * as mysql from './support/mysql-server.ts'
import * as postgres from './support/postgres-server.ts'
import type { Sold } from './support/sold-worker.ts'

const payments = Number(process.env['SOLD_PAYMENTS'] ?? 25)

interface Place {
  readonly target: string
  /** Where the tables are. */
  readonly folder: string
  /** Writes what is in memory to the files. */
  flush(): Promise<unknown>
  /** The database's own way to give back the space of what was deleted. */
  cleanUp(): Promise<unknown>
  stop(): Promise<unknown>
}

const isTable = (name: string): boolean => /^\d+$|\.ibd$|\.sqlite(?:-wal)?$/.test(name)

const places: Record<string, () => Promise<Place>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'utility-api-sold-'))
    const target = join(folder, 'sold.sqlite')
    const run = async (sql: string): Promise<void> => {
      // By the library that the store uses: a second one in this process would take the store's locks away.
      const database = new Database(target)
      database.exec(sql)
      database.close()
    }
    const flush = (): Promise<void> => run('PRAGMA wal_checkpoint(TRUNCATE)')
    return {
      target,
      folder,
      flush,
      cleanUp: () => run('VACUUM').then(flush),
      stop: async () => removeFolder(folder),
    }
  },
  async PostgreSQL() {
    const server = await postgres.startPostgres()
    const target = await server.createDatabase()
    const run = (sql: string): Promise<unknown[]> => postgres.execute(target, sql)
    const [row] = (await run("SELECT current_setting('data_directory') AS folder")) as { folder: string }[]
    const folder = join(row?.folder ?? '', 'base')
    const flush = (): Promise<unknown> => run('CHECKPOINT')
    return { target, folder, flush, cleanUp: () => run('VACUUM FULL').then(flush), stop: server.stop }
  },
  async MariaDB() {
    const server = await mysql.startMysql()
    const target = await server.createDatabase()
    const run = (sql: string): Promise<unknown> => mysql.execute(target, sql)
    const [row] = (await run('SELECT @@datadir AS folder')) as { folder: string }[]
    const flush = (): Promise<unknown> =>
      run('FLUSH TABLES utility_api_licenses, utility_api_idempotency_keys FOR EXPORT')
    const cleanUp = (): Promise<unknown> =>
      run('OPTIMIZE TABLE utility_api_licenses, utility_api_idempotency_keys').then(flush)
    return { target, folder: row?.folder ?? '', flush, cleanUp, stop: server.stop }
  },
}

const names = Object.keys(places).filter((name) => name !== 'MariaDB' || mysql.whyNoMysql() === null)

describe.each(names)('%s', (name) => {
  let place: Place
  let store: RaceStore
  let admin: Admin
  beforeAll(async () => {
    place = await (places[name] as () => Promise<Place>)()
    store = openRaceStore(place.target)
    await store.migrate()
    admin = createAdmin({ storage: store.storage })
    await admin.createReseller({ resellerId: 'shop' })
    await admin.createReseller({ resellerId: 'other' })
  }, 60_000)
  afterAll(async () => {
    await store?.close()
    await place?.stop()
  }, 60_000)

  test(`100 racers over two processes, which are killed: one license for each of ${payments} payments`, async () => {
    const told = Array.from({ length: payments }, () => new Set<string>())
    const counts: number[] = []
    /** Sells the payments from one on in a process, and where that is killed, goes on in another. */
    async function sell(from: number, mayKill: boolean): Promise<void> {
      let next = from
      const args = [place.target, String(from), String(payments)]
      const execArgv = ['--import', './test/support/sources.ts']
      const worker = fork('test/storage/support/sold-worker.ts', args, { execArgv })
      worker.on('message', ({ payment, keys, created }: Sold) => {
        next = payment + 1
        for (const key of keys) told[payment]?.add(key)
        counts[payment] = (counts[payment] ?? 0) + created
      })
      if (mayKill)
        worker.once('message', () => setTimeout(() => worker.kill('SIGKILL'), randomInt(300)).unref())
      const [code] = (await once(worker, 'exit')) as [number | null]
      expect(code ?? 0, 'it fails only where it is killed').toBe(0)
      return next < payments ? sell(next, false) : undefined
    }
    await Promise.all([sell(0, true), sell(0, true)])
    expect(told.map(({ size }) => size)).toEqual(told.map(() => 1))
    expect(Math.max(...counts)).toBe(1)
    expect(await admin.countLicenses({ resellerId: 'shop' })).toBe(payments)
    for (const [payment, keys] of told.entries()) {
      // oxlint-disable-next-line no-await-in-loop -- some dozens
      const { licenses } = await admin.listLicenses({ reference: `pay_${payment}` })
      expect(licenses.map(({ licenseKey }) => licenseKey)).toEqual([...keys])
    }
  }, 120_000)

  test('a repeat after a move, an end, an erasure and a deletion sells nothing', async () => {
    const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example', reference: 'late' }
    const { licenseKey } = await admin.createLicense(sold)
    const changes = [{ resellerId: 'other' }, { expiresAt: new Date(1) }, { registeredTo: 'erased' }]
    for (const change of changes) {
      // oxlint-disable-next-line no-await-in-loop -- a few
      await admin.updateLicense(licenseKey, change)
      // oxlint-disable-next-line no-await-in-loop -- a few
      expect(await admin.createLicense(sold)).toMatchObject({ licenseKey, created: false })
    }
    await admin.deleteLicense(licenseKey)
    await admin.purgeExpired()
    await expect(admin.createLicense(sold)).rejects.toMatchObject({ argument: 'reference' })
  })

  test('a name that is erased or deleted is in no file of the tables after their clean-up', async () => {
    const [erased, deleted] = ['Ersilia Qx7-Vanth', 'Bertilde Kv3-Orm']
    const api = createUtilityApi({ storage: store.storage, dns: false, blockgame: false })
    const { token } = await admin.createResellerToken('shop')
    const sell = async (registeredTo: string): Promise<string[]> => {
      const headers = { 'x-registered-to': registeredTo, 'x-domain-or-ip': 'a.example', 'x-status': 'valid' }
      const request = new Request('http://host/v2/reseller/licenses/generate', {
        method: 'POST',
        headers: {
          ...headers,
          authorization: `Bearer ${token}`,
          'idempotency-key': registeredTo.slice(0, 4),
        },
      })
      const { data } = (await (await api.fetch(request)).json()) as { data: { license_key: string } }
      const fields = { resellerId: 'shop', registeredTo, domainOrIp: 'a.example' }
      const { licenseKey } = await admin.createLicense({ ...fields, reference: registeredTo.slice(0, 4) })
      return [data.license_key, licenseKey]
    }
    const filesWith = (text: string): string[] =>
      readdirSync(place.folder, { recursive: true, withFileTypes: true }).flatMap((file) => {
        if (!file.isFile() || !isTable(file.name)) return []
        return readFileSync(join(file.parentPath, file.name)).includes(text) ? [file.name] : []
      })
    const [toErase, toDelete] = [await sell(erased), await sell(deleted)]
    await place.flush()
    expect([erased, deleted].map((each) => filesWith(each).length)).toEqual([1, 1])
    await Promise.all(toErase.map((key) => admin.updateLicense(key, { registeredTo: 'erased' })))
    await Promise.all(toDelete.map((key) => admin.deleteLicense(key)))
    await place.cleanUp()
    expect([erased, deleted].flatMap(filesWith)).toEqual([])
    expect(await admin.getLicense(toErase[0] ?? '')).toMatchObject({ registeredTo: 'erased' })
    await api.close()
  }, 60_000)
})
