import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { temporaryFile } from '../storage/support/sqlite-fixture.ts'
import { createWorld, exchange, issueCodes, startLoad } from './load.ts'
import type { Stalls } from './server.ts'
import { startServer } from './start.ts'
import { verifyLedger, verifyPairs } from './verify.ts'

/** FAULT_SECONDS sets how long the two write. */
const seconds = Number(process.env['FAULT_SECONDS'] ?? 4)

test(
  'two servers write one SQLite file without a failure and without standing still for each other',
  async () => {
    const { path, remove } = temporaryFile()
    const database = new DatabaseSync(path)
    const storage = sqliteStorage(database)
    await storage.migrate()
    const world = await createWorld(storage)
    await issueCodes(world, 2000 * Math.max(1, seconds / 4))

    const servers = await Promise.all([startServer(path), startServer(path)])
    const stop = startLoad(
      world,
      servers.map(({ origin }) => origin),
    )
    await sleep(500)
    for (const server of servers) server.watch()
    await sleep(seconds * 1000)
    const stallsOfAll = (): Promise<Stalls[]> => Promise.all(servers.map((server) => server.stalls()))
    const stalls = await stallsOfAll()

    // A lock that stays taken is tried for again and again within the 5 s that a request waits. Left to the driver, the
    // first try would stand still for all of them. Tries are counted, because a busy machine stretches every time.
    const holder = new DatabaseSync(path, { timeout: 5000 })
    holder.exec('BEGIN IMMEDIATE')
    for (const server of servers) server.watch()
    // oxlint-disable-next-line no-await-in-loop -- until both have tried
    while ((await stallsOfAll()).some(({ busy }) => busy < 30)) await sleep(10)
    holder.exec('COMMIT')
    holder.close()
    await stop()

    const { statuses, licenses, tokens } = world.ledger
    console.log(
      'statuses',
      Object.fromEntries(statuses),
      'licenses',
      licenses.size,
      'tokens',
      tokens.size,
      stalls,
    )
    expect([...statuses.keys()]).toEqual([200])
    await verifyLedger(world)
    await verifyPairs(async (sql) => (database.prepare(sql).get() as { count: number }).count)

    await issueCodes(world, 100)
    for (const code of world.codes.splice(-100)) {
      const answers = await Promise.all(servers.map(({ origin }) => exchange(world, origin, code)))
      expect(answers.map((answer) => answer?.status).toSorted(), 'one code, two processes').toEqual([
        200, 400,
      ])
    }
    await Promise.all(servers.map((server) => server.kill()))
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    database.close()
    remove()
  },
  60_000 + seconds * 2000,
)
