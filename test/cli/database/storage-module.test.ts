import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, describe, expect, test } from 'vitest'
import { firstLine, run, start, temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

function moduleOf(name: string, code: string): string {
  const file = join(folder.path, `${name}.mjs`)
  mkdirSync(folder.path, { recursive: true })
  writeFileSync(file, code)
  return file
}

/** A storage of an integrator's own: here, ours on a file of theirs, which they open and close themselves. */
function ownStorage(name: string, { withMigrate = true } = {}): string {
  const sqlite = JSON.stringify(
    pathToFileURL(join(import.meta.dirname, '../../../adapters/storage/sqlite.ts')).href,
  )
  const mark = JSON.stringify(join(folder.path, `${name}.closed`))
  return moduleOf(
    name,
    `import { writeFileSync } from 'node:fs'
    import { DatabaseSync } from 'node:sqlite'
    import { sqliteStorage } from ${sqlite}
    export default async function () {
      const database = new DatabaseSync(${JSON.stringify(join(folder.path, `${name}.sqlite`))})
      const { ${withMigrate ? '' : 'migrate, '}...storage } = sqliteStorage(database)
      ${withMigrate ? '' : 'await migrate()'}
      return { ...storage, async close() { await storage.close(); database.close(); writeFileSync(${mark}, '') } }
    }`,
  )
}

describe('--storage', () => {
  test('migrates, provisions, serves and purges with a storage of one’s own', async () => {
    const file = ownStorage('own')
    expect(await runHere(['purge', '--storage', file])).toMatchObject({ code: 1 })
    expect(await runHere(['migrate', '--storage', file])).toEqual({
      code: 0,
      stdout: 'The database has been brought up to date.\n',
      stderr: '',
    })
    const { stdout } = await runHere(['reseller', 'create', '--json', '--storage', file])
    const { token } = JSON.parse(stdout) as { token: string }
    const child = start([
      'serve',
      '--port',
      '0',
      '--storage',
      file,
      '--statuses',
      'trial, valid',
      '--key-prefix',
      'ACME-',
    ])
    const url = (await firstLine(child)).replace('Listening on ', '')
    const headers = { ...licenseHeaders(token), 'X-Status': 'trial' }
    const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    const { data } = (await answer.json()) as { data: { license_key: string } }
    expect(data).toMatchObject({ license_key: expect.stringMatching(/^ACME-/), status: 'trial' })
    const refused = await fetch(`${url}/v2/reseller/licenses/generate`, {
      method: 'POST',
      headers: { ...headers, 'X-Status': 'invalid' },
    })
    expect(refused.status).toBe(400)
    child.kill('SIGTERM')

    const set = ['license', 'set', data.license_key.toLowerCase(), '--key-prefix', 'ACME-', '--storage', file]
    expect((await runHere([...set, '--status', 'valid', '--statuses', 'trial,valid'])).code).toBe(0)
    const wildcard = [...set, '--domain-or-ip', '*.shop.example']
    expect((await runHere(wildcard)).stderr).toContain('--domain-or-ip must be')
    expect((await runHere([...wildcard, '--wildcards'])).code).toBe(0)
    const get = await runHere(['license', 'get', data.license_key, '--storage', file])
    expect(get.stdout).toMatch(/^domainOrIp +\*\.shop\.example\nstatus +valid$/m)
    expect(await runHere(['purge', '--json', '--storage', file])).toMatchObject({ code: 0 })
  })

  test.each([
    ['nothing', 'undefined', 'The database is up to date.\n', ''],
    [
      'warnings',
      "{ changed: false, warnings: ['The disk\\nlies.'] }",
      'The database was up to date already.\n',
      'Warning: The disk',
    ],
  ])('prints what migrate() resolves to: %s', async (name, result, stdout, warning) => {
    const file = moduleOf(
      `migrates-${name}`,
      `export default () => ({ ${ownMethods}, migrate: async () => (${result}) })`,
    )
    const printed = await runHere(['migrate', '--storage', file])
    expect(printed).toMatchObject({ code: 0, stdout })
    expect(printed.stderr.split('\n').length, 'one line each').toBe(warning === '' ? 1 : 2)
    expect(printed.stderr).toContain(warning)
  })

  test('replaces the database, even if the environment names one', async () => {
    const env = { UTILITY_API_DATABASE: '/nowhere/at/all' }
    const file = ownStorage('ready', { withMigrate: false })
    expect(await runHere(['purge', '--storage', file], env)).toMatchObject({ code: 0 })
    expect(existsSync(join(folder.path, 'ready.closed'))).toBe(true)
    // So that `migrate && serve` serves.
    expect(await runHere(['migrate', '--storage', file])).toMatchObject({
      code: 0,
      stdout: 'This storage has no migrate(): there is nothing to do.\n',
    })
  })

  const one = 'findClient() {}'
  const ownMethods = Object.keys(memoryStorage())
    .map((name) => `${name}() {}`)
    .join(', ')
  const wrong: Record<string, { code: string | null; says: string; status?: number }> = {
    missing: { code: null, says: '--storage: there is no file FILE.' },
    bare: {
      code: 'export const storage = {}',
      says: '--storage: the default export of FILE must be a function that returns an AdminStorage.',
    },
    object: { code: `export default { ${one} }`, says: 'must be a function that returns an AdminStorage.' },
    nothing: {
      code: 'export default () => {}',
      says: '--storage: what FILE returns is not an AdminStorage: it is undefined.',
    },
    half: {
      code: `export default () => ({ ${one} })`,
      says: 'not an AdminStorage: it lacks findAuthorizationCode, redeemAuthorizationCode, revokeAccessTokensOfCode and 17 more methods.',
    },
    throwing: {
      code: `export default async () => { throw new Error('The cluster is away.') }`,
      says: '--storage: the default export of FILE failed: The cluster is away.',
      status: 1,
    },
    needy: {
      code: `import 'no-such-package'`,
      says: `--storage: FILE cannot be loaded: Cannot find package 'no-such-package'`,
      status: 1,
    },
  }
  test.each(Object.entries(wrong))('%s: one sentence says what is wrong', async (name, expected) => {
    const { code, says, status = 2 } = expected
    const file = code === null ? join(folder.path, 'none.mjs') : moduleOf(name, code)
    const outcome = await runHere(['purge', '--storage', file])
    expect(outcome).toMatchObject({ code: status, stdout: '' })
    expect(outcome.stderr).toContain(says.replace('FILE', file))
    expect(outcome.stderr).not.toMatch(/^ {4}at /m)
  })

  const never = 'new Promise(() => {})'
  const unsettled: Record<string, string> = {
    'its module': `await ${never}; export default () => {}`,
    'its factory': `export default () => ${never}`,
    'a method': `export default () => ({ ${ownMethods}, migrate: () => ${never} })`,
    'close()': `export default () => ({ ${ownMethods}, close: () => ${never} })`,
  }
  test.each(Object.entries(unsettled))('%s that never settles is one sentence', async (name, code) => {
    const file = moduleOf(`never-${name.replaceAll(/\W/g, '-')}`, code)
    const { code: status, stderr } = await run(['migrate', '--storage', file])
    expect([status, stderr]).toEqual([
      1,
      'The command cannot go on: a promise of the --storage module never settles.\n',
    ])
  })

  test('an error at its end does not hide the one before', async () => {
    const fail = (what: string): string => `${what}() { throw new Error('${what} failed') }`
    const methods = `${ownMethods}, ${fail('migrate')}, ${fail('close')}`
    const file = moduleOf('twice', `export default () => ({ ${methods} })`)
    const { code, stderr } = await runHere(['migrate', '--storage', file])
    expect([code, stderr]).toEqual([1, 'migrate failed\n'])
  })

  test('cannot be used together with --database', async () => {
    const { code, stderr } = await runHere(['purge', '--storage', 'a.js', '--database', 'b.sqlite'])
    expect(code).toBe(2)
    expect(stderr).toContain('Give either --database or --storage.')
  })
})
