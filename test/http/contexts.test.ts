/** A function of the host runs in the async context of the caller that it is called for, or in that of nobody. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startMysql, whyNoMysql } from '../storage/support/mysql-server.ts'
import { startPostgres } from '../storage/support/postgres-server.ts'
import { missingRuntime, remotes, type Remote } from './support/remote.ts'

const calls = process.env['CONTEXT_CALLS']
const program = 'test/http/support/contexts-worker.ts'
const runtimes: Readonly<Record<string, Remote>> = {
  'Node.js': { command: process.execPath, args: ['--import', './test/support/sources.ts'] },
  ...(calls !== undefined && remotes),
}
const databases = {
  SQLite: () => undefined,
  ...(calls !== undefined && { PostgreSQL: startPostgres }),
  ...(calls !== undefined && whyNoMysql() === null && { MariaDB: startMysql }),
}
const ofServers = ['a connection', 'the return of a connection']
const ofSqlite = [
  'the commit',
  'the commit, for several',
  'the transaction of reads: BEGIN',
  'the transaction of reads: COMMIT',
  'the transaction of reads: ROLLBACK',
]
const functions = [
  'a statement',
  'a statement, for several',
  'blockgame.allowAddress',
  'blockgame.client',
  'blockgame.resolve',
  'channel blockgame',
  'channel dns',
  'channel request',
  'channel storage',
  'dns.client',
  'doh.endpoint',
  'doh.fetch',
  'errorBody',
  'keyGenerator.parseLicenseKey',
  'logger',
  'logger, for all',
  'next',
  'onAnswer',
  'onRequestEnd',
  'rateLimiter',
  'request.body',
  'request.drain',
  'request.header',
  'requestIP',
  'requestId',
  'requestId of a mount',
  'storage',
  'storage, for several',
  'the abort of blockgame.resolve',
  'the abort of dns.client',
  'the abort of doh.fetch',
  'the client of findAuthoritativeServers',
  'the pull of a body',
]

test.for(
  Object.entries(runtimes).flatMap(([runtime, remote]) =>
    Object.entries(databases).map(([database, start]) => ({ runtime, remote, database, start })),
  ),
)(
  'no function of the host runs in the context of another caller on $runtime with $database',
  { timeout: 600_000 },
  async ({ runtime, remote: { command, args }, database, start }, { skip }) => {
    const missing = missingRuntime(runtime)
    if (missing !== null) skip(missing)
    const server = await start()
    try {
      const url = (await server?.createDatabase()) ?? ''
      const run = promisify(execFile)(command, [...args, program, calls ?? '2000', url])
      const { stdout, stderr } = await run
      expect(stderr.replaceAll(/^.*ExperimentalWarning.*$|^\(Use .*$/gm, '').trim()).toBe('')
      const { called, wrong } = JSON.parse(stdout) as Record<'called' | 'wrong', Record<string, number>>
      expect(wrong).toEqual({})
      const own = database === 'SQLite' ? ofSqlite : ofServers
      expect(Object.keys(called).toSorted()).toEqual([...functions, ...own].toSorted())
    } finally {
      await server?.stop()
    }
  },
)
