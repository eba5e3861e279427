import { join } from 'node:path'
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'

// What the commands do is asked of the library on the same file.

const folder = temporaryFolder()
const file = join(folder.path, 'utility.sqlite')
const env = { UTILITY_API_DATABASE: file }
let database: InstanceType<typeof Database>
let admin: Admin
let api: UtilityApi

beforeAll(async () => {
  expect(await runHere(['migrate'], env)).toEqual({
    code: 0,
    stdout: 'The database is up to date.\n',
    stderr: '',
  })
  database = new Database(file)
  const storage = sqliteStorage(database)
  admin = createAdmin({ storage })
  api = createUtilityApi({ storage, dns: false, blockgame: false })
})

afterAll(async () => {
  await api.close()
  database.close()
  folder.remove()
})

type Row = Record<string, unknown>

const isoTime = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function isoText(time: number): string {
  return new Date(time).toISOString()
}

async function json<Value = Record<string, string>>(...args: string[]): Promise<Value> {
  const { code, stdout, stderr } = await runHere([...args, '--json'], env)
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout) as Value
}

async function lines(...args: string[]): Promise<string[]> {
  const { code, stdout } = await runHere(args, env)
  expect(code).toBe(0)
  return stdout.trimEnd().split('\n')
}

async function failure(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere(args, env)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  return stderr
}

describe('client', () => {
  test('update changes only the named fields', async () => {
    const { clientId = '' } = await json('client', 'create', 'https://a.example/cb', '--name', 'A')
    expect(await json('client', 'update', clientId, '--name', 'B')).toEqual({ updated: clientId })
    const find = async (): Promise<Row | undefined> =>
      (await admin.listClients({ limit: 1000 })).clients.find(
        (each) => each.clientId === clientId,
      ) as unknown as Row
    expect(await find()).toMatchObject({ name: 'B', redirectUris: ['https://a.example/cb'] })
    await lines('client', 'update', clientId, 'https://b.example/1', 'https://b.example/2')
    expect(await find()).toMatchObject({
      name: 'B',
      redirectUris: ['https://b.example/1', 'https://b.example/2'],
    })
    expect(await failure('client', 'update', 'nobody', '--name', 'C')).toBe('There is no client "nobody".\n')
  })

  test('rotate returns a second secret, and the first stays valid', async () => {
    const { clientId = '', clientSecret: first = '' } = await json('client', 'create', 'https://a.example/cb')
    const { clientSecret: second = '' } = await json('client', 'rotate', clientId)
    expect(second).toMatch(/^uapi_cs_\w{49}$/)
    for (const clientSecret of [first, second]) {
      const { code = '' } = await json(
        'code',
        'issue',
        '--client',
        clientId,
        '--redirect-uri',
        'https://a.example/cb',
      )
      expect((await exchange({ clientId, clientSecret, code })).status).toBe(200)
    }
  })

  test('revoke works once', async () => {
    const { clientId = '' } = await json('client', 'create', 'https://a.example/cb')
    expect(await lines('client', 'revoke', clientId)).toEqual([`revoked  ${clientId}`])
    expect(await failure('client', 'revoke', clientId)).toBe(`There is no live client "${clientId}".\n`)
  })

  test('list shows every client once, page by page', async () => {
    const all = (await admin.listClients({ limit: 1000 })).clients.map(({ clientId }) => clientId)
    const seen: string[] = []
    for (let mark: string[] = []; ;) {
      const { code, stdout, stderr } = await runHere(['client', 'list', '--limit', '2', ...mark], env)
      expect(code).toBe(0)
      const [heading, ...rows] = stdout.trimEnd().split('\n')
      expect(heading).toMatch(/^CLIENT +NAME +CREATED +REVOKED +REDIRECTION URIS$/)
      seen.push(...rows.map((row) => row.split(' ')[0] ?? ''))
      const next = /^There are more: continue with --after (\S+)\n$/.exec(stderr)?.[1]
      if (next === undefined) break
      mark = ['--after', next]
    }
    expect(all.length).toBeGreaterThan(2)
    expect(seen).toEqual(all)
  })
})

function exchange(sent: { clientId: string; clientSecret: string; code: string }): Promise<Response> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: sent.code,
    redirect_uri: 'https://a.example/cb',
    client_id: sent.clientId,
    client_secret: sent.clientSecret,
  })
  return api.handlers.exchangeToken(new Request('http://localhost/', { method: 'POST', body }))
}

describe('reseller', () => {
  test('token returns another token, and both are valid', async () => {
    const { resellerId = '', token: first = '' } = await json('reseller', 'create', '--name', 'Hosting')
    const { token: second = '', resellerTokenId } = await json('reseller', 'token', resellerId)
    expect(await api.verifyResellerToken(first)).toMatchObject({ resellerId })
    expect(await api.verifyResellerToken(second)).toEqual({ resellerId, tokenId: resellerTokenId })
    const listed = await json<{ credentials: Row[] }>(
      'token',
      'list',
      '--kind',
      'reseller',
      '--owner',
      resellerId,
    )
    expect(listed.credentials).toHaveLength(2)
    expect(listed.credentials).toContainEqual(
      expect.objectContaining({ id: resellerTokenId, kind: 'reseller_token' }),
    )
  })

  test('list shows ids and names', async () => {
    const { resellerId } = await json('reseller', 'create', '--name', 'A name')
    const rows = await lines('reseller', 'list')
    expect(rows[0]).toMatch(/^RESELLER +NAME +CREATED$/)
    expect(rows).toContainEqual(
      expect.stringMatching(
        new RegExp(`^${resellerId} +A name +20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$`),
      ),
    )
    const { resellers } = await json<{ resellers: Row[] }>('reseller', 'list')
    expect(resellers).toContainEqual(
      expect.objectContaining({ resellerId, name: 'A name', createdAt: expect.stringMatching(isoTime) }),
    )
  })
})

test('api-key list shows keys without their secrets, and which are revoked', async () => {
  const { apiKeyId = '', apiKey = '' } = await json('api-key', 'create', '--name', 'Page')
  await lines('revoke', apiKeyId)
  const rows = await lines('api-key', 'list')
  expect(rows[0]).toMatch(/^API KEY +NAME +PERMISSIONS +CREATED +REVOKED$/)
  expect(rows).toContainEqual(
    expect.stringMatching(new RegExp(`^${apiKeyId} +Page +blockgame:lookup +20\\S+Z +20\\S+Z$`)),
  )
  expect(rows.join()).not.toContain(apiKey)
  expect(JSON.stringify(await json('api-key', 'list'))).not.toContain(apiKey)
})

describe('tokens', () => {
  test('create binds a token to a client and a subject, and list finds it by its client', async () => {
    const { clientId = '' } = await json('client', 'create', 'https://a.example/cb')
    const made = await json('token', 'create', '--client', clientId, '--subject', 'user-42', '--scope', 'a b')
    expect(await api.verifyAccessToken(made['accessToken'] ?? '')).toMatchObject({
      clientId,
      subject: 'user-42',
      scope: 'a b',
    })
    await json('token', 'create', '--scope', 'other')
    const rows = await lines('token', 'list', '--owner', clientId)
    expect(rows[0]).toMatch(/^TOKEN +OWNER +SUBJECT +CREATED +EXPIRES +REVOKED +SCOPE$/)
    expect(rows.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${made['accessTokenId']} +${clientId} +user-42 .* a b$`)),
    ])
  })

  test('a code issued for a subject gives a token of that subject, which revoke-access revokes', async () => {
    const { clientId = '', clientSecret = '' } = await json('client', 'create', 'https://a.example/cb')
    const issue = [
      'code',
      'issue',
      '--client',
      clientId,
      '--redirect-uri',
      'https://a.example/cb',
      '--subject',
      'ada',
    ]
    const { code = '' } = await json(...issue)
    const { access_token: token } = (await (await exchange({ clientId, clientSecret, code })).json()) as {
      access_token: string
    }
    expect(await api.verifyAccessToken(token)).toMatchObject({ subject: 'ada' })
    await json(...issue)
    expect(await json('revoke-access', '--subject', 'ada')).toEqual({ tokens: 1, codes: 1 })
    await expect(api.verifyAccessToken(token)).rejects.toMatchObject({ code: 'invalid_token' })
    await lines('client', 'revoke', clientId)
    expect(await lines('revoke-access', '--client', clientId)).toEqual(['codes   0', 'tokens  0'])
    expect(await lines('revoke-access', '--subject', 'nobody')).toEqual(['codes   0', 'tokens  0'])
  })
})

test('every time in JSON is ISO 8601 in UTC, or null if there is none or it is not known', async () => {
  const { clientId = '' } = await json('client', 'create', 'https://a.example/cb')
  const created = await json('token', 'create', '--client', clientId)
  const { accessTokenId: id, expiresAt = '' } = created
  const credentialOf = async (): Promise<Row | undefined> =>
    (await json<{ credentials: Row[] }>('token', 'list', '--owner', clientId)).credentials[0]
  expect(await credentialOf()).toMatchObject({
    id,
    createdAt: expect.stringMatching(isoTime),
    expiresAt,
    revokedAt: null,
  })
  expect(expiresAt).toMatch(isoTime)
  database
    .prepare(
      'UPDATE utility_api_credentials SET created_at = 0, expires_at = 9e15, revoked_at = 1 WHERE id = ?',
    )
    .run(id)
  expect(await credentialOf()).toMatchObject({
    createdAt: null,
    expiresAt: 9e15,
    revokedAt: '1970-01-01T00:00:00.001Z',
  })
  const { clients } = await json<{ clients: Row[] }>('client', 'list', '--limit', '1')
  expect(clients).toEqual([expect.objectContaining({ createdAt: expect.stringMatching(isoTime) })])
})

describe('license', () => {
  async function generate(of = api): Promise<{ key: string; resellerId: string }> {
    const { resellerId, token } = await admin.createReseller()
    const headers = {
      Authorization: `Bearer ${token}`,
      'X-Registered-To': 'Ada',
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
    }
    const request = new Request('http://localhost/', { method: 'POST', headers })
    const made = (await (await of.handlers.generateLicense(request)).json()) as {
      data: { license_key: string }
    }
    return { key: made.data.license_key, resellerId }
  }

  test('get shows one, for people and as JSON', async () => {
    const { key, resellerId } = await generate()
    expect(await lines('license', 'get', key.toLowerCase())).toEqual([
      `licenseKey    ${key}`,
      'registeredTo  Ada',
      'domainOrIp    shop.example',
      'status        valid',
      `resellerId    ${resellerId}`,
      expect.stringMatching(/^createdAt {5}20\S+Z$/),
      expect.stringMatching(/^updatedAt {5}20\S+Z$/),
    ])
    const stored = await admin.getLicense(key)
    const [createdAt, updatedAt] = [stored?.createdAt, stored?.updatedAt].map((time = 0) => isoText(time))
    const shown = { ...stored, createdAt, updatedAt }
    expect(await json<object>('license', 'get', key)).toEqual(shown)
    expect(await json<object>('license', 'list', '--reseller', resellerId)).toEqual({ licenses: [shown] })
    expect(await failure('license', 'get', 'LIC-NONE')).toBe('There is no license with this key.\n')
  })

  test('a key without a prefix is found as a person types it, if the prefix is said to be empty', async () => {
    await using bare = createUtilityApi({
      storage: sqliteStorage(database),
      licenses: { keyPrefix: '' },
      dns: false,
      blockgame: false,
    })
    const { key } = await generate(bare)
    const typed = key.toLowerCase()
    expect(await json('license', 'get', typed, '--key-prefix', '')).toMatchObject({ licenseKey: key })
    expect(await json('license', 'get', typed, '--key-prefix=')).toMatchObject({ licenseKey: key })
    expect(await failure('license', 'get', typed)).toContain('no license')
  })

  test('set changes the named fields', async () => {
    const { key } = await generate()
    const { key: other, resellerId } = await generate()
    expect(await json('license', 'set', key, '--status', 'invalid', '--reseller', resellerId)).toEqual({
      updated: key,
    })
    await lines('license', 'set', other, '--registered-to', 'Grace', '--domain-or-ip', '192.0.2.7')
    expect(await admin.getLicense(key)).toMatchObject({ status: 'invalid', registeredTo: 'Ada', resellerId })
    expect(await admin.getLicense(other)).toMatchObject({
      status: 'valid',
      registeredTo: 'Grace',
      domainOrIp: '192.0.2.7',
    })
    expect(await failure('license', 'set', 'LIC-NONE', '--status', 'valid')).toContain('no license')
  })

  test('set refuses a new owner who does not exist', async () => {
    const { key, resellerId } = await generate()
    expect(await failure('license', 'set', key, '--reseller', 'nobody')).toBe(
      'There is no reseller "nobody".\n',
    )
    expect(await admin.getLicense(key)).toMatchObject({ resellerId })
  })

  test('a list or a count for an unknown id is empty', async () => {
    expect(await lines('license', 'list', '--reseller', 'no-one')).toHaveLength(1)
    expect(await lines('token', 'list', '--owner', 'no-one')).toHaveLength(1)
    expect(await lines('license', 'count', '--reseller', 'no-one')).toEqual(['licenses  0'])
  })

  test('delete deletes one, and count counts', async () => {
    const { key, resellerId } = await generate()
    expect(await json<object>('license', 'count', '--reseller', resellerId)).toEqual({ licenses: 1 })
    expect(await lines('license', 'delete', key)).toEqual([`deleted  ${key}`])
    expect(await admin.getLicense(key)).toBeNull()
    expect(await failure('license', 'delete', key)).toContain('no license')
    expect(await lines('license', 'count')).toEqual([`licenses  ${await admin.countLicenses()}`])
  })
})

test('names chosen by strangers do not control the terminal and keep columns aligned', async () => {
  const { resellerId: long } = await admin.createReseller({ name: '長'.repeat(100) })
  const { resellerId: wide } = await admin.createReseller({ name: '山田' })
  const { resellerId: plain } = await admin.createReseller({ name: 'Ada' })
  const rows = await lines('reseller', 'list', '--limit', '1000')
  const row = (id: string) => rows.find((line) => line.startsWith(id)) ?? ''
  expect(row(long)).toMatch(/^\S+ +長{31}… +20\S+Z$/)
  expect(row(wide).indexOf('20', 38) + 2).toBe(row(plain).indexOf('20', 38))
})
