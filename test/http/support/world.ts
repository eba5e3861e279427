import {
  createAdmin,
  createUtilityApi,
  type Admin,
  type UtilityApi,
  type UtilityApiOptions,
} from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer, fakeDnsServer, fixedClock, type FixedClock } from 'utility-api/testing'
import { redirectUri } from './grant.ts'
import { remotes, startRemoteWorld } from './remote.ts'
import { surfaces, type StartSurface, type Surface, type TestRequest } from './surfaces.ts'

/** Everything a request can meet: a service with one of each credential, resolvers and a game server on loopback. */
export interface World extends Surface {
  readonly api: UtilityApi
  readonly admin: Admin
  readonly storage: AdminStorage
  readonly clock: FixedClock
  readonly clientId: string
  readonly clientSecret: string
  readonly resellerId: string
  readonly resellerToken: string
  readonly otherResellerToken: string
  readonly accessToken: string
  readonly apiKey: string
  readonly weakApiKey: string
  readonly game: { readonly ip: string; readonly port: number }
  readonly silentGame: { readonly ip: string; readonly port: number }
  /** A fresh authorization code for the client. */
  issueCode(options?: { scope?: string; codeChallenge?: string }): Promise<string>
  /** A fresh license of the first reseller. */
  generate(): Promise<string>
  /** How many lookups the silent game server has seen, and how many of them are still there. */
  silentLookups(): Promise<{ seen: number; open: number }>
}

export { redirectUri }

export interface WorldOptions extends Partial<UtilityApiOptions> {
  /** Deadline of a game server lookup. Default: 20,000, because a busy machine may take its time. */
  readonly lookupTimeoutMs?: number
}

/** Makes a world around a surface, in this process or, for another runtime, in one of its own. */
export function createWorld(surface: string, options: WorldOptions = {}): Promise<World> {
  const remote = remotes[surface]
  if (remote !== undefined) return startRemoteWorld(remote, options)
  const start = surfaces[surface]
  if (start === undefined) throw new Error(`There is no surface "${surface}".`)
  return buildWorld(start, options)
}

export async function buildWorld(
  start: StartSurface,
  { lookupTimeoutMs = 20_000, ...options }: WorldOptions = {},
): Promise<World> {
  const storage = memoryStorage()
  const clock = fixedClock()
  const admin = createAdmin({ storage, clock })
  const dns = await fakeDnsServer({
    records: [
      { type: 'A', host: 'example.com', ttl: 300, ip: '192.0.2.10' },
      { type: 'MX', host: 'example.com', ttl: 300, pri: 10, target: 'mail.example.com' },
      {
        type: 'SRV',
        host: '_minecraft._tcp.play.example.com',
        ttl: 60,
        pri: 0,
        weight: 0,
        port: 1,
        target: 'x.example.com',
      },
    ],
  })
  const game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4', protocol: 769 },
      players: { online: 3, max: 20, sample: [{ name: 'someone', id: '1' }] },
      description: 'A server',
    },
  })
  const silentGame = await fakeBlockgameServer({ script: () => {} })
  const locations = ['Here', 'There'].map((location) => ({
    location,
    ip: dns.ip,
    port: dns.port,
    provider: 'Loopback',
  }))
  const api = createUtilityApi({
    storage,
    clock,
    dns: { locations, timeoutMs: 2000, cacheTtlMs: 0 },
    blockgame: {
      timeoutMs: lookupTimeoutMs,
      allowAddress: ({ ip, port }) => ip === '127.0.0.1' && port >= 1024,
      resolvers: [{ ip: dns.ip, port: dns.port }],
    },
    ...options,
  })
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  const { resellerId, token: resellerToken } = await admin.createReseller()
  const { token: otherResellerToken } = await admin.createReseller()
  const { accessToken } = await admin.createAccessToken({ scope: 'dns:check' })
  const { apiKey } = await admin.createApiKey()
  const { apiKey: weakApiKey } = await admin.createApiKey({ permissions: ['something:else'] })
  const { send, address, close } = await start(api)

  return {
    api,
    admin,
    storage,
    clock,
    clientId,
    clientSecret,
    resellerId,
    resellerToken,
    otherResellerToken,
    accessToken,
    apiKey,
    weakApiKey,
    game,
    silentGame,
    send,
    ...(address !== undefined && { address }),
    async silentLookups() {
      const { connections } = silentGame
      return { seen: connections.length, open: connections.filter(({ open }) => open).length }
    },
    async issueCode({ scope = 'dns:check', codeChallenge } = {}) {
      const { code } = await admin.issueAuthorizationCode({
        clientId,
        redirectUri,
        scope,
        ...(codeChallenge !== undefined && { codeChallenge }),
      })
      return code
    },
    async generate() {
      const answer = await send(generateRequest(resellerToken))
      return (answer.json as { data: { license_key: string } }).data.license_key
    },
    async close() {
      await close()
      await api.close()
      await Promise.all([dns.close(), game.close(), silentGame.close()])
    },
  }
}

export const licenseHeaders: Readonly<Record<string, string>> = {
  'X-Registered-To': 'Ada Lovelace',
  'X-Domain-Or-IP': 'example.com',
  'X-Status': 'valid',
}

/** A request for a license, with further headers. */
export function generateRequest(token: string, headers: TestRequest['headers'] = {}): TestRequest {
  return {
    method: 'POST',
    path: '/v2/reseller/licenses/generate',
    headers: { Authorization: `Bearer ${token}`, ...licenseHeaders, ...headers },
  }
}
