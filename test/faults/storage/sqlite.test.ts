/** A SQLite file that is full, read-only or closed in the middle of the work. */
import { DatabaseSync } from 'node:sqlite'
import { createAdmin, createUtilityApi } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { temporaryFile } from '../../storage/support/sqlite-fixture.ts'
import { createWorld, generate, issueCodes, startLoad, type World } from '../load.ts'
import { verifyLedger, verifyPairs, verifyRepeats } from '../verify.ts'
import { serveHere } from './serve.ts'
import { eventually } from '../../support/eventually.ts'

interface UnderLoad {
  /** The connection that serves. */
  readonly database: DatabaseSync
  count(status: number): number
  /** Resolves after so many more answers of a status. */
  more(status: number, answers: number): Promise<void>
}

/** Causes trouble under load, then looks at everything through another connection. */
async function withLoad(trouble: (underLoad: UnderLoad) => Promise<void>): Promise<object> {
  const { path, remove } = temporaryFile()
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const world = await createWorld(storage)
  await issueCodes(world, 2000)
  const { statuses, licenses, tokens } = world.ledger
  const server = await serveHere({ storage })
  const count = (status: number): number => statuses.get(status) ?? 0
  async function more(status: number, answers: number): Promise<void> {
    const wanted = count(status) + answers
    await eventually(() => expect(count(status)).toBeGreaterThanOrEqual(wanted))
  }
  const stop = startLoad(world, [server.origin])
  try {
    await more(200, 100)
    await trouble({ database, count, more })
  } finally {
    await stop()
  }
  const figures = { statuses: Object.fromEntries(statuses), licenses: licenses.size, tokens: tokens.size }
  expect([...statuses.keys()].toSorted()).toEqual([200, 500])
  await verifyFile(world, path)
  if (database.isOpen) {
    await verifyRepeats(world, server.origin)
    database.close()
  }
  await server.close()
  remove()
  return figures
}

async function verifyFile(world: World, path: string): Promise<void> {
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await verifyLedger({ ...world, storage, admin: createAdmin({ storage }) })
  await verifyPairs(async (sql) => (database.prepare(sql).get() as { count: number }).count)
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  database.close()
}

test('a full disk: 500 until there is space again, and nothing lost', async ({ task }) => {
  const figures = await withLoad(async ({ database, more }) => {
    for (let round = 0; round < 2; round += 1) {
      const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number }
      database.exec(`PRAGMA max_page_count = ${pages + 20}`)
      await more(500, 20)
      database.exec('PRAGMA max_page_count = 1000000')
      await more(200, 100)
    }
  })
  Object.assign(task.meta, { figures })
})

test('a file that turns read-only and back: 500 meanwhile', async ({ task }) => {
  const figures = await withLoad(async ({ database, more }) => {
    for (let round = 0; round < 2; round += 1) {
      database.exec('PRAGMA query_only = ON')
      await more(500, 20)
      database.exec('PRAGMA query_only = OFF')
      await more(200, 100)
    }
  })
  Object.assign(task.meta, { figures })
})

test('a connection closed by the host: 500 from then on', async ({ task }) => {
  const figures = await withLoad(async ({ database, count, more }) => {
    database.close()
    await more(500, 50)
    const done = count(200)
    await more(500, 50)
    expect(count(200)).toBe(done)
  })
  Object.assign(task.meta, { figures })
})

test('a file opened read-only: reads are answered, writes are 500', async () => {
  const { path, remove } = temporaryFile()
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const world = await createWorld(storage)
  const server = await serveHere({ storage })
  const licenseKey = (await generate(world, server.origin)) ?? ''
  const { accessToken } = await world.admin.createAccessToken({ scope: '' })
  await server.close()

  const reader = new DatabaseSync(path, { readOnly: true })
  const readOnly = sqliteStorage(reader)
  const api = createUtilityApi({ storage: readOnly, dns: false, blockgame: false })
  expect(await api.verifyAccessToken(accessToken)).toMatchObject({ scope: '' })
  expect(await api.findLicense(licenseKey)).toMatchObject({ licenseKey })
  const readServer = await serveHere({ storage: readOnly })
  expect(await generate(world, readServer.origin)).toBeUndefined()
  expect(world.ledger.statuses.get(500)).toBe(1)
  expect(database.prepare('SELECT count(*) AS count FROM utility_api_licenses').get()).toEqual({ count: 1 })
  await readServer.close()
  reader.close()
  database.close()
  remove()
})
