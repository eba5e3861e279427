// The five operations on PostgreSQL. Start it as often as there are servers: they share nothing but the database.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { postgresStorage } from 'utility-api/storage/postgres'

const connectionString = process.env['DATABASE_URL'] ?? 'postgres://localhost/utility'
const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 1500, statement_timeout: 2400 })
const storage = postgresStorage(pool)
try {
  // Several servers may do this at once.
  await storage.migrate()
} catch (error) {
  const { message, cause = message } = error as Error
  console.error(`PostgreSQL cannot be used (${String(cause)}): start one, or name yours in DATABASE_URL.`)
  process.exit(1)
}

// `logger: console` also logs refusals, which clients cause, and says why: an expired code, a wrong secret.
const api = createUtilityApi({ storage, storageTimeoutMs: 4000, logger: { ...console, debug: () => {} } })
const server = createServer(async (request, response) => {
  if (request.url !== '/health') return serve(request, response)
  const health = await api.health()
  response.writeHead(health.storage === 'ok' ? 200 : 503, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(health))
})
const serve = toNodeHandler(api)
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}
curl ${url}/health
npx utility-api reseller create --name Shop  # with UTILITY_API_DATABASE set to the same database`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
// This does not drain: what a load balancer still sends is refused. `utility-api serve --drain 10` goes on answering.
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
await pool.end()
