import type { Pool, PoolClient } from 'pg'
import { postgresStorage } from 'utility-api/storage/postgres'
import { bindAdmin } from '../../../src/testing/contract/bound.ts'
import { call as inTime } from '../../storage/support/call.ts'
import { makePool, startPostgres, tables } from '../../storage/support/postgres-server.ts'
import type { Choose } from './every-way.ts'
import { readable } from './judged.ts'
import { serverOf } from './memory-race.ts'
import { Race, type Lane } from './race.ts'
import type { Call } from './requests.ts'
import { setUp, type Readable, type Server } from './world.ts'

/** A real server, and two stores on it. */
export interface PostgresPlace {
  readonly rows: Readable
  /** Takes the rows back to those that there were before the two calls. */
  reset(): Promise<void>
  race(calls: readonly [Call, Call], choose: Choose, faults: boolean): Promise<Race>
  stop(): Promise<void>
}

type Query = (statement: unknown) => Promise<{ readonly rowCount: number | null }>

/** Runs statements as a lane says, while there is one. */
interface Gate {
  lane: Lane | undefined
  faultOf: (possible: number) => number
  process: number
}

/**
 * Takes each statement that writes in two steps: it is done, and it is committed. What it has locked until then, a
 * statement of the other server waits for. One that reads, or has changed nothing, is one step: there is nothing that
 * the other could see or not see until a commit.
 */
function gated(pool: Pool, gate: Gate): Pool {
  pool.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as Query
    const { processID } = client as unknown as { processID: number }
    Object.assign(client, { query: (statement: unknown) => inSteps(gate, query, statement, processID) })
  })
  return pool
}

async function inSteps(gate: Gate, query: Query, statement: unknown, process: number): Promise<unknown> {
  const { lane } = gate
  const { text } = statement as { text?: string }
  // Without a name, the store asks whether an idle connection is still there.
  if (lane === undefined || text === undefined) return query(statement)
  const step = (): Promise<void> => new Promise((resolve) => lane.wait(resolve))
  await step()
  if (gate.faultOf(2) === 1) throw cut()
  if (text.startsWith('/*NO LOAD BALANCE*/')) return query(statement)
  gate.process = process
  await query('BEGIN')
  const answer = await query(statement).catch(async (error: unknown) => {
    await query('ROLLBACK')
    throw error
  })
  const hasChanged = answer.rowCount !== 0
  if (hasChanged) await step()
  const fault = hasChanged ? gate.faultOf(3) : 0
  await query(fault === 1 ? 'ROLLBACK' : 'COMMIT')
  if (fault > 0) throw cut()
  return answer
}

/** What the driver throws if a connection is lost. The store closes this one. */
function cut(): Error {
  return new Error('Connection terminated unexpectedly')
}

export async function startPlace(isolation: string): Promise<PostgresPlace> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  const direct = makePool(url)
  const storage = postgresStorage(direct)
  await storage.migrate()
  await setUp(bindAdmin(storage))
  const copies = tables.split(', ')
  for (const table of copies)
    // oxlint-disable-next-line no-await-in-loop -- six
    await direct.query(`CREATE TABLE before_${table} AS SELECT * FROM ${table}`)
  const reset = copies.map(
    (table) =>
      `DELETE FROM ${table}; INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM before_${table};`,
  )
  const gates: Gate[] = []
  const pools: Pool[] = []
  const servers: Server[] = []
  for (const name of ['a', 'b']) {
    const gate: Gate = { lane: undefined, faultOf: () => 0, process: 0 }
    const pool = gated(makePool(url, isolation, 2), gate)
    const store = postgresStorage(pool)
    // oxlint-disable-next-line no-await-in-loop -- two
    await store.findClient('', inTime)
    gates.push(gate)
    pools.push(pool)
    servers.push(serverOf(name, store))
  }
  return {
    rows: readable(storage),
    async reset() {
      await direct.query(reset.join(' '))
    },
    async race(calls, choose, faults) {
      const race = new Race()
      let faultLeft = faults
      for (const [index, gate] of gates.entries()) {
        const lane = race.lanes[index] as Lane
        gate.lane = lane
        gate.faultOf = (possible) => {
          const fault = faultLeft ? choose(possible) : 0
          faultLeft &&= fault === 0
          lane.hadFault ||= fault > 0
          return fault
        }
        void lane.follow((calls[index] as Call).ask(servers[index] as Server))
      }
      await race.run(choose, {
        async watch() {
          const { steps } = race
          const { rows } = await direct.query<{ pid: number }>(
            'SELECT pid FROM unnest($1::integer[]) AS pid WHERE pg_blocking_pids(pid) && $1',
            [gates.map(({ process }) => process)],
          )
          for (const { lane, process } of gates)
            if (steps === race.steps && lane?.state === 'busy' && rows.some(({ pid }) => pid === process))
              lane.become('blocked')
        },
        goOn() {
          throw new Error('Each waits for the other.')
        },
      })
      for (const gate of gates) gate.lane = undefined
      return race
    },
    async stop() {
      await Promise.all([direct, ...pools].map((pool) => pool.end()))
      await server.stop()
    },
  }
}
