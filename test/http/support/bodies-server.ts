// A server in a process of its own whose storage and networks are slow, to be sent hostile bodies:
// `node --import test/support/sources.ts test/http/support/bodies-server.ts <mount>`, or with Bun. Speaks in lines of JSON: the port
// and a good exchange first, then its memory for every line it reads.
import { createSocket } from 'node:dgram'
import { createInterface } from 'node:readline'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdmin, createUtilityApi, type UtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'

type Start = (api: UtilityApi) => Promise<number>

const starts: Readonly<Record<string, Start>> = {
  async Node(api) {
    const { toNodeHandler } = await import('utility-api/node')
    return listen(createServer(toNodeHandler(api)))
  },
  async Express(api) {
    const [{ default: express }, { toExpressHandler }] = await Promise.all([
      import('express'),
      import('utility-api/express'),
    ])
    return listen(createServer(express().use(toExpressHandler(api))))
  },
  async Hono(api) {
    const { serve } = await import('@hono/node-server')
    const server = serve({ fetch: (request) => api.fetch(request), port: 0, hostname: '127.0.0.1' })
    if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
    return (server.address() as AddressInfo).port
  },
  async Bun(api) {
    const { toBunHandler } = await import('utility-api/bun')
    const { Bun } = globalThis as unknown as { Bun: { serve(options: object): { port: number } } }
    return Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: toBunHandler(api) }).port
  },
}

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 8000 }, resolve))
  return (server.address() as AddressInfo).port
}

/** A resolver that never answers. */
const silent = createSocket('udp4')
await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
const resolver = { ip: '127.0.0.1', port: silent.address().port }

const storage = memoryStorage()
const slow: typeof storage = {
  ...storage,
  async findCredential(...args) {
    await wait(300)
    return storage.findCredential(...args)
  },
}
const api = createUtilityApi({
  storage: slow,
  dns: { locations: [{ location: 'Nowhere', provider: 'Nobody', ...resolver }] },
  blockgame: { resolvers: [resolver] },
})
const admin = createAdmin({ storage })
const redirectUri = 'https://client.example/callback'
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { token } = await admin.createReseller()
const { accessToken } = await admin.createAccessToken({ scope: '' })
const { apiKey } = await admin.createApiKey()
const { code } = await admin.issueAuthorizationCode({
  clientId,
  redirectUri,
  scope: '',
  lifetimeSeconds: 600,
})
const port = await (starts[process.argv[2] ?? ''] as Start)(api)
const exchange = {
  grant_type: 'authorization_code',
  code,
  redirect_uri: redirectUri,
  client_id: clientId,
  client_secret: clientSecret,
}
console.log(JSON.stringify({ port, exchange, token, accessToken, apiKey }))

/** What is left after a collection: garbage is the machine's affair. */
function memory(): { held: number; rss: number } {
  const { Bun, gc } = globalThis as { Bun?: { gc(synchronously: boolean): void }; gc?: () => void }
  if (Bun === undefined) gc?.()
  else Bun.gc(true)
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss }
}

createInterface(process.stdin)
  .on('line', () => {
    console.log(JSON.stringify(memory()))
  })
  .on('close', () => process.exit())
