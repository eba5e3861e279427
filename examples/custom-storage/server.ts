// The five operations on a store of your own: storage.ts, which is there to be copied and changed.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { journalStorage } from './storage.ts'

const storage = await journalStorage(process.env['JOURNAL'] ?? 'journal.jsonl')
const api = createUtilityApi({ storage })

const server = createServer(toNodeHandler(api)).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const url = `http://127.0.0.1:${port}`
console.log(`Listening on ${url}`)

// Creates one reseller, and a new token for it at each start: storage keeps only hashes of the old ones.
const admin = createAdmin({ storage })
const [known] = (await admin.listResellers({ limit: 1 })).resellers
const { token } = known
  ? await admin.createResellerToken(known.resellerId)
  : await admin.createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
await storage.close?.()
