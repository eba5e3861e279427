// The five operations inside Fastify, under a prefix, bypassing Fastify's body parsers.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import fastify from 'fastify'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'

const database = new Database(process.env['DATABASE'] ?? 'utility.sqlite')
const storage = sqliteStorage(database)
await storage.migrate()
const api = createUtilityApi({ storage, basePath: '/api', logger: console })

const app = fastify()
app.get('/', async () => 'A page of our own.\n')
await app.register(
  async (scope) => {
    const handler = toNodeHandler(api)
    // The first hook takes over the request, before Fastify reads the body or checks its type.
    scope.addHook('onRequest', async (request, reply) => {
      reply.hijack()
      handler(request.raw, reply.raw)
    })
    scope.all('/*', () => {})
  },
  { prefix: '/api' },
)

// Fastify's close waits for requests in progress; ours ends lookups that would take too long.
app.addHook('preClose', () => api.close())
app.addHook('onClose', () => void database.close())

await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' })
const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
console.log(`Listening on ${url}`)

// Creates one reseller, and a new token for it at each start: storage keeps only hashes of the old ones.
const admin = createAdmin({ storage })
const [known] = (await admin.listResellers({ limit: 1 })).resellers
const { token } = known
  ? await admin.createResellerToken(known.resellerId)
  : await admin.createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/api/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => app.server.closeAllConnections(), 10_000).unref()
await app.close()
