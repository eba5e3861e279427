// A server in a process of its own whose resolvers answer with as much as an answer may hold:
// `node --import test/support/sources.ts test/http/support/answers-server.ts <mount>`, or with Bun. Speaks in lines of JSON: the port and
// credentials first, then its memory for every line it reads.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdmin, createUtilityApi, type DnsAnswer, type DnsClient, type UtilityApi } from 'utility-api'
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
  async serve(api) {
    const { createService } = await import('../../../adapters/cli/serving/http-service.ts')
    return listen(createService(api, { prefix: '', trustProxy: 0, openapi: true }).server)
  },
}

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 8000 }, resolve))
  return (server.address() as AddressInfo).port
}

const large = 'x'.repeat(90)

/** Some 200 KiB of JSON for hostile names, one record for others. */
const client: DnsClient = {
  async query({ name }): Promise<DnsAnswer> {
    await wait(5)
    const records = Array.from({ length: name.endsWith('hostile.example') ? 780 : 1 }, (_, index) => ({
      type: 'TXT' as const,
      host: name,
      ttl: index,
      txt: `${large}${index}`,
      entries: [`${large}${index}`],
    }))
    return { status: 'NOERROR', records, cnameChain: [], transport: 'tcp', latencyMs: 1 }
  },
  close: async () => {},
}

const storage = memoryStorage()
const api = createUtilityApi({ storage, dns: { client } })
const admin = createAdmin({ storage })
const tokens = await Promise.all([1, 2].map(() => admin.createClient({ redirectUris: [] })))
const [attacker, bystander] = await Promise.all(
  tokens.map(({ clientId }) => admin.createAccessToken({ clientId, scope: '' })),
)
const port = await (starts[process.argv[2] ?? ''] as Start)(api)
console.log(JSON.stringify({ port, attacker: attacker?.accessToken, bystander: bystander?.accessToken }))

function memory(): { held: number; rss: number } {
  const { Bun, gc } = globalThis as { Bun?: { gc(synchronously: boolean): void }; gc?: () => void }
  if (Bun === undefined) gc?.()
  else Bun.gc(true)
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss }
}

createInterface(process.stdin)
  .on('line', () => console.log(JSON.stringify(memory())))
  .on('close', () => process.exit())
