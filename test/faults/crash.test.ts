import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import type { AdminStorage } from 'utility-api/storage'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { execute, makePool, startPostgres } from '../storage/support/postgres-server.ts'
import { temporaryFile } from '../storage/support/sqlite-fixture.ts'
import { findBinaries } from './failover/binaries.ts'
import { freePort } from '../support/free-port.ts'
import { removeFolder } from '../support/remove-folder.ts'
import { makeDirectory, prepareTemplate } from './failover/cluster.ts'
import { PostgresNode } from './failover/node.ts'
import { createWorld, issueCodes, startLoad, type World } from './load.ts'
import { startServer } from './start.ts'
import { verifyLedger, verifyPairs, verifyRepeats, verifySeen, type Ask } from './verify.ts'

/** KILL_ROUNDS sets how often the plug is pulled on each store. */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 5)
const timeout = 60_000 + rounds * 20_000

function answers({ statuses }: World['ledger']): number {
  return [...statuses.values()].reduce((sum, count) => sum + count, 0)
}

/** Serves, loads, kills at a random moment, looks; again and again on the same data. */
async function pullThePlug(store: string, storage: AdminStorage, ask: Ask): Promise<object> {
  const world = await createWorld(storage)
  const { ledger } = world
  for (let round = 0; round < rounds; round += 1) {
    await issueCodes(world, Math.max(0, 300 - world.codes.length))
    const server = await startServer(store)
    const stop = startLoad(world, [server.origin])
    const before = answers(ledger)
    await expect.poll(() => answers(ledger), { timeout: 20_000 }).toBeGreaterThan(before)
    await sleep(Math.random() * 300)
    expect(server.running(), 'the server lives until it is killed').toBe(true)
    await server.kill()
    await stop()
    await verifyPairs(ask)
  }
  const { 200: right = 0, 500: failed = 0, ...others } = Object.fromEntries(ledger.statuses)
  expect(others).toEqual({})
  // A machine that does other work too opens a connection late now and then.
  expect(failed, 'before a crash answers are 200').toBeLessThan(1 + right / 100)
  await verifyLedger(world)
  const { licenses, tokens, maybe, maybeSpent, unanswered } = ledger
  const counts = { rounds, licenses: licenses.size, tokens: tokens.size }
  const lostAnswers = { generate: unanswered.size, update: maybe.size, exchange: maybeSpent.size }
  const server = await startServer(store)
  const seen = await verifyRepeats(world, server.origin)
  verifySeen(seen)
  await server.kill()
  return { ...counts, unanswered: lostAnswers, seen }
}

test('kill -9 of a server on SQLite loses no answered write', { timeout }, async ({ task }) => {
  const { path, remove } = temporaryFile()
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const ask: Ask = async (sql) => (database.prepare(sql).get() as { count: number }).count
  const figures = await pullThePlug(path, storage, ask)
  Object.assign(task.meta, { figures })
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  database.close()
  remove()
})

test('kill -9 of a server on PostgreSQL loses no answered write', { timeout }, async ({ task }) => {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const pool = makePool(url)
  const storage = postgresStorage(pool)
  await storage.migrate()
  const ask: Ask = async (sql) => ((await execute(url, sql))[0] as { count: string }).count
  const figures = await pullThePlug(url, storage, ask)
  Object.assign(task.meta, { figures })
  await pool.end()
  await postgres.stop()
})

const binaries = await findBinaries()
if (binaries === null) console.log('Skipped: there is no PostgreSQL here, or no user "postgres" to run it.')

test.skipIf(binaries === null)(
  'kill -9 of PostgreSQL under a server loses nothing that was answered, and the server goes on',
  { timeout },
  async ({ task }) => {
    if (binaries === null) return
    const folder = makeDirectory(binaries)
    onTestFinished(() => removeFolder(folder))
    const directory = await prepareTemplate(binaries, folder, async (url) => {
      const pool = new Pool({ connectionString: url })
      await postgresStorage(pool).migrate()
      await pool.end()
    })
    const node = new PostgresNode(binaries, 'crash', directory, await freePort())
    await node.start({})
    const pool = makePool(node.url)
    const world = await createWorld(postgresStorage(pool))
    const { statuses, licenses, tokens, unanswered, maybe, maybeSpent } = world.ledger
    const server = await startServer(node.url)
    for (let round = 0; round < rounds; round += 1) {
      await issueCodes(world, Math.max(0, 300 - world.codes.length))
      const stop = startLoad(world, [server.origin])
      const before = licenses.size
      await expect.poll(() => licenses.size, { timeout: 20_000 }).toBeGreaterThan(before)
      await sleep(Math.random() * 300)
      await node.crash()
      await node.start({})
      const after = licenses.size
      await expect.poll(() => licenses.size, { timeout: 20_000 }).toBeGreaterThan(after)
      await stop()
      await verifyPairs(async (sql) => (await node.query<{ count: string }>(sql))[0]?.count)
    }
    expect(server.running()).toBe(true)
    expect([...statuses.keys()].toSorted()).toEqual([200, 500])
    await verifyLedger(world)
    const lostAnswers = { generate: unanswered.size, update: maybe.size, exchange: maybeSpent.size }
    const counts = { rounds, licenses: licenses.size, tokens: tokens.size, unanswered: lostAnswers }
    Object.assign(task.meta, { figures: { ...counts, statuses: Object.fromEntries(statuses) } })
    verifySeen(await verifyRepeats(world, server.origin))
    await server.kill()
    await pool.end()
    await node.crash()
  },
)
