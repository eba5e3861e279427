// The five operations inside Koa, under a prefix, beside other middleware.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import Koa from 'koa'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'

const database = new Database(process.env['DATABASE'] ?? 'utility.sqlite')
const storage = sqliteStorage(database)
await storage.migrate()
const api = createUtilityApi({ storage, basePath: '/api', logger: console })
const serveApi = toNodeHandler(api)

const app = new Koa()
// Comes before body parsers, because it reads the request itself.
app.use(async (context, next) => {
  if (!context.path.startsWith('/api/')) return next()
  // Koa then writes nothing: the mount sends the answer.
  context.respond = false
  serveApi(context.req, context.res)
})
app.use((context) => {
  context.body = 'A page of our own.\n'
})

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
database.close()
