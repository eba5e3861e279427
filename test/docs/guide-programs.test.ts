import { execFile, spawnSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { createLocalJWKSet, jwtVerify } from 'jose'
import * as library from 'utility-api'
import {
  createAdmin,
  createUtilityApi,
  type Admin,
  type AuthorizationRequest,
  type UtilityApi,
  type UtilityApiOptions,
} from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { StorageError, type AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer, fakeDnsServer, fixedClock, type FixedClock } from 'utility-api/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { codeBlocks } from './code-blocks.ts'

// The programs of the guide for the owner's jobs do them: each is run as it stands there.

/** The program below the heading of a job. */
function programOf(page: string, start: string): string {
  const found = codeBlocks().filter(
    ({ file, text }) => file === `docs/guide/${page}.md` && text.startsWith(start),
  )
  expect(found).toHaveLength(1)
  const text = found[0]?.text ?? ''
  expect(text.split('\n').length).toBeLessThanOrEqual(10)
  return text
}

const ownImport = /^import .* from 'utility-api'$/gm
const AsyncFunction = (async () => {}).constructor as new (
  ...texts: string[]
) => (...values: unknown[]) => Promise<unknown>

/** Runs a program, with these names beside those of the library. Returns what it calls `result`. */
function run(text: string, names: Readonly<Record<string, unknown>>, result = ''): Promise<unknown> {
  const scope = { ...library, ...names }
  const program = new AsyncFunction(
    ...Object.keys(scope),
    `${stripTypeScriptTypes(text).replaceAll(ownImport, '')}\nreturn ${result}`,
  )
  return program(...Object.values(scope))
}

interface World {
  readonly url: string
  readonly admin: Admin
  readonly api: UtilityApi
  readonly clock: FixedClock
  get(path: string): Promise<Answer>
  post(path: string, body: object): Promise<Answer>
}

interface Answer {
  readonly status: number
  readonly text: string
}

type ServiceOptions = Omit<Partial<UtilityApiOptions>, 'storage'> & { readonly storage?: AdminStorage }

/** A server with one program of the guide on it, and all five operations. */
async function serve(
  program: string,
  { storage = memoryStorage(), ...options }: ServiceOptions = {},
): Promise<World> {
  const clock = fixedClock()
  const admin = createAdmin({ storage, clock, licenses: { allowWildcards: true } })
  const api = createUtilityApi({ storage, clock, dns: false, blockgame: false, ...options })
  await admin.createReseller({ resellerId: 'shop' })
  // Express prints errors while it is not in production.
  const app = express().set('env', 'test').use(express.json())
  await run(program, { api, admin, app })
  const operations = toNodeHandler(api)
  const server = createServer((request, response) =>
    request.url?.startsWith('/v2/') === true ? operations(request, response) : app(request, response),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await api.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answerOf = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(url + path, init)
    return { status: response.status, text: await response.text() }
  }
  const headers = { 'Content-Type': 'application/json' }
  return {
    url,
    admin,
    api,
    clock,
    get: answerOf,
    post: (path, body) => answerOf(path, { method: 'POST', headers, body: JSON.stringify(body) }),
  }
}

const day = 86_400_000
const php = 'php'
const handlerImports =
  "import type { ErrorRequestHandler } from 'express'\nimport { UtilityApiError } from 'utility-api'\n\n"

test('a payment that is reported for days sells one license, and a reseller never meets it', async () => {
  const route = programOf('licenses', "app.post('/paid'")
  const handler = programOf(
    'licenses',
    `${handlerImports.replace('UtilityApiError', 'coversHost')}const notSold`,
  )
  const { url, admin, clock, post } = await serve(`${route}\n${handler}`)
  const paid = { payment: 'payment-4711', customer: 'Łukasz', domain: 'shop.example' }
  const keys = new Set<string>()
  for (let report = 0; report < 7; report += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const { status, text } = await post('/paid', paid)
    expect(status).toBe(200)
    keys.add(text)
    clock.advance(day - 1)
  }
  expect(keys.size).toBe(1)
  const complaint = vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(await post('/paid', { ...paid, customer: 'Eve' })).toEqual({
    status: 200,
    text: '{"refused":"idempotency_mismatch"}',
  })
  expect(await post('/paid', { ...paid, payment: 'other', domain: 'https://a.example/' })).toEqual({
    status: 200,
    text: '{"refused":"invalid_argument"}',
  })
  expect(complaint.mock.calls).toEqual([
    [
      'Paid, but no license:',
      paid.payment,
      expect.objectContaining({ message: 'The Idempotency-Key was sent before with other fields.' }),
    ],
    [
      'Paid, but no license:',
      'other',
      expect.objectContaining({
        message: 'domainOrIp must be a host name or an IP address, without scheme, port or path.',
      }),
    ],
  ])
  vi.restoreAllMocks()
  const { token } = await admin.createResellerToken('shop')
  const { licenses } = await admin.listLicenses()
  expect(licenses).toMatchObject([{ registeredTo: 'Łukasz', domainOrIp: 'shop.example', status: 'valid' }])
  const headers = {
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Eve',
    'X-Domain-Or-IP': 'eve.example',
    'X-Status': 'valid',
    'Idempotency-Key': paid.payment,
  }
  const generated = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  expect(generated.status).toBe(200)
  expect(await generated.json()).toMatchObject({ data: { registered_to: 'Eve' } })
  expect([...keys]).toEqual([JSON.stringify({ licenseKey: licenses[0]?.licenseKey })])
  expect((await post('/paid', paid)).text).toBe([...keys][0])
  expect(await admin.countLicenses()).toBe(2)
})

test('a payment whose reseller was never created, or whose field has another name, is reported again', async () => {
  const route = programOf('licenses', "app.post('/paid'")
  const handler = programOf(
    'licenses',
    `${handlerImports.replace('UtilityApiError', 'coversHost')}const notSold`,
  )
  const { admin, post } = await serve(`${route.replace("'shop'", "'shop-2'")}\n${handler}`)
  vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => void vi.restoreAllMocks())
  const paid = { payment: 'payment-4711', customer: 'Ada', domain: 'shop.example' }
  const again = { status: 500, text: '{"refused":"invalid_argument"}' }
  expect(await post('/paid', paid)).toEqual(again)
  expect(await post('/paid', { ...paid, domain: undefined, domainOrIp: 'shop.example' })).toEqual(again)
  expect((await post('/paid', 'no object' as never)).status).toBe(500)
  await admin.createReseller({ resellerId: 'shop-2' })
  expect((await post('/paid', paid)).status).toBe(200)
  expect((await post('/paid', { ...paid, payment: undefined, id: 'payment-4711' })).status).toBe(500)
  expect(await admin.countLicenses()).toBe(1)
})

test('a payment whose id is a number sells one license', async () => {
  const { admin, post } = await serve(programOf('licenses', "app.post('/paid'"))
  const paid = { payment: 4711, customer: 'Ada', domain: 'shop.example' }
  expect((await post('/paid', paid)).status).toBe(200)
  expect((await post('/paid', paid)).status).toBe(200)
  expect(await admin.countLicenses()).toBe(1)
})

test('the licenses for a domain are found, and moved', async () => {
  const found = await serve(programOf('licenses', "app.get('/support'"))
  const sold = { resellerId: 'shop', registeredTo: 'Ada' }
  const exact = await found.admin.createLicense({ ...sold, domainOrIp: 'münchen.example' })
  await found.admin.createLicense({ ...sold, domainOrIp: 'other.example' })
  const { text } = await found.get('/support?domain=xn--mnchen-3ya.example')
  expect(JSON.parse(text)).toEqual([{ licenseKey: exact.licenseKey, status: 'valid', registeredTo: 'Ada' }])

  const moved = await serve(programOf('licenses', "app.post('/support/:key'"))
  const { licenseKey } = await moved.admin.createLicense({
    ...sold,
    domainOrIp: 'old.example',
    status: 'invalid',
  })
  const path = `/support/${licenseKey.toLowerCase()}`
  expect((await moved.post(path, { domainOrIp: 'new.example' })).status).toBe(200)
  const license = await moved.admin.getLicense(licenseKey)
  expect(license).toMatchObject({ domainOrIp: 'new.example', status: 'valid' })
  expect((await moved.post('/support/LIC-1', { domainOrIp: 'new.example' })).status).toBe(404)
})

/** What each route of the guide answers to a body or a query that has nothing in it. */
const toNothing: Readonly<Record<string, readonly [status: number, text: RegExp]>> = {
  "app.post('/paid'": [500, /The report has no id/],
  "app.get('/support'": [200, /^\[\]$/],
  "app.post('/support/:key'": [400, /domainOrIp is undefined/],
  "app.get('/license/:key'": [200, /^\{"valid":false\}$/],
}
const routeStart = /app\.(get|post)\('(.*?)'/
const readsWhatWasSent = codeBlocks().filter(
  ({ file, text }) =>
    file.startsWith('docs/guide/') && routeStart.test(text) && /request\.(?:body|query)\b/.test(text),
)

test('each route of the guide that reads a body or a query is among those that are sent nothing', () => {
  const found = readsWhatWasSent.map(({ text }) => routeStart.exec(text)?.[0])
  expect(found.toSorted()).toEqual(Object.keys(toNothing).toSorted())
})

test.each(readsWhatWasSent)(
  'a request with nothing in it changes and shows nothing: $text',
  async ({ text }) => {
    const { admin, get, post } = await serve(text)
    const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }
    const keys = [await admin.createLicense(sold), await admin.createLicense({ ...sold, status: 'invalid' })]
    const before = await admin.listLicenses()
    vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => void vi.restoreAllMocks())
    const [start = '', method, path = ''] = routeStart.exec(text) ?? []
    for (const { licenseKey } of keys) {
      const asked = path.replace(':key', licenseKey)
      // oxlint-disable-next-line no-await-in-loop
      const answer = await (method === 'get' ? get(asked) : post(asked, {}))
      expect(answer.status).toBe(toNothing[start]?.[0])
      expect(answer.text).toMatch(toNothing[start]?.[1] ?? /^$/)
      expect(answer.text).not.toContain('Ada')
    }
    expect(await admin.listLicenses()).toEqual(before)
  },
)

test('a user whose session has ended grants nothing', async () => {
  const [page, ...more] = codeBlocks().filter(({ text }) => text.includes('grantAuthorization(asked, {'))
  expect(more).toEqual([])
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  const redirectUri = 'https://client.example/callback'
  const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
  const session: { signedIn: boolean; userId?: string; asked?: AuthorizationRequest } = { signedIn: false }
  const own = {
    ask: () => new Response(),
    refuse: () => new Response(),
    signIn: () => new Response('Sign in'),
  }
  const names = { storage, session, page: own }
  const program = page?.text ?? ''
  const { ask, answer } = (await run(program, names, '{ ask, answer }')) as {
    ask(url: URL): Promise<Response>
    answer(asked: unknown, agreed: boolean): Promise<Response>
  }
  const query = new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: redirectUri })
  // Nobody is led to a client before they have signed in.
  const stranger = await ask(new URL(`https://api.example/authorize?${query}&response_mode=fragment`))
  expect([stranger.status, await stranger.text()]).toEqual([200, 'Sign in'])
  session.signedIn = true
  await ask(new URL(`https://api.example/authorize?${query}`))
  await expect(answer(session.asked, true)).rejects.toThrow('subject is undefined')
  session.userId = 'user-42'
  expect((await answer(session.asked, true)).headers.get('Location')).toMatch(/code=uapi_ac_/)
})

test('a license is checked online, for the host and the status', async () => {
  const { admin, get } = await serve(programOf('licenses', 'import { coversHost }'))
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: '*.münchen.example' }
  const { licenseKey } = await admin.createLicense(sold)
  const isValid = async (key: string, domain: string): Promise<unknown> =>
    JSON.parse((await get(`/license/${encodeURIComponent(key)}?domain=${domain}`)).text).valid
  const typed = ` ${licenseKey.replaceAll('-', '–').toLowerCase().replace('lic', 'LIC')} `
  expect(await isValid(typed, 'EU.xn--mnchen-3ya.example.:8443')).toBe(true)
  expect(await isValid(licenseKey, 'xn--mnchen-3ya.example')).toBe(false)
  expect(await isValid('LIC-1', 'eu.xn--mnchen-3ya.example')).toBe(false)
  await admin.updateLicense(licenseKey, { status: 'invalid' })
  expect(await isValid(licenseKey, 'eu.xn--mnchen-3ya.example')).toBe(false)
})

test('a signed license is checked offline', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const signingKey = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const route = programOf(
    'licenses',
    "app.get('/license/:key', async (request, response) => {\n  const options",
  )
  const licenses = { issuer: 'https://shop.example', signingKey }
  const { admin, api, clock, get } = await serve(route, { licenses })
  clock.advance(Date.now() - clock.now())
  const check = programOf('licenses', 'const { payload } = await jwtVerify')
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }
  const { licenseKey } = await admin.createLicense(sold)
  const isValid = async (statement: string, host: string): Promise<unknown> => {
    const names = { statement, host, shippedKeys: api.licenseJwks(), createLocalJWKSet, jwtVerify }
    return run(check, names, 'valid').catch(() => 'no statement')
  }
  const { text: statement } = await get(`/license/${licenseKey}`)
  expect(await isValid(statement, 'SHOP.example')).toBe(true)
  expect(await isValid(statement, 'other.example')).toBe(false)
  expect(await isValid(statement.replace(/.{4}$/, 'AAAA'), 'shop.example')).toBe('no statement')
  await admin.updateLicense(licenseKey, { status: 'invalid' })
  expect(await isValid((await get(`/license/${licenseKey}`)).text, 'shop.example')).toBe(false)
  clock.advance(-8 * day)
  expect(await isValid((await get(`/license/${licenseKey}`)).text, 'shop.example')).toBe('no statement')
})

test('the check in PHP understands the route for signed licenses', async ({ skip }) => {
  skip(spawnSync(php, ['-r', 'exit(extension_loaded("sodium") ? 0 : 1);']).status !== 0, 'needs php-cli')
  const route = programOf(
    'licenses',
    "app.get('/license/:key', async (request, response) => {\n  const options",
  )
  const handler = programOf('licenses', `${handlerImports}const notSigned`)
  const licenses = { issuer: 'https://shop.example', signingKey: generateKeyPairSync('ed25519').privateKey }
  const { url, admin, api, clock } = await serve(`${route}\n${handler}`, { licenses })
  clock.advance(Date.now() - clock.now())
  const folder = mkdtempSync(join(tmpdir(), 'license-route-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'license-keys.json'), JSON.stringify(api.licenseJwks()))
  const check = (key: string): Promise<string> => {
    const env = { PATH: process.env['PATH'], LICENSE_SERVER: url, LICENSE_FOLDER: folder }
    return new Promise((resolve) => {
      execFile(php, ['examples/license-check/check.php', key, 'shop.example'], { env }, (_, stdout) =>
        resolve(stdout.trimEnd()),
      )
    })
  }
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }
  const { licenseKey } = await admin.createLicense(sold)
  expect(await check(licenseKey)).toBe('valid')
  await admin.updateLicense(licenseKey, { status: 'invalid' })
  expect(await check(licenseKey)).toBe('refused: the license is invalid')
  await admin.deleteLicense(licenseKey)
  expect(await check(licenseKey)).toBe('refused: there is no such license')
  const { headers } = await fetch(`${url}/license/${licenseKey}`)
  expect(headers.get('Content-Type')).toBe('application/json; charset=utf-8')
  expect(existsSync(join(folder, 'license.jwt'))).toBe(false)
})

test('a guarded route is open to a token with the scope, and answers every other in JSON', async () => {
  const route = programOf(
    'verifying',
    "import { bearerToken } from 'utility-api'\n\napp.get('/orders', async",
  )
  const handler = programOf('verifying', 'import type { ErrorRequestHandler }')
  const storage = memoryStorage()
  const { url, admin } = await serve(`${route}\n${handler}`, { storage })
  const ask = async (authorization?: string): Promise<unknown[]> => {
    const headers = new Headers(authorization === undefined ? [] : [['Authorization', authorization]])
    const response = await fetch(`${url}/orders`, { headers })
    return [response.status, response.headers.get('WWW-Authenticate'), await response.json()]
  }
  const token = (await run(
    programOf('verifying', "import { createAdmin } from 'utility-api'"),
    { storage },
    'accessToken',
  )) as string
  expect(await ask(`Bearer ${token}`)).toEqual([200, null, { orders: 'those of user-42' }])
  const challenge = 'Bearer realm="utility-api"'
  // Nothing but the handler sees why.
  const complaint = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => complaint.mockRestore())
  expect(await ask()).toEqual([401, challenge, { error: 'invalid_token', message: expect.any(String) }])
  const { accessToken } = await admin.createAccessToken({ scope: 'orders:write' })
  expect(await ask(`Bearer ${accessToken}`)).toEqual([
    403,
    `${challenge}, error="insufficient_scope", scope="orders:read"`,
    { error: 'insufficient_scope', message: expect.any(String) },
  ])

  expect((await ask('Bearer other'))[0]).toBe(401)
  const why = new StorageError('unavailable', 'The disk is gone.')
  storage.findCredential = () => Promise.reject(why)
  expect(await ask(`Bearer ${token}`)).toEqual([
    500,
    null,
    { error: 'database_error', message: expect.any(String) },
  ])
  expect(complaint.mock.calls).toEqual([
    ['GET', '/orders', 'The bearer token is missing.', ''],
    ['GET', '/orders', 'The access token lacks the scope orders:read.', ''],
    [
      'GET',
      '/orders',
      'The bearer token is invalid, expired or revoked.',
      'There is no such token in this storage.',
    ],
    ['GET', '/orders', 'The database failed.', why],
  ])
})

test('the DNS page shows who answers what', async () => {
  const addresses = ['192.0.2.7', '192.0.2.7', '198.51.100.7']
  const servers = await Promise.all(
    addresses.map((ip) => fakeDnsServer({ records: [{ type: 'A', host: 'shop.example', ttl: 60, ip }] })),
  )
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.close()))))
  const locations = servers.map(({ ip, port }, at) => ({ location: `L${at}`, ip, port, provider: 'P' }))
  const { get } = await serve(programOf('dns', "app.get('/dns/:domain'"), { dns: { locations } })
  expect((await get('/dns/shop.example')).text).toBe('differ\n192.0.2.7: L0, L1\n198.51.100.7: L2')
  expect((await get('/dns/none.example')).text).toBe('nowhere\nno address: L0, L1, L2')
  expect((await get('/dns/127.0.0.1')).status).toBe(400)
})

test('the DNS page sends a line for each answer, also for those that were kept', async () => {
  const records = [{ type: 'A', host: 'shop.example', ttl: 60, ip: '192.0.2.7' }] as const
  const server = await fakeDnsServer({ records })
  onTestFinished(() => server.close())
  const locations = ['L0', 'L1'].map((location) => ({
    location,
    ip: server.ip,
    port: server.port,
    provider: 'P',
  }))
  const program = programOf('dns', "app.get('/rows/:domain'")
  const { get } = await serve(program, { dns: { locations, cacheTtlMs: 60_000 } })
  for (let check = 0; check < 2; check += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const { text } = await get('/rows/shop.example')
    const rows = text
      .trim()
      .split('\n')
      .toSorted()
      .map((line) => JSON.parse(line))
    expect(rows).toMatchObject([
      { location: 'L0', status: 'NOERROR' },
      { location: 'L1', status: 'NOERROR' },
    ])
  }
  // The second check asks nobody.
  expect(server.queries).toHaveLength(2)
  expect((await get('/rows/127.0.0.1')).status).toBe(400)
})

test('the status page shows who plays, and what is down', async () => {
  const status = { version: { name: '1', protocol: 1 }, players: { online: 2, max: 20 }, description: '' }
  const game = await fakeBlockgameServer({ status })
  onTestFinished(() => game.close())
  const program = programOf('blockgame', "app.get('/status'")
    .replaceAll('play.example.com', `${game.ip}:${game.port}`)
    .replaceAll('build.example.com', '127.0.0.1:1')
  const blockgame = { allowAddress: () => true, timeoutMs: 20_000 }
  const { get } = await serve(program, { blockgame })
  expect((await get('/status')).text).toBe(
    `${game.ip}:${game.port}: 2 of 20 are playing\n127.0.0.1:1: offline`,
  )
})
