import { sqliteStorage } from 'utility-api/storage/sqlite'
import { describe, expect, test } from 'vitest'
import { steps } from '../../adapters/storage/sqlite/schema-steps.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'
import { drivers, fileOf } from './support/sqlite-files.ts'
import { verifyStepUnderLoad, verifyTooNew } from './support/steps.ts'

describe.each(drivers)('%s', (_, openPath) => {
  const openFile = (): ReturnType<typeof fileOf> => fileOf(openPath)

  test('migrating twice, and from several processes at once, is the same as once', async () => {
    const { open } = openFile()
    await Promise.all(Array.from({ length: 5 }, () => sqliteStorage(open()).migrate()))
    const storage = sqliteStorage(open())
    expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
    await storage.migrate()
    expect((await storage.findLicense('a', call))?.licenseKey).toBe('a')
  })

  test('migrate() tells whether it changed anything, the journal included', async () => {
    const { open } = openFile()
    const storage = sqliteStorage(open())
    expect(await storage.migrate()).toEqual({ changed: true, warnings: [] })
    expect(await storage.migrate()).toEqual({ changed: false, warnings: [] })
    const { open: openRestored } = openFile()
    const restored = openRestored()
    for (const step of steps) restored.exec(step)
    restored.exec(`INSERT INTO utility_api_schema (version, step) VALUES (1, ${steps.length})`)
    expect(await sqliteStorage(restored).migrate()).toEqual({ changed: true, warnings: [] })
  })

  test('the error for a database without tables says what to do, and a health check sees that they are gone', async () => {
    const { open } = openFile()
    const storage = sqliteStorage(open())
    const error = await errorOf(() => storage.findClient('a', call))
    expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('run migrate()')])
    await storage.migrate()
    expect(await storage.findClient('a', call)).toBeNull()
    // The reads of one turn share a snapshot.
    await new Promise((resolve) => setImmediate(resolve))
    open().exec('DROP TABLE utility_api_schema')
    await expect(async () => storage.ping?.(call)).rejects.toThrow('no such table')
  })

  test('tables without the row that says their version are refused with a clear error', async () => {
    const { open } = openFile()
    const database = open()
    await sqliteStorage(database).migrate()
    database.exec('DELETE FROM utility_api_schema')
    const error = await errorOf(() => sqliteStorage(open()).migrate())
    expect([error.kind, error.message]).toEqual([
      'invalid',
      expect.stringContaining('utility_api_schema has no row'),
    ])
  })

  test('a connection that may only read migrates a schema that is current, and reads', async () => {
    const { open } = openFile()
    await sqliteStorage(open()).migrate()
    const database = open()
    database.exec('PRAGMA query_only = ON')
    const storage = sqliteStorage(database)
    await storage.migrate()
    expect(await storage.findClient('a', call)).toBeNull()
  })

  test('a schema newer than this version is refused, before anything is read or written', async () => {
    const { open } = openFile()
    const database = open()
    await sqliteStorage(database).migrate()
    database.exec('UPDATE utility_api_schema SET version = 99')
    const storage = sqliteStorage(open())
    await verifyTooNew(storage)
  })

  test('a step is taken once, while servers of before serve and several migrate, and those of before start again', async () => {
    const { open } = openFile()
    await verifyStepUnderLoad({
      steps,
      step: `ALTER TABLE utility_api_codes ADD COLUMN planted TEXT;
        CREATE INDEX utility_api_planted ON utility_api_licenses (status)`,
      open: () => sqliteStorage(open()),
      readSchema: async () => ({ ...open().prepare('SELECT * FROM utility_api_schema').get()! }),
    })
  })

  test('lists and revokes by index, so that the tables may grow', async () => {
    const database = openFile().open()
    await sqliteStorage(database).migrate()
    const credentials = 'FROM utility_api_credentials WHERE'
    const plans = [
      `SELECT 1 ${credentials} rowid > 5 AND kind <> 'access_token' AND kind = +'api_key' ORDER BY rowid LIMIT +5`,
      `SELECT 1 ${credentials} rowid > 5 AND bought IS NULL AND kind = +'api_key' AND owner_id = +'a' ORDER BY rowid LIMIT +5`,
      `SELECT 1 ${credentials} rowid > 5 AND kind = 'access_token' ORDER BY rowid LIMIT 5`,
      `SELECT 1 ${credentials} owner_id = 'a' AND bought IS NULL AND kind = 'access_token' AND revoked_at IS NULL`,
      `SELECT 1 ${credentials} hash IN (SELECT token_hash FROM utility_api_codes WHERE client_id = 'a') AND kind = 'access_token'`,
      `SELECT 1 ${credentials} subject = 'a' AND bought IS NULL AND kind = 'access_token' AND revoked_at IS NULL`,
      `SELECT 1 ${credentials} hash IN (SELECT token_hash FROM utility_api_codes WHERE subject = 'a') AND kind = 'access_token'`,
      "SELECT 1 FROM utility_api_codes WHERE client_id = 'a' AND redeemed_at IS NULL",
      "SELECT 1 FROM utility_api_codes WHERE subject = 'a' AND redeemed_at IS NULL",
      'SELECT 1 FROM utility_api_resellers WHERE (created_at, reseller_id) > (1, 1) ORDER BY created_at, reseller_id',
      'SELECT 1 FROM utility_api_clients WHERE (created_at, client_id) > (1, 1) ORDER BY created_at, client_id',
      `SELECT 1 ${credentials} kind = 'access_token' AND expires_at <= 1`,
      'SELECT rowid FROM utility_api_codes WHERE rowid > 1 ORDER BY rowid LIMIT 1 OFFSET 5',
      'SELECT 1 FROM utility_api_idempotency_keys WHERE expires_at <= 1',
      "SELECT 1 FROM utility_api_licenses WHERE reseller_id = +'a' AND seq > 5 AND seq <= 9 ORDER BY seq LIMIT +5",
      "SELECT 1 FROM utility_api_licenses WHERE compared_domain = +'a' AND seq > 5 AND seq <= 9 ORDER BY seq LIMIT +5",
      "SELECT 1 FROM utility_api_licenses WHERE compared_domain = +'a' AND +reseller_id = +'r' AND status = +'valid' AND seq > 5 AND seq <= 9 ORDER BY seq LIMIT +5",
    ].map((sql) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()))
    expect(plans.filter((plan) => !plan.includes('SEARCH') || plan.includes('TEMP B-TREE'))).toEqual([])
  })
})
