import type { Pool, PoolClient } from 'pg'
import { postgresStorage } from 'utility-api/storage/postgres'
import { emptyTables, makePool, startPostgres } from '../../storage/support/postgres-server.ts'
import type { Place } from './place.ts'
import { Steps } from './steps.ts'

type Query = (statement: unknown) => Promise<unknown>

/** Cuts a connection at the chosen step, before its statement is sent or after it was done. */
function cutting(pool: Pool, steps: Steps, isDone: () => boolean): Pool {
  pool.on('error', () => {})
  pool.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as Query
    const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
    const cut: Query = async (statement) => {
      if (!steps.take()) return query(statement)
      if (isDone()) await query(statement).catch(() => {})
      stream.destroy()
      if (!isDone()) return query(statement)
      throw new Error('Connection terminated unexpectedly')
    }
    Object.assign(client, { query: cut })
  })
  return pool
}

/** Starts a server, and returns the faults of a store on it. */
export async function postgresPlaces(): Promise<{ places: readonly Place[]; stop(): Promise<void> }> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  const steps = new Steps()
  let done = false
  const direct = makePool(url)
  const pools = [makePool(url), makePool(url)].map((pool) => cutting(pool, steps, () => done)) as [Pool, Pool]
  await postgresStorage(direct).migrate()
  const place = (fault: string, isDone: boolean): Place => ({
    store: 'PostgreSQL',
    fault,
    steps,
    async make() {
      done = isDone
      await emptyTables(direct)
      const [storage, second] = pools.map((pool) => postgresStorage(pool))
      if (storage === undefined || second === undefined) throw new Error('two stores')
      await Promise.all([storage, second].map((each) => each.findClient('', { timeLeftMs: () => 5000 })))
      return { storage, second, lift() {}, reopen: () => postgresStorage(pools[0]), close() {} }
    },
  })
  return {
    places: [place('connection cut before', false), place('connection cut after', true)],
    async stop() {
      await Promise.all([...pools, direct].map((pool) => pool.end()))
      await server.stop()
    },
  }
}
