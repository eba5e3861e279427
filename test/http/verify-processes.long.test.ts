/** What one server process revokes, another refuses at once. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdmin } from 'utility-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres, type PostgresServer } from '../storage/support/postgres-server.ts'
import { openRaceStore } from './support/race-store.ts'
import { grantFields } from './support/grant.ts'

const redirectUri = 'https://client.example/callback'
const folder = mkdtempSync(join(tmpdir(), 'utility-api-verify-'))
const sources = new URL('../support/sources.ts', import.meta.url).href
let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
}, 60_000)
afterAll(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

const stores: Record<string, () => Promise<string>> = {
  SQLite: async () => join(folder, 'shared.sqlite'),
  PostgreSQL: () => postgres.createDatabase(),
}

async function startProcess(store: string): Promise<{ url: string; stop(): void }> {
  const child = fork(join(import.meta.dirname, 'support/verify-server.ts'), [store], {
    execArgv: ['--import', sources],
  })
  const [port] = (await once(child, 'message')) as [number]
  return { url: `http://127.0.0.1:${port}`, stop: () => void child.kill('SIGKILL') }
}

test.each(Object.entries(stores))('the token of a replayed code, on %s', async (_, makeStore) => {
  const store = await makeStore()
  const { storage, migrate, close } = openRaceStore(store)
  await migrate()
  const admin = createAdmin({ storage })
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '', subject: 'ada' })
  const [one, two] = await Promise.all([startProcess(store), startProcess(store)])

  const exchange = (): Promise<Response> =>
    fetch(`${one.url}/v4/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams(grantFields({ clientId, clientSecret }, code, redirectUri)),
    })
  const { access_token: token } = (await (await exchange()).json()) as { access_token: string }
  const whoAmI = async (): Promise<[number, string]> => {
    const answer = await fetch(`${two.url}/whoami`, { headers: { Authorization: `Bearer ${token}` } })
    return [answer.status, await answer.text()]
  }
  expect(await whoAmI()).toEqual([200, 'ada'])
  expect((await exchange()).status).toBe(400)
  expect(await whoAmI()).toEqual([401, ''])
  one.stop()
  two.stop()
  await close()
})
