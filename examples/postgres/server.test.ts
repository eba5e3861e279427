import pg from 'pg'
import { createAdmin } from 'utility-api'
import { postgresStorage } from 'utility-api/storage/postgres'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'
import { startPostgres } from '../../test/storage/support/postgres-server.ts'

test('two servers on one database: a code is spent once, a license is known to both', async () => {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const [a, b] = await Promise.all([
    startExample('postgres', { DATABASE_URL: url }),
    startExample('postgres', { DATABASE_URL: url }),
  ])
  const pool = new pg.Pool({ connectionString: url })
  const admin = createAdmin({ storage: postgresStorage(pool) })
  const redirectUri = 'https://shop.example/callback'
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
  const body = JSON.stringify({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    client_secret: clientSecret,
  })
  const exchange = (base: string): Promise<Response> =>
    fetch(`${base}/v4/oauth2/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
  const answers = await Promise.all([exchange(a.url), exchange(b.url)])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400])

  const { token } = await admin.createReseller()
  const headers = {
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Ada',
    'X-Domain-Or-IP': 'shop.example',
    'X-Status': 'valid',
  }
  const made = await fetch(`${a.url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  const { data } = (await made.json()) as { data: { license_key: string } }
  const updated = await fetch(`${b.url}/v2/reseller/${data.license_key}/update`, { method: 'PUT', headers })
  expect(updated.status).toBe(200)
  expect(await (await fetch(`${b.url}/health`)).json()).toEqual({ storage: 'ok' })

  expect(await Promise.all([a.stop(), b.stop()])).toEqual([0, 0])
  await pool.end()
  await postgres.stop()
}, 60_000)
