// Prints which files of ours one successful request of each operation enters, from the Node mount to SQL or the socket:
// `node --import ./test/support/sources.ts test/package/files-entered.ts`. Entered is a file of which a function ran.
import { Session } from 'node:inspector/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { createAdmin, createUtilityApi, type UtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'

const storage = sqliteStorage(new DatabaseSync(':memory:'))
await storage.migrate()
const dns = await fakeDnsServer({ records: [{ type: 'A', host: 'example.com', ttl: 300, ip: '127.0.0.1' }] })
const game = await fakeBlockgameServer({ status: { version: { name: '1', protocol: 1 }, players: {} } })
// Storage operations have an API of their own, without network clients, whose timers would be counted with them.
const storagePort = await serve(createUtilityApi({ storage, dns: false, blockgame: false }))
const lookupApi = createUtilityApi({
  storage,
  dns: {
    locations: [{ location: 'Here', ip: dns.ip, port: dns.port, provider: 'Loopback' }],
    cacheTtlMs: 0,
  },
  blockgame: { allowAddress: () => true, resolvers: [{ ip: dns.ip, port: dns.port }] },
})
const admin = createAdmin({ storage })
const redirectUri = 'https://client.example/callback'
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { token } = await admin.createReseller()
const { accessToken } = await admin.createAccessToken({ scope: '' })
const { apiKey } = await admin.createApiKey()
const lookupPort = await serve(lookupApi)

async function serve(api: UtilityApi): Promise<number> {
  // On a busy machine, a connection would be closed while the next request is on its way.
  const server = createServer({ keepAliveTimeout: 60_000 }, toNodeHandler(api))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const license = { 'X-Registered-To': 'Ada Lovelace', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }
const reseller = { Authorization: `Bearer ${token}` }

async function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<unknown> {
  const port = method === 'GET' ? lookupPort : storagePort
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (response.status !== 200)
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

let licenseKey = ''
const requests: Readonly<Record<string, () => Promise<unknown>>> = {
  async exchangeToken() {
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    return () =>
      send(
        'POST',
        '/v4/oauth2/token',
        {},
        {
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          client_id: clientId,
          client_secret: clientSecret,
        },
      )
  },
  generateLicense: async () => () =>
    send('POST', '/v2/reseller/licenses/generate', { ...reseller, ...license }),
  updateLicense: async () => () =>
    send('PUT', `/v2/reseller/${licenseKey}/update`, { ...reseller, 'X-Status': 'invalid' }),
  checkDns: async () => () =>
    send('GET', '/v3/tools/dnscheck', {
      Authorization: `Bearer ${accessToken}`,
      'X-Domain': 'example.com',
      'X-Record-Type': 'A',
    }),
  lookUpGameServer: async () => () =>
    send('GET', '/v4/games/blockgame/lookup', {
      Basic: apiKey,
      'X-Address': 'example.com',
      'X-Port': String(game.port),
    }),
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
const root = new URL('../..', import.meta.url).href
const result: Record<string, string[]> = {}
for (const [operation, prepare] of Object.entries(requests)) {
  const request = (await prepare()) as () => Promise<unknown>
  // Once before, so that what is made on first use is not counted; a code serves only once.
  if (operation !== 'exchangeToken') await request()
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  const answer = (await request()) as { data?: { license_key: string } }
  const { result: scripts } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  licenseKey = answer.data?.license_key ?? licenseKey
  result[operation] = scripts
    .filter(
      ({ url, functions }) =>
        url.startsWith(root) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => url.slice(root.length).replace(/\?.*/, ''))
    .filter((path) => /^(src|adapters)\//.test(path) && !path.startsWith('src/testing'))
    .toSorted()
}
console.log(JSON.stringify(result, null, 2))
process.exit()
