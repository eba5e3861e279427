import { createAdmin, createUtilityApi } from 'utility-api'
import type { Admin, ResolverLocation, UtilityApi, UtilityApiOptions } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'

/** One of each credential. */
export interface DevCredentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
  readonly resellerToken: string
  readonly licenseKey: string
  readonly accessToken: string
  readonly apiKey: string
}

/** All five operations at work on nothing but memory and loopback. */
export interface DevWorld extends AsyncDisposable {
  readonly api: UtilityApi
  readonly credentials: DevCredentials
  readonly domain: string
  /** Where the game server is, as `host:port`. */
  readonly gameServer: string
  /** A new authorization code: each can be exchanged once, within ten minutes. */
  issueCode(): Promise<string>
}

const domain = 'shop.example'
const redirectUri = 'https://client.example/callback'
const daySeconds = 86_400

export async function createDevWorld(
  options: Pick<UtilityApiOptions, 'logger' | 'onRequestEnd'>,
): Promise<DevWorld> {
  const { locations, game, close } = await startServers()
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  const api = createUtilityApi({
    storage,
    dns: { locations },
    // Loopback, which the default rule rightly refuses.
    blockgame: { allowAddress: ({ ip, port }) => ip === game.ip && port === game.port },
    ...options,
  })
  const credentials = await provision(admin, createUtilityApi({ storage, dns: false, blockgame: false }))
  return {
    api,
    credentials,
    domain,
    gameServer: `${game.ip}:${game.port}`,
    async issueCode() {
      const { clientId } = credentials
      const wanted = { clientId, redirectUri, scope: 'dns:check', lifetimeSeconds: 600 }
      return (await admin.issueAuthorizationCode(wanted)).code
    },
    async [Symbol.asyncDispose]() {
      await api.close()
      await close()
    },
  }
}

interface DevServers {
  readonly locations: readonly ResolverLocation[]
  readonly game: { readonly ip: string; readonly port: number }
  close(): Promise<void>
}

/** As right after a move to another address: here it has arrived, there it has not, and a third place knows nothing of it. */
async function startServers(): Promise<DevServers> {
  // Nobody else who starts the command should wait for it to load.
  const { fakeBlockgameServer, fakeDnsServer } = await import('utility-api/testing')
  const record = { type: 'A', host: domain } as const
  const resolvers = {
    'Amsterdam, NL': await fakeDnsServer({ records: [{ ...record, ttl: 300, ip: '203.0.113.20' }] }),
    'Singapore, SG': await fakeDnsServer({
      records: [{ ...record, ttl: 41, ip: '198.51.100.7' }],
      delayMs: 40,
    }),
    'Toronto, CA': await fakeDnsServer({ records: [] }),
  }
  const game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4', protocol: 769 },
      players: { online: 12, max: 100 },
      description: 'A block-game server on loopback',
    },
  })
  return {
    locations: Object.entries(resolvers).map(([location, { ip, port }]) => ({
      location,
      ip,
      port,
      provider: 'Loopback DNS',
    })),
    game,
    async close() {
      await Promise.all([...Object.values(resolvers), game].map((server) => server.close()))
    },
  }
}

/** @param api - One without a log: what is provisioned is no request of the developer's. */
async function provision(admin: Admin, api: UtilityApi): Promise<DevCredentials> {
  const client = await admin.createClient({ name: 'Dev client', redirectUris: [redirectUri] })
  const { token: resellerToken } = await admin.createReseller({ name: 'Dev reseller' })
  const wanted = { scope: 'dns:check', lifetimeSeconds: daySeconds, clientId: client.clientId }
  const { accessToken } = await admin.createAccessToken(wanted)
  const { apiKey } = await admin.createApiKey({ name: 'Dev key' })
  const licenseKey = await generateLicense(api, resellerToken)
  return { ...client, redirectUri, resellerToken, licenseKey, accessToken, apiKey }
}

async function generateLicense(api: UtilityApi, resellerToken: string): Promise<string> {
  const headers = {
    Authorization: `Bearer ${resellerToken}`,
    'X-Registered-To': 'Ada Lovelace',
    'X-Domain-Or-IP': domain,
    'X-Status': 'valid',
  }
  const answer = await api.handlers.generateLicense(
    new Request('http://localhost/', { method: 'POST', headers }),
  )
  const { data } = (await answer.json()) as { data: { license_key: string } }
  return data.license_key
}
