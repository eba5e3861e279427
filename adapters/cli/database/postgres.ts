import { Socket } from 'node:net'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { resolvePackage, type OpenDatabase, type TimeLimits } from './drivers.ts'
import { redactorOf } from './redact.ts'

interface PgModule {
  readonly default: {
    readonly Pool: new (config: object) => PostgresPool & { end(): Promise<void> }
  }
}

export async function openPostgres(connectionString: string, limits: TimeLimits): Promise<OpenDatabase> {
  const path = resolvePackage('pg')
  if (path === null) {
    throw new Error(
      'PostgreSQL needs a driver. Install it next to utility-api with: npm install pg\n' +
        'Or set UTILITY_API_DRIVERS to the folder of a project that has it.',
    )
  }
  const { default: pg } = (await import(path)) as PgModule
  const sockets = new Set<Socket>()
  const stream = (): Socket => {
    const socket = new Socket()
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }
  const pool = new pg.Pool({
    connectionString,
    connectionTimeoutMillis: limits.connectMs,
    statement_timeout: limits.statementMs,
    stream,
  })
  const storage = postgresStorage(pool)
  const close = async (): Promise<void> => {
    await storage.close?.()
    await pool.end()
    // If a login fails in the driver, it leaves its socket open, and the command would hang until the server closes it.
    for (const socket of sockets) socket.destroy()
  }
  return { storage, redact: redactorOf(connectionString), close }
}
