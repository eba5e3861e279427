import { createAdmin, type AuthorizationRequest } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { codeBlocks } from './code-blocks.ts'
import { programOf, run, serve } from './guide-server.ts'

// The programs of the guide for the owner's jobs do them: each is run as it stands there.

/** What each route of the guide answers to a body or a query that has nothing in it. */
const toNothing: Readonly<Record<string, readonly [status: number, text: RegExp]>> = {
  "app.post('/paid/paddle'": [500, /The signature is wrong or old/],
  "app.post('/paid/stripe'": [500, /The signature is wrong or old/],
  "app.get('/support'": [200, /^\[\]$/],
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
    const reported = programOf('licenses', 'import { createHmac, timingSafeEqual }')
    const names = { secrets: { stripe: 'a', paddle: 'b' } }
    const { admin, get, post } = await serve(`${reported}\n${text}`, { names })
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

test('a job mails only that its records have arrived, and refuses what is mistyped', async () => {
  const [job, ...more] = codeBlocks().filter(({ text }) => text.includes('has arrived.'))
  expect(more).toEqual([])
  const row = { location: 'L0', ip: '192.0.2.53', provider: 'P', latency_ms: 1, transport: 'udp' }
  const nothing = { ...row, dns_results: [], resolved: false, status: 'NXDOMAIN' }
  const mailed = async (...argv: string[]): Promise<unknown> => {
    const lines: string[] = []
    const names = {
      process: { argv: ['node', 'arrived.mts', ...argv] },
      existsSync: () => false,
      writeFileSync: () => {},
      memoryStorage,
      createUtilityApi: () => ({ checkDns: async () => [nothing], close: async () => {} }),
      console: { log: (line: string) => lines.push(line) },
    }
    await run(job?.text ?? '', names)
    return lines
  }
  expect(await mailed('shop.json', 'shop.example', 'A', 'none')).toEqual(['shop.example A has arrived.'])
  expect(await mailed('shop.json', 'shop.example', 'A', '192.0.2.7')).toEqual([])
  await expect(mailed('shop.json', 'shop.example', 'A')).rejects.toThrow('records or "none"')
  await expect(mailed('shop.json', 'shop.example', 'AAA', 'none')).rejects.toThrow('a type')
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
