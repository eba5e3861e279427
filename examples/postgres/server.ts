// The five operations on PostgreSQL. Start it as often as there are servers: they share nothing but the database.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { postgresStorage } from 'utility-api/storage/postgres'

const connectionString = process.env['DATABASE_URL'] ?? 'postgres://localhost/utility'
const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 1500, statement_timeout: 3000 })
const storage = postgresStorage(pool)
// Several servers may do this at once.
await storage.migrate()

const api = createUtilityApi({ storage, logger: { ...console, debug: () => {} } })
const server = createServer(async (request, response) => {
  if (request.url !== '/health') return serve(request, response)
  const health = await api.health()
  response.writeHead(health.storage === 'ok' ? 200 : 503, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(health))
})
const serve = toNodeHandler(api)
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
server.closeAllConnections()
await pool.end()
