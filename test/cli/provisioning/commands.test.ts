import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose'
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

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
    stdout: 'The database has been brought up to date.\n',
    stderr: '',
  })
  expect(await runHere(['migrate'], env)).toEqual({
    code: 0,
    stdout: 'The database was up to date already.\n',
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

const issueTo = (clientId: string): string[] => [
  'code',
  'issue',
  '--client',
  clientId,
  '--redirect-uri',
  'https://a.example/cb',
]

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
      const { code = '' } = await json(...issueTo(clientId))
      expect((await exchange({ clientId, clientSecret, code })).status).toBe(200)
    }
  })

  test('a public client gets no secret, and none later', async () => {
    const { clientId = '', ...rest } = await json('client', 'create', 'http://127.0.0.1/cb', '--public')
    expect(rest).toEqual({})
    expect(await failure('client', 'rotate', clientId)).toBe(
      `There is no confidential client "${clientId}".\n`,
    )
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
      expect(heading).toMatch(/^CLIENT +NAME +TYPE +CREATED +REVOKED +REDIRECTION URIS$/)
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
  expect(rows[0]).toMatch(/^API KEY +NAME +PERMISSIONS +CREATED +EXPIRES +LAST USED +REVOKED$/)
  expect(rows).toContainEqual(
    expect.stringMatching(new RegExp(`^${apiKeyId} +Page +blockgame:lookup +20\\S+Z +20\\S+Z$`)),
  )
  expect(rows.join()).not.toContain(apiKey)
  expect(JSON.stringify(await json('api-key', 'list'))).not.toContain(apiKey)
})

test('every credential can have a lifetime, and lists say on which day a key was last used', async () => {
  const { apiKeyId = '', apiKey = '' } = await json('api-key', 'create', '--lifetime', '90d')
  const { resellerId = '', resellerTokenId } = await json('reseller', 'create', '--lifetime', '12h')
  const { resellerTokenId: second } = await json('reseller', 'token', resellerId, '--lifetime', '30m')
  const { accessTokenId } = await json('token', 'create', '--lifetime', '2d', '--subject', 'lifetimes')
  const minutes: Record<string, number> = {}
  for (const list of [
    ['api-key', 'list'],
    ['token', 'list', '--kind', 'reseller'],
    ['token', 'list'],
  ]) {
    const { credentials } = await json<{ credentials: Row[] }>(...list, '--all')
    for (const { id, createdAt, expiresAt } of credentials)
      minutes[String(id)] = Math.round(
        (Date.parse(String(expiresAt)) - Date.parse(String(createdAt))) / 60_000,
      )
  }
  expect(minutes).toMatchObject({
    [apiKeyId]: 90 * 24 * 60,
    [String(resellerTokenId)]: 12 * 60,
    [String(second)]: 30,
    [String(accessTokenId)]: 2 * 24 * 60,
  })
  await using used = createUtilityApi({ storage: sqliteStorage(database), dns: false, blockgame: false })
  await used.verifyApiKey(apiKey)
  await used.close()
  const today = isoText(Date.now()).slice(0, 10)
  const keyRow = (await lines('api-key', 'list')).find((line) => line.startsWith(apiKeyId))
  expect(keyRow).toMatch(new RegExp(`Z +${today}$`))
  const { credentials } = await json<{ credentials: Row[] }>('api-key', 'list', '--all')
  expect(credentials.find(({ id }) => id === apiKeyId)).toMatchObject({ lastUsedOn: today })
  const tokenRows = await lines('token', 'list', '--kind', 'reseller', '--owner', resellerId)
  expect(tokenRows[0]).toMatch(/^TOKEN +OWNER +CREATED +EXPIRES +LAST USED +REVOKED$/)
  expect(tokenRows[1]).toMatch(new RegExp(`^${resellerTokenId} +${resellerId} +20\\S+Z +20\\S+Z$`))
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
    const issue = [...issueTo(clientId), '--subject', 'ada']
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

  test('the tokens of a reseller end together', async () => {
    const { resellerId = '' } = await json('reseller', 'create')
    await json('reseller', 'token', resellerId)
    expect(await json('revoke-access', '--reseller', resellerId)).toEqual({ tokens: 2, codes: 0 })
    expect(await lines('revoke-access', '--reseller', resellerId)).toEqual(['codes   0', 'tokens  0'])
  })
})

test('every time in JSON is ISO 8601 in UTC, or null if there is none', async () => {
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
      'UPDATE utility_api_credentials SET created_at = 0, expires_at = 9e15, revoked_at = 0 WHERE id = ?',
    )
    .run(id)
  expect(await credentialOf()).toMatchObject({
    createdAt: '1970-01-01T00:00:00.000Z',
    expiresAt: 9e15,
    revokedAt: '1970-01-01T00:00:00.000Z',
  })
  const { clients } = await json<{ clients: Row[] }>('client', 'list', '--limit', '1')
  expect(clients).toEqual([expect.objectContaining({ createdAt: expect.stringMatching(isoTime) })])
})

describe('license', () => {
  async function generate(of = api): Promise<{ key: string; resellerId: string }> {
    const { resellerId, token } = await admin.createReseller()
    const headers = licenseHeaders(token)
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
    const mistyped = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')
    for (const [verb, ...rest] of [['get'], ['set', '--status', 'valid'], ['delete']] as const)
      expect(await failure('license', verb, mistyped, ...rest)).toBe(
        'There is no license with this key: it was changed or mistyped.\n',
      )
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

  const create = ['license', 'create', '--registered-to', 'Ada']
  const sold = (resellerId: string, host: string, ...more: string[]): string[] =>
    create.concat('--reseller', resellerId, '--domain-or-ip', host, more)

  test('create makes one, and the same one for the same payment', async () => {
    const { resellerId } = await admin.createReseller()
    const paid = sold(resellerId, 'a.example', '--reference', 'payment-1', '--ends', '2027-01-31')
    const { created, ...license } = await json<object & { licenseKey: string; created: boolean }>(...paid)
    expect(created).toBe(true)
    const stored = await admin.getLicense(license.licenseKey)
    expect(license).toEqual(await json<object>('license', 'get', license.licenseKey))
    expect(stored).toMatchObject({
      resellerId,
      registeredTo: 'Ada',
      domainOrIp: 'a.example',
      status: 'valid',
      reference: 'payment-1',
      expiresAt: Date.UTC(2027, 0, 31),
    })
    expect(await json<object>(...paid)).toEqual({ ...license, created: false })
    const other = sold(resellerId, 'b.example', '--reference', 'payment-1')
    expect(await failure(...other)).toBe(
      '--reference was used before for another registeredTo, domainOrIp or licenseKey.\n',
    )
    const range = ['--ends-from', '2027-01-31', '--ends-before', '2027-01-31T00:01+00:00']
    for (const filter of [['--reference', 'payment-1'], range])
      expect(await json('license', 'list', '--reseller', resellerId, ...filter)).toEqual({
        licenses: [license],
      })
    await lines('license', 'set', license.licenseKey, '--ends', '', '--reference', '')
    expect(await admin.getLicense(license.licenseKey)).toMatchObject({ reference: null, expiresAt: null })
    const [first, ...rest] = await lines(
      ...sold(resellerId, '*.c.example', '--wildcards', '--statuses', 'new'),
    )
    expect(first).toMatch(/^licenseKey {4}LIC(?:-\w{5}){5}$/)
    expect(rest).toContain('status        new')
    expect(await admin.countLicenses({ resellerId })).toBe(2)
  })

  test('list finds by what a license covers and by status, all pages at once if asked to', async () => {
    const { resellerId } = await admin.createReseller()
    const { resellerId: many } = await admin.createReseller()
    const wildcard = await json(...sold(resellerId, '*.münchen.example', '--wildcards'))
    const exact = await json(...sold(resellerId, 'eu.xn--mnchen-3ya.example', '--status', 'invalid'))
    const keysOf = async (...filters: string[]): Promise<unknown[]> => {
      const { licenses } = await json<{ licenses: Row[] }>('license', 'list', ...filters)
      return licenses.map(({ licenseKey }) => licenseKey)
    }
    const keys = [wildcard['licenseKey'], exact['licenseKey']]
    expect(await keysOf('--domain', 'EU.München.example')).toEqual(keys)
    expect(await keysOf('--domain', 'eu.münchen.example', '--status', 'invalid')).toEqual(keys.slice(1))
    expect(await keysOf('--reseller', resellerId, '--status', 'valid')).toEqual(keys.slice(0, 1))
    expect(await keysOf('--domain', 'eu.münchen.example', '--reseller', many)).toEqual([])
    const fields = { resellerId: many, registeredTo: 'Ada', domainOrIp: 'shop.example' }
    await Promise.all(Array.from({ length: 1001 }, () => admin.createLicense(fields)))
    const { licenses, next: last } = await admin.listLicenses({ resellerId: many, limit: 1000 })
    const { licenses: others } = await admin.listLicenses({ resellerId: many, after: last })
    const made = [...licenses, ...others].map(({ licenseKey }) => licenseKey)
    expect(made).toHaveLength(1001)
    expect(await keysOf('--reseller', many, '--all')).toEqual(made)
    const [heading, ...rows] = await lines('license', 'list', '--reseller', many, '--all')
    expect(heading).toMatch(/^KEY +STATUS +DOMAIN OR IP +REGISTERED TO +RESELLER +ENDS$/)
    expect(rows.map((row) => row.split(' ')[0])).toEqual(made)
    const { next } = await admin.listLicenses({ resellerId: many, limit: 500 })
    expect(await keysOf('--reseller', many, '--all', '--after', next ?? '')).toEqual(made.slice(500))
  })

  test('sign prints a statement that the keys of jwks verify', async () => {
    const files = ['first', 'second'].map((name) => {
      const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
      writeFileSync(join(folder.path, name), key, { mode: 0o600 })
      return join(folder.path, name)
    })
    const { key } = await generate()
    const terms = ['--issuer', 'https://shop.example', '--lifetime', '7d', '--audience', 'plugin']
    const sign = ['license', 'sign', key.toLowerCase(), '--signing-key', files[1] ?? '', ...terms]
    expect(await failure(...sign.with(2, `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`))).toBe(
      'There is no license with this key: it was changed or mistyped.\n',
    )
    const [statement = '', ...others] = await lines(...sign)
    expect(others).toEqual([])
    const jwks = ['license', 'jwks', ...files.flatMap((pem) => ['--signing-key', pem])]
    const { stdout, stderr } = await runHere(jwks)
    expect(stderr).toBe('')
    chmodSync(files[0] ?? '', 0o666)
    expect(await runHere(jwks)).toEqual({
      code: 0,
      stdout,
      stderr:
        'Everybody on this machine can read or change the file of --signing-key. Make a new key, and run chmod 600 on its file.\n',
    })
    const keys = JSON.parse(stdout) as JSONWebKeySet
    expect(keys.keys).toHaveLength(2)
    const { payload } = await jwtVerify(statement, createLocalJWKSet(keys), {
      typ: 'license+jwt',
      issuer: 'https://shop.example',
      audience: 'plugin',
    })
    expect(payload).toMatchObject({ sub: key, status: 'valid', domain_or_ip: 'shop.example' })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(7 * 86_400 + 300)
    await lines('license', 'set', key, '--ends', '2020-01-31T00:00:00Z')
    const { statement: ended } = await json<{ statement: string }>(...sign)
    expect(decodeJwt(ended)).toMatchObject({ sub: key, exp: Date.UTC(2020, 0, 31) / 1000 })
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
