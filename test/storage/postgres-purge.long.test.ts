import { postgresStorage } from 'utility-api/storage/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { call } from './support/call.ts'
import { execute, makePool, startPostgres } from './support/postgres-server.ts'

test('a purge is complete whatever plan PostgreSQL makes', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const url = await server.createDatabase()
  const one = makePool(url, undefined, 1)
  onTestFinished(() => one.end())
  const storage = postgresStorage(one)
  await storage.migrate()
  // With these, it would read what follows IN again for each row.
  const settings = ['hashjoin', 'hashagg', 'mergejoin', 'sort', 'material', 'seqscan', 'bitmapscan']
  await one.query(settings.map((name) => `SET enable_${name} = off`).join('; '))
  // They expire in another order than that of their names.
  const rows = `generate_series(1, 1500) AS n, sha256(convert_to(n::text, 'UTF8')) AS hash`
  await execute(
    url,
    `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, created_at, expires_at)
     SELECT to_char(n, '0000'), 'access_token', hash, 'owner', '', 0, 7 * n % 1500 FROM ${rows}`,
  )
  await execute(
    url,
    `INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at)
     SELECT hash, 'client', 'https://shop.example', '', 7 * n % 1500 FROM ${rows}`,
  )
  await execute(
    url,
    `INSERT INTO utility_api_idempotency_keys (reseller_id, key_hash, request_hash, expires_at, license_key)
     SELECT to_char(n, '0000'), hash, hash, 7 * n % 1500, '{}' FROM ${rows}`,
  )
  expect(await storage.purgeExpired(2000, call)).toEqual({ codes: 1500, tokens: 1500, idempotency: 1500 })
})
