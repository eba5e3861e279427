// The five operations with rate limits: five requests a second for each caller, three failed credentials a minute for each address.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { flexibleLimiter } from './limiter.ts'

const storage = memoryStorage()
// Over several processes: RateLimiterRedis or RateLimiterPostgres, with the same two settings and a storeClient.
const callers = new RateLimiterMemory({ points: 5, duration: 1 })
const failures = new RateLimiterMemory({ points: 3, duration: 60 })
const api = createUtilityApi({ storage, rateLimiter: flexibleLimiter(callers, failures) })

const server = createServer(toNodeHandler(api)).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}`)

const { token } = await createAdmin({ storage }).createReseller({ name: 'Example Hosting' })
console.log(`curl -i -X POST ${url}/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
