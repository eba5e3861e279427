// The five operations on Bun's own server and Bun's own SQLite: bun server.ts
import { Database } from 'bun:sqlite'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { sqliteStorage } from 'utility-api/storage/sqlite'

const database = new Database(process.env['DATABASE'] ?? 'utility.sqlite')
const storage = sqliteStorage(database)
await storage.migrate()
const api = createUtilityApi({ storage, logger: console })

const server = Bun.serve({
  port: Number(process.env['PORT'] ?? 3000),
  hostname: '127.0.0.1',
  fetch: toBunHandler(api),
})
const url = `http://127.0.0.1:${server.port}`
console.log(`Listening on ${url}`)

// Creates one reseller, and a new token for it at each start: storage keeps only hashes of the old ones.
const admin = createAdmin({ storage })
const [known] = (await admin.listResellers({ limit: 1 })).resellers
const { token } = known
  ? await admin.createResellerToken(known.resellerId)
  : await admin.createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
const stopped = server.stop()
await api.close()
await stopped
database.close()
