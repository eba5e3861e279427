/** A PostgreSQL that stands still, as behind a hanging disk, and goes on later. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmin } from 'utility-api'
import { postgresStorage, type PostgresClient, type PostgresPool } from 'utility-api/storage/postgres'
import { expect, test } from 'vitest'
import { execute, makePool, startPostgres } from '../../storage/support/postgres-server.ts'
import { createWorld, issueCodes, startLoad } from '../load.ts'
import { verifyLedger, verifyPairs, verifyRepeats } from '../verify.ts'
import { serveHere } from './serve.ts'

const freezes = Number(process.env['FREEZES'] ?? 1)
const storageTimeoutMs = 400

/** The processes of a server: the one that accepts connections, and one for each of them. */
async function processesOf(url: string): Promise<number[]> {
  const [{ data_directory: folder }] = (await execute(url, 'SHOW data_directory')) as [
    { data_directory: string },
  ]
  const [postmaster] = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')
  const backends = (await execute(url, 'SELECT pid FROM pg_stat_activity')) as { pid: number }[]
  return [Number(postmaster), ...backends.map(({ pid }) => pid)]
}

/** Sends a signal to processes, some of which may have ended by now. */
function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {}
  }
}

/** A pool that counts the licenses it has sent to the server. */
function countingPool(pool: PostgresPool): { pool: PostgresPool; sent: { licenses: number } } {
  const sent = { licenses: 0 }
  // The store listens to each client that it has not seen before.
  const known: WeakMap<PostgresClient, PostgresClient> = new WeakMap()
  function counted(client: PostgresClient): PostgresClient {
    const counting = known.get(client)
    if (counting !== undefined) return counting
    const { query } = client
    const made = Object.assign(Object.create(client) as PostgresClient, {
      query(statement: Parameters<typeof query>[0]) {
        if (typeof statement === 'object' && /INSERT INTO utility_api_licenses/.test(statement.text)) {
          const [first] = statement.values
          // One of several licenses takes arrays.
          sent.licenses += Array.isArray(first) ? first.length : 1
        }
        return client.query(statement)
      },
      release: (destroy?: boolean) => client.release(destroy),
    })
    known.set(client, made)
    return made
  }
  return { pool: { options: pool.options, connect: async () => counted(await pool.connect()) }, sent }
}

test(
  'a database that stands still: 500 in time, nothing begun for those who were told so, and all is well afterwards',
  { timeout: 60_000 + freezes * 10_000 },
  async ({ task, skip }) => {
    const postgres = await startPostgres()
    // Somebody else's server is not ours to stop.
    if (postgres.restart === undefined) return skip('the server is not ours')
    const url = await postgres.createDatabase()
    // Of sixteen clients most then wait for a connection.
    const realPool = makePool(url, 'read committed', 2)
    realPool.on('error', () => {})
    const { pool, sent } = countingPool(realPool)
    const storage = postgresStorage(pool)
    await storage.migrate()
    // Rows for the looks afterwards come from a pool of their own: the one above is measured.
    const adminPool = makePool(url)
    const world = await createWorld(postgresStorage(adminPool))
    const { licenses, statuses } = world.ledger
    const server = await serveHere({ storage, storageTimeoutMs })
    const count = async (): Promise<number> => {
      const [row] = (await execute(url, 'SELECT count(*) AS count FROM utility_api_licenses')) as [
        { count: string },
      ]
      return Number(row.count)
    }
    const inFlight: number[] = []
    for (let round = 0; round < freezes; round += 1) {
      await issueCodes(world, 500)
      const stop = startLoad(world, [server.origin])
      const seen = licenses.size
      await expect.poll(() => licenses.size, { timeout: 20_000 }).toBeGreaterThan(seen + 5)
      const pids = await processesOf(url)
      signal(pids, 'SIGSTOP')
      try {
        await sleep(2 * storageTimeoutMs)
        // Resolves when everybody has been answered: 500.
        await stop()
        inFlight.push(sent.licenses - licenses.size)
      } finally {
        signal(pids, 'SIGCONT')
      }
      const sentBefore = sent.licenses
      await sleep(2 * storageTimeoutMs)
      expect(sent.licenses, 'nothing is sent for those who have been told 500').toBe(sentBefore)
      expect(await count(), 'what was sent before is stored').toBe(sentBefore)
    }
    const figures = { freezes, statuses: Object.fromEntries(statuses), acknowledged: licenses.size, inFlight }
    Object.assign(task.meta, { figures })
    expect([...statuses.keys()].toSorted()).toEqual([200, 500])

    const after = { ...world, admin: createAdmin({ storage: world.storage }) }
    await verifyLedger(after)
    await verifyPairs(async (sql) => ((await execute(url, sql))[0] as { count: string }).count)
    await server.close()
    const patient = await serveHere({ storage: world.storage })
    await verifyRepeats(after, patient.origin)
    await patient.close()
    await Promise.all([realPool.end(), adminPool.end()])
    await postgres.stop()
  },
)
