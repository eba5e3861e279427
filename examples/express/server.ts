// The five operations inside an Express application with its own pages and body parsers.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import express from 'express'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toExpressHandler } from 'utility-api/express'
import { sqliteStorage } from 'utility-api/storage/sqlite'

const database = new Database(process.env['DATABASE'] ?? 'utility.sqlite')
const storage = sqliteStorage(database)
await storage.migrate()
const api = createUtilityApi({ storage, logger: console })

const app = express()
// Behind one proxy of your own, call `app.set('trust proxy', 1)`: the mount follows the application's setting.
// Mounted before the body parser, which would answer malformed bodies of the operations in its own way.
app.use('/api', toExpressHandler(api, { fallthrough: true }))
app.use(express.json())
app.get('/api/health', async (_request, response) => {
  const health = await api.health()
  response.status(health.storage === 'ok' ? 200 : 503).json(health)
})
app.use((_request, response) => void response.status(404).send('A page of our own: nothing here.\n'))

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
