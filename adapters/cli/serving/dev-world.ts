import { createAdmin, createUtilityApi } from 'utility-api'
import type { Admin, DnsRecord, ResolverLocation, UtilityApi, UtilityApiOptions } from 'utility-api'
import { createBlockgameClient, type TextSpan } from 'utility-api/blockgame'
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

/** All five operations, running on memory and loopback alone. */
export interface DevWorld extends AsyncDisposable {
  readonly api: UtilityApi
  readonly credentials: DevCredentials
  readonly domain: string
  readonly locations: readonly ResolverLocation[]
  /** The game server's address, as `host:port`. */
  readonly gameServer: string
  /** Issues a new authorization code, which can be exchanged once, within ten minutes. */
  issueCode(): Promise<string>
  /** Asks the game server for its description in colors, which the operation's answer has as plain text. */
  describeGameServer(): Promise<readonly TextSpan[]>
}

const domain = 'shop.example'
const redirectUri = 'https://client.example/callback'
const daySeconds = 86_400

export async function createDevWorld(
  options: Pick<UtilityApiOptions, 'logger' | 'onRequestEnd'>,
): Promise<DevWorld> {
  const { locations, game, close } = await startServers()
  // The server is on loopback, which the default rule rightly refuses.
  const client = createBlockgameClient({
    allowAddress: ({ ip, port }) => ip === game.ip && port === game.port,
  })
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  const api = createUtilityApi({
    storage,
    // Whoever sends the same check again wants to see it made again.
    dns: { locations, cacheTtlMs: 0 },
    blockgame: { client, details: true },
    ...options,
  })
  const credentials = await provision(admin, createUtilityApi({ storage, dns: false, blockgame: false }))
  return {
    api,
    credentials,
    domain,
    locations,
    gameServer: `${game.ip}:${game.port}`,
    async issueCode() {
      const { clientId } = credentials
      const wanted = { clientId, redirectUri, scope: 'dns:check', lifetimeSeconds: 600 }
      return (await admin.issueAuthorizationCode(wanted)).code
    },
    async describeGameServer() {
      const { descriptionSpans = [] } = await client.status({ host: game.ip, port: game.port })
      return descriptionSpans
    },
    async [Symbol.asyncDispose]() {
      await api.close()
      await client.close()
      await close()
    },
  }
}

/** The records that all resolvers have. */
const agreed: readonly DnsRecord[] = [
  { type: 'AAAA', host: domain, ttl: 300, ip: '2001:db8::20', ipv6: '2001:db8::20' },
  { type: 'MX', host: domain, ttl: 3600, pri: 10, target: 'mail.shop.example' },
  { type: 'NS', host: domain, ttl: 86_400, target: 'ns1.dns.example' },
  { type: 'NS', host: domain, ttl: 86_400, target: 'ns2.dns.example' },
  { type: 'TXT', host: domain, ttl: 3600, txt: 'v=spf1 mx -all', entries: ['v=spf1 mx -all'] },
  { type: 'CAA', host: domain, ttl: 3600, flags: 0, tag: 'issue', value: 'ca.example' },
]

/** 64 by 64 pixels, as the game wants them: grass under the sun. */
const icon =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAgMAAADXB5lNAAAADFBMVEV+tvJcnjqGXDz31Fqo/CwXAAAAMklEQVR42mNgGHzg////w0ZgQEEoGhgogVWhoatWgRCUIksARIEARGAVeQKoYFSAYgEAlBtqpK0qUT4AAAAASUVORK5CYII='

interface DevServers {
  readonly locations: readonly ResolverLocation[]
  readonly game: { readonly ip: string; readonly port: number }
  close(): Promise<void>
}

/**
 * Starts the servers. The resolvers answer as if right after a move to another address: one has the new address, one
 * still has the old one, and a third has none. They agree on all else. Each takes as long as one that is far away, so
 * that one sees the answers arrive.
 */
async function startServers(): Promise<DevServers> {
  // Imported here so that no other command has to wait for it to load.
  const { fakeBlockgameServer, fakeDnsServer } = await import('utility-api/testing')
  const at = (ip: string, ttl: number) => ({ type: 'A', host: domain, ttl, ip }) as const
  const places = {
    'Amsterdam, NL': { records: [at('203.0.113.20', 300), ...agreed], delayMs: 30 },
    'Singapore, SG': { records: [at('198.51.100.7', 41), ...agreed], delayMs: 600 },
    'Toronto, CA': { records: agreed, delayMs: 250 },
  }
  const status = {
    version: { name: '1.21.4', protocol: 769 },
    players: { online: 12, max: 100 },
    description: '§6§lAmber Hollow§r §7» §aSurvival§r\n§7A server on loopback, made up by §bdev§7',
    favicon: icon,
  }
  const started: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.close()))
  }
  try {
    const locations: ResolverLocation[] = []
    for (const [location, options] of Object.entries(places)) {
      const server = await fakeDnsServer(options)
      started.push(server)
      locations.push({ location, ip: server.ip, port: server.port, provider: 'Loopback DNS' })
    }
    const game = await fakeBlockgameServer({ status })
    started.push(game)
    return { locations, game, close }
  } catch (error) {
    // A server that keeps listening would keep the process alive.
    await close()
    throw error
  }
}

/** @param api - One without a log: the requests made here are not the developer's. */
async function provision(admin: Admin, api: UtilityApi): Promise<DevCredentials> {
  const client = await admin.createClient({ redirectUris: [redirectUri] })
  const { token: resellerToken } = await admin.createReseller()
  const wanted = { scope: 'dns:check', lifetimeSeconds: daySeconds, clientId: client.clientId }
  const { accessToken } = await admin.createAccessToken(wanted)
  const { apiKey } = await admin.createApiKey()
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
