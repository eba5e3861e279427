import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Pool } from 'pg'
import { postgresStorage } from 'utility-api/storage/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { removeFolder } from '../support/remove-folder.ts'
import { call } from '../storage/support/call.ts'
import { license, newLicense } from '../storage/support/license.ts'
import { startOwnPostgres } from '../storage/support/own-postgres.ts'
import { execute } from '../storage/support/postgres-server.ts'
import { codeBlocks } from './code-blocks.ts'

// The commands of the page about tables, by a role whose path does not lead to them.

const [dump] = globSync('/usr/lib/postgresql/*/bin/pg_dump').toSorted().toReversed()
if (dump === undefined)
  console.log('Skipped: there is no /usr/lib/postgresql/*/bin/pg_dump (Debian: postgresql).')

const backup = codeBlocks().find(({ text }) => text.includes('pg_dump'))?.text ?? ''

test.skipIf(dump === undefined)('a copy has what is in a schema of its own, and brings it back', async () => {
  const programs = dirname(dump ?? '')
  const server = await startOwnPostgres(programs)
  onTestFinished(() => server.stop())
  await execute(server.url, 'CREATE SCHEMA utility')
  const pool = new Pool({ connectionString: server.url, options: '-c search_path=utility' })
  onTestFinished(() => pool.end())
  const storage = postgresStorage(pool)
  await storage.migrate()
  await storage.insertLicense(newLicense('a'), undefined, call)
  const cwd = mkdtempSync(join(tmpdir(), 'backup-'))
  onTestFinished(() => removeFolder(cwd))
  const run = (text: string): unknown =>
    execFileSync('sh', ['-ec', text.replace('DATABASE', server.url)], {
      cwd,
      env: { ...process.env, PATH: `${programs}:${process.env['PATH']}` },
    })
  run(backup)
  await storage.deleteLicense('a', call)
  run('psql --quiet --single-transaction -v ON_ERROR_STOP=1 DATABASE < copy.sql')
  expect(await storage.findLicense('a', call)).toEqual(license('a'))
})
