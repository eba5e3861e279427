import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'
import { runServer } from '../../support/run-server.ts'
import { makeFolderFor, serverUser } from '../../support/server-user.ts'

/** What PgBouncer lends a server connection for. */
export type PoolMode = 'session' | 'transaction' | 'statement'

/** A PgBouncer of this process, on loopback. */
export interface Pooler {
  /** The same database by way of the pooler. */
  behind(databaseUrl: string): string
  stop(): Promise<void>
}

/** TEST_PGBOUNCER names another version. */
const program = process.env['TEST_PGBOUNCER'] ?? '/usr/sbin/pgbouncer'

/** Why there is no pooler to test with; null where there is one. */
export function whyNoPgbouncer(): string | null {
  return existsSync(program) ? null : `skipped: there is no ${program} (Debian: pgbouncer)`
}

/** Starts a pooler before a PostgreSQL server. `settings` are lines of its configuration. */
export async function startPgbouncer(
  serverUrl: string,
  mode: PoolMode,
  settings: readonly string[] = [],
): Promise<Pooler> {
  const { hostname, port: serverPort, username, password } = new URL(serverUrl)
  // PgBouncer does not run as root.
  const user = serverUser('postgres')
  const folder = makeFolderFor(user, 'utility-api-pgbouncer-')
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'max_client_conn = 500',
    ...settings,
  ]
  writeFileSync(file, lines.join('\n'), { mode: 0o644 })
  const server = await runServer(program, [file], /process up/, user)
  return {
    behind: (databaseUrl) =>
      Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    async stop() {
      await server.end('SIGINT')
      removeFolder(folder)
    },
  }
}
