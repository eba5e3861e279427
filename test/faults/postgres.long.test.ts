import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmin } from 'utility-api'
import { postgresStorage } from 'utility-api/storage/postgres'
import { expect, test } from 'vitest'
import { execute, makePool, startPostgres } from '../storage/support/postgres-server.ts'
import { createWorld, generate, issueCodes, startLoad, type World } from './load.ts'
import { startServer, type ServerProcess } from './start.ts'
import { verifyLedger, verifyPairs, verifyRepeats, verifySeen } from './verify.ts'

const killBackends = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`

/** Resolves once a server answers 200 again, all by itself. */
async function recovery(world: World, { origin }: ServerProcess): Promise<void> {
  const deadline = Date.now() + 15_000
  while (Date.now() < deadline) {
    if ((await generate(world, origin)) !== undefined) return
    await sleep(50)
  }
  throw new Error('the service did not come back')
}

test('killed backends and a restart of PostgreSQL: 500 meanwhile, no acknowledged write lost, and automatic recovery', async () => {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const before = makePool(url)
  await postgresStorage(before).migrate()
  const world = await createWorld(postgresStorage(before))
  await issueCodes(world, 3000)
  await before.end()

  const servers = await Promise.all([startServer(url), startServer(url)])
  const stop = startLoad(
    world,
    servers.map(({ origin }) => origin),
  )
  for (let round = 0; round < 20; round += 1) {
    await sleep(50 + Math.random() * 100)
    await execute(url, killBackends)
  }
  await Promise.all(servers.map((server) => recovery(world, server)))
  if (postgres.restart !== undefined) {
    await postgres.restart()
    await sleep(300)
    await Promise.all(servers.map((server) => recovery(world, server)))
  }
  await stop()

  const { statuses, licenses, tokens, unanswered } = world.ledger
  console.log('statuses', Object.fromEntries(statuses), 'licenses', licenses.size, 'tokens', tokens.size)
  expect(servers.map((server) => server.running())).toEqual([true, true])
  expect([...statuses.keys()].toSorted()).toEqual([200, 500])
  expect(unanswered.size, 'the trouble reached somebody').toBeGreaterThan(0)

  const pool = makePool(url)
  pool.on('error', () => {})
  const storage = postgresStorage(pool)
  const after = { ...world, storage, admin: createAdmin({ storage }) }
  await verifyLedger(after)
  await verifyPairs(async (sql) => ((await execute(url, sql))[0] as { count: string }).count)
  verifySeen(await verifyRepeats(after, servers[1].origin))
  await Promise.all(servers.map((server) => server.kill()))
  await pool.end()
  await postgres.stop()
}, 120_000)
