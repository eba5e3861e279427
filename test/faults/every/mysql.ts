import type { Pool } from 'mysql2/promise'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { emptyTables, makePool, startMysql } from '../../storage/support/mysql-server.ts'
import type { Place } from './place.ts'
import { Steps } from './steps.ts'

type Done = (error: Error | null, ...answer: unknown[]) => void
type Send = (...args: unknown[]) => unknown

/** Cuts a connection at the chosen step, before its statement is sent or after it was done. */
function cutting(pool: Pool, steps: Steps, isDone: () => boolean): Pool {
  pool.on('connection', (connection) => {
    const raw = connection as unknown as Record<'query' | 'execute', Send> & { stream: { destroy(): void } }
    for (const method of ['query', 'execute'] as const) {
      const send = raw[method].bind(raw)
      raw[method] = (...args) => {
        if (!steps.take()) return send(...args)
        if (!isDone()) {
          raw.stream.destroy()
          return send(...args)
        }
        const done = args.at(-1) as Done
        return send(...args.slice(0, -1), () => {
          raw.stream.destroy()
          done(Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true }))
        })
      }
    }
  })
  return pool
}

/** Starts a server, and returns the faults of a store on it. */
export async function mysqlPlaces(): Promise<{ places: readonly Place[]; stop(): Promise<void> }> {
  const server = await startMysql()
  const url = await server.createDatabase()
  const steps = new Steps()
  let done = false
  const direct = makePool(url)
  const pools = [makePool(url), makePool(url)].map((pool) => cutting(pool, steps, () => done)) as [Pool, Pool]
  await mysqlStorage(direct).migrate()
  const place = (fault: string, isDone: boolean): Place => ({
    store: 'MariaDB',
    fault,
    steps,
    async make() {
      done = isDone
      await emptyTables(direct)
      const [storage, second] = pools.map((pool) => mysqlStorage(pool))
      if (storage === undefined || second === undefined) throw new Error('two stores')
      await Promise.all([storage, second].map((each) => each.findClient('', { timeLeftMs: () => 5000 })))
      return { storage, second, lift() {}, reopen: () => mysqlStorage(pools[0]), close() {} }
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
