import { Socket } from 'node:net'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { importDriver, type OpenDatabase } from './drivers.ts'
import { redactorOf } from './redact.ts'
import type { TimeLimits } from './time-limits.ts'

interface PgModule {
  readonly default: {
    readonly Pool: new (config: object) => PostgresPool & { end(): Promise<void> }
  }
}

export async function openPostgres(connectionString: string, limits: TimeLimits): Promise<OpenDatabase> {
  const { default: pg } = (await importDriver('pg', 'PostgreSQL')) as PgModule
  const sockets = new Set<Socket>()
  const stream = (): Socket => {
    const socket = new Socket()
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }
  const options = { connectionString, connectionTimeoutMillis: limits.connectMs, stream }
  const pool = new pg.Pool({ ...options, statement_timeout: limits.statementMs })
  const behindPooler = new pg.Pool(options)
  const storage = postgresStorage(eitherOf(pool, behindPooler))
  const close = async (): Promise<void> => {
    await Promise.all([pool.end(), behindPooler.end()])
    // If a login fails in the driver, it leaves its socket open, and the command would hang until the server closes it.
    for (const socket of sockets) socket.destroy()
  }
  return { storage, redact: redactorOf(connectionString), close }
}

/**
 * Lends connections of the second pool once the first finds a pooler that refuses its time limit, because behind that,
 * only the role can have one.
 */
function eitherOf(first: PostgresPool, second: PostgresPool): PostgresPool {
  let pool = first
  return {
    // Not the time limit, because the storage would refuse a pooler that ignores it.
    options: { max: first.options.max },
    async connect() {
      try {
        return await pool.connect()
      } catch (error) {
        if (!/unsupported startup parameter/.test(String(error))) throw error
        pool = second
        return pool.connect()
      }
    },
    on: (...listening: [never, never]) => [first.on?.(...listening), second.on?.(...listening)],
    listenerCount: (event) => first.listenerCount?.(event) ?? 0,
  }
}
