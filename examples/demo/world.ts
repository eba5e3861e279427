import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import {
  createAdmin,
  createUtilityApi,
  type Admin,
  type ResolverLocation,
  type UtilityApi,
} from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'

export const redirectUri = 'https://client.example/callback'

/** The secrets that the five operations ask for. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly code: string
  readonly resellerToken: string
  readonly apiKey: string
}

export interface DemoWorld {
  readonly api: UtilityApi
  readonly admin: Admin
  readonly credentials: Credentials
  readonly databaseFile: string
  readonly gamePort: number
  close(): Promise<void>
}

/** Three resolvers "in" three places that do not agree, as right after a move to another address. */
async function startResolvers(): Promise<{ locations: ResolverLocation[]; close(): Promise<void> }> {
  const mail = { type: 'MX', host: 'shop.example', ttl: 300, pri: 10, target: 'mail.shop.example' } as const
  const moved = { type: 'A', host: 'shop.example', ttl: 300, ip: '203.0.113.20' } as const
  const stale = { type: 'A', host: 'shop.example', ttl: 41, ip: '198.51.100.7' } as const
  const servers = await Promise.all([
    fakeDnsServer({ records: [moved, mail] }),
    fakeDnsServer({ records: [stale, mail], delayMs: 40 }),
    fakeDnsServer({ records: [] }),
  ])
  const places = ['Amsterdam, NL', 'Singapore, SG', 'Toronto, CA']
  return {
    locations: servers.map(({ ip, port }, index) => ({
      location: places[index] ?? '',
      ip,
      port,
      provider: 'Loopback DNS',
    })),
    close: async () => {
      await Promise.all(servers.map((server) => server.close()))
    },
  }
}

export async function createDemoWorld(): Promise<DemoWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-demo-'))
  const databaseFile = join(folder, 'demo.sqlite')
  const database = new Database(databaseFile)
  const storage = sqliteStorage(database)
  await storage.migrate()

  const resolvers = await startResolvers()
  const game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4', protocol: 769 },
      players: { online: 12, max: 100 },
      description: 'A block-game server on loopback',
    },
  })
  const api = createUtilityApi({
    storage,
    dns: { locations: resolvers.locations },
    // The demo's game server is on loopback, which the default rule rightly refuses.
    blockgame: { allowAddress: ({ ip, port }) => ip === game.ip && port === game.port },
  })

  const admin = createAdmin({ storage })
  return {
    api,
    admin,
    credentials: await provision(admin),
    databaseFile,
    gamePort: game.port,
    async close() {
      await api.close()
      await Promise.all([resolvers.close(), game.close()])
      database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function provision(admin: Admin): Promise<Credentials> {
  const { clientId, clientSecret } = await admin.createClient({
    name: 'Demo client',
    redirectUris: [redirectUri],
  })
  const { code } = await admin.issueAuthorizationCode({
    clientId,
    redirectUri,
    scope: 'dns:check',
    lifetimeSeconds: 600,
  })
  const { token: resellerToken } = await admin.createReseller({ name: 'Demo reseller' })
  const { apiKey } = await admin.createApiKey({ name: 'Demo key' })
  return { clientId, clientSecret, code, resellerToken, apiKey }
}
