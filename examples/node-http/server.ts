// The five operations on node:http and a SQLite file. Try it: npm start, then use the curl line it prints.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'

const database = new Database(process.env['DATABASE'] ?? 'utility.sqlite')
const storage = sqliteStorage(database)
await storage.migrate()

const api = createUtilityApi({ storage, logger: console })
const server = createServer(toNodeHandler(api)).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}`)

// Creates one reseller, and a new token for it at each start: storage keeps only hashes of the old ones.
const admin = createAdmin({ storage })
const [known] = (await admin.listResellers({ limit: 1 })).resellers
const { token } = known
  ? await admin.createResellerToken(known.resellerId)
  : await admin.createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

// Accept no more connections, let requests in progress end, then close the database that they use.
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
database.close()
