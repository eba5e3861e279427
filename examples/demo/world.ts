import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import {
  createAdmin,
  createUtilityApi,
  type Admin,
  type UtilityApi,
  type UtilityApiOptions,
} from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { redirectUri } from './steps.ts'

/** The secrets that the five operations require. */
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
  readonly targets: Targets
  close(): Promise<void>
}

/** What is looked up: a domain, and a game server as `host:port`. */
export interface Targets {
  readonly domain: string
  readonly game: string
}

/** What the two network operations query: servers on loopback, or the public network. */
interface Networks {
  readonly options: Partial<UtilityApiOptions>
  readonly targets: Targets
  close(): Promise<void>
}

/**
 * Starts a game server, and three resolvers "in" three places that do not agree, as right after a move to another
 * address.
 */
async function startLoopback(): Promise<Networks> {
  const moved = { type: 'A', host: 'shop.example', ttl: 300, ip: '203.0.113.20' } as const
  const stale = { type: 'A', host: 'shop.example', ttl: 41, ip: '198.51.100.7' } as const
  const resolvers = await Promise.all([
    fakeDnsServer({ records: [moved] }),
    fakeDnsServer({ records: [stale], delayMs: 40 }),
    fakeDnsServer({ records: [] }),
  ])
  const places = ['Amsterdam, NL', 'Singapore, SG', 'Toronto, CA']
  const locations = resolvers.map(({ ip, port }, index) => ({
    location: places[index] ?? '',
    ip,
    port,
    provider: 'Loopback DNS',
  }))
  const game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4', protocol: 769 },
      players: { online: 12, max: 100 },
      description: 'A Minecraft server on loopback',
    },
  })
  return {
    options: {
      dns: { locations },
      // The demo's game server is on loopback, which the default rule rightly refuses.
      blockgame: { allowAddress: ({ ip, port }) => ip === game.ip && port === game.port },
    },
    targets: { domain: 'shop.example', game: `${game.ip}:${game.port}` },
    close: async () => {
      await Promise.all([...resolvers, game].map((server) => server.close()))
    },
  }
}

/** Uses the default resolvers, and the default rule for addresses. */
function live(targets: Targets): Networks {
  return { options: {}, targets, close: async () => {} }
}

/** Creates a service on a SQLite file in a temporary folder. With `targets`, it queries the public network. */
export async function createDemoWorld(targets?: Targets): Promise<DemoWorld> {
  const undo: (() => unknown)[] = []
  async function close(): Promise<void> {
    for (const each of undo.toReversed()) await each()
  }
  try {
    const folder = makeFolder()
    undo.push(() => rmSync(folder, { recursive: true, force: true }))
    const databaseFile = join(folder, 'demo.sqlite')
    const database = new Database(databaseFile)
    undo.push(() => database.close())
    const storage = sqliteStorage(database)
    await storage.migrate()
    const networks = targets === undefined ? await startLoopback() : live(targets)
    undo.push(networks.close)
    const api = createUtilityApi({ storage, ...networks.options })
    undo.push(api.close)
    const admin = createAdmin({ storage })
    const credentials = await provision(admin)
    return { api, admin, credentials, databaseFile, targets: networks.targets, close }
  } catch (error) {
    await close()
    throw error
  }
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'utility-api-demo-'))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(`Nothing can be written to ${tmpdir()} (${code}); name another folder with TMPDIR.`, {
      cause,
    })
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
