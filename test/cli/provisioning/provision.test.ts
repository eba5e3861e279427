import { join } from 'node:path'
import { createUtilityApi } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run as runInProcess, temporaryFolder } from '../support/cli.ts'
import { runHere as run } from '../support/cli-here.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

const folder = temporaryFolder()
const file = join(folder.path, 'utility.sqlite')
const redirectUri = 'https://shop.example/callback'
let database: InstanceType<typeof Database>
let api: ReturnType<typeof createUtilityApi>

beforeAll(async () => {
  expect(await run(['migrate', '--database', file])).toMatchObject({ code: 0, stderr: '' })
  database = new Database(file)
  api = createUtilityApi({ storage: sqliteStorage(database), dns: false })
})

afterAll(async () => {
  await api.close()
  database.close()
  folder.remove()
})

async function json(...args: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await run([...args, '--json'], { UTILITY_API_DATABASE: file })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout) as Record<string, string>
}

function generate(token: string): Promise<Response> {
  const headers = licenseHeaders(token)
  return api.handlers.generateLicense(new Request('http://localhost/', { method: 'POST', headers }))
}

test('a client and a code created here give a token, and a revoked client gets none', async () => {
  const { clientId = '', clientSecret } = await json('client', 'create', redirectUri, 'https://b.example/cb')
  const issue = ['code', 'issue', '--client', clientId, '--redirect-uri', redirectUri]
  async function exchange(): Promise<Response> {
    const issued = await json(...issue, '--scope', 'a b')
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: issued['code'] ?? '',
      redirect_uri: redirectUri,
      client_id: clientId,
      client_secret: clientSecret ?? '',
    })
    return api.handlers.exchangeToken(new Request('http://localhost/', { method: 'POST', body }))
  }
  const answer = await exchange()
  expect(await answer.json()).toMatchObject({ scope: 'a b', token_type: 'Bearer' })

  expect(await json('revoke', clientId)).toEqual({ revoked: clientId })
  const again = await run([...issue, '--database', file], {})
  expect(again).toMatchObject({ code: 1, stdout: '' })
  expect(again.stderr).toContain('There is no live client')
})

test('a reseller created here generates licenses, which are then listed page by page', async () => {
  const {
    resellerId = '',
    resellerTokenId = '',
    token = '',
  } = await json('reseller', 'create', '--name', 'A')
  expect((await generate(token)).status).toBe(200)
  expect((await generate(token)).status).toBe(200)

  const first = (await json('license', 'list', '--limit', '1', '--reseller', resellerId)) as unknown as {
    licenses: { licenseKey: string }[]
    next: string
  }
  expect(first.licenses).toHaveLength(1)
  const table = await run(['license', 'list', '--after', first.next, '--database', file])
  expect(table.stdout.split('\n')[0]).toMatch(/^KEY +STATUS +DOMAIN OR IP +REGISTERED TO +RESELLER +ENDS$/)
  expect(table.stdout).toMatch(/^LIC-\S+ +valid +shop\.example +Ada /m)
  expect(table.stdout).not.toContain(first.licenses[0]?.licenseKey)

  await json('revoke', resellerTokenId)
  expect((await generate(token)).status).toBe(401)
})

test('an API key and an access token created here are valid', async () => {
  const { apiKey = '' } = await json('api-key', 'create', '--permissions', 'blockgame:lookup,other:thing')
  const lookup = new Request('http://localhost/', { headers: { Basic: apiKey, 'X-Address': '127.0.0.1' } })
  expect(await (await api.handlers.lookUpGameServer(lookup)).json()).toMatchObject({
    error: 'address_not_allowed',
  })
  const token = await json('token', 'create', '--scope', 'dns:check', '--lifetime', '86400')
  expect(Date.parse(token['expiresAt'] ?? '') - Date.now()).toBeGreaterThan(86_000_000)
})

test('secrets are printed once, on standard output, and the warning beside it', async () => {
  const { stdout, stderr } = await run(['api-key', 'create', '--name', 'Page', '--database', file])
  expect(stdout).toMatch(/^apiKeyId +\S+\napiKey +uapi_ak_\w+\n$/)
  expect(stderr).toBe('Secrets are shown only once: save them now.\n')
})

test('purge prints what it deleted', async () => {
  expect(await json('purge')).toEqual({ codes: 0, tokens: 0, idempotency: 0 })
})

test('a leaked secret is revoked by its text, from standard input', async () => {
  const { apiKey = '', apiKeyId = '' } = await json('api-key', 'create')
  const asId = await run(['revoke', apiKey, '--database', file])
  expect(asId.code).toBe(2)
  expect(asId.stderr).toMatch(
    /^This is a secret, not an id\. Pass it on standard input: utility-api revoke -\n/,
  )
  const { code, stdout } = await runInProcess(['revoke', '-', '--database', file], {}, `${apiKey}\n`)
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'revoked  the secret\n' })
  const again = await run(['revoke', apiKeyId, '--database', file])
  expect(again.code).toBe(1)
  expect(again.stderr).toBe('There is nothing to revoke: it was revoked before, or never existed.\n')
})
